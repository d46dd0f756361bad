"""The bound on regret: never below what is measured, vacuous where any models satisfy it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses import LogisticRanking, SigmoidRanking
from pairdp.online import ONPAIRC, ONPAIRGRADIENT, ONPAIRSTRC, OnlineDescent, OnlineMoments
from pairdp.problem import Problem
from pairdp.studies.learning import ZERO
from pairdp.studies.protocols import Prepared
from pairdp.studies.regret import exhibit, regret, regret_bound
from pairdp.studies.regret.exhibit import BOUND, EXHIBIT, MEASURE, StreamRegret, cells, remarks
from pairdp.studies.results import Cell, Results
from pairdp.studies.study import Scale

CONVEX = Problem(LogisticRanking(), L2Ball(1.0))
RIDGE = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
FLAT = Problem(LogisticRanking(temperature=8.0), L2Ball(1.0), 0.5)
N = 60
CASES = {
    "OnPairStrC": (ONPAIRSTRC, RIDGE, "tuned"),
    "OnPairStrC, theorem": (ONPAIRSTRC, FLAT, "theorem"),
    "OnPairC": (ONPAIRC, CONVEX, "tuned"),
    "OnPairC, theorem": (ONPAIRC, replace(FLAT, regularization=0.0), "theorem"),
    "OnPairGradient": (ONPAIRGRADIENT, CONVEX, "tuned"),
    "OnPairGradient, regularised": (ONPAIRGRADIENT, RIDGE, "tuned"),
}


def streams() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], N)
    turn = np.where(np.arange(N) < N // 2, 1.0, -1.0)
    return {
        "separable": (np.outer(y, [1.0, 0.0]), y),
        "turning": (np.outer(y * turn, [1.0, 0.0]), y),
        "random": (rng.normal(size=(N, 2)), y),
    }


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [None, 1.0, 100.0])
def test_no_stream_has_more_regret(name: str, epsilon: float | None) -> None:
    algorithm, problem, schedule = CASES[name]
    budget = None if epsilon is None else Budget(epsilon, 1e-5)
    plan = algorithm.plan(problem, N, 2, budget, schedule=schedule)
    bound = regret_bound(plan, problem)
    worst = 0.0
    for x, y in streams().values():
        records = problem.records(x, y)
        runs = [plan.run(records, NoiseSource(seed)).statistics["models"] for seed in range(3)]
        found = [regret(problem, records, models, tolerance=1e-2).total for models in runs]
        worst = max(worst, float(np.mean(found)))
    assert worst <= bound.total
    assert worst > 0.004 * bound.total
    assert bound.is_vacuous == (bound.total >= bound.trivial)
    assert ("VACUOUS" in str(bound)) == bound.is_vacuous


def test_the_parts_of_three_records() -> None:
    plan = ONPAIRSTRC.plan(RIDGE, 3, 2, Budget(1.0, 1e-5))
    bound = regret_bound(plan, RIDGE, failure=0.1)
    lipschitz = RIDGE.loss.lipschitz(RIDGE.domain()) + 0.5
    etas = (2 / 5, 2 / 5)  # min(2/(αt), 2/(L+α)) with L = 4.5, α = 0.5
    descent = 2 * (1 / etas[0] - 0.5) + lipschitz**2 / 2 * sum(etas)
    assert bound.descent == pytest.approx(descent)
    # The model after the second record serves the third; its noise exceeds the diameter.
    assert bound.noise == pytest.approx(2 * lipschitz)
    assert (bound.burn_in, bound.regularizer) == (0.0, 0.0)
    assert bound.trivial == pytest.approx(2 * 2 * lipschitz)
    assert bound.total == bound.descent + bound.noise
    assert bound.failure == 0.1


def test_noise_on_models_exceeds_its_part_rarely() -> None:
    plan = ONPAIRSTRC.plan(RIDGE, N, 2, Budget(1e4, 1e-5))
    bound = regret_bound(plan, RIDGE, failure=0.5)
    lipschitz = RIDGE.loss.lipschitz(RIDGE.domain()) + 0.5
    x, y = streams()["random"]
    records = RIDGE.records(x, y)
    without = ONPAIRSTRC.plan(RIDGE, N, 2).run(records, NoiseSource(0)).statistics["models"]
    moved = [
        np.linalg.norm(
            plan.run(records, NoiseSource(seed)).statistics["models"][1:-1] - without[1:-1], axis=1
        ).sum()
        for seed in range(5)
    ]
    assert 0.1 * bound.noise < lipschitz * max(moved) <= bound.noise


def test_an_added_regulariser_and_a_burn_in_are_paid_for() -> None:
    algorithm, problem, schedule = CASES["OnPairC, theorem"]
    plan = algorithm.plan(problem, N, 2, schedule=schedule)  # type: ignore[arg-type]
    bound = regret_bound(plan, problem)
    alpha = N**-0.25
    lipschitz = problem.loss.lipschitz(problem.domain()) + 2 * alpha
    assert bound.regularizer == pytest.approx((N - 1) * alpha / 2 * 4)
    assert bound.burn_in == pytest.approx((plan.settings.burn_in - 1) * lipschitz * 2)


def test_what_has_no_bound_is_refused() -> None:
    for plan, words in (
        (OnlineDescent(batch_size=2).plan(CONVEX, 9, 2), "one record per step"),
        (OnlineDescent(buffer=2).plan(CONVEX, 9, 2), "one record per step"),
        (OnlineDescent().plan(Problem(SigmoidRanking(), L2Ball(1.0)), 9, 2), "convex loss"),
        (OnlineDescent().plan(Problem(LogisticRanking(), Unconstrained(), 0.1), 9, 2), "bounded"),
    ):
        with pytest.raises(ValueError, match=words):
            regret_bound(plan, plan.problem)
    with pytest.raises(ValueError, match="OnlineDescent only"):
        regret_bound(OnlineMoments().plan(*_squares()), CONVEX)
    with pytest.raises(ValueError, match="was made for"):
        regret_bound(ONPAIRGRADIENT.plan(CONVEX, 9, 2), RIDGE)


def _squares() -> tuple[Problem, int, int]:
    from pairdp.losses import LeastSquaresRanking

    return Problem(LeastSquaresRanking(), L2Ball(1.0)), 9, 2


def test_the_exhibit_has_a_bound_beside_every_measured_series() -> None:
    planned = list(cells(Scale(2)))
    series = {cell.series for cell in planned}
    measured = {name for name in series if not name.endswith(BOUND)} - {ZERO}
    assert series == measured | {name + BOUND for name in measured} | {ZERO}
    assert {"OnPairStrC", "OnPairC", "OnPairGradient"} == measured


def test_a_job_measures_regret_or_bounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = streams()["separable"]
    monkeypatch.setattr(exhibit, "prepared", lambda *args: Prepared(x, y))
    job = StreamRegret("ranking", "data", "paper", 40, "OnPairGradient", 5.0, 1e-2, runs=2)
    found = job.run(None)
    bound = replace(job, bound=True).run(None).values[MEASURE]
    assert found.certificate is not None
    assert len(found.values[MEASURE]) == 2
    assert max(found.values[MEASURE]) <= bound[0] == bound[1]
    assert bound[0] == regret_bound(job.plan(2), job.problem).average
    # Zero models have the loss ln 2 on pairs of two classes; the best fixed one has less.
    idle = replace(job, method=ZERO, epsilon=None).run(None)
    assert idle.certificate is None
    assert min(idle.values[MEASURE]) > 0.1


def test_vacuous_bounds_are_flagged() -> None:
    place = {
        "study": "s", "exhibit": EXHIBIT, "panel": "data, ε = 1", "measure": MEASURE,
        "protocol": "paper", "x_name": "n", "x": 50.0, "runs": 2, "certificate": "",
    }  # fmt: skip

    def cell(series: str, kind: str, value: float) -> Cell:
        return Cell(**place, series=series, kind=kind, mean=value, low=value, high=value)  # type: ignore[arg-type]

    found = Results(
        "t",
        (
            cell("OnPairC", "certified", 0.3),
            cell("OnPairC" + BOUND, "baseline", 9.0),
            cell("OnPairGradient", "certified", 0.2),
            cell("OnPairGradient" + BOUND, "baseline", 6.0),
        ),
        (),
        {},
        {},
    )
    (remark,) = remarks(found, "s")
    assert "OnPairC: measured 0.3, bound 9, vacuous" in remark.text
    assert "OnPairGradient: measured 0.2, bound 6, not vacuous" in remark.text
    assert not list(remarks(replace(found, cells=()), "s"))
