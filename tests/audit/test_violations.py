"""Known violations are found."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import norm

from pairdp import Budget
from pairdp.algorithms import GradientDescent, NoisyGradientDescent, Plan
from pairdp.audit import (
    AuditReport,
    Counts,
    TightLoss,
    audit,
    audit_algorithm,
    audit_plan,
    worst_neighbours,
)
from pairdp.audit.counting import best_normal_threshold
from pairdp.audit.transcripts import distance
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LogisticMetric, LogisticRanking
from pairdp.problem import Problem
from tests.audit.broken import (
    PrivateNormaliser,
    QuietNoise,
    RepeatedNoise,
    StopsWhenFlat,
    with_noise_scaled,
    without_noise,
)
from tests.audit.cases import RANKING, SURE, TIGHT

pytestmark = pytest.mark.slow

FREE = Problem(TightLoss(), L2Ball(10.0))


def refuted(report: AuditReport, below: float) -> None:
    """Check that a claim is refuted, and not by more than is true."""
    assert report.verdict == "violated", str(report)
    assert report.claimed.epsilon < report.lower_bound <= below, str(report)


def dpgdc2(epsilon: float, **options: object) -> AuditReport:
    return audit_algorithm(
        NoisyGradientDescent(steps=1, step_size=0.1),
        FREE,
        4,
        1,
        Budget(epsilon, 1e-5),
        calibration="printed",
        climbs=0,
        **options,  # type: ignore[arg-type]
    )


def test_dpgdc2_as_printed() -> None:
    # errata, X3: at ε = 2 the noise gives ε = 2.115, at ε = 1 it is enough.
    report = dpgdc2(2.0, runs=2_000_000, confidence=SURE)
    refuted(report, below=2.116)
    assert report.certificate_epsilon == pytest.approx(2.115, abs=5e-4)
    assert dpgdc2(1.0, runs=2_000_000, confidence=SURE).verdict == "consistent"


def test_counting_alone_would_do_for_dpgdc2_with_runs_enough() -> None:
    # Exact shares, as hundreds of millions of draws would be needed not to depend on luck.
    plan = NoisyGradientDescent(steps=1, step_size=0.1).plan(
        FREE, 4, 1, Budget(2.0, 1e-5), calibration="printed"
    )
    mu, runs = distance(plan, worst_neighbours(plan, climbs=0)), 10**9
    threshold = best_normal_threshold(mu, runs, 1e-5, 1e-8) / mu
    hits, wrong = (int(runs * norm.sf(threshold - side)) for side in (mu / 2, -mu / 2))
    assert 2.0 < Counts(hits, runs, wrong, runs).epsilon(1e-5, 1e-8) < 2.116


@pytest.mark.parametrize("projected", [True, False])
def test_kang_as_printed_for_metrics(projected: bool) -> None:
    # errata, K2: it states G = 1, and a flipped label alone shows ε = 1.11.
    algorithm = NoisyGradientDescent(
        "last", 1, 0.1, projected=projected, printed_rule="kang", printed_lipschitz=1.0
    )
    report = audit_algorithm(
        algorithm,
        Problem(LogisticMetric(), PSDFrobeniusBall(1.0)),
        4,
        2,
        Budget(1.0, 1e-5),
        calibration="printed",
        schedule="tuned",  # a random first iterate would need a full run for each draw
        climbs=5,
        runs=2_000_000,
        confidence=SURE,
    )
    refuted(report, below=1.112 if not projected else 1.5)
    ranking = NoisyGradientDescent(
        "last", 1, 0.1, projected=False, printed_rule="kang", printed_lipschitz=2.0
    )
    lucky = audit_algorithm(
        ranking,
        Problem(LogisticRanking(), L2Ball(1.0)),
        4,
        2,
        Budget(1.0, 1e-5),
        calibration="printed",
        schedule="tuned",  # a random first iterate would need a full run for each draw
        climbs=5,
        confidence=SURE,
    )
    assert lucky.verdict == "consistent"


def last(budget: Budget) -> Plan:
    return GradientDescent(steps=2).plan(TIGHT, 4, 2, budget)


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-5), Budget(1.0)], ids=str)
def test_half_the_noise(budget: Budget) -> None:
    report = audit_plan(with_noise_scaled(last(budget), 0.5), climbs=0, confidence=SURE)
    assert report.lower_bound > 1.7
    refuted(report, below=2.2)


@pytest.mark.parametrize("view", ["transcript", "release"])
@pytest.mark.slow
def test_half_the_noise_in_the_running_code(view: Any) -> None:
    budget, sound = Budget(8.0, 1e-5), GradientDescent(steps=2)
    quiet = QuietNoise(sound).plan(TIGHT, 4, 2, budget)
    plan = sound.plan(TIGHT, 4, 2, budget)
    assert quiet.certificate.releases == plan.certificate.releases
    options: dict[str, Any] = {"climbs": 0, "full": True, "runs": 600, "confidence": SURE}
    report = audit_plan(quiet, view=view, **options)
    assert "end to end" in report.notes[0]
    refuted(report, below=20)
    assert not audit_plan(plan, view=view, **options).is_violated
    # Drawing the noise alone does not see what the code does, and says so.
    blind = audit_plan(quiet, climbs=0, confidence=SURE)
    assert not blind.is_violated
    assert "so the code that runs was not audited" in blind.notes[0]


@pytest.mark.slow
def test_the_same_noise_at_two_steps() -> None:
    budget = Budget(1.0, 1e-5)
    plans = [
        kind(steps=2, step_size=0.2).plan(RANKING, 4, 2, budget)
        for kind in (RepeatedNoise, NoisyGradientDescent)
    ]
    broken, sound = (
        audit_plan(plan, climbs=0, full=True, runs=160, confidence=SURE) for plan in plans
    )
    assert broken.is_violated
    assert broken.best is not None
    assert broken.best.attack == "closeness of noise"
    assert not sound.is_violated


def test_the_normaliser_of_the_auc() -> None:
    budget = Budget(1.0, 1e-5)
    mechanism = PrivateNormaliser(budget)
    pair = mechanism.neighbours(20)
    report = audit(mechanism, *pair.both(), budget, runs=400, confidence=SURE)
    assert report.is_violated
    # With n(n-1) it moves by 2R/n, n₊·n₋/(n(n-1)) times as much.
    balanced = pair.x, pair.y
    same = audit(mechanism, balanced, balanced, budget, runs=400, confidence=SURE)
    assert not same.is_violated


def test_a_stopping_rule_of_the_data() -> None:
    budget = Budget(1.0, 1e-5)
    mechanism = StopsWhenFlat(budget)
    pair = mechanism.neighbours()
    report = audit(mechanism, *pair.both(), budget, runs=20_000, confidence=SURE)
    assert report.is_violated
    assert report.best is not None
    assert report.best.method == "counts"
    # Without the rule, as many steps on both, it is private.
    always = StopsWhenFlat(budget, flat=0.0)
    assert not audit(always, *pair.both(), budget, runs=20_000, confidence=SURE).is_violated


@pytest.mark.parametrize("full", [False, True])
def test_line_6_of_dpgdc_forgets_the_noise(full: bool) -> None:
    plan = GradientDescent("average", steps=2, step_size=0.2).plan(TIGHT, 4, 2, Budget(1.0))
    report = audit_plan(without_noise(plan), climbs=0, full=full, runs=200, confidence=SURE)
    assert report.is_violated
    assert report.best is not None
    assert report.best.details["false_hits"] == 0
    assert report.best.details["hits"] == report.best.details["runs"]
    assert not audit_plan(plan, climbs=0, runs=200_000, confidence=SURE).is_violated
