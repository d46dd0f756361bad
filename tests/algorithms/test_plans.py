"""Plans: made from public facts, refused with a remedy, printed to the letter, run once."""

from __future__ import annotations

import math
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest

from pairdp import Budget, CertificateError, NoiseSource, verify
from pairdp.algorithms import (
    PUBLISHED,
    Algorithm,
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    Plan,
    StreamGradientDescent,
    published,
)
from pairdp.algorithms.epoch_descent import part_sizes
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
    PowerHingeRanking,
)
from pairdp.pairs.risk import RankingRisk
from pairdp.privacy import GaussianMechanism, KNormMechanism, NoiseReuseError
from pairdp.problem import Problem
from pairdp.records import Records

BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)
RIDGE = Problem(LogisticRanking(), L2Ball(1.0), 0.1)
CONVEX = Problem(LogisticRanking(), L2Ball(1.0))
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1)
N, D = 60, 3

PLANNED: dict[str, tuple[Algorithm, Problem]] = {
    "last": (GradientDescent(), RIDGE),
    "average": (GradientDescent("average"), CONVEX),
    "metric": (GradientDescent(steps=5), METRIC),
    "epochs": (EpochGradientDescent(), CONVEX),
    "noisy average": (NoisyGradientDescent(steps=20), CONVEX),
    "noisy last": (NoisyGradientDescent("last"), RIDGE),
    "mini-batches": (NoisyGradientDescent(steps=20, batch_size=10), CONVEX),
    "minimiser": (MinimizerRelease(), RIDGE),
    "stream": (StreamGradientDescent(), RIDGE),
    "stream, convex": (StreamGradientDescent(), CONVEX),
    "class moments": (MomentRelease(), SQUARES),
    "pair moments": (MomentRelease("pair"), SQUARES),
    "first moments": (MomentRelease(second_moments=False), SQUARES),
}
GRADIENT_NOISE = ("noisy average", "noisy last", "mini-batches")


def plan(name: str, budget: Budget | None = BUDGET) -> Plan:
    algorithm, problem = PLANNED[name]
    return algorithm.plan(problem, N, D, budget)


