"""Losses that are not convex, given to algorithms whose proof needs convexity.

Bounds on output noise say that a gradient step brings two runs no further apart, that a minimiser
moves little, or that the last iterate forgets. All of this is false for a loss that is not convex:
with the concave loss below, two neighbouring runs of gradient descent end 7 (average) to 13 (last
iterate) times further apart than the bound for convex losses allows. What must hold:

- nobody's loss is taken to be convex because it says nothing, nor because a parent class does;
- a loss that declares ``convex = False`` is refused by every algorithm with such a bound, by the
  plan itself if an algorithm forgot to ask, and by `verify`;
- noise in every gradient, composed, takes it, and its sensitivity survives a search;
- a loss that declares ``convex = True`` and is not is caught by `check_pairwise_loss`, by name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_ndtr

from pairdp import Budget, CertificateError, NoiseSource, PrivateRanker, verify
from pairdp.algorithms import (
    EpochGradientDescent,
    GradientDescent,
    MinimizerRelease,
    NoisyGradientDescent,
    PairwiseSGD,
    PhasedSGD,
    StreamGradientDescent,
    find_algorithm,
)
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.choice import choose_linear, choose_ranker
from pairdp.algorithms.noise import output_release
from pairdp.algorithms.registry import algorithms
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings
from pairdp.constraints import L2Ball
from pairdp.losses import (
    Domain,
    LogisticPointwise,
    LogisticRanking,
    PairwiseLoss,
    RankingLoss,
    SigmoidRanking,
)
from pairdp.online import OnlineDescent
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Sensitivity
from pairdp.problem import Problem
from pairdp.score_sums import AllPairs
from pairdp.testing import check_pairwise_loss, check_pointwise_loss
from tests.algorithms.attacks import Neighbours, attack, moved

BUDGET = Budget(1.0, 1e-6)
N = 401
DOMAINS = [Domain(1.0, 1.0)]
NEEDY = [
    GradientDescent("average"),
    GradientDescent("last"),
    EpochGradientDescent(),
    MinimizerRelease(),
    PairwiseSGD(),
    PairwiseSGD(order="replacement"),
    PhasedSGD(),
    StreamGradientDescent(),
    OnlineDescent(noise="models"),
    *(
        find_algorithm(name)
        for name in algorithms("pairs", published=True)
        if not isinstance(algorithms("pairs", published=True)[name], NoisyGradientDescent)
    ),
]
FREE = [
    NoisyGradientDescent(),
    NoisyGradientDescent("last"),
    NoisyGradientDescent(batch_size=20),
    NoisyGradientDescent("last", steps=5, step_size=0.1, projected=False),
    OnlineDescent(),
    find_algorithm("Kang2021"),
    find_algorithm("DPGDC2"),
    find_algorithm("Wang2024Pairwise"),
]


class Formulas:
    """φ(u) = -ln(1 + e^u): concave, falling, with |φ'| ≤ 1 and |φ''| ≤ 1/4."""

    def phi(self, u):
        return -np.logaddexp(0.0, u)

    def slope(self, u):
        return -expit(u)

    def derivative_bound(self, reach):
        return float(expit(reach))

    def curvature(self, reach):
        return 0.25

    def structure(self):
        return AllPairs()


@dataclass(frozen=True)
class Concave(Formulas, RankingLoss):
    convex = False


@dataclass(frozen=True)
class Pretending(Formulas, RankingLoss):
    convex = True


@dataclass(frozen=True)
class Silent(Formulas, RankingLoss):
    pass


@dataclass(frozen=True)
class Heir(Formulas, LogisticRanking):
    """It replaces the formulas of a convex loss, and declares nothing itself."""


@dataclass(frozen=True)
class Bumpy(LogisticPointwise):
    """The sigmoid of one record's score, which is not convex."""

    convex = False

    def value(self, parameters, x, y):
        return expit(-y * (x @ parameters))

    def gradient(self, parameters, x, y):
        s = expit(y * (x @ parameters))
        return (-y * s * (1 - s))[:, None] * x

    def lipschitz(self, domain):
        return domain.data_norm / 4

    def smoothness(self, domain):
        return domain.data_norm**2 / 8

    def record_diameter(self, domain):
        return domain.data_norm / 2


def problem(loss: PairwiseLoss, regularization: float = 0.0) -> Problem:
    return Problem(loss, L2Ball(1.0), regularization)


@pytest.mark.parametrize("loss", [Silent(), Heir()])
def test_silence_is_not_taken_for_convexity(loss: RankingLoss) -> None:
    for use in (problem, check_pairwise_loss):
        with pytest.raises(TypeError, match=r"without declaring .*convex: ClassVar"):
            use(loss)


def test_a_declaration_is_true_or_false() -> None:
    wrong = type("Wrong", (Concave,), {"convex": "yes"})
    with pytest.raises(TypeError, match="True or False"):
        problem(wrong())


