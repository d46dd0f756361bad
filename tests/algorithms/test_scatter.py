"""The metric from noisy scatter: its statistics, its sensitivities, and where it falls back."""

from __future__ import annotations

import math
import pickle
import re
import tracemalloc

import numpy as np
import pytest

from pairdp import Budget, NoiseSource, verify
from pairdp.algorithms import ScatterMetric
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.scaled_records import ScaledRecords
from pairdp.constraints import (
    FrobeniusBall,
    L2Ball,
    PSDCone,
    PSDFrobeniusBall,
    PSDNuclearBall,
    SymmetricMatrices,
)
from pairdp.losses import HingeMetric, LogisticMetric, LogisticRanking
from pairdp.problem import Problem
from tests.algorithms.attacks import (
    Neighbours,
    attack,
    drawn,
    moved,
    staged,
    survives,
    tampered,
)

BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
BOTH = ("means", "pairs")


def data(n: int = 3000, d: int = 4, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return records whose first feature tells the class and whose last is loud."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    x = 0.1 * rng.normal(size=(n, d)) + 0.1
    x[:, 0] += 0.15 * (y - 1)
    x[:, -1] *= 2
    return x, y


def run(
    statistics: str, budget: Budget | None, x: np.ndarray, y: np.ndarray, seed: int = 0
) -> np.ndarray:
    plan = ScatterMetric(statistics).plan(METRIC, *x.shape, budget)
    return plan.run(METRIC.records(x, y), NoiseSource(seed)).parameters


# Statistics


@pytest.mark.parametrize("classes", [1, 2, 5, 40])
def test_scatter_within_classes_is_the_sum_over_all_pairs(classes: int) -> None:
    rng = np.random.default_rng(classes)
    x, y = rng.normal(size=(40, 3)) / 4, rng.permutation(np.arange(40) % classes)
    records = METRIC.records(x, y)
    x = records.x
    expected = np.zeros((3, 3))
    for i in range(40):
        for j in range(40):
            if i != j and y[i] == y[j]:
                expected += np.outer(x[i] - x[j], x[i] - x[j])
    found = ScaledRecords(records).within()
    np.testing.assert_allclose(found, expected / (40 * 39), rtol=0, atol=1e-15)


def test_all_statistics_over_many_blocks() -> None:
    rng = np.random.default_rng(0)
    n, center = 10_000, np.array([0.3, -0.1, 0.0])
    x, y = rng.normal(size=(n, 3)), rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1])
    records = METRIC.records(x, y)
    z = (records.x - center) / 0.5
    z /= np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]
    scaled = ScaledRecords(records, center, 0.5)
    np.testing.assert_allclose(scaled.mean(), z.mean(axis=0), atol=1e-14)
    assert scaled.square_norm() == pytest.approx(np.mean(np.sum(z**2, axis=1)))
    np.testing.assert_allclose(scaled.moments(), z.T @ z / n, atol=1e-14)
    total, within = np.zeros((3, 3)), np.zeros((3, 3))
    for label in "abc":
        some = z[y == label]
        mean = some.mean(axis=0)
        mean *= min(1.0, 0.2 / np.linalg.norm(mean))
        total += len(some) / n * np.outer(mean, mean)
        within += 2 * len(some) ** 2 * np.cov(some.T, bias=True) / (n * (n - 1))
    np.testing.assert_allclose(scaled.class_means(0.2), total, atol=1e-14)
    np.testing.assert_allclose(scaled.within(), within, atol=1e-14)


@pytest.mark.parametrize("statistics", BOTH)
def test_memory_is_that_of_blocks(statistics: str) -> None:
    n, d = 100_000, 10
    rng = np.random.default_rng(0)
    records = METRIC.records(rng.normal(size=(n, d)), rng.integers(3, size=n))
    plan = ScatterMetric(statistics).plan(METRIC, n, d, BUDGET)
    tracemalloc.start()
    plan.run(records, NoiseSource(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * n * d / 2


# Privacy


@pytest.mark.parametrize("budget", [BUDGET, PURE, Budget(6.0, 1e-9)], ids=str)
@pytest.mark.parametrize("statistics", BOTH)
def test_certificates_verify_and_use_the_budget(statistics: str, budget: Budget) -> None:
    x, y = data(200)
    plan = ScatterMetric(statistics).plan(METRIC, *x.shape, budget)
    assert plan.claim_is_proved
    assert 0.99 * budget.epsilon <= plan.true_epsilon <= budget.epsilon
    assert verify(plan.certificate)
    fit = plan.run(METRIC.records(x, y), NoiseSource(0))
    assert verify(fit.certificate.to_json())
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize("statistics", BOTH)
def test_no_neighbour_moves_a_release_further(statistics: str) -> None:
    for n, norm in ((4, 3.0), (9, 1.0)):
        problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), data_norm=norm)
        plan = ScatterMetric(statistics).plan(problem, n, 2, BUDGET)
        assert 0.9 <= attack(plan) <= 1
        assert not survives(tampered(plan, 0.25))


