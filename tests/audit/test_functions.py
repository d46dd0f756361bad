"""Auditing functions: attacks, determinism, reports, and what is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.dummy import DummyClassifier

from pairdp import Budget, PrivateMetric, PrivateRanker
from pairdp.algorithms import ScatterMetric
from pairdp.audit import AuditReport, Evidence, Neighbours, audit, audit_estimator, audit_plan
from pairdp.audit.attacks import linear, projection, trained
from pairdp.audit.likelihood_ratios import NoisyValue, _draw, log_likelihood_ratio
from pairdp.audit.repeated_runs import run_many, run_seed
from pairdp.privacy import GaussianMechanism, KNormMechanism, LaplaceMechanism
from tests.audit.cases import SURE, plan

pytestmark = pytest.mark.slow

LAX = 0.999


class Shifted:
    """Gaussian noise of scale 1 on a vector, which is the data."""

    def __call__(self, data, seed: int):
        return data + np.random.default_rng(seed).normal(size=len(data))


ONE, OTHER = np.zeros(3), np.array([0.0, 3.0, 0.0])


@pytest.mark.parametrize("attack", ["auto", "projection", "linear", "trained", "columns"])
def test_every_attack_tells_a_shift(attack) -> None:
    report = audit(
        Shifted(), ONE, OTHER, Budget(1.0, 1e-5), runs=800, attack=attack, noiseless=(ONE, OTHER)
    )
    assert report.verdict == "violated"
    # μ is 3, but no one said that the noise is Gaussian.
    counted, gaussian = report.evidence
    assert counted.decides
    assert not gaussian.decides
    assert "an estimate" in str(gaussian)
    assert 2.0 < gaussian.details["mu"] < 3.0


def test_a_gaussian_claim_is_judged_by_its_mu() -> None:
    # μ = 3 is ε = 16.7 at δ = 1e-5; counting so few runs shows no more than ln(400/…).
    claim = Budget(8.0, 1e-5)
    free = audit(Shifted(), ONE, OTHER, claim, runs=800)
    assert free.verdict == "consistent"
    stated = audit(Shifted(), ONE, OTHER, claim, runs=800, gaussian=True, noiseless=(ONE, OTHER))
    assert stated.verdict == "violated"
    # A pure claim has no Gaussian reading.
    pure = audit(Shifted(), ONE, ONE + 0.1, Budget(1.0), runs=100, gaussian=True)
    assert [found.decides for found in pure.evidence] == [True, False]


def test_an_attack_of_ones_own() -> None:
    report = audit(
        Shifted(), ONE, OTHER, Budget(1.0, 1e-5), runs=800, attack=lambda rows: -rows[:, 1]
    )
    assert report.verdict == "violated"  # also where it points the other way
    assert report.best is not None
    assert report.best.attack == "a user's attack"


def test_no_difference_is_never_a_violation() -> None:
    for seed in range(5):
        report = audit(Shifted(), ONE, ONE, Budget(0.1, 1e-5), runs=300, seed=seed, confidence=SURE)
        assert report.verdict == "consistent"
        assert report.lower_bound < 0.1


def twisted(data, seed: int):
    """The data decides whether two numbers rise together, which neither of them tells."""
    first, second = np.random.default_rng(seed).normal(size=2)
    return [first, data * first + 0.3 * second]


def test_a_trained_distinguisher_needs_no_direction() -> None:
    blind = audit(twisted, -1.0, 1.0, Budget(0.8), runs=800, attack="columns")
    sees = audit(twisted, -1.0, 1.0, Budget(0.8), runs=800, attack="trained")
    assert sees.lower_bound > 1.0 > blind.lower_bound
    assert sees.is_violated


def test_reports_do_not_depend_on_the_number_of_processes() -> None:
    def shifted(data, seed: int):  # defined here, as other processes do not know this module
        return data + np.random.default_rng(seed).normal(size=len(data))

    reports = [
        audit(shifted, ONE, OTHER, Budget(1.0, 1e-5), runs=250, jobs=jobs, progress=False)
        for jobs in (1, 2)
    ]
    assert reports[0] == reports[1]


def test_every_run_has_a_seed_of_its_own() -> None:
    seeds = {run_seed(seed, side, run) for seed in (0, 1) for side in (0, 1) for run in range(500)}
    assert len(seeds) == 2000
    here, there = run_many(lambda data, seed: [data, seed % 2], 5, 6, 150)
    assert np.all(here == [5, 0])
    assert np.all(there == [6, 1])


def test_what_a_function_may_not_return() -> None:
    budget = Budget(1.0)
    with pytest.raises(ValueError, match="arrays of different sizes"):
        audit(lambda data, seed: np.zeros(1 + seed % 3), 0, 0, budget, runs=100)
    with pytest.raises(ValueError, match="arrays of different sizes"):
        audit(lambda data, seed: np.zeros(1 + data), 0, 1, budget, runs=100)
    with pytest.raises(ValueError, match="returned infinity"):
        audit(lambda data, seed: np.inf, 0, 1, budget, runs=100)
    with pytest.raises(ValueError, match="returned NaN"):
        audit(lambda data, seed: np.nan, 0, 1, budget, runs=100)


def test_arguments_are_checked() -> None:
    budget = Budget(1.0)
    with pytest.raises(ValueError, match="attack must be one of"):
        audit(Shifted(), ONE, OTHER, budget, runs=100, attack="strong")  # type: ignore[arg-type]
    for wrong in (lambda rows: rows, lambda rows: 1.0, lambda rows: rows[:, 0] * np.nan):
        with pytest.raises(ValueError, match="a score for each"):
            audit(Shifted(), ONE, OTHER, budget, runs=100, attack=wrong)
    with pytest.raises(ValueError, match="needs noiseless"):
        audit(Shifted(), ONE, OTHER, budget, runs=100, attack="projection")
    with pytest.raises(ValueError, match="must have 3 numbers"):
        audit(Shifted(), ONE, OTHER, budget, runs=100, noiseless=(0.0, 1.0))
    with pytest.raises(ValueError, match="runs must be at least 40"):
        audit(Shifted(), ONE, OTHER, budget, runs=10)
    with pytest.raises(TypeError, match="budget must be a Budget"):
        audit(Shifted(), ONE, OTHER, 1.0, runs=100)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        audit(Shifted(), ONE, OTHER, budget, runs=100, confidence=1.0)
    baseline = plan("DPGDSC").algorithm.plan(plan("DPGDSC").problem, 4, 2)
    with pytest.raises(ValueError, match="claims no privacy"):
        audit_plan(baseline)
    for name in ("DPGDSC", "mini-batches"):
        with pytest.raises(ValueError, match="runs must be at least 40"):
            audit_plan(plan(name), climbs=0, full=True, runs=2)
    with pytest.raises(ValueError, match="seed must be at least 0"):
        audit_plan(plan("DPGDSC"), seed=-1)
    with pytest.raises(TypeError, match="must be a Budget"):
        audit_plan(plan("DPGDSC"), claimed=1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="pair must be Neighbours"):
        audit_plan(plan("DPGDSC"), (ONE, OTHER))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="view must be"):
        audit_plan(plan("DPGDSC"), view="all")  # type: ignore[arg-type]


def test_reports_are_plain() -> None:
    report = audit(Shifted(), ONE, OTHER, Budget(1.0, 1e-5), runs=200, name="a shift")
    assert pickle.loads(pickle.dumps(report)) == report
    values = json.loads(json.dumps(report.to_dict()))
    assert values["verdict"] == report.verdict == "violated"
    assert values["claimed"] == {"epsilon": 1.0, "delta": 1e-5}
    assert values["lower_bound"] == report.lower_bound
    shown = str(report)
    assert shown.startswith("violated: a shift\n")
    assert "claimed      ε = 1 at δ = 1e-05" in shown
    assert "by counting" in shown
    with pytest.raises(AttributeError):
        report.name = "another"  # type: ignore[misc]


def test_a_verdict_rests_on_what_decides() -> None:
    budget = Budget(1.0, 1e-5)
    numbers = {"hits": 1, "runs": 2, "false_hits": 0, "false_runs": 2, "threshold": 0.0, "mu": 1.0}
    guess = Evidence("gaussian", 3.0, False, "projection", numbers)
    report = AuditReport("it", budget, None, 0.9, (guess,))
    assert (report.lower_bound, report.verdict) == (0.0, "consistent")
    sure = Evidence("gaussian", 3.0, True, "projection", numbers)
    assert AuditReport("it", budget, None, 0.9, (guess, sure)).verdict == "violated"
    curve = {**numbers, "at_epsilon": 0.1, "counted_delta": 0.3, "certificate_delta": 0.2}
    broken = Evidence("curve", 0.0, True, "projection", curve)
    assert AuditReport("it", budget, 1.0, 0.9, (broken,)).verdict == "violated"
    held = Evidence("curve", 0.0, True, "projection", {**curve, "certificate_delta": 0.4})
    assert AuditReport("it", budget, 1.0, 0.9, (held,)).verdict == "consistent"
    assert "where the certificate has 0.2" in str(broken)


# Densities


@pytest.mark.parametrize(
    "mechanism",
    [GaussianMechanism(1.0, 0.7, 3), KNormMechanism(1.0, 0.4, 3), LaplaceMechanism(1.0, 0.4, 3)],
    ids=lambda m: type(m).__name__,
)
def test_many_draws_have_the_law_of_the_mechanism(mechanism) -> None:
    rng = np.random.default_rng(1)
    one, other = np.zeros(3), np.array([0.3, -0.4, 0.2])
    value = NoisyValue(mechanism, one, other)
    fast = value.log_ratios(20_000, rng)
    for drawn, centre in zip(fast, (one, other), strict=True):
        slow = [
            log_likelihood_ratio(mechanism, mechanism.release(centre, rng), one, other)
            for _ in range(2000)
        ]
        # The same law, by Kolmogorov and Smirnov; wrong alarms have probability 1e-6.
        assert kstest(drawn, slow).pvalue > 1e-6


def test_pure_ratios_are_bounded_by_epsilon() -> None:
    rng = np.random.default_rng(2)
    moved = np.array([0.6, 0.8])
    for mechanism in (KNormMechanism(1.0, 0.5, 2), LaplaceMechanism(1.0, 0.5 * 2**0.5, 2)):
        ratios = np.concatenate(NoisyValue(mechanism, np.zeros(2), moved).log_ratios(50_000, rng))
        assert np.abs(ratios).max() <= 2.0 + 1e-9
    noise = _draw(KNormMechanism(1.0, 0.5, 2), 2, 1000, rng)
    assert noise.shape == (1000, 2)


def test_attacks_point_to_the_other() -> None:
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 500, 2))
    other[:, 0] += 2
    for made in (projection(np.zeros(2), np.array([1.0, 0.0])), linear(one, other)):
        assert made.score(other).mean() > made.score(one).mean() + 1
    assert trained(one, other).score(other).mean() > trained(one, other).score(one).mean() + 1


# Estimators


def data(n: int = 12):
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], n // 2)
    x = rng.normal(size=(n, 2)) / 3 + np.where(y == "yes", 0.3, -0.3)[:, None]
    return x, y


def test_an_estimator_is_consistent() -> None:
    model = PrivateRanker(2.0, 1e-5, algorithm="DPGDSC", classes=["no", "yes"], data_norm=1.0)
    report = audit_estimator(model, *data(), runs=60, confidence=SURE)
    assert report.verdict == "consistent"
    assert report.name == "PrivateRanker"
    assert report.certificate_epsilon == pytest.approx(2.0, rel=1e-6)
    metric = audit_estimator(
        PrivateMetric(1.0, algorithm=ScatterMetric(), data_norm=1.0),
        *data(),
        runs=40,
        confidence=SURE,
    )
    assert metric.verdict == "consistent"


class Leaky(PrivateRanker):
    """Adds the first record to what it releases."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = self.coef_ + 1e3 * np.asarray(X)[:1]
        return self


def test_a_leaky_estimator_is_found() -> None:
    model = Leaky(1.0, 1e-5, algorithm="DPGDSC", classes=["no", "yes"], data_norm=1.0)
    report = audit_estimator(model, *data(), runs=120, confidence=LAX)
    assert report.verdict == "violated"
    assert report.certificate_epsilon == pytest.approx(1.0, rel=1e-6)


def test_estimators_are_checked() -> None:
    x, y = data()
    with pytest.raises(ValueError, match="has no epsilon"):
        audit_estimator(PrivateRanker(None, data_norm=1.0), x, y)
    pair = Neighbours(x, y, 0, -x[0], y[0])
    with pytest.raises(ValueError, match="pass released"):
        audit_estimator(DummyClassifier(), x, y, pair=pair, budget=Budget(1.0), runs=60)