def records(problem: Problem, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    return problem.records(rng.normal(size=(N, D)), rng.choice([-1, 1], N))


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
    with pytest.raises(TypeError):
        made.settings["steps"] = 1
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
    (StreamGradientDescent(), Problem(HingeRanking(), L2Ball(1.0)), N, "pairwise SGD"),
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
    with pytest.raises(ValueError, match="use certified"):
        algorithm.plan(problem, N, D, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="use certified"):
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
        (lambda: NoisyGradientDescent(printed_rule="wang"), '"xue" or "kang"'),
        (lambda: NoisyGradientDescent(batch_size=1), "batch_size must be at least 2"),
        (lambda: NoisyGradientDescent(printed_lipschitz=0.0), "printed_lipschitz"),
        (lambda: MinimizerRelease(0.0), "tolerance must be positive"),
        (lambda: StreamGradientDescent(-1.0), "strong_convexity must be positive"),
        (lambda: MomentRelease("record"), '"class" or "pair"'),
        (lambda: MomentRelease(share=1.0), "share must be above 0 and below 1"),
        (lambda: MomentRelease(ridge=-1.0), "ridge"),
        (lambda: published("DPSGD"), "known: DPGDSC, DPGDC"),
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
        assert {name: made.settings[name] for name in given} == given
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
        assert (steps.settings["steps"], size.settings["step_size"]) == (13, 0.07)
        assert steps.settings["step_size"] > 0
        assert size.settings["steps"] >= 1


def test_the_convex_stream_is_regularised_as_it_says() -> None:
    made = plan("stream, convex")
    alpha = CONVEX.constants(N).lipschitz / (1.0 * math.sqrt(N))
    assert made.problem.regularization == made.settings["strong_convexity"] == pytest.approx(alpha)
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
    # privacy-constants 7: noise over G for n = 5000, T = 1000, ε = 1, δ = 1/n², per batch size.
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


# Printed noise, to the letter


def printed(algorithm: Algorithm, problem: Problem, n: int, budget: Budget) -> Plan:
    return algorithm.plan(problem, n, D, budget, calibration="printed")


def scales(made: Plan) -> list[float]:
    return [release.mechanism.scale for release in made.certificate.releases]


@pytest.mark.parametrize("n", [64, 1000])
@pytest.mark.parametrize(("eps", "delta"), [(0.5, 1e-6), (2.0, 1e-3)])
def test_printed_scales_are_the_papers(n: int, eps: float, delta: float) -> None:
    budget, pure = Budget(eps, delta), Budget(eps)
    alpha, eta, steps = 0.1, 0.3, 12
    lip = 4 / (1 + math.exp(-4))  # 4R·s(4RB)
    of_ridge = lip + alpha  # the regulariser is part of the papers' loss: G + α·B
    log = math.log

    dpgdsc = GradientDescent(steps=steps, step_size=eta)
    sigma = 8 * math.sqrt(2 * log(1.25 / delta)) * of_ridge / (alpha * n * eps)
    assert scales(printed(dpgdsc, RIDGE, n, budget)) == pytest.approx([sigma])
    laplace = 8 * of_ridge * math.sqrt(D) / (alpha * n * eps)
    assert scales(printed(dpgdsc, RIDGE, n, pure)) == pytest.approx([laplace])

    dpgdc = GradientDescent("average", steps, eta)
    sigma = 4 * math.sqrt(2 * log(1.25 / delta)) * lip * steps * eta / (n * eps)
    assert scales(printed(dpgdc, CONVEX, n, budget)) == pytest.approx([sigma])
    laplace = 4 * lip * eta * steps * math.sqrt(D) / (n * eps)
    assert scales(printed(dpgdc, CONVEX, n, pure)) == pytest.approx([laplace])

    dpgdc2 = NoisyGradientDescent(steps=steps, step_size=eta)
    sigma = 4 * lip * math.sqrt(1.25 * steps * log(1 / delta)) / (n * eps)
    assert scales(printed(dpgdc2, CONVEX, n, budget)) == pytest.approx([sigma])

    dpegd = EpochGradientDescent(step_size=eta)
    made = printed(dpegd, CONVEX, n, budget)
    etas = [eta / 4**i for i in range(1, int(math.log2(n)) + 1)]
    sigmas = [4 * math.sqrt(2 * log(1.25 / delta)) * lip * eta_i / eps for eta_i in etas]
    assert scales(made) == pytest.approx(sigmas)
    laplaces = [4 * lip * eta_i * math.sqrt(D) / eps for eta_i in etas]
    assert scales(printed(dpegd, CONVEX, n, pure)) == pytest.approx(laplaces)

    variance = 128 * of_ridge**2 * log(n) ** 2 * log(1.25 / delta) / (alpha * n * eps) ** 2
    made = printed(StreamGradientDescent(), RIDGE, n, budget)
    assert scales(made) == pytest.approx([math.sqrt(variance)])
    made = printed(StreamGradientDescent(alpha), CONVEX, n, budget)
    assert scales(made) == pytest.approx([math.sqrt(variance)])

    kang = NoisyGradientDescent("last", steps, eta, printed_rule="kang", printed_lipschitz=2.0)
    sigma = 8 * 2.0 * math.sqrt(steps * log(1 / delta)) / (n * eps)
    assert scales(printed(kang, CONVEX, n, budget)) == pytest.approx([sigma])


@dataclass(frozen=True)
class Linear(PairwiseLoss):
    """G·yy'·w₁, the loss for which the papers' 4G/n is tight."""

    steepness: float = 1.5

    def value(self, parameters, x, y, other_x, other_y):
        return self.steepness * y * other_y * parameters[0]

    def gradient(self, parameters, x, y, other_x, other_y):
        return np.outer(self.steepness * y * other_y, np.eye(len(parameters))[0])

    def lipschitz(self, domain):
        return self.steepness

    def smoothness(self, domain):
        return 1.0  # it is 0; any bound is a valid one


@pytest.mark.parametrize("steps", [1, 10])
def test_dpgdc2_fails_where_its_noise_is_attained(steps: int) -> None:
    # privacy-constants 3.3: its μ is ε/√(1.25·ln(1/δ)), whatever n, T and G are.
    algorithm = NoisyGradientDescent(steps=steps, step_size=0.1)
    for n in (10, 1000):
        problem = Problem(Linear(), L2Ball(1.0))
        good, bad = (printed(algorithm, problem, n, Budget(e, 1e-5)) for e in (1.0, 2.0))
        assert good.claim_is_proved
        assert good.true_epsilon <= 1
        assert verify(good.certificate)
        assert not bad.claim_is_proved
        assert bad.true_epsilon == pytest.approx(2.115, abs=5e-4)
        assert bad.certificate.delta() == pytest.approx(2.43e-5, rel=5e-3)
        assert "NOT PROVED: this noise is certified for ε = 2.115" in str(bad)
        assert "FALSE CLAIM" in bad.certificate.statement()
        with pytest.raises(CertificateError, match="claimed δ at ε = 2"):
            verify(bad.certificate)


def test_dpgdc2_holds_for_ranking() -> None:
    # There D_h is 2G, not 4G, so the printed noise is about twice what it must be.
    for eps, delta in ((2.0, 1e-5), (8.0, 1e-8)):
        made = printed(NoisyGradientDescent(steps=9, step_size=0.1), CONVEX, N, Budget(eps, delta))
        assert made.claim_is_proved


def test_kang_fails_for_metrics_by_its_own_constant() -> None:
    # privacy-constants 4: it states G = 1 where the truth is about 4. By luck, its G = 2 for
    # ranking, where the truth is 4 too, is enough: D_h is 2G there.
    budget = Budget(1.0, 1e-5)
    for projected in (True, False):
        algorithm = NoisyGradientDescent(
            "average",
            20,
            0.1,
            projected=projected,
            printed_rule="kang",
            printed_lipschitz=1.0,
        )
        metric = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
        made = printed(algorithm, metric, N, budget)
        assert not made.claim_is_proved
        assert made.true_epsilon > 1.11  # what a flipped label alone shows at every point
        ranking = NoisyGradientDescent(
            "average", 20, 0.1, projected=projected, printed_rule="kang", printed_lipschitz=2.0
        )
        assert printed(ranking, CONVEX, N, budget).claim_is_proved


@pytest.mark.parametrize("loss", [LogisticRanking(), Linear()], ids=str)
@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPEGD", "OffPairStrC", "OffPairC"])
def test_these_printed_claims_hold(name: str, loss: PairwiseLoss) -> None:
    problem = Problem(loss, L2Ball(1.0), 0.1 if name in ("DPGDSC", "OffPairStrC") else 0.0)
    for budget in (Budget(0.1, 1e-8), Budget(1.0, 1e-5), Budget(5.0, 1e-3), PURE):
        made = printed(published(name), problem, 1000, budget)
        assert made.claim_is_proved
        assert made.true_epsilon <= budget.epsilon * (1 + 1e-9)
        assert verify(made.certificate)


def test_the_left_out_burn_in_is_told() -> None:
    made = printed(published("OffPairStrC"), RIDGE, N, BUDGET)
    assert any("burn-in, left out" in reason for reason in made.reasons)


def test_printed_noise_is_never_the_default() -> None:
    for name, algorithm in PUBLISHED.items():
        made = algorithm.plan(RIDGE, N, D, BUDGET)
        assert made.certificate.calibration == "certified"
        assert made.claim_is_proved
        assert name.partition("2021")[0] in made.certificate.algorithm


# Certificates


@pytest.mark.parametrize("budget", [BUDGET, PURE, Budget(6.0, 1e-9)], ids=str)
@pytest.mark.parametrize("name", PLANNED)
def test_certificates_verify_before_and_after_a_run(name: str, budget: Budget) -> None:
    if budget.is_pure and name in GRADIENT_NOISE:
        pytest.skip("gradient noise is refused")
    made = plan(name, budget)
    assert made.claim_is_proved
    # Nearly the whole budget is used, too. The ε of sampled steps is read off a grid, upwards.
    slack = 1e-5 if name == "mini-batches" else 1e-9
    assert 0.99 * budget.epsilon <= made.true_epsilon <= budget.epsilon * (1 + slack)
    assert verify(made.certificate)
    fit = made.run(records(made.problem), NoiseSource(5))
    assert verify(fit.certificate.to_json())
    assert fit.certificate.budget == budget
    assert fit.certificate.noise_source == NoiseSource(5).description


@pytest.mark.parametrize("name", [name for name in PLANNED if name not in GRADIENT_NOISE])
def test_pure_plans_have_k_norm_noise_that_adds_up(name: str) -> None:
    releases = plan(name, PURE).certificate.releases
    assert all(isinstance(release.mechanism, KNormMechanism) for release in releases)
    spent = [r.mechanism.sensitivity / r.mechanism.scale for r in releases]
    # Parts are disjoint, so each may cost the whole ε; all else adds up.
    total = max(spent) if releases[0].part is not None else math.fsum(spent)
    assert total == pytest.approx(1.0)


@pytest.mark.parametrize("name", PLANNED)
def test_baselines_say_that_they_are_not_private(name: str) -> None:
    made = plan(name, None)
    assert made.certificate.calibration == "none"
    assert made.certificate.budget is None
    assert made.true_epsilon == math.inf
    assert not made.claim_is_proved
    assert verify(made.certificate)
    fit = made.run(records(made.problem), NoiseSource(0))
    assert "NOT PRIVATE" in fit.certificate.statement()
    assert "no privacy" in str(made)
    assert all("without noise" in release.describe() for release in fit.certificate.releases)


@pytest.mark.parametrize("name", PLANNED)
def test_a_baseline_has_no_randomness_but_its_batches(name: str) -> None:
    made = plan(name, None)
    runs = [made.run(records(made.problem), NoiseSource(s)).parameters for s in (0, 1)]
    assert np.array_equal(*runs) == (name != "mini-batches")


# Runs


@pytest.mark.parametrize("name", PLANNED)
def test_runs_are_of_the_seed_and_use_a_source_once(name: str) -> None:
    made = plan(name)
    data, source = records(made.problem), NoiseSource(1)
    first = made.run(data, source).parameters
    with pytest.raises(NoiseReuseError):
        made.run(data, source)
    np.testing.assert_array_equal(first, made.run(data, NoiseSource(1)).parameters)
    assert not np.array_equal(first, made.run(data, NoiseSource(2)).parameters)
    assert not np.array_equal(made.run(data).parameters, made.run(data).parameters)


@pytest.mark.parametrize("name", PLANNED)
def test_results_lie_in_the_constraint_set(name: str) -> None:
    made = plan(name)
    found = made.run(records(made.problem), NoiseSource(3)).parameters
    assert np.linalg.norm(found) <= made.problem.constraint.radius * (1 + 1e-12)
    nearest = made.problem.constraint.project(found)
    np.testing.assert_allclose(nearest, found, rtol=0, atol=1e-12)


def test_records_must_be_those_that_were_planned_for() -> None:
    made, rng = plan("last"), np.random.default_rng(0)
    x, y = rng.normal(size=(N, D)), rng.choice([-1, 1], N)
    with pytest.raises(ValueError, match="plan is for 60 records of 3 features, got 59 of 3"):
        made.run(RIDGE.records(x[1:], y[1:]))
    with pytest.raises(ValueError, match="got 60 of 2: plan again"):
        made.run(RIDGE.records(x[:, 1:], y))
    with pytest.raises(ValueError, match=re.escape("problem.records(x, y), which clips them")):
        made.run(Records(x, y, data_norm=1.5))


@pytest.mark.parametrize("name", PLANNED)
def test_a_fit_holds_no_data(name: str) -> None:
    made = plan(name)
    data = records(made.problem)
    stored = pickle.dumps(made.run(data, NoiseSource(0)))
    assert not any(number.tobytes() in stored for number in data.x.ravel())
    assert pickle.loads(stored).certificate.budget == BUDGET


@pytest.mark.parametrize(
    "name", ["last", "average", "epochs", "noisy average", "noisy last", "mini-batches"]
)
def test_an_interrupted_run_returns_nothing_and_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plan(name)
    data, left = records(made.problem), [2]
    x, y = data.x.copy(), data.y.copy()
    gradient = RankingRisk.gradient

    def interrupted(risk: RankingRisk, parameters: np.ndarray) -> np.ndarray:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return gradient(risk, parameters)

    before = made.run(data, NoiseSource(0)).parameters
    with monkeypatch.context() as patched:
        patched.setattr(RankingRisk, "gradient", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.run(data, NoiseSource(0), progress=True)
    np.testing.assert_array_equal(data.x, x)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(made.run(data, NoiseSource(0)).parameters, before)


def test_an_interrupted_output_algorithm_has_drawn_no_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    monkeypatch.setattr(GaussianMechanism, "release", lambda *_: drawn.append(1))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RankingRisk, "gradient", stop)
    monkeypatch.setattr(RankingRisk, "value_and_gradient", stop)
    monkeypatch.setattr(LogisticRanking, "slope", stop)
    for name in ("last", "average", "epochs", "minimiser", "stream"):
        with pytest.raises(KeyboardInterrupt):
            plan(name).run(records(RIDGE), NoiseSource(0))
    assert not drawn


@pytest.mark.parametrize("name", ["last", "average", "epochs", "noisy last", "minimiser", "stream"])
def test_progress_is_shown_when_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = plan(name)
    shown = {}
    for progress in (True, False, None):  # None: not on a terminal here
        fit = made.run(records(made.problem), NoiseSource(0), progress=progress)
        captured = capsys.readouterr()
        assert captured.out == ""
        shown[progress] = captured.err
        np.testing.assert_array_equal(
            fit.parameters, made.run(records(made.problem), NoiseSource(0)).parameters
        )
    assert "%" in shown[True]
    assert shown[False] == shown[None] == ""


# The published names


def test_published_names() -> None:
    assert list(PUBLISHED) == [
        "DPGDSC",
        "DPGDC",
        "DPGDC2",
        "DPEGD",
        "OffPairStrC",
        "OffPairC",
        "Kang2021",
    ]
    for name in PUBLISHED:
        assert published(name) is PUBLISHED[name]
        made = published(name).plan(RIDGE, N, D, BUDGET)
        fit = made.run(records(made.problem), NoiseSource(0))
        assert fit.parameters.shape == (D,)


def test_metrics_have_their_own_dimension() -> None:
    for name in ("DPGDSC", "DPEGD", "DPGDC2", "OffPairC", "Kang2021"):
        made = published(name).plan(METRIC, N, D, BUDGET)
        assert {release.dimension for release in made.certificate.releases} == {D * (D + 1) // 2}
        fit = made.run(records(made.problem), NoiseSource(0))
        np.testing.assert_array_equal(fit.parameters, fit.parameters.T)
        assert np.linalg.eigvalsh(fit.parameters).min() >= -1e-12


def test_the_last_iterate_is_released_as_such_when_that_takes_less_noise() -> None:
    last, average = (
        NoisyGradientDescent(output, 200, 0.4).plan(RIDGE, 1000, D, BUDGET)
        for output in ("last", "average")
    )
    assert last.certificate.releases[0].count == 1
    assert average.certificate.releases[0].count == 200
    assert scales(last)[0] < scales(average)[0] / 1.5
    assert any("last iterate" in reason for reason in last.reasons)


# Known faults: each of these should pass, and its mark then goes


@pytest.mark.xfail(reason="its steps are asked for although they are given")
def test_steps_that_are_given_need_no_bounded_set() -> None:
    free = Problem(LogisticRanking(), Unconstrained())
    made = GradientDescent("average", 10, 0.1).plan(free, N, D, BUDGET)
    assert verify(made.certificate)


@pytest.mark.xfail(reason="says only that its scale is not finite", raises=AssertionError)
@pytest.mark.parametrize(
    "algorithm", [GradientDescent(), NoisyGradientDescent("last", 5, 0.1, projected=False)]
)
def test_printed_noise_on_unbounded_sets_is_refused_with_a_remedy(algorithm: Algorithm) -> None:
    free = Problem(LogisticRanking(), Unconstrained(), 0.1)
    with pytest.raises(ValueError, match=r"L2Ball|printed_lipschitz"):
        printed(algorithm, free, N, BUDGET)


@pytest.mark.xfail(reason="beyond 2000 steps the second route skips the best τ")
@pytest.mark.parametrize("regularization", [0.0, 1e-4])
def test_many_noisy_steps_verify(regularization: float) -> None:
    problem = Problem(LogisticRanking(), L2Ball(1.0), regularization)
    made = NoisyGradientDescent("last", 5000, 0.4).plan(problem, 1000, D, BUDGET)
    assert verify(made.certificate)


@pytest.mark.xfail(reason="an infinite diameter times c^τ = 0 warns", raises=RuntimeWarning)
def test_many_steps_on_an_unbounded_set() -> None:
    free = Problem(LogisticRanking(), Unconstrained(), 1.0)
    NoisyGradientDescent("last", 5000, 0.3).plan(free, N, D, BUDGET)


@pytest.mark.xfail(reason="a plan holds a mappingproxy", raises=TypeError)
def test_plans_pickle() -> None:
    made = plan("last")
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.xfail(reason="subtracts two shares near 1", raises=CertificateError)
def test_moments_of_very_many_records_verify() -> None:
    assert verify(MomentRelease().plan(SQUARES, 10**8, D, Budget(1.0, 1e-10)).certificate)