@pytest.mark.parametrize("statistics", BOTH)
def test_no_neighbour_among_many_classes(statistics: str) -> None:
    rng, n = np.random.default_rng(0), 12
    plan = ScatterMetric(statistics).plan(METRIC, n, 2, BUDGET)
    for i in range(60):
        pair = drawn(n, 1.0, i % n, rng)
        y = rng.integers(1 + i % n, size=n).astype(float)
        pair = Neighbours(pair.x, y, pair.place, pair.other_x, float(rng.integers(n)))
        assert max(moved(plan, pair, kick=float(i % 2) / 5)) <= 1


def test_each_release_comes_near_its_bound() -> None:
    n, best, e = 200, np.zeros(7), np.array([1.0, 0.0])
    plan = ScatterMetric(mean_norm=0.5).plan(METRIC, n, 2, BUDGET)
    rng = np.random.default_rng(0)
    for apart in (0.2, 0.3, 0.5):  # two classes, and a record thrown from one end to the other
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        x = 0.3 * rng.normal(size=(n, 2)) + apart * y[:, None] * e
        x[2] = e
        for kick in (0.0, 0.3):
            pairs = Neighbours(x, y, 2, -e, y[2]), *staged(n, 1.0, 2), drawn(n, 1.0, 2, rng)
            best = np.max([best, *(moved(plan, pair, kick) for pair in pairs)], axis=0)
    assert np.all(best <= 1)
    assert np.all(best >= 0.8)


@pytest.mark.parametrize("statistics", BOTH)
def test_a_fit_holds_no_data(statistics: str) -> None:
    x, y = data(50)
    records = METRIC.records(x, y)
    plan = ScatterMetric(statistics).plan(METRIC, *x.shape, BUDGET)
    stored = pickle.dumps(plan.run(records, NoiseSource(0)))
    assert not any(number.tobytes() in stored for number in records.x.ravel())


def test_an_interrupted_run_returns_nothing_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = data(500)
    records = METRIC.records(x, y)
    kept = records.x.copy()
    plan = ScatterMetric().plan(METRIC, *x.shape, Budget(8.0, 1e-5))
    before = plan.run(records, NoiseSource(0)).parameters

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ScaledRecords, "class_means", stop)
        with pytest.raises(KeyboardInterrupt):
            plan.run(records, NoiseSource(0))
    np.testing.assert_array_equal(records.x, kept)
    np.testing.assert_array_equal(plan.run(records, NoiseSource(0)).parameters, before)


# What comes out


def by_hand(x: np.ndarray, y: np.ndarray, statistics: str) -> np.ndarray:
    """Return the metric without noise, from its formula."""
    d = x.shape[1]
    center, spread = x.mean(axis=0), np.mean(np.sum((x - x.mean(axis=0)) ** 2, axis=1))

    def scaled(center: np.ndarray, square: float) -> np.ndarray:
        z = (x - center) / math.sqrt(square)
        return z / np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]

    z = scaled(center, 2 * spread)
    center = center + math.sqrt(2 * spread) * z.mean(axis=0)
    z = scaled(center, 1.5 * 2 * spread * np.trace(np.cov(z.T, bias=True)))
    if statistics == "pairs":
        s = sum(np.sum(y == c) ** 2 * np.cov(z[y == c].T, bias=True) for c in np.unique(y))
        values, vectors = np.linalg.eigh(s)
        metric = (vectors / np.maximum(values, 0.05 * values.mean())) @ vectors.T
        return metric / np.trace(metric)
    between = -np.outer(z.mean(axis=0), z.mean(axis=0))
    for c in np.unique(y):
        mean = z[y == c].mean(axis=0)
        mean *= min(1.0, 0.4 / np.linalg.norm(mean))
        between += np.mean(y == c) * np.outer(mean, mean)
    values, vectors = np.linalg.eigh(between)
    between = (vectors * np.maximum(values, 0)) @ vectors.T
    w = np.cov(z.T, bias=True) - between
    level = np.trace(w) / d
    inverse = np.linalg.inv(w + 0.05 * level * np.eye(d))
    metric = 0.3 * np.eye(d) + level * inverse @ between @ inverse
    return metric / np.trace(metric)


