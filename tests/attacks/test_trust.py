"""Code of a user's own whose word the guarantee rests on.

A loss with half its true derivative bound fits, and all arithmetic of its certificate is right:
half the noise that is needed, and nothing would show it. The library cannot prove such constants.
What must hold: whatever is not the library's own (a loss, a constraint set, an algorithm, a bound,
a source of noise) is said to be taken on trust, in the certificate, first thing in the statement
and first thing in `verify`'s report; a check of a loss counts for the loss, the parameters and the
domain that it looked at, and for nothing else; and what no bound uses is not mentioned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from pairdp import Budget, Certificate, CertificateError, NoiseSource, PrivateRanker, verify
from pairdp.algorithms import (
    Algorithm,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    ScatterMetric,
    WithThreshold,
)
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import (
    Domain,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    RankingLoss,
    trust,
)
from pairdp.losses.trust import constants_from
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Bound, GaussianMechanism, Release, Sensitivity, register_bound
from pairdp.problem import Problem
from pairdp.score_sums import AllPairs
from pairdp.testing import check_pairwise_loss, check_pointwise_loss
from tests.audit.broken import QuietNoise

BUDGET, UNIT = Budget(1.0, 1e-6), Domain(1.0, 1.0)
N, D = 200, 3


@dataclass(frozen=True)
class Halved(LogisticRanking):
    """The logistic loss with half its derivative bound."""

    def derivative_bound(self, margin_bound: float) -> float:
        return super().derivative_bound(margin_bound) / 2


@dataclass(frozen=True)
class Honest(RankingLoss):
    """The exponential loss, with constants that are right."""

    power: float = 1.0

    convex = True

    def phi(self, u):
        return np.exp(-self.power * u)

    def slope(self, u):
        return -self.power * np.exp(-self.power * u)

    def derivative_bound(self, margin_bound):
        return float(self.power * np.exp(self.power * margin_bound))

    def curvature(self, margin_bound):
        return float(self.power**2 * np.exp(self.power * margin_bound))

    def structure(self):
        return AllPairs()


@dataclass(frozen=True)
class OwnPointwise(LogisticPointwise):
    """The library's formulas under another name."""


@dataclass(frozen=True)
class OwnBall(L2Ball):
    """A ball whose radius is a lie: it projects on one of twice the size."""

    def project(self, point):
        return L2Ball(2 * self.radius).project(point)


@dataclass(frozen=True)
class OwnMetric(LogisticMetric):
    """A metric loss that `ScatterMetric` never looks at."""


@dataclass(frozen=True, eq=False)
class OwnProblem(Problem):
    """A problem that may compute its constants in another way."""


def problem(loss=None, constraint=None, regularization=0.1) -> Problem:
    return Problem(loss or LogisticRanking(), constraint or L2Ball(1.0), regularization)


def certificate(of: Problem, algorithm: Algorithm | None = None) -> Certificate:
    return (algorithm or GradientDescent()).plan(of, N, D, BUDGET).certificate


def heard_first(made: Certificate, words: str) -> bool:
    """Return whether the words open `verify`'s report, and stand before what was released.

    Nothing is said to hold before them.
    """
    opening = str(verify(made)).partition("\n  ")[0]
    before, found, _ = opening.partition(words)
    statement = " ".join(made.statement().split()).partition("What is released:")[0]
    return bool(found) and " holds: " not in before and words in statement


def test_a_loss_with_half_its_slope_bound_is_said_to_be_trusted() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(N, D)), rng.integers(0, 2, N)
    ranker = PrivateRanker(
        1.0, 1e-6, loss=Halved(), algorithm="DPGDSC", data_norm=1.0, random_state=0
    )
    made = ranker.fit(x, y).certificate_
    assert made.problem["loss_constants"] == "on trust"
    assert any("Halved" in sentence and "on trust" in sentence for sentence in made.assumptions)
    assert heard_first(
        made, "TAKEN ON TRUST, not derived by this library: the constants of the loss"
    )
    report = check_pairwise_loss(Halved(), domains=[UNIT], features=[2], raise_on_failure=False)
    assert not report.passed
    assert constants_from(Halved(), UNIT) == "on trust"


