"""Plans: made from public facts, refused with a remedy, chosen with a reason."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import (
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    StreamGradientDescent,
    find_algorithm,
)
from pairdp.algorithms.epoch_descent import part_sizes
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticRanking,
    PowerHingeRanking,
)
from pairdp.problem import Problem
from tests.algorithms.cases import (
    BUDGET,
    CONVEX,
    GRADIENT_NOISE,
    PLANNED,
    PURE,
    RIDGE,
    SQUARES,
    D,
    N,
    plan,
    records,
)

# Public facts only


@pytest.mark.parametrize("name", PLANNED)
def test_the_same_public_facts_give_the_same_plan(name: str) -> None:
    first, second = plan(name), plan(name)
    assert first == second
    assert first.certificate.to_json() == second.certificate.to_json()
    assert first != plan(name, Budget(0.5, 1e-5))


@pytest.mark.parametrize("name", PLANNED)
def test_nothing_but_the_parameters_depends_on_the_data(name: str) -> None:
    before = plan(name)
    one, other = (before.run(records(before.problem, s), NoiseSource(0)) for s in (0, 1))
    assert one.certificate == other.certificate
    assert before == plan(name)
    assert not np.array_equal(one.parameters, other.parameters)


def test_plans_and_fits_are_read_only() -> None:
    made = plan("last")
    with pytest.raises(FrozenInstanceError):
        made.settings.steps = 1  # type: ignore[misc]
    fit = made.run(records(RIDGE), NoiseSource(0))
    with pytest.raises(ValueError, match="read-only"):
        fit.parameters[0] = 0.0


# Refusals say what to change

UNBOUNDED_SQUARES = Problem(LeastSquaresRanking(), Unconstrained(), 0.1)
REFUSALS = [
    (GradientDescent(), Problem(HingeRanking(), L2Ball(1.0), 0.1), N, r"HingeRanking\(width=h\)"),
    (
        EpochGradientDescent(),
        Problem(HingeMetric(), PSDFrobeniusBall(1.0)),
        N,
        r"HingeMetric\(width=h\)",
    ),
    (
        MinimizerRelease(),
        Problem(PowerHingeRanking(), L2Ball(1.0), 0.1),
        N,
        "such as LogisticRanking",
    ),
    (StreamGradientDescent(), Problem(HingeRanking(), L2Ball(1.0)), N, "PairwiseSGD"),
    (NoisyGradientDescent(), Problem(HingeRanking(), L2Ball(1.0)), N, "give step_size"),
    (GradientDescent(), CONVEX, N, "regularization > 0"),
    (MinimizerRelease(), CONVEX, N, "regularization > 0"),
    (GradientDescent(), UNBOUNDED_SQUARES, N, r"use L2Ball\(radius\)"),
    (EpochGradientDescent(), UNBOUNDED_SQUARES, N, r"use L2Ball\(radius\)"),
    (NoisyGradientDescent(), UNBOUNDED_SQUARES, N, r"use L2Ball\(radius\)"),
    (
        GradientDescent("average"),
        Problem(LogisticRanking(), Unconstrained()),
        N,
        "give steps and step_size",
    ),
    (
        EpochGradientDescent(),
        Problem(LogisticRanking(), Unconstrained()),
        N,
        "or give step_size",
    ),
    (NoisyGradientDescent(projected=False), SQUARES, N, "set projected=True"),
    (GradientDescent(step_size=5.0), RIDGE, N, r"step sizes up to 2/\(L\+α\) = "),
    (EpochGradientDescent(step_size=50.0), CONVEX, N, "step sizes up to 8/L = "),
    (NoisyGradientDescent(batch_size=61), CONVEX, N, "batch_size must be at most n = 60"),
    (NoisyGradientDescent(batch_size=1), CONVEX, N, "batch_size must be at least 2 for a pairwise"),
    (NoisyGradientDescent(batch_size=5, pairing="disjoint"), CONVEX, N, "set batch_size=4"),
    (NoisyGradientDescent(pairing="disjoint"), CONVEX, 61, "set batch_size=60"),
    (EpochGradientDescent(), CONVEX, 3, "at least 4 records"),
    (GradientDescent(), RIDGE, 1, "n must be at least 2"),
    (StreamGradientDescent(0.5), RIDGE, N, "leave strong_convexity out"),
    (MomentRelease(), RIDGE, N, r"use LeastSquaresRanking\(\)"),
]


@pytest.mark.parametrize(("algorithm", "problem", "n", "words"), REFUSALS)
def test_refusals(algorithm: Algorithm, problem: Problem, n: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        algorithm.plan(problem, n, D, BUDGET)


def test_a_sharp_hinge_is_told_how_wide_to_round() -> None:
    # h ≥ η·(2kR)²/2 keeps a step non-expansive: 8η at k = 2, R = 1.
    with pytest.raises(ValueError, match="h ≥ η·8; or use"):
        GradientDescent("average").plan(Problem(HingeRanking(), L2Ball(1.0)), N, D)


@pytest.mark.parametrize("name", GRADIENT_NOISE)
def test_gradient_noise_cannot_be_pure(name: str) -> None:
    with pytest.raises(ValueError, match=r"set delta > 0, or use .* GradientDescent"):
        plan(name, PURE)


def test_gradient_noise_needs_no_smoothness() -> None:
    sharp = Problem(HingeRanking(), L2Ball(1.0))
    made = NoisyGradientDescent("last", 10, 0.1).plan(sharp, N, D, BUDGET)
    assert made.certificate.releases[0].count == 10
    assert verify(made.certificate)


@pytest.mark.parametrize("algorithm", [MinimizerRelease(), MomentRelease()])
def test_what_no_paper_has_is_not_printed(algorithm: Algorithm) -> None:
    problem = SQUARES if isinstance(algorithm, MomentRelease) else RIDGE
    with pytest.raises(ValueError, match="no paper prints the noise"):
        algorithm.plan(problem, N, D, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="print no formula for mini-batches"):
        NoisyGradientDescent(steps=5, step_size=0.1, batch_size=5).plan(
            CONVEX, N, D, BUDGET, calibration="printed"
        )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: GradientDescent("first"), '"last" or "average"'),
        (lambda: GradientDescent(steps=0), "steps must be at least 1"),
        (lambda: GradientDescent(step_size=-1.0), "step_size must be positive"),
        (lambda: EpochGradientDescent(step_size=0.0), "step_size must be positive"),
        (lambda: NoisyGradientDescent("best"), '"last" or "average"'),
        (lambda: NoisyGradientDescent(batch_size=0), "batch_size must be at least 1"),
        (lambda: NoisyGradientDescent(pairing="some"), 'pairing must be "all" or "disjoint"'),
        (lambda: NoisyGradientDescent(regime="quiet"), 'regime must be "general" or "low-noise"'),
        (lambda: NoisyGradientDescent(printed_rule="me"), 'must be "xue" or "kang" or "wang"'),
        (lambda: NoisyGradientDescent(printed_lipschitz=0.0), "printed_lipschitz"),
        (lambda: MinimizerRelease(0.0), "tolerance must be positive"),
        (lambda: StreamGradientDescent(-1.0), "strong_convexity must be positive"),
        (lambda: MomentRelease("record"), '"class" or "pair"'),
        (lambda: MomentRelease(share=1.0), "share must be above 0 and below 1"),
        (lambda: MomentRelease(ridge=-1.0), "ridge"),
        (lambda: find_algorithm("DPSGD"), "known: .*DPGDC, .*DPGDSC"),
        (lambda: GradientDescent().plan(RIDGE, N, D, BUDGET, calibration="loose"), "certified"),
    ],
)
def test_bad_hyper_parameters(make: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


def test_a_budget_is_a_budget() -> None:
    with pytest.raises(TypeError, match="budget must be a Budget"):
        GradientDescent().plan(RIDGE, N, D, 1.0)


# Hyper-parameters


@pytest.mark.parametrize(
    ("algorithm", "problem", "given"),
    [
        (GradientDescent(steps=7, step_size=0.2), RIDGE, {"steps": 7, "step_size": 0.2}),
        (GradientDescent("average", 7, 0.2), CONVEX, {"steps": 7, "step_size": 0.2}),
        (EpochGradientDescent(step_size=0.3), CONVEX, {"step_size": 0.3}),
        (
            NoisyGradientDescent("last", 9, 0.4, batch_size=6),
            CONVEX,
            {"steps": 9, "step_size": 0.4, "batch_size": 6, "output": "last"},
        ),
        (StreamGradientDescent(0.25), CONVEX, {"strong_convexity": 0.25, "steps": N - 1}),
        (MomentRelease(share=0.4, ridge=0.7), SQUARES, {"share": 0.4, "ridge": 0.7}),
    ],
)
def test_what_is_given_is_used_and_needs_no_reason(
    algorithm: Algorithm, problem: Problem, given: dict[str, object]
) -> None:
    for budget in (BUDGET, None):
        made = algorithm.plan(problem, N, D, budget)
        assert {name: made.settings.to_dict()[name] for name in given} == given
        assert not any("minimise" in r or "balance" in r for r in made.reasons)


@pytest.mark.parametrize("name", ["last", "average", "epochs", "noisy last", "stream, convex"])
def test_what_is_chosen_says_why(name: str) -> None:
    made = plan(name)
    assert made.reasons
    text = str(made)
    for words in (*made.reasons, made.algorithm.name, "ε = 1", "n = 60"):
        assert words in text


def test_one_of_steps_and_step_size_may_be_given() -> None:
    for algorithm in (GradientDescent("average"), NoisyGradientDescent(), GradientDescent()):
        problem = RIDGE if algorithm == GradientDescent() else CONVEX
        kind = type(algorithm)
        steps = kind(algorithm.output, steps=13).plan(problem, N, D, BUDGET)
        size = kind(algorithm.output, step_size=0.07).plan(problem, N, D, BUDGET)
        assert (steps.settings.steps, size.settings.step_size) == (13, 0.07)
        assert steps.settings.step_size > 0
        assert size.settings.steps >= 1


def test_the_convex_stream_is_regularised_as_it_says() -> None:
    made = plan("stream, convex")
    alpha = CONVEX.constants(N).lipschitz / (1.0 * math.sqrt(N))
    assert made.problem.regularization == made.settings.strong_convexity == pytest.approx(alpha)
    assert made.certificate.problem["regularization"] == pytest.approx(alpha)


def test_more_budget_never_asks_for_more_noise() -> None:
    for algorithm, problem in (
        (GradientDescent(steps=20), RIDGE),
        (MinimizerRelease(), RIDGE),
        (StreamGradientDescent(), RIDGE),
        (NoisyGradientDescent("last", 20, 0.2), RIDGE),
        (EpochGradientDescent(0.3), CONVEX),
    ):
        scales = [
            algorithm.plan(problem, N, D, Budget(e, 1e-5)).certificate.releases[0].mechanism.scale
            for e in (0.1, 0.5, 1.0, 2.0, 8.0)
        ]
        assert scales == sorted(scales, reverse=True)


def test_batches_beat_single_pairs_tenfold() -> None:
    # errata, W1: noise over G for n = 5000, T = 1000, ε = 1, δ = 1/n², per batch size.
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    lipschitz = problem.constants(5000).lipschitz
    audited = {2: 0.677, 10: 0.174, 50: 0.078, 200: 0.065, 5000: 0.061}
    for size, expected in audited.items():
        algorithm = NoisyGradientDescent(steps=1000, step_size=0.1, batch_size=size)
        made = algorithm.plan(problem, 5000, D, Budget(1.0, 1 / 5000**2))
        scale = made.certificate.releases[0].mechanism.scale
        assert scale / lipschitz == pytest.approx(expected, rel=0.02)


def test_parts_are_disjoint_and_hold_all_records() -> None:
    # That a record touches no other part than its own is tested in test_sensitivity.
    for n in range(4, 601):
        sizes = part_sizes(n)
        assert sum(sizes) == n
        assert min(sizes) >= 2
        assert len(sizes) == int(math.log2(n))
        assert [n // 2**i for i in range(1, len(sizes))] == list(sizes[:-1])


def test_the_certificate_names_the_parts() -> None:
    for n in (4, 5, 63, 64, 100):
        parts = [
            r.part for r in EpochGradientDescent().plan(CONVEX, n, D, BUDGET).certificate.releases
        ]
        assert [part.size for part in parts] == list(part_sizes(n))
        assert len({part.name for part in parts}) == len(parts)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_of_less_precision_are_kept_as_plain_ones(kind: type) -> None:
    # Otherwise the certificate would be computed in half precision, and the run would not be.
    size = kind(0.1)
    for algorithm in (
        GradientDescent(step_size=size, steps=np.int8(7)),  # type: ignore[arg-type]
        EpochGradientDescent(step_size=size),
        NoisyGradientDescent("last", np.int16(5), size),  # type: ignore[arg-type]
    ):
        assert type(algorithm.step_size) is float
        assert algorithm.step_size == float(size)
        made = algorithm.plan(RIDGE, 100, 3, BUDGET)
        assert all(
            type(value) in (int, float, str, bool) for value in made.settings.to_dict().values()
        )


def test_a_far_centre_pays_for_the_rounding_near_it() -> None:
    def moved(far: float) -> float:
        problem = Problem(LogisticRanking(), L2Ball(2 * far), 1.0, center=np.array([far]))
        made = MinimizerRelease().plan(problem, 1000, 1, BUDGET)
        (release,) = made.certificate.releases
        assert release.sensitivity is not None
        return release.sensitivity.value

    assert moved(1e15) > 10 * np.spacing(1e15)
    assert moved(1.0) == pytest.approx(moved(1e6), rel=1e-3)


def test_a_centre_of_another_size_is_refused() -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0), 0.1, center=[0.5, 0.5])
    for algorithm in (GradientDescent(), MinimizerRelease(), NoisyGradientDescent()):
        with pytest.raises(ValueError, match="center has 2 features, but the data has 3"):
            algorithm.plan(problem, 50, 3, BUDGET)


def test_without_noise_the_last_iterate_is_near_the_minimiser() -> None:
    # The papers' λ, where the noise of a private run would be larger than the set.
    problem = Problem(LogisticRanking(), L2Ball(1.0), 1e-3)
    assert find_algorithm("DPGDSC").plan(problem, 256, 8).settings.steps > 10_000
    private = find_algorithm("DPGDSC").plan(problem, 256, 8, BUDGET)
    assert private.settings.steps < 20


@pytest.mark.parametrize("epsilon", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-5])
def test_extreme_budgets_are_planned_or_refused_in_words(epsilon: float, delta: float) -> None:
    for name in ("DPGDC", "DPGDSC", "DPEGD", "DPGDC2", "Kang2021"):
        try:
            made = find_algorithm(name).plan(RIDGE, 100, 3, Budget(epsilon, delta))
        except ValueError:
            continue
        assert made.claim_is_proved


def test_steps_that_diverge_are_refused() -> None:
    free = NoisyGradientDescent("last", 10, 50.0, projected=False)
    with pytest.raises(ValueError, match="diverges"):
        free.plan(RIDGE, 100, 3, BUDGET)
