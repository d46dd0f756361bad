"""Accuracy of the metric that "auto" chooses, and regret to other candidates, on synthetic data."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from pairdp.algorithms.choice import Candidate
from pairdp.algorithms.choice.metric import choose_metric
from pairdp.privacy import Budget, NoiseSource

FIRST, SEEDS, TEST = 100, 14, 1500
SLOW, RUNS = 700, ("ScatterMetric", "MinimizerRelease")


@dataclass(frozen=True)
class Data:
    """Records in the unit ball, some of them held out."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray

    def accuracy(self, metric: np.ndarray | None = None) -> float:
        """Return the share of held-out records that their three nearest neighbours tell."""
        x, test = self.x, self.test_x
        if metric is not None:
            values, vectors = np.linalg.eigh(metric)
            half = vectors * np.sqrt(np.maximum(values, 0.0))
            x, test = x @ half, test @ half
        return float(
            KNeighborsClassifier(3, algorithm="brute").fit(x, self.y).score(test, self.test_y)
        )


def _factors(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a few hidden factors, of which one or two know the class, seen through noise."""
    y = rng.integers(k, size=n)
    hidden = rng.normal(size=(n, max(2, d // 3))) * rng.uniform(0.5, 3)
    hidden[:, :2] += rng.normal(size=(k, 2))[y] * rng.uniform(0.5, 2)
    return hidden @ rng.normal(size=(hidden.shape[1], d)) + rng.normal(size=(n, d)), y


def _skewed(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make positive features with long tails, a third of which know the class."""
    y = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 4.0)))
    shift = rng.normal(size=(k, d)) * (rng.random(d) < 0.34) * rng.uniform(0.3, 1.2)
    return np.exp(0.7 * rng.normal(size=(n, d)) + shift[y]), y


def _clusters(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make several clusters a class, at random places."""
    y, which = rng.integers(k, size=n), rng.integers(3, size=n)
    centers = rng.normal(size=(k, 3, d)) * rng.uniform(0.5, 1.5)
    return centers[y, which] + rng.normal(size=(n, d)), y


def _shells(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make shells around a common centre, which no linear map tells apart."""
    y = rng.integers(k, size=n)
    x = rng.normal(size=(n, d))
    x *= ((1 + y) / np.linalg.norm(x, axis=1))[:, None]
    return x + 0.3 * rng.normal(size=(n, d)), y


def _answers(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make features near a few values, some of them loud and without meaning."""
    y = rng.integers(k, size=n)
    shift = rng.normal(size=(k, d)) * (rng.random(d) < 0.4) * rng.uniform(0.5, 1.5)
    loud = np.where(rng.random(d) < 0.3, rng.uniform(2, 6), 1.0)
    x = np.round(rng.normal(size=(n, d)) * loud + shift[y])
    return x + 0.1 * rng.normal(size=(n, d)), y


def _curves(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a smooth curve a class, under noise that remembers its past."""
    y, t = rng.integers(k, size=n), np.linspace(0, 1, d)
    waves = np.sin(2 * math.pi * (np.outer(rng.uniform(0.3, 2, k), t) + rng.random((k, 1))))
    noise = np.cumsum(rng.normal(size=(n, d)), axis=1) * rng.uniform(0.1, 0.5)
    return waves[y] * rng.uniform(0.3, 1.5) + noise + 0.2 * rng.normal(size=(n, d)), y


def _shares(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make shares of a whole, which each class divides in its own way."""
    y = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 3.0)))
    x = rng.gamma(np.exp(0.5 * rng.normal(size=(k, d)) + rng.normal(size=d))[y] * 2)
    return x / np.maximum(x.sum(axis=1, keepdims=True), 1e-9), y


def _ordered(rng: np.random.Generator, n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Make classes that are steps of a noisy sum of a few of correlated features."""
    x = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
    score = x @ (rng.normal(size=d) * (rng.random(d) < 0.5) + 1e-3)
    score += 0.3 * score.std() * rng.normal(size=n)
    return x, np.searchsorted(np.quantile(score, np.arange(1, k) / k), score)


FAMILIES: dict[str, Callable[..., tuple[np.ndarray, np.ndarray]]] = {
    "hidden factors": _factors,
    "skewed": _skewed,
    "clusters": _clusters,
    "shells": _shells,
    "answers": _answers,
    "curves": _curves,
    "shares": _shares,
    "ordered": _ordered,
}


def draw(family: str, seed: int, most: int = 20_000) -> Data:
    """Return data of a family, within public bounds that it fills to 20 … 100 %."""
    rng = np.random.default_rng([seed, *family.encode()])
    n = round(math.exp(rng.uniform(math.log(100), math.log(most))))
    d, k = round(math.exp(rng.uniform(math.log(2), math.log(30)))), int(rng.integers(2, 6))
    x, y = FAMILIES[family](rng, n + TEST, d, k)
    x = x - x.mean(axis=0) * rng.integers(2)
    x = x / np.abs(x).max(axis=0 if rng.integers(2) else None) * rng.uniform(0.2, 1) / math.sqrt(d)
    return Data(x[:n], y[:n], x[n:], y[n:])


def budget(seed: int, n: int) -> Budget:
    """Return a budget: a third of them pure."""
    rng = np.random.default_rng([seed, 5])
    epsilon = math.exp(rng.uniform(math.log(0.1), math.log(8)))
    delta = math.exp(rng.uniform(math.log(1e-8), math.log(1 / n)))
    return Budget(epsilon, 0.0 if seed % 3 == 2 else delta)


def gain(data: Data, candidate: Candidate, spend: Budget | None, seed: int) -> float:
    """Return how much more a candidate's metric tells than the Euclidean one's."""
    n, d = data.x.shape
    plan = candidate.algorithm.plan(candidate.problem, n, d, spend)
    fit = plan.run(candidate.problem.records(data.x, data.y), NoiseSource(seed), progress=False)
    return data.accuracy(fit.parameters) - data.accuracy()


def main() -> None:
    """Print gains over the Euclidean metric, and regrets against the best candidate, by family."""
    start = time.perf_counter()
    print(
        f"3-NN accuracy of the chosen metric less the Euclidean one's, {SEEDS} data sets a family"
    )
    print(
        f"  {'':15s} {'gain':>8s} {'no noise':>9s} {'regret':>8s} {'least':>8s}   "
        "share below -0.01 and -0.02"
    )
    everything = []
    for family in FAMILIES:
        rows = []
        for seed in range(FIRST, FIRST + SEEDS):
            data = draw(family, seed)
            n, d = data.x.shape
            spend = budget(seed, n)
            choice = choose_metric(n, d, spend)
            chosen = gain(data, choice.best, spend, seed)
            without = gain(data, choose_metric(n, d, None).best, None, seed)
            others = [
                gain(data, candidate, spend, seed)
                for candidate in choice.candidates[1:]
                if type(candidate.algorithm).__name__ in RUNS[: 1 + (n <= SLOW)]
            ]
            rows.append((chosen, without, max(0.0, chosen, *others) - chosen))
        _print(family, rows)
        everything += rows
    _print("all", everything)
    print(f"  {time.perf_counter() - start:.0f} s")


def _print(name: str, rows: list[tuple[float, float, float]]) -> None:
    chosen, without, regret = np.array(rows).T
    print(
        f"  {name:15s} {chosen.mean():+8.4f} {without.mean():+9.4f} {regret.mean():8.4f} "
        f"{chosen.min():+8.4f}   {np.mean(chosen < -0.01):.3f} {np.mean(chosen < -0.02):.3f}"
    )


if __name__ == "__main__":
    main()
