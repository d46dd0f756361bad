"""AUC of metrics from given pairs at ε = 1, on synthetic data: scatters against descent."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pairdp import PrivatePairMetric
from pairdp.estimators import NoSignalWarning

SEEDS, TEST, CLASSES = 3, 20_000, 5

Pairs = tuple[np.ndarray, np.ndarray]


def synthetic(n: int, d: int, seed: int) -> Pairs:
    """Return pairs from five classes, whose means differ in three features of various scales."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(99)
    scale = np.exp(0.7 * fixed.normal(size=d))
    means = 1.3 * fixed.normal(size=(CLASSES, d)) * (np.arange(d) < 3) * scale
    first, similar = rng.integers(0, CLASSES, n), rng.random(n) < 0.5
    second = np.where(similar, first, (first + rng.integers(1, CLASSES, n)) % CLASSES)
    pairs = means[np.stack([first, second], axis=1)] + rng.normal(size=(n, 2, d)) * scale
    return pairs / (4 * np.linalg.norm(scale)), np.where(similar, 1, -1)


def auc(model: Callable[[int], Any], train: Callable[[int], Pairs], test: Pairs) -> str:
    """Return the mean AUC over seeds, and the share of pairs that are predicted right."""
    found = []
    for seed in range(SEEDS):
        fitted = model(seed).fit(*train(seed))
        found.append((fitted.score(*test), np.mean(fitted.predict(test[0]) == test[1])))
    return "AUC {:.3f}, accuracy {:.3f}".format(*np.mean(found, axis=0))


class Euclidean:
    """The metric that costs nothing."""

    def fit(self, pairs: np.ndarray, y: np.ndarray) -> PrivatePairMetric:
        """Return a metric that was fitted to nothing."""
        made = PrivatePairMetric(data_norm=1.0, threshold=1.0).fit(0 * pairs, y)
        made.components_ = np.eye(pairs.shape[2])
        return made


def main() -> None:
    """Print a table for each number of pairs and of features."""
    warnings.simplefilter("ignore", NoSignalWarning)
    common: dict[str, Any] = {"data_norm": 1.0}
    models: dict[str, Callable[[int], Any]] = {
        "Euclidean": lambda seed: Euclidean(),
        "scatters of pairs": lambda seed: PrivatePairMetric(1.0, random_state=seed, **common),
        "noisy descent, B = 10": lambda seed: PrivatePairMetric(
            1.0, loss="logistic", radius=10.0, random_state=seed, **common
        ),
        "noisy descent, B = 50": lambda seed: PrivatePairMetric(
            1.0, loss="logistic", radius=50.0, random_state=seed, **common
        ),
        "noisy minimiser, B = 50": lambda seed: PrivatePairMetric(
            1.0, loss="logistic", radius=50.0, algorithm="minimizer", random_state=seed, **common
        ),
        "scatters without noise": lambda seed: PrivatePairMetric(None, **common),
    }
    for d in (5, 10, 30):
        test = synthetic(TEST, d, 77)
        for n in (1000, 10_000):
            print(f"{n} pairs of {d} features")
            for name, model in models.items():
                print(f"  {name:24s} {auc(model, lambda s: synthetic(n, d, s), test)}")  # noqa: B023


if __name__ == "__main__":
    main()