def test_constants_of_ones_own_need_no_new_declaration() -> None:
    tighter = type("Tighter", (LogisticRanking,), {"lipschitz": lambda self, domain: 4.0})
    assert problem(tighter()).is_convex


@pytest.mark.parametrize("algorithm", NEEDY, ids=lambda a: f"{a.name} {getattr(a, 'output', '')}")
@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_output_noise_refuses_it_and_says_where_to_go(
    algorithm: Algorithm, regularization: float
) -> None:
    for budget in (BUDGET, None):
        with pytest.raises(ValueError, match="needs a convex loss") as refusal:
            algorithm.plan(problem(Concave(), regularization), 100, 2, budget)
        for place in ("NoisyGradientDescent", "Kang2021", "OnlineDescent"):
            assert place in str(refusal.value)


@pytest.mark.parametrize("algorithm", [GradientDescent(), MinimizerRelease()])
def test_losses_of_one_record_are_asked_too(algorithm: Algorithm) -> None:
    bumpy = PointwiseProblem(Bumpy(), L2Ball(1.0), 0.1)
    with pytest.raises(ValueError, match="needs a convex loss"):
        algorithm.plan(bumpy, 100, 2, BUDGET)
    assert NoisyGradientDescent().plan(bumpy, 100, 2, BUDGET).claim_is_proved
    (chosen,) = choose_linear(100, 2, BUDGET, data_norm=1.0, radius=1.0, loss=Bumpy()).candidates
    assert isinstance(chosen.algorithm, NoisyGradientDescent)


@pytest.mark.parametrize("output", ["average", "last"])
def test_what_the_bound_would_have_missed(output: str) -> None:
    """The attack itself: a loss that pretends gets a bound that is far exceeded.

    Both classes are at ±e in equal shares, so the gradient at zero vanishes, and there is a
    maximum of the risk along e. One record decides to which side descent falls.
    """
    algorithm = GradientDescent(output, steps=40, step_size=0.2)
    made = algorithm.plan(problem(Pretending(), 0.01 * (output == "last")), N, 2, BUDGET)
    x = np.outer(np.where(np.arange(N) % 4 > 1, 1.0, -1.0), [1.0, 0.0])
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    x[0], y[0] = [1.0, 0.0], 1.0  # the others are balanced
    (share,) = moved(made, Neighbours(x, y, 0, np.array([-1.0, 0.0]), 1.0))
    assert share > 5
    assert "The loss Pretending is convex, as its class declares." in made.certificate.assumptions
    failures = check_pairwise_loss(
        Pretending(), domains=DOMAINS, features=[2], raise_on_failure=False
    ).failures
    assert {"convex", "convex phi"} <= set(failures)


def test_what_declares_that_it_is_not_is_not_tested_for_it() -> None:
    assert check_pairwise_loss(Concave(), domains=DOMAINS, features=[2]).passed
    assert check_pointwise_loss(Bumpy(), domains=DOMAINS, features=[2]).passed


@pytest.mark.parametrize("algorithm", FREE, ids=lambda a: f"{a.name} {getattr(a, 'output', '')}")
@pytest.mark.parametrize("regularization", [0.0, 0.1])
def test_noise_in_every_gradient_takes_it_by_composition_alone(
    algorithm: Algorithm, regularization: float
) -> None:
    made = algorithm.plan(problem(Concave(), regularization), 100, 2, BUDGET)
    (release,) = made.certificate.releases
    assert release.sensitivity is not None
    assert release.sensitivity.bound in ("average over pairs", "gradients on a stream of pairs")
    assert made.certificate.holds
    assert made.certificate.problem["convex"] is False
    assert not any("convex" in sentence for sentence in made.certificate.assumptions)
    verify(made.certificate)


def test_a_regulariser_proves_nothing_without_convexity() -> None:
    regular = problem(Concave(), 0.5)
    assert not regular.is_strongly_convex
    assert regular.constants(100).strong_convexity == 0
    # A step on it may part two points, whatever the contraction of convex problems would be.
    made = find_algorithm("Kang2021").plan(problem(Concave(), 0.5), 1000, 3, BUDGET)
    convex = find_algorithm("Kang2021").plan(problem(LogisticRanking(), 0.5), 1000, 3, BUDGET)
    assert "last iterate" in convex.certificate.releases[0].name
    assert made.certificate.releases[0].count == made.settings.steps


@pytest.mark.parametrize("regularization", [0.0, 0.2])
def test_printed_noise_of_kang_tells_what_composition_gives(regularization: float) -> None:
    n, budget = 1000, Budget(1.0, 1e-6)
    made = find_algorithm("Kang2021").plan(
        problem(Concave(), regularization), n, 3, budget, calibration="printed"
    )
    (release,) = made.certificate.releases
    steps = made.settings.steps
    lipschitz = 4 * Concave().derivative_bound(4.0) + regularization
    scale = 8 * lipschitz * math.sqrt(steps * math.log(1e6)) / (n * budget.epsilon)
    assert release.mechanism.scale == pytest.approx(scale)
    assert release.count == steps
    composed = GaussianDP(math.sqrt(steps) * release.sensitivity.value / scale)
    assert composed.delta(made.true_epsilon) == pytest.approx(budget.delta, rel=1e-3) or (
        made.true_epsilon == budget.epsilon and composed.delta(budget.epsilon) <= budget.delta
    )


