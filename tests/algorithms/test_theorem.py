"""The numbers of theorems: steps, step sizes, refusals with the arithmetic, and departures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest

from pairdp import Budget, NoiseSource, PrivateMetric, PrivateRanker, verify
from pairdp.algorithms import NoisyGradientDescent, Plan, WithThreshold, find_algorithm
from pairdp.algorithms.stored_plans import plan_again
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import HingeRanking, LeastSquaresRanking, LogisticRanking, SigmoidRanking
from pairdp.problem import Problem
from tests.algorithms.cases import records

FREE = Problem(LogisticRanking(), L2Ball(1.0))
RIDGE = replace(FREE, regularization=1e-3)
G = 4 / (1 + math.exp(-4))


def planned(name: str, problem: Problem, n: int, budget: Budget | None, **settings: object) -> Plan:
    algorithm = replace(find_algorithm(name), **settings)  # type: ignore[type-var]
    return algorithm.plan(problem, n, 8, budget, schedule="theorem")


def test_the_numbers_of_the_theorems() -> None:
    budget = Budget(1.0, 1 / 256)
    smoothness = 4 * 256 / (2 * 255)  # that of the risk
    one = planned("DPGDSC", RIDGE, 256, budget).settings
    assert one.steps == math.ceil((smoothness + 1e-3) / 1e-3 * math.log(256)) == 11140
    assert one.step_size == pytest.approx(2 / (smoothness + 2e-3))

    four = planned("DPGDC", FREE, 256, budget).settings
    assert four.step_size == pytest.approx(2 / smoothness)
    assert four.steps == math.ceil(2 / G * 16 / four.step_size) == 9

    two = planned("DPGDC2", FREE, 512, Budget(1.0, 1 / 512)).settings
    assert (two.steps, two.step_size) == (512, pytest.approx(2 / (G * math.sqrt(512))))
    few = planned("DPGDC2", FREE, 512, Budget(0.05, 1 / 512)).settings
    assert few.steps == math.ceil(512**2 * 0.05**2 / (8 * math.log(512))) == 14

    three = planned("DPEGD", FREE, 256, budget).settings
    assert three.step_size == pytest.approx(2 / G / math.sqrt(8 * math.log(256)))
    assert planned("DPEGD", FREE, 256, Budget(1.0)).settings.step_size == pytest.approx(2 / G / 8)
    assert planned("DPEGD", FREE, 2**14, Budget(9.0)).settings.step_size == pytest.approx(
        2 / G / 32
    )
    assert planned("DPEGD", FREE, 256, None).settings.step_size == pytest.approx(2 / G / 4)

    kang = planned("Kang2021", RIDGE, 256, budget).settings
    assert kang.steps == math.ceil(math.log(256 / math.sqrt(8))) == 5
    assert kang.step_size == pytest.approx(1 / (smoothness + 1e-3))
    assert (kang.projected, kang.initial_radius) == (False, 1.0)


def test_the_theorem_is_the_default_of_printed_noise_alone() -> None:
    budget = Budget(1.0, 1e-3)
    for name in ("DPGDSC", "DPGDC", "DPGDC2", "DPEGD", "Kang2021"):
        algorithm = find_algorithm(name)
        printed = algorithm.plan(RIDGE, 256, 8, budget, calibration="printed")
        assert printed.task.schedule == "theorem"
        assert (
            printed.settings == algorithm.plan(RIDGE, 256, 8, budget, schedule="theorem").settings
        )
        assert algorithm.plan(RIDGE, 256, 8, budget).task.schedule == "tuned"
        certified = algorithm.plan(RIDGE, 256, 8, budget, schedule="theorem")
        assert certified.claim_is_proved
        assert "the noise is certified, and not that of the paper" in certified.departures


@pytest.mark.parametrize(
    ("name", "problem", "n", "budget", "words"),
    [
        ("DPGDSC", replace(FREE, regularization=1e-6), 256, Budget(1.0, 1e-3),
         r"T = \(L/α\)·ln n = \(2.00784/1e-06\)·ln 256 = 1.11.*e\+07, which is more than 1e\+07"),
        ("DPGDC2", FREE, 256, Budget(0.01, 1e-3),
         r"min\{256, \(256·0.01\)²/\(8·ln\(1/0.001\)\)\} = 0.118.*, which is less than one step"),
        ("DPGDC2", FREE, 256, Budget(0.05, 1e-3), r"= 0.2939.*, above .* 1/\(2L\) = 0.249"),
        ("DPEGD", FREE, 4, Budget(9.0, 0.1), r"min\{4/√4, .* = 1.018.*, above .* 2/L = 0.5"),
        ("Kang2021", FREE, 64, Budget(0.04, 1e-3), r"ln\(64·0.04/√8\) = -0.0997.*less than one"),
        ("Kang2021", FREE, 64, Budget(0.05, 1e-3), r"ln\(64·0.05/√8\) = 0.123.*less than one"),
        ("Kang2021", FREE, 64, None, r"ln\(64·inf/√8\) = inf"),
        ("DPGDC", replace(FREE, constraint=Unconstrained()), 64, None, "diameter"),
        ("DPGDC2", replace(FREE, constraint=Unconstrained()), 64, None, "diameter"),
        ("DPEGD", replace(FREE, constraint=Unconstrained()), 64, None, "diameter"),
        ("DPGDC2", Problem(HingeRanking(), L2Ball(1.0)), 64, None, "smooth"),
        ("Kang2021", Problem(LeastSquaresRanking(), L2Ball(1.0)), 64, Budget(1.0, 1e-3),
         'Lipschitz everywhere.*schedule="tuned"'),
        ("minimizer", RIDGE, 64, Budget(1.0, 1e-3), "no theorem"),
    ],
)  # fmt: skip
def test_refusals_show_the_arithmetic(
    name: str, problem: Problem, n: int, budget: Budget | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        planned(name, problem, n, budget)


@dataclass(frozen=True)
class OwnRanking(LogisticRanking):
    """A loss outside the library, whose constants are known on the constraint set alone."""


def test_epochs_outside_the_set_need_proved_constants() -> None:
    problem = Problem(OwnRanking(), L2Ball(1.0))
    with pytest.raises(ValueError, match="OwnRanking, which is not of this library"):
        planned("DPEGD", problem, 64, Budget(1.0, 1e-3))
    assert find_algorithm("DPEGD").plan(problem, 64, 8, Budget(1.0, 1e-3)).claim_is_proved


def test_given_steps_are_departures() -> None:
    budget = Budget(1.0, 1e-3)
    for name in ("DPGDSC", "DPGDC", "DPGDC2", "Kang2021"):
        plan = planned(name, RIDGE, 256, budget, steps=7)
        assert plan.settings.steps == 7
        assert any("steps = 7 is given, where" in each for each in plan.departures)
        plan = planned(name, RIDGE, 256, budget, steps=7, step_size=0.25)
        assert plan.settings.step_size == 0.25
        assert "step_size = 0.25" in " ".join(plan.departures)
        assert "departs from the paper: steps = 7" in str(plan) or "steps = 7 and" in str(plan)
    given = planned("DPEGD", FREE, 256, budget, step_size=0.25)
    assert "step_size = 0.25 is given" in given.departures[0]
    # Numbers that the theorem does not have can be given, too.
    tiny = planned("DPGDC2", FREE, 256, Budget(0.01, 1e-3), steps=3, step_size=0.1)
    assert tiny.settings.steps == 3


def test_other_departures() -> None:
    budget = Budget(1.0, 1e-3)

    def departures(name: str, problem: Problem, n: int = 256, calibration: str = "printed") -> str:
        plan = find_algorithm(name).plan(problem, n, 8, budget, calibration=calibration)  # type: ignore[arg-type]
        return "; ".join(plan.departures)

    assert departures("DPEGD", FREE) == ""  # its numbers are exact, and L is that of a pair
    assert "G/(‖C‖√T) = 0.1227" in departures("DPGDC2", FREE)
    assert "n = 300" in departures("DPEGD", FREE, 300)
    assert "Polyak-Łojasiewicz" in departures("Kang2021", FREE)
    assert "convex" in departures("DPGDC2", Problem(SigmoidRanking(), L2Ball(1.0)))
    assert "is zero" in departures("Kang2021", replace(FREE, constraint=Unconstrained()))
    pure = find_algorithm("DPGDC").plan(FREE, 256, 8, Budget(1.0), calibration="printed")
    assert pure.departures[-1] == "line 6 of Algorithm 4 omits the noise, which is added"
    with_threshold = WithThreshold(find_algorithm("DPGDSC"))
    plan = with_threshold.plan(RIDGE, 256, 8, budget, calibration="printed")
    assert plan.settings.model.steps == 11140
    assert "threshold" in plan.departures[-1]


def found_in(sentences: tuple[str, ...], *words: str) -> bool:
    return any(all(word in sentence for word in words) for sentence in sentences)


def test_orders_and_open_numbers_are_departures() -> None:
    budget = Budget(1.0, 1e-3)
    one = planned("DPGDSC", RIDGE, 256, budget)
    assert found_in(one.departures, "T as an order", "constant and other logarithmic factors")
    assert found_in(one.departures, "admits every η ≤ 2/(L+α)")
    assert found_in(one.departures, "is rounded to 11140")
    four = planned("DPGDC", FREE, 256, budget)
    assert found_in(four.departures, "Theorem 4 of Xue 2021 leaves T open")
    assert found_in(four.departures, "admits every η ≤ 2/L:")
    assert found_in(four.departures, "T = 8.", "rounded to 9")
    two = planned("DPGDC2", FREE, 512, Budget(0.05, 1 / 512))
    assert found_in(two.departures, "rounded to 14")
    kang = planned("Kang2021", RIDGE, 256, budget)
    assert found_in(kang.departures, "T as an order", "constant")
    assert found_in(kang.departures, "rounded to 5")
    assert found_in(kang.departures, "first iterate", "uniform in the ball")
    # Numbers that are given have no constant and are not rounded.
    for name in ("DPGDSC", "DPGDC", "DPGDC2", "Kang2021"):
        given = planned(name, RIDGE, 256, budget, steps=7, step_size=0.25)
        assert not found_in(given.departures, "rounded")
        assert not found_in(given.departures, "as an order")
        assert not found_in(given.departures, "smoothness of the risk")


def test_no_reason_has_a_formula_that_the_paper_does_not() -> None:
    budget = Budget(1.0, 1e-3)
    for name in ("DPGDSC", "DPGDC", "DPGDC2", "Kang2021"):
        plan = planned(name, RIDGE, 512, budget)
        exact = [
            reason for reason in plan.reasons if " has T = " in reason or " has η = " in reason
        ]
        stated = {"DPGDC2": "min{n, n²ε²/(p·ln(1/δ))}", "Kang2021": "η = 1/L"}
        assert len(exact) == (name in stated)
        assert all(stated[name] in reason for reason in exact)


def test_the_smoothness_of_a_pair_is_stated() -> None:
    # That of the risk is n/(2(n-1)) of it: hardly more than half of all pairs have a loss.
    budget = Budget(1.0, 1e-3)
    pair, alpha = 4 + 1e-3, 1e-3
    steps = pair / alpha * math.log(256)
    one = planned("DPGDSC", RIDGE, 256, budget)
    words = f"with L = 4.001, η = {2 / (pair + alpha):.6g} and T = {steps:.6g}"
    assert found_in(one.departures, "L = 2.00884 is the smoothness of the risk", words)
    given = planned("DPGDSC", RIDGE, 256, budget, step_size=0.1)
    assert found_in(given.departures, f"with L = 4.001, T = {steps:.6g}")
    four = planned("DPGDC", FREE, 256, budget)
    assert found_in(four.departures, f"with L = 4, η = 0.5 and T = {2 / G * 16 / 0.5:.6g}")
    assert found_in(planned("DPGDC2", FREE, 512, budget).departures, "η ≤ 1/(2L) = 0.125")
    assert found_in(planned("DPEGD", FREE, 6, budget).departures, "η ≤ 2/L = 0.5")
    assert found_in(planned("Kang2021", RIDGE, 256, budget).departures, f"η = {1 / pair:.6g}")


def test_the_printed_g_of_kang_is_that_of_the_set() -> None:
    algorithm = find_algorithm("Kang2021")
    words = "that of C, which iterates may leave"
    budget = Budget(1.0, 1e-3)
    printed = algorithm.plan(RIDGE, 256, 8, budget, calibration="printed")
    assert found_in(printed.departures, words)
    assert not found_in(planned("Kang2021", RIDGE, 256, budget).departures, words)


def test_what_no_paper_states_is_tuned() -> None:
    for algorithm in (
        NoisyGradientDescent("last"),
        NoisyGradientDescent("average", printed_rule="kang"),
        NoisyGradientDescent(batch_size=10),
    ):
        with pytest.raises(ValueError, match="no theorem"):
            algorithm.plan(FREE, 60, 3, Budget(1.0, 1e-3), schedule="theorem")
    last = NoisyGradientDescent("last").plan(FREE, 60, 3, Budget(1.0, 1e-3), calibration="printed")
    assert last.task.schedule == "tuned"


@pytest.mark.parametrize("calibration", ["certified", "printed"])
@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPGDC2", "DPEGD", "Kang2021"])
def test_certificates_are_planned_again(name: str, calibration: str) -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0), 0.1)
    plan = find_algorithm(name).plan(
        problem,
        60,
        3,
        Budget(1.0, 1e-5),
        calibration=calibration,
        schedule="theorem",  # type: ignore[arg-type]
    )
    fit = plan.run(records(problem), NoiseSource(0))
    assert verify(fit.certificate)
    again = plan_again(fit.certificate)
    assert again.settings == plan.settings
    assert again.certificate.releases == plan.certificate.releases
    assert again.departures == plan.departures


def test_estimators_take_a_schedule() -> None:
    given = {"data_norm": 1.0, "regularization": 0.1}
    for kind in (PrivateRanker, PrivateMetric):
        model = kind(1.0, algorithm="DPGDSC", schedule="theorem", **given)
        assert model.plan(64, 2).task.schedule == "theorem"
        assert kind(1.0, algorithm="DPGDSC", **given).plan(64, 2).task.schedule == "tuned"
        with pytest.raises(ValueError, match="chooses among tuned plans"):
            kind(1.0, schedule="theorem", **given).plan(64, 2)
        with pytest.raises(ValueError, match="schedule must be"):
            kind(1.0, schedule="guessed", **given).plan(64, 2)
