"""The Fisher metric: its statistics, its sensitivities, and where it stays Euclidean."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, PrivateMetric, load, verify
from pairdp.algorithms import FisherMetric
from pairdp.algorithms.fisher_metric import smallest_signal
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.constraints import L2Ball, PSDCone, PSDFrobeniusBall, SymmetricMatrices
from pairdp.losses import HingeMetric, LogisticMetric, LogisticRanking
from pairdp.problem import Problem
from tests.algorithms.attacks import Neighbours, attack, drawn, moved, staged, survives, tampered

BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
BOTH = ("diagonal", "full")


def data(n: int = 3000, d: int = 4, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return records whose first feature knows the class and whose last is loud."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    x = 0.1 * rng.normal(size=(n, d)) + 0.1
    x[:, 0] += 0.15 * (y - 1)
    x[:, -1] *= 2
    return x, y


def run(
    form: str, budget: Budget | None, x: np.ndarray, y: np.ndarray, seed: int = 0
) -> np.ndarray:
    plan = FisherMetric(form).plan(METRIC, *x.shape, budget)  # type: ignore[arg-type]
    return plan.run(METRIC.records(x, y), NoiseSource(seed)).parameters


# Statistics


def test_statistics_over_many_blocks() -> None:
    rng = np.random.default_rng(0)
    n, center, unit = 10_000, np.array([0.3, -0.1, 0.0]), np.array([0.5, 0.1, 2.0])
    x, y = rng.normal(size=(n, 3)), rng.integers(3, size=n)
    rows, labels = x.tolist(), y.tolist()
    rows[7], labels[8] = [math.nan] * 3, None
    records = METRIC.records(rows, labels, invalid="null")
    z = (records.x - center) / unit
    z /= np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]
    used = np.delete(np.arange(n), [7, 8])
    scaled = ScaledRecords(records, center, unit)
    np.testing.assert_allclose(scaled.squares(), np.sum(z[used] ** 2, axis=0) / n, atol=1e-14)
    # Above R, up to R, up to R/2, and below.
    norms = np.linalg.norm((records.x[used] - center) / unit, axis=1)
    edges = [0.0, 0.25, 0.5, 1.0, math.inf]
    np.testing.assert_array_equal(scaled.norm_counts(4), np.histogram(norms, edges)[0][::-1])
    both = scaled.bucket_sums_and_sizes(5)
    assert both.shape == (6, 3)
    for label in range(5):
        own = used[y[used] == label]
        np.testing.assert_allclose(both[label], z[own].sum(axis=0) / n, atol=1e-14)
        assert scaled.bucket_counts(5)[label] == len(own)
    np.testing.assert_allclose(both[5], np.abs(z[used]).sum(axis=0) / n, atol=1e-14)
    # Two classes in one bucket are one class.
    merged = scaled.bucket_sums_and_sizes(2)
    np.testing.assert_allclose(merged[0], both[0] + both[2], atol=1e-14)
    np.testing.assert_allclose(merged[2], both[5], atol=1e-14)


# Privacy


@pytest.mark.parametrize(
    "budget", [BUDGET, PURE, pytest.param(Budget(6.0, 1e-9), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("form", BOTH)
def test_certificates_verify_and_use_the_budget(form: str, budget: Budget) -> None:
    x, y = data(200)
    plan = FisherMetric(form).plan(METRIC, *x.shape, budget)  # type: ignore[arg-type]
    assert plan.claim_is_proved
    assert 0.99 * budget.epsilon <= plan.true_epsilon <= budget.epsilon
    fit = plan.run(METRIC.records(x, y), NoiseSource(0))
    assert verify(fit.certificate.to_json())
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize("norm", [1.0, 3.0])
@pytest.mark.parametrize("form", BOTH)
@pytest.mark.slow
def test_no_neighbour_moves_a_release_further(form: str, norm: float) -> None:
    problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), data_norm=norm)
    plan = FisherMetric(form, buckets=5).plan(problem, 9, 2, BUDGET)  # type: ignore[arg-type]
    assert 0.95 <= attack(plan) <= 1
    assert not survives(tampered(plan, 0.9))


@pytest.mark.parametrize("form", BOTH)
def test_each_release_comes_near_its_bound(form: str) -> None:
    n, rng = 100, np.random.default_rng(0)
    plan = FisherMetric(form, buckets=5).plan(METRIC, n, 2, Budget(90.0, 1e-5))  # type: ignore[arg-type]
    best = np.zeros(len(plan.certificate.releases))
    e, f = np.eye(2)
    x = np.zeros((n, 2))
    x[2] = e
    others = [Neighbours(x, np.ones(n), 2, other, 1.0) for other in (f, -e, 0 * e)]
    # Among small records around zero, one from end to end of the ball, and to the other class.
    small, y = 0.01 * rng.normal(size=(n, 2)), np.resize([-1.0, 1.0], n)
    small[2] = e
    others += [Neighbours(small, y, 2, -e, y[2]), Neighbours(small, y, 2, e, -y[2])]
    for kick in (0.0, 1.0):
        pairs = *others, *staged(n, 1.0, 2), *(drawn(n, 1.0, 2, rng) for _ in range(3))
        best = np.max([best, *(moved(plan, pair, kick) for pair in pairs)], axis=0)
    assert np.all(best <= 1)
    assert np.all(best >= 0.95)


def test_a_class_of_its_own_changes_no_other_class() -> None:
    # A label that nobody else has sorts before all others, and shifts their codes.
    rng, n = np.random.default_rng(0), 12
    plan = FisherMetric().plan(METRIC, n, 2, BUDGET)
    for i in range(40):
        pair = drawn(n, 1.0, i % n, rng)
        y = rng.integers(1, 5, size=n).astype(float)
        pair = Neighbours(pair.x, y, pair.place, pair.other_x, float(rng.integers(-9, 9)))
        assert max(moved(plan, pair, kick=float(i % 2) / 5)) <= 1


@pytest.mark.parametrize("form", BOTH)
def test_a_fit_holds_no_data(form: str) -> None:
    x, y = data(50)
    records = METRIC.records(x, y)
    plan = FisherMetric(form).plan(METRIC, *x.shape, BUDGET)  # type: ignore[arg-type]
    stored = pickle.dumps(plan.run(records, NoiseSource(0)))
    assert not any(number.tobytes() in stored for number in records.x.ravel())


# What comes out


@pytest.mark.parametrize("form", BOTH)
def test_much_budget_is_as_good_as_no_noise(form: str) -> None:
    x, y = data(20_000, 12)
    exact = run(form, None, x, y)
    assert exact[0, 0] > 4 * np.diag(exact)[1:].max()
    for budget in (Budget(20.0, 1e-5), Budget(50.0)):
        np.testing.assert_allclose(run(form, budget, x, y), exact, atol=0.02)


def test_correlated_features_are_separated_by_the_full_form() -> None:
    rng = np.random.default_rng(0)
    y, sign = rng.integers(2, size=20_000), np.resize([1.0, -1.0], 10)
    loud = rng.normal(size=(20_000, 1))
    x = 0.03 * (2 * loud + rng.normal(size=(20_000, 10)) + np.outer(y, 0.5 * sign))
    diagonal, full = (run(form, Budget(2.0, 1e-6), x, y) for form in BOTH)
    ratios = [sign @ found @ sign / found.sum() for found in (diagonal, full)]
    # Features that separate classes keep a weight of their own, 0.3 of the largest stretch.
    assert min(ratios) > 2.5
    assert ratios[1] > 1.3 * ratios[0]


@pytest.mark.parametrize("form", BOTH)
def test_where_no_gain_is_predicted_it_is_euclidean(form: str) -> None:
    # Three neighbours among so many in two dimensions are as close as they need to be.
    x, y = data(20_000, 2)
    np.testing.assert_allclose(run(form, None, x, y), np.eye(2) / 2, atol=1e-12)


@pytest.mark.parametrize("form", BOTH)
def test_where_the_data_lies_and_which_scale_it_has_hardly_matter(form: str) -> None:
    x, y = data(20_000)
    x = 0.2 * x * np.array([0.1, 1, 1, 1]) + np.array([0.5, 0.0, -0.3, 0.2])
    weights = np.diag(run(form, Budget(4.0, 1e-6), x, y))
    assert weights[0] > 50 * weights[1:].max()  # the feature that is ten times as small


@pytest.mark.parametrize("form", BOTH)
def test_names_of_classes_do_not_matter(form: str) -> None:
    x, y = data(2000, 12)
    names = np.array(["z", "a", "m"])[y]
    first, second = (run(form, None, x, labels) for labels in (y, names))
    assert np.linalg.cond(first) > 2
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


@pytest.mark.parametrize("budget", [Budget(0.01, 1e-6), Budget(0.01)], ids=str)
@pytest.mark.parametrize("form", BOTH)
def test_where_nothing_can_be_learned_the_plan_says_so(form: str, budget: Budget) -> None:
    x, y = data(500)
    plan = FisherMetric(form).plan(METRIC, *x.shape, budget)  # type: ignore[arg-type]
    assert not plan.settings.learns
    (sentence,) = plan.warnings
    assert "the metric will be the Euclidean one, which costs nothing" in sentence
    for seed in range(5):
        np.testing.assert_allclose(run(form, budget, x, y, seed), np.eye(4) / 4, atol=1e-15)


@pytest.mark.parametrize("form", BOTH)
def test_half_of_what_noise_hides_stays_euclidean(form: str) -> None:
    n, d = 500, 10
    plan = FisherMetric(form).plan(METRIC, n, d, BUDGET)  # type: ignore[arg-type]
    rounds = [one for one in plan.certificate.releases if "round" in one.name]
    assert len(rounds) == 3
    # The largest of d squared numbers of noise on √p(m_c - m), of records of mean squared norm R².
    noise = 2 * math.log(2 * d) * d * deviation(rounds[0]) ** 2 / 3
    assert plan.settings.euclidean == pytest.approx(0.03 + noise / 2)
    assert noise > 0.01


def test_few_records_are_not_worth_a_metric() -> None:
    for n, learns in ((50, False), (500, True)):
        plan = FisherMetric().plan(METRIC, n, 10, Budget(20.0, 1e-5))
        assert plan.settings.learns == learns
        assert bool(plan.warnings) != learns


@pytest.mark.parametrize("form", BOTH)
def test_without_a_signal_it_is_euclidean(form: str) -> None:
    x, y = data()
    np.testing.assert_allclose(run(form, None, x, 0 * y), np.eye(4) / 4, atol=1e-12)
    rng = np.random.default_rng(0)
    for seed in range(10):
        found = run(form, Budget(4.0, 1e-5), x, rng.permutation(y), seed)
        assert np.linalg.cond(found) < 1.5


def test_a_small_feature_beside_loud_ones_is_standardised() -> None:
    # Its size is below the noise of the first round, and above that of the last.
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2000)
    x = 0.1 * rng.normal(size=(2000, 6))
    x[:, 0] = 0.001 * (rng.normal(size=2000) + 3 * y)
    budget = Budget(2.0, 1e-6)
    release = FisherMetric().plan(METRIC, *x.shape, budget).certificate.releases[4]
    assert release.name == "class sums and mean sizes, round 1"
    share = x[:, 0].std() / math.sqrt(x.var(axis=0).sum())
    assert share < 2 * deviation(release)
    weights = np.diag(run("diagonal", budget, x, y))
    assert weights[0] > 100 * weights[1:].max()


@pytest.mark.parametrize("form", BOTH)
def test_many_classes_hide_what_two_would_show(form: str) -> None:
    x, y = data(1000, 12, classes=2)
    budget = Budget(2.0, 1e-6)
    assert FisherMetric(form).plan(METRIC, *x.shape, budget).settings.learns  # type: ignore[arg-type]
    assert np.linalg.cond(run(form, budget, x, y)) > 2
    halves = 15 * y + np.random.default_rng(1).integers(15, size=len(y))
    np.testing.assert_allclose(run(form, budget, x, halves), np.eye(12) / 12, atol=1e-12)


def test_more_records_or_budget_show_a_smaller_signal() -> None:
    def least(n: int, budget: Budget) -> float:
        plan = FisherMetric().plan(METRIC, n, 5, budget)
        return smallest_signal(plan.certificate.releases, plan.task)

    assert least(1000, BUDGET) > 10 * least(10_000, BUDGET)
    assert least(1000, BUDGET) > least(1000, Budget(2.0, 1e-5))
    assert least(1000, PURE) > least(1000, Budget(2.0))


@pytest.mark.parametrize("form", BOTH)
@pytest.mark.parametrize(
    "constraint",
    [PSDFrobeniusBall(0.1), PSDCone(), SymmetricMatrices()],
    ids=lambda constraint: type(constraint).__name__,
)
def test_results_lie_in_the_constraint_set(constraint: object, form: str) -> None:
    x, y = data(500)
    problem = Problem(HingeMetric(), constraint, 0.1, np.eye(4))
    plan = FisherMetric(form).plan(problem, *x.shape, Budget(8.0, 1e-5))  # type: ignore[arg-type]
    found = plan.run(problem.records(x, y), NoiseSource(0)).parameters
    np.testing.assert_allclose(constraint.project(found), found, rtol=0, atol=1e-12)
    scale = constraint.radius if math.isfinite(constraint.radius) else 4.0
    assert np.trace(found) == pytest.approx(scale)


@pytest.mark.parametrize("budget", [None, Budget(50.0, 1e-5), Budget(90.0)], ids=str)
@pytest.mark.parametrize("form", BOTH)
def test_degenerate_data(form: str, budget: Budget | None) -> None:
    for x in (np.zeros((5, 2)), np.ones((5, 2)), np.eye(2)[[0, 0, 0, 0, 1]], np.ones((5, 1))):
        for y in (np.zeros(5), np.arange(5)):
            found = run(form, budget, x, y)
            assert np.all(np.isfinite(found))
            assert np.trace(found) == pytest.approx(1)


@pytest.mark.parametrize("form", BOTH)
def test_units_of_measurement_do_not_matter(form: str) -> None:
    x, y = data(2000)
    found = []
    for norm in (1.0, 1000.0):
        problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), data_norm=norm)
        plan = FisherMetric(form).plan(problem, *x.shape, Budget(8.0, 1e-5))  # type: ignore[arg-type]
        fit = plan.run(problem.records(norm * x, y), NoiseSource(0))
        found.append(fit.parameters)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


def test_an_estimator_saves_it(tmp_path: object) -> None:
    x, y = data(2000, 12)
    model = PrivateMetric(2.0, algorithm="fisher", n_components=2, data_norm=1.0, random_state=0)
    model.fit(x, np.array(["low", "middle", "high"])[y])
    assert model.components_.shape == (2, 12)
    assert model.n_directions_ >= 1
    model.save(f"{tmp_path}/metric")
    np.testing.assert_array_equal(load(f"{tmp_path}/metric").components_, model.components_)


# Refusals


def test_refusals() -> None:
    ranking = Problem(LogisticRanking(), L2Ball(1.0))
    with pytest.raises(ValueError, match=re.escape("use a metric loss such as LogisticMetric()")):
        FisherMetric().plan(ranking, 100, 3, BUDGET)
    with pytest.raises(ValueError, match="form must be"):
        FisherMetric("round")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="euclidean"):
        FisherMetric(euclidean=0.0)
    with pytest.raises(ValueError, match="buckets must be at least 2"):
        FisherMetric(buckets=1)
