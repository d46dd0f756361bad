"""Plans of evaluations: certificates, noise, and what they expect before data is read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pairdp import Budget, Certificate, CertificateError, NoiseSource, Unit, plan_evaluation, verify
from pairdp._sealed import seal
from pairdp.evaluation.plan import deviation
from pairdp.evaluation.planning import ScoreEvaluation
from pairdp.privacy import GaussianMechanism, L1LaplaceMechanism, PrivacyCurve

BUDGETS = [Budget(0.1), Budget(2.0), Budget(0.5, 1e-6), Budget(0.1, 0.01)]
PLAIN = ScoreEvaluation(("no", "yes"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("unit", [None, Unit("patient", 3)])
def test_a_certificate_holds_and_is_planned_again(
    budget: Budget, null: bool, unit: Unit | None
) -> None:
    certificate = ScoreEvaluation(("no", "yes"), null).certify(500, budget, unit)
    report = verify(certificate.to_json())
    assert report.holds
    assert report.planned_again
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert PrivacyCurve(certificate.event).within(budget)
    assert certificate.releases[0].dimension == 2 + null


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("releases", 0, "scale"), 1.0),
        (("releases", 0, "dimension"), 3),
        (("releases", 0, "sensitivity", "inputs", "n"), 5),
        (("n",), 100_000),
        (("claim", "epsilon"), 0.5),
        (("plan", "statistic", "fields", "null_records"), True),
        (("plan", "statistic", "fields", "noise"), "gaussian"),
        (("assumptions",), []),
    ],
)
def test_a_changed_certificate_is_refused(place: tuple[str | int, ...], value: object) -> None:
    document = PLAIN.certify(100, Budget(1.0)).to_dict()
    inner = document
    for key in place[:-1]:
        inner = inner[key]  # type: ignore[index,assignment]
    inner[place[-1]] = value  # type: ignore[index]
    with pytest.raises(CertificateError):
        verify(seal(document))


@pytest.mark.parametrize(
    ("budget", "noise", "kind"),
    [
        (Budget(0.5), "auto", L1LaplaceMechanism),
        (Budget(0.5, 1e-6), "auto", L1LaplaceMechanism),
        (Budget(0.1, 0.1), "auto", GaussianMechanism),
        (Budget(0.5, 1e-6), "gaussian", GaussianMechanism),
        (Budget(0.1, 0.1), "laplace", L1LaplaceMechanism),
    ],
)
def test_the_smaller_noise_is_taken(budget: Budget, noise: str, kind: type[object]) -> None:
    evaluation = ScoreEvaluation(("no", "yes"), noise=noise)  # type: ignore[arg-type]
    certificate = evaluation.certify(1000, budget)
    assert type(certificate.releases[0].mechanism) is kind
    assert verify(certificate).holds


def test_a_unit_multiplies_the_noise() -> None:
    one, three = (PLAIN.certify(99, Budget(1.0), u) for u in (None, Unit("patient", 3)))
    ratio = deviation(three.releases[0]) / deviation(one.releases[0])
    assert ratio == pytest.approx(3, rel=1e-5)
    assert deviation(one.releases[0]) == pytest.approx(math.sqrt(2), rel=1e-5)


def test_expected_intervals_are_those_that_runs_have() -> None:
    """The median width of 40 runs is near the expected one."""
    n, share = 2000, 0.3
    plan = plan_evaluation(n, 0.5)
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(n) < share * n, 1.0, -1.0)
    scores = rng.normal(size=n) + 1.19 * (signs > 0)
    widths = [plan.run(NoiseSource(i), scores, signs).auc.interval().width for i in range(40)]
    assert np.median(widths) == pytest.approx(plan.expected_width(share, 0.8), rel=0.1)


def test_a_plan_says_when_nothing_can_be_said() -> None:
    plan = plan_evaluation(300, 0.5)
    assert not plan.is_hopeless(0.5)
    assert plan.is_hopeless(0.05)
    assert plan.is_hopeless(0.95)
    assert plan_evaluation(300, 0.05).is_hopeless(0.5)
    assert plan_evaluation(300, 0.5, max_records=20).is_hopeless(0.5)
    words = str(plan)
    assert "n = 300 records, ε = 0.5" in words
    assert words.count("nothing can be said") == 1
    assert plan.expected_width(0.01) > 0.6


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"classes": ("a",)}, "two names"),
        ({"classes": ("a", "")}, "class"),
        ({"classes": ("a", "b"), "noise": "none"}, "noise must be"),
        ({"classes": ("a", "b"), "null_records": 1}, "True or False"),
        ({"classes": ("a", "b"), "edges": tuple(range(1001))}, "at most 1000 edges"),
    ],
)
def test_bad_facts_are_refused(facts: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        ScoreEvaluation(**facts)  # type: ignore[arg-type]


def test_bad_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="needs δ > 0"):
        ScoreEvaluation(("a", "b"), noise="gaussian").plan(100, Budget(1.0))
    with pytest.raises(ValueError, match="at least 5"):
        plan_evaluation(3, 1.0)
    with pytest.raises(ValueError, match="share must be"):
        plan_evaluation(100, 1.0).expected_interval(0.0)
    with pytest.raises(ValueError, match="100 numbers"):
        plan_evaluation(100, 1.0).run(NoiseSource(0), np.zeros(99), np.ones(99))
