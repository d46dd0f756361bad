"""Every certified algorithm, audited: never above ε, and close to it where it is attained.

An audit here is wrong with probability 1e-8 at most, and there are fewer than a hundred: a false
alarm of the whole suite has a probability below 1e-6.
"""

from __future__ import annotations

import pytest

from pairdp import Budget
from pairdp.algorithms import PUBLISHED, GradientDescent, MinimizerRelease
from pairdp.algorithms.published import POINTWISE
from pairdp.audit import audit_plan
from tests.audit.cases import ALL, BUDGET, PURE, SURE, TIGHT, plan, pure_ones

PURE_ONES = pure_ones()


def test_all_are_there() -> None:
    assert {*PUBLISHED, *POINTWISE} <= set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_end_to_end(name: str) -> None:
    made = plan(name)
    assert made.claim_is_proved
    report = audit_plan(made, climbs=2, full=True, runs=200, confidence=SURE)
    assert "end to end" in report.notes[0]
    assert report.lower_bound <= BUDGET.epsilon, str(report)
    assert report.certificate_epsilon is not None
    assert report.lower_bound <= report.certificate_epsilon
    assert report.verdict == "consistent"


@pytest.mark.parametrize("name", PURE_ONES)
def test_end_to_end_pure(name: str) -> None:
    report = audit_plan(plan(name, PURE), climbs=0, full=True, runs=50, confidence=SURE)
    assert report.lower_bound <= PURE.epsilon, str(report)


OUTPUT = {
    "last": GradientDescent(steps=3),
    "average": GradientDescent("average", steps=3, step_size=0.1),
    "minimiser": MinimizerRelease(),
}


@pytest.mark.parametrize("name", OUTPUT)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-5), Budget(4.0, 1e-5), Budget(1.0)], ids=str)
def test_output_noise_on_the_tight_example_is_nearly_seen_through(
    name: str, budget: Budget
) -> None:
    made = OUTPUT[name].plan(TIGHT, 4, 2, budget)
    runs = 2_000_000 if budget.is_pure else 15_000_000
    report = audit_plan(made, climbs=0, runs=runs, confidence=SURE)
    assert 0.9 * budget.epsilon <= report.lower_bound <= budget.epsilon, str(report)
    # By counting alone, too, whatever the law of the noise.
    assert 0.7 * budget.epsilon <= report.evidence[0].epsilon <= budget.epsilon, str(report)


FIXED = (
    "DPGDSC", "DPGDC", "DPGDC2", "OffPairStrC", "OffPairC", "moments", "moments of pairs", "metric",
    "minimiser", "threshold", "online",
)  # fmt: skip


@pytest.mark.parametrize("name", FIXED)
def test_draws_of_the_noise(name: str) -> None:
    """Where noise alone can be drawn, the bound is sharp and still below ε."""
    made = plan(name, Budget(1.0, 1e-5))
    report = audit_plan(made, climbs=4, runs=1_000_000, confidence=SURE)
    assert "draws of the noise" in report.notes[0]
    assert 0.25 < report.lower_bound <= 1.0, str(report)