class GaussianDP:
    """δ(ε) of one Gaussian release of parameter µ."""

    def __init__(self, mu: float) -> None:
        self.mu = mu

    def delta(self, epsilon: float) -> float:
        mu = self.mu
        first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return math.exp(log_ndtr(first)) - math.exp(epsilon + log_ndtr(second))


@pytest.mark.parametrize(
    "algorithm",
    [
        NoisyGradientDescent("last", steps=4, step_size=2.0),
        NoisyGradientDescent("average", steps=3, step_size=1.0, batch_size=4),
        NoisyGradientDescent("average", steps=3, step_size=1.0, batch_size=4, pairing="disjoint"),
    ],
    ids=["all", "batches", "disjoint"],
)
@pytest.mark.parametrize(
    "loss",
    [Concave(temperature=0.3), SigmoidRanking(temperature=0.3), SigmoidRanking("one-sided")],
    ids=["concave", "sigmoid", "one-sided sigmoid"],
)
def test_no_neighbour_moves_a_gradient_further(algorithm: Algorithm, loss: RankingLoss) -> None:
    made = algorithm.plan(problem(loss), 6, 2, BUDGET)
    assert 0.5 < attack(made, tries=1, climbs=6) <= 1


@dataclass(frozen=True)
class Careless(Algorithm):
    """It states a bound that needs convexity, and does not ask for it."""

    name: str = "Careless"

    settings_type = Settings

    @property
    def needs(self) -> tuple[Need, ...]:
        return ()

    def draft(self, task):
        bound = Sensitivity.of(
            "last iterate of gradient descent",
            record_diameter=4.0, n=task.n, step_size=0.1, contraction=0.9, steps=10,
        )  # fmt: skip
        return PlanDraft((output_release("iterate", task, bound, 0.0),), Settings())

    def execute(self, plan, records, noise, progress):
        return np.zeros(records.features)


def test_a_bound_asks_where_its_algorithm_forgets() -> None:
    assert Careless().plan(problem(LogisticRanking()), 100, 2, BUDGET)
    with pytest.raises(ValueError, match="needs a convex loss"):
        Careless().plan(problem(Concave()), 100, 2, BUDGET)


def test_verify_refuses_a_bound_that_its_problem_does_not_allow() -> None:
    certificate = (
        GradientDescent().plan(problem(LogisticRanking(), 0.1), 100, 2, BUDGET).certificate
    )
    assert certificate.problem["convex"] is True
    edited = replace(certificate, problem={**certificate.problem, "convex": False})
    with pytest.raises(CertificateError, match="convex"):
        verify(edited.to_json())
    # Without the facts of a plan there is nothing to compare with but the bound itself.
    with pytest.raises(CertificateError, match="needs a convex loss"):
        verify(replace(edited, plan=None).to_json())


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    n=st.integers(4, 10**6),
    features=st.integers(1, 50),
    epsilon=st.floats(0.01, 20.0),
    regularization=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_auto_never_takes_what_needs_convexity(
    n: int, features: int, epsilon: float, regularization: float
) -> None:
    budget = Budget(epsilon, 1e-9)
    choice = choose_ranker(n, features, budget, loss=Concave(), regularization=regularization)
    for candidate in choice.candidates:
        assert Need.CONVEX not in candidate.algorithm.needs


def test_auto_without_delta_says_what_to_change() -> None:
    with pytest.raises(ValueError, match=r"not convex.*delta > 0"):
        choose_ranker(1000, 5, Budget(1.0), loss=Concave())


def test_a_ranker_fits_it() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    x = (rng.normal(size=(3000, 4)) + y[:, None]) / 6
    public = {"loss": "sigmoid", "data_norm": 1.0, "random_state": 0}
    ranker = PrivateRanker(2.0, 1e-6, **public).fit(x, y)
    assert ranker.score(x, y) > 0.85
    assert "convex" not in ranker.privacy_statement()
    assert ranker.certificate_.problem["loss_constants"] == "library"
    named = PrivateRanker(2.0, 1e-6, algorithm="Kang2021", **public).fit(x, y)
    assert named.score(x, y) > 0.8
    with pytest.raises(ValueError, match="needs a convex loss"):
        PrivateRanker(2.0, 1e-6, algorithm="DPGDSC", **public).fit(x, y)
    plan = named.plan_
    assert plan.run(plan.problem.records(x, 2 * y - 1.0), NoiseSource(1)).parameters.shape == (4,)