def test_a_check_counts_for_what_it_looked_at() -> None:
    loss = Honest(temperature=4.0, power=0.5)
    assert certificate(problem(loss)).problem["loss_constants"] == "on trust"
    check_pairwise_loss(loss, domains=[UNIT], features=[2])
    made = certificate(problem(Honest(temperature=4.0, power=0.5)))
    assert made.problem["loss_constants"] == "checked in this process"
    assert any("passed check_pairwise_loss" in sentence for sentence in made.assumptions)
    assert "The loss Honest is convex, as its class declares." in made.assumptions
    assert heard_first(made, "CHECKED, NOT PROVED: the constants of the loss")
    others = [
        problem(Honest(temperature=4.0, power=0.6)),
        problem(loss, L2Ball(0.5)),
        replace(problem(loss), data_norm=0.5),
        problem(type("Derived", (Honest,), {})(temperature=4.0, power=0.5)),
    ]
    for other in others:
        assert certificate(other).problem["loss_constants"] == "on trust"


def test_another_process_plans_again_what_was_checked_in_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loss = Honest(temperature=4.0, power=0.45)
    trusted = certificate(problem(loss))
    check_pairwise_loss(loss, domains=[UNIT], features=[2])
    checked = certificate(problem(loss))
    for passed in (trust._passed, set()):  # in the process that checked, and in another
        monkeypatch.setattr(trust, "_passed", passed)
        for made, first in ((trusted, "TAKEN ON TRUST"), (checked, "CHECKED, NOT PROVED")):
            report = verify(made, trusted=[Honest])
            assert report.planned_again
            assert str(report).startswith(first)
    # A certificate cannot make a loss of one's own the library's.
    facts = {**trusted.problem, "loss_constants": "library"}
    with pytest.raises(CertificateError, match="loss_constants"):
        verify(replace(trusted, problem=facts), trusted=[Honest])


@pytest.mark.parametrize(
    "easier", [{"tolerance": 0.5}, {"features": [1]}, {"domains": [Domain(1.0, 2.0)]}], ids=str
)
def test_an_easier_check_does_not_count(easier: dict[str, object]) -> None:
    loss = Honest(power=0.25 + 0.01 * len(str(easier)))
    check_pairwise_loss(loss, **{"domains": [UNIT], "features": [2], **easier})
    assert constants_from(loss, UNIT) == "on trust"


def test_a_check_of_some_labels_does_not_count() -> None:
    loss = OwnPointwise()
    of = PointwiseProblem(loss, L2Ball(1.0), 0.1)
    check_pointwise_loss(loss, labels=[1.0], domains=[UNIT], features=[2])
    assert certificate(of).problem["loss_constants"] == "on trust"
    check_pointwise_loss(loss, domains=[UNIT], features=[2])
    made = certificate(of)
    assert made.problem["loss_constants"] == "checked in this process"
    assert any("passed check_pointwise_loss" in sentence for sentence in made.assumptions)


def test_an_object_that_was_changed_after_its_check_is_another_loss() -> None:
    class Loose(Honest):
        pass

    loss = Loose(power=0.7)
    check_pairwise_loss(loss, domains=[UNIT], features=[2])
    assert constants_from(loss, UNIT) == "checked in this process"
    object.__setattr__(loss, "power", 0.9)
    assert constants_from(loss, UNIT) == "on trust"
    object.__setattr__(loss, "power", np.ones(1))  # which has no hash
    assert constants_from(loss, UNIT) == "on trust"


@dataclass(frozen=True, slots=True)
class Slotted(Honest):
    """A loss whose parameters are in no dictionary."""


def test_parameters_in_slots_make_another_loss_too() -> None:
    check_pairwise_loss(Slotted(power=0.7), domains=[UNIT], features=[2])
    assert constants_from(Slotted(power=0.7), UNIT) == "checked in this process"
    assert constants_from(Slotted(power=0.9), UNIT) == "on trust"


@dataclass(frozen=True)
class Forgetful(Honest):
    """A loss that declares that a null record moves no gradient."""

    def null_diameter(self, domain: Domain) -> float:
        return 0.0


def test_a_check_looks_at_null_records() -> None:
    loss = Forgetful(power=0.5)
    report = check_pairwise_loss(loss, domains=[UNIT], features=[2], raise_on_failure=False)
    assert report.failures == ("null_diameter",)
    assert constants_from(loss, UNIT) == "on trust"
    passed = check_pairwise_loss(Honest(power=0.5), domains=[UNIT], features=[2])
    assert passed.worst("null_diameter").ratio == pytest.approx(1.0, rel=1e-3)