@pytest.mark.parametrize("statistics", BOTH)
def test_without_noise_it_is_the_formula(statistics: str) -> None:
    x, y = data()
    x = METRIC.records(x, y).x
    np.testing.assert_allclose(
        run(statistics, None, x, y), by_hand(x, y, statistics), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("budget", [Budget(0.01, 1e-6), Budget(0.01)], ids=str)
@pytest.mark.parametrize("statistics", BOTH)
def test_little_budget_falls_back_to_euclid(statistics: str, budget: Budget) -> None:
    x, y = data(500)
    for seed in range(20):
        found = run(statistics, budget, x, y, seed)
        np.testing.assert_allclose(found, np.eye(4) / 4, rtol=0, atol=1e-15)


def test_without_class_means_that_differ_it_is_euclid() -> None:
    x, y = data()
    np.testing.assert_allclose(run("means", None, x, 0 * y), np.eye(4) / 4, atol=1e-12)
    rng = np.random.default_rng(0)
    for seed in range(10):
        found = run("means", BUDGET, x, rng.permutation(y), seed)
        assert np.linalg.cond(found) < 1.5


def test_much_budget_is_as_good_as_no_noise() -> None:
    x, y = data(20_000)
    for budget in (Budget(20.0, 1e-5), Budget(50.0)):
        metric = run("means", budget, x, y)
        assert np.argmax(np.diag(metric)) == 0
        assert metric[0, 0] > 2 * np.diag(metric)[1:].max()


def test_where_the_data_lies_in_the_ball_hardly_matters() -> None:
    # A fifth of the ball, off its centre: noise is against the spread, not the bound.
    x, y = data(20_000)
    x = 0.2 * x + np.array([0.5, 0.0, -0.3, 0.2])
    metric = run("means", Budget(4.0, 1e-6), x, y)
    assert metric[0, 0] > 2 * np.diag(metric)[1:].max()


@pytest.mark.parametrize("statistics", BOTH)
def test_names_of_classes_do_not_matter(statistics: str) -> None:
    x, y = data(400)
    names = np.array(["z", "a", "m"])[y]
    first, second = (run(statistics, Budget(8.0, 1e-5), x, labels) for labels in (y, names))
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "constraint",
    [
        PSDFrobeniusBall(0.1),
        PSDNuclearBall(2.0),
        PSDCone(),
        FrobeniusBall(3.0),
        SymmetricMatrices(),
    ],
    ids=lambda constraint: type(constraint).__name__,
)
@pytest.mark.parametrize("statistics", BOTH)
def test_results_lie_in_the_constraint_set(constraint: object, statistics: str) -> None:
    x, y = data(500)
    problem = Problem(HingeMetric(), constraint, 0.1, np.eye(4))
    plan = ScatterMetric(statistics).plan(problem, *x.shape, Budget(8.0, 1e-5))
    found = plan.run(problem.records(x, y), NoiseSource(0)).parameters
    np.testing.assert_allclose(constraint.project(found), found, rtol=0, atol=1e-12)
    scale = constraint.radius if math.isfinite(constraint.radius) else 4.0
    assert np.trace(found) == pytest.approx(scale)


@pytest.mark.parametrize("budget", [None, BUDGET, PURE], ids=str)
@pytest.mark.parametrize("statistics", BOTH)
def test_degenerate_data(statistics: str, budget: Budget | None) -> None:
    for x in (np.zeros((5, 2)), np.ones((5, 2)), np.eye(2)[[0, 0, 0, 0, 1]], np.ones((5, 1))):
        for y in (np.zeros(5), np.arange(5)):
            found = run(statistics, budget, x, y)
            assert np.all(np.isfinite(found))
            assert np.trace(found) == pytest.approx(1)


@pytest.mark.parametrize("statistics", BOTH)
def test_units_do_not_matter(statistics: str) -> None:
    x, y = data(2000)
    found = []
    for norm in (1.0, 1000.0):
        problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), data_norm=norm)
        plan = ScatterMetric(statistics).plan(problem, *x.shape, Budget(8.0, 1e-5))
        assert verify(plan.certificate)
        fit = plan.run(problem.records(norm * x, y), NoiseSource(0))
        found.append(fit.parameters)
    np.testing.assert_allclose(*found, rtol=0, atol=1e-9)


def test_the_size_of_noise_is_known() -> None:
    for budget in (BUDGET, PURE):
        release = ScatterMetric().plan(METRIC, 100, 5, budget).certificate.releases[-1]
        rng = np.random.default_rng(0)
        draws = [release.mechanism.noise(release.dimension, rng) for _ in range(2000)]
        assert np.std(draws) == pytest.approx(deviation(release), rel=0.02)


# Refusals


def test_refusals() -> None:
    ranking = Problem(LogisticRanking(), L2Ball(1.0))
    with pytest.raises(ValueError, match=re.escape("use a metric loss such as LogisticMetric()")):
        ScatterMetric().plan(ranking, 100, 3, BUDGET)
    with pytest.raises(ValueError, match="no paper prints the noise"):
        ScatterMetric().plan(METRIC, 100, 3, BUDGET, calibration="printed")
    with pytest.raises(ValueError, match="statistics must be"):
        ScatterMetric("total")
    with pytest.raises(ValueError, match="mean_norm must be at most"):
        ScatterMetric(mean_norm=0.6)
    with pytest.raises(ValueError, match="euclidean"):
        ScatterMetric(euclidean=0.0)
