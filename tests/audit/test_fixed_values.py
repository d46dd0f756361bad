"""Audits that draw the noise alone, where the noise before does not matter."""

from __future__ import annotations

from pairdp import Budget
from pairdp.algorithms import ConditionedDescent, Plan
from pairdp.algorithms.scorecard import Scorecard
from pairdp.audit import Neighbours, audit_plan, worst_neighbours
from pairdp.audit.fixed_values import fixed_values
from pairdp.audit.likelihood_ratios import NoisyValue, composed_distance
from pairdp.audit.methods import AuditSettings
from pairdp.audit.transcripts import distance
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticPointwise
from pairdp.pointwise_problem import PointwiseProblem

PROBLEM = PointwiseProblem(LogisticPointwise(), Unconstrained(), data_norm=1.0)
BUDGET = Budget(2.0, 1e-6)


def test_an_audit_of_counts_in_noisy_bins_is_tight() -> None:
    """A true claim is refuted with a probability of 1e-4 at most, and the seed is fixed."""
    plan = Scorecard().plan(PROBLEM, 20, 2, BUDGET)
    assert plan.settings.steps is None
    report = audit_plan(plan, runs=200_000, climbs=2)
    assert 1.6 < report.lower_bound <= 2
    assert not report.is_violated
    assert any("the code that runs was not audited" in note for note in report.notes)
    pair = worst_neighbours(plan, climbs=2)
    assert audit_plan(plan, pair, runs=200_000, claimed=Budget(1.5, 1e-6)).is_violated


def _fixed(plan: Plan, pair: Neighbours) -> tuple[list[NoisyValue], int] | None:
    return fixed_values(AuditSettings(plan, BUDGET, 0.9999, None, 1, 0, False), pair)


def test_values_that_vary_with_the_noise_are_left_out() -> None:
    plan = Scorecard().plan(PROBLEM, 200, 2, BUDGET)
    pair = worst_neighbours(plan, climbs=0, restarts=0)
    found = _fixed(plan, pair)
    assert found is not None
    values, total = found
    assert (len(values), total) == (3, 8)
    assert composed_distance(values) < distance(plan, pair)


def test_runs_are_preferred_where_a_few_of_the_values_show_less() -> None:
    for epsilon, fewer in ((2.0, True), (50.0, False)):
        plan = ConditionedDescent().plan(PROBLEM, 20, 2, Budget(epsilon, 1e-6))
        pair = worst_neighbours(plan, climbs=0, restarts=0)
        assert (_fixed(plan, pair) is not None) == fewer


def test_a_plan_without_weights_is_run_in_full() -> None:
    plan = Scorecard().plan(PROBLEM, 20, 2, BUDGET)
    settings = AuditSettings(plan, BUDGET, 0.9999, None, 1, 0, False)
    assert settings.full_runs == 2000