def test_a_declared_convexity_is_said_to_be_trusted_where_it_is_used() -> None:
    words = "the constants of the loss and its convexity"
    assert heard_first(certificate(problem(Halved())), words)
    noisy = certificate(problem(Halved()), NoisyGradientDescent(steps=3))
    assert heard_first(noisy, "the constants of the loss.")


def test_constants_of_a_users_loss_are_those_of_the_domain_that_can_be_checked() -> None:
    asked = []

    class Curious(Honest):
        def derivative_bound(self, margin_bound):
            asked.append(margin_bound)
            return super().derivative_bound(margin_bound)

    of = problem(Curious(), regularization=5.0)
    for algorithm in (GradientDescent(steps=2), MinimizerRelease(), NoisyGradientDescent(steps=3)):
        certificate(of, algorithm)
    assert set(asked) == {Curious().margin_bound(of.domain())}


def test_the_librarys_own_are_proved_and_said_to_be() -> None:
    made = certificate(problem())
    assert made.problem["loss_constants"] == "library"
    assert made.problem["constraint_set"] == "library"
    assert made.problem["algorithm_proof"] == "library"
    assert "The loss LogisticRanking is convex, which is proved." in made.assumptions
    assert "trust" not in made.statement()
    assert str(verify(made)).startswith("The certificate of")


def test_a_derived_class_inherits_no_trust() -> None:
    posing = type("Posing", (LogisticRanking,), {})
    assert constants_from(posing(), UNIT) == "on trust"
    posing.__module__, posing.__qualname__ = LogisticRanking.__module__, "LogisticRanking"
    assert constants_from(posing(), UNIT) == "on trust"


def test_a_constraint_set_of_ones_own_is_trusted_and_said_to_be() -> None:
    made = certificate(problem(constraint=OwnBall(1.0)))
    assert made.problem["constraint_set"] == "on trust"
    assert any("OwnBall" in s and "projection" in s for s in made.assumptions)
    assert heard_first(made, "the constraint set")


def test_a_problem_of_ones_own_is_trusted_and_said_to_be() -> None:
    made = certificate(OwnProblem(LogisticRanking(), L2Ball(1.0), 0.1))
    assert made.problem["loss_constants"] == "on trust"


class OwnDescent(GradientDescent):
    """An algorithm that may do anything."""


@pytest.mark.parametrize(
    "algorithm",
    [OwnDescent(), WithThreshold(OwnDescent()), QuietNoise(GradientDescent())],
    ids=["own", "inside", "broken on purpose"],
)
def test_an_algorithm_of_ones_own_is_trusted_and_said_to_be(algorithm: Algorithm) -> None:
    made = certificate(problem(), algorithm)
    assert made.problem["algorithm_proof"] == "on trust"
    assert any("not an algorithm of this library" in sentence for sentence in made.assumptions)
    assert heard_first(made, "the algorithm")


def test_a_bound_of_ones_own_is_trusted_and_said_to_be() -> None:
    def formula(value: float) -> float:
        return value

    name = "a bound that its user registered"
    register_bound(Bound(name, "whatever", formula, formula))
    moved = Sensitivity.of(name, value=0.5)
    release = Release("v", GaussianMechanism.calibrate(BUDGET, moved.value, dimension=2), moved, 2)
    assert heard_first(Certificate("By hand", BUDGET, N, (release,)), f"the bound {name!r}")


def test_a_source_of_noise_of_ones_own_is_named() -> None:
    class Silent(NoiseSource):
        @property
        def description(self) -> str:
            return NoiseSource().description

    made = certificate(problem()).with_noise_source(Silent())
    assert made.noise_source == "Silent, which is not of this library"
    assert "the noise source is not part of this library" in str(verify(made))


@pytest.mark.parametrize(
    ("of", "algorithm"),
    [
        (problem(type("OwnSquares", (LeastSquaresRanking,), {})()), MomentRelease()),
        (Problem(OwnMetric(), PSDFrobeniusBall(1.0)), ScatterMetric()),
    ],
    ids=["moments", "scatter"],
)
def test_what_no_bound_uses_is_not_mentioned(of: Problem, algorithm: Algorithm) -> None:
    made = certificate(of, algorithm)
    assert made.problem["loss_constants"] == "not used"
    assert made.problem["constraint_set"] == "not used"
    assert "trust" not in made.statement()
    assert "convex" not in made.statement()


def test_a_baseline_claims_nothing_and_trusts_nothing() -> None:
    made = GradientDescent().plan(problem(Halved()), N, D, None).certificate
    assert "trust" not in made.statement()
