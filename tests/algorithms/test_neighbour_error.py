"""The predicted error of nearest neighbours, against that of drawn records."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from pairdp.algorithms.neighbour_error import Contrasts, neighbour_error


def contrasts(*means: np.ndarray) -> Contrasts:
    """Return those of classes of equal size with known means."""
    pairs = [a - b for i, a in enumerate(means) for b in means[:i]]
    shares = np.full((len(pairs), 2), 1 / len(means))
    return Contrasts(np.array(pairs), np.zeros((len(pairs), len(means[0]))), shares)


@pytest.mark.parametrize(("d", "n"), [(1, 1500), (5, 300), (30, 300), (30, 1500)])
def test_it_is_the_error_on_normal_classes(d: int, n: int) -> None:
    rng, gap = np.random.default_rng(0), 2.5
    within, mean = np.diag(np.linspace(0.5, 2, d)), np.zeros(d)
    mean[0] = gap
    stretched = np.eye(d)
    stretched[0, 0] = 10.0
    for metric in (np.eye(d), stretched):
        errors = []
        for _ in range(4):
            y = rng.integers(2, size=n + 1000)
            x = (rng.normal(size=(n + 1000, d)) * np.sqrt(np.diag(within)) + np.outer(y, mean)) * (
                np.sqrt(np.diag(metric))
            )
            model = KNeighborsClassifier(3).fit(x[:n], y[:n])
            errors.append(1 - model.score(x[n:], y[n:]))
        predicted = neighbour_error(metric, within, contrasts(mean, 0 * mean), n)
        assert predicted == pytest.approx(np.mean(errors), abs=0.035)


def test_it_does_not_depend_on_units_and_adds_pairs_of_classes() -> None:
    rng = np.random.default_rng(0)
    means, within = rng.normal(size=(3, 4)), np.eye(4)
    unit = np.array([1e-3, 1.0, 10.0, 1e3])
    metric = np.diag([4.0, 1.0, 1.0, 2.0])
    first = neighbour_error(metric, within, contrasts(*means), 500)
    scaled = metric / np.outer(unit, unit)
    second = neighbour_error(scaled, np.diag(unit**2), contrasts(*(means * unit)), 500)
    assert second == pytest.approx(first, rel=1e-6)
    pairs = [
        neighbour_error(metric, within, contrasts(*means[[a, b]]), 500)
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    assert first == pytest.approx(2 / 3 * sum(pairs))
    flat = contrasts(*(0 * means))
    assert neighbour_error(metric, within, flat, 500) == pytest.approx(1.0)  # 2/3 · 3 · 1/2


def test_errors_of_differences_count_as_differences() -> None:
    known = contrasts(np.zeros(3), np.array([1.0, 0.0, 0.0]))
    unsure = known._replace(variances=np.array([[0.0, 4.0, 0.0]]))
    plain, blind = np.eye(3), np.diag([1.0, 1e-6, 1.0])
    gain = [
        neighbour_error(blind, np.eye(3), c, 400) - neighbour_error(plain, np.eye(3), c, 400)
        for c in (known, unsure)
    ]
    assert gain[0] < 0 < gain[1]
