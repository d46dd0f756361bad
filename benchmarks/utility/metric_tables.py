"""Accuracy of three nearest neighbours in private metrics, beside Euclidean ones and NCA."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from tests.studies.data.places import DATA

from benchmarks.utility.results import mean_error
from benchmarks.utility.tables import DELTA, PAPERS, mixed_table, paper_table
from pairdp import PrivateMetric

Array = NDArray[np.float64]
Rng = np.random.Generator
ADDED = ("FisherMetric",)
"""The classes of candidates that "before" leaves out."""
TEST, MOST_FOR_NCA, WORSE = 1500, 1000, 0.005


@dataclass(frozen=True)
class Records:
    """Rows in the unit ball with their classes, some of them held out."""

    x: Array
    y: NDArray[Any]
    test_x: Array
    test_y: NDArray[Any]

    def accuracy(self, transform: Callable[[Array], Array]) -> float:
        """Return the share of held-out records that their three nearest neighbours tell."""
        model = KNeighborsClassifier(3).fit(transform(self.x), self.y)
        return float(model.score(transform(self.test_x), self.test_y))


def _irrelevant(rng: Rng, n: int) -> tuple[Array, NDArray[np.int64]]:
    """3 of 15 features tell three classes apart, the others are noise of the same size."""
    y = rng.integers(3, size=n)
    x = rng.normal(size=(n, 15))
    x[:, :3] += 1.5 * rng.normal(size=(3, 3))[y]
    return x, y


def _loud(rng: Rng, n: int) -> tuple[Array, NDArray[np.int64]]:
    """5 of 10 features tell two classes apart, the others have three times their variance."""
    y = rng.integers(2, size=n)
    x = rng.normal(size=(n, 10)) * np.where(np.arange(10) < 5, 1.0, np.sqrt(3))
    x[:, :5] += rng.normal(size=(2, 5))[y]
    return x, y


def _redundant(rng: Rng, n: int) -> tuple[Array, NDArray[np.int64]]:
    """10 noisy copies of one factor without meaning, and 4 features that tell two classes apart."""
    y = rng.integers(2, size=n)
    copies = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 10))
    return np.hstack([copies, rng.normal(size=(n, 4)) + 0.7 * rng.normal(size=(2, 4))[y]]), y


def _rotated(rng: Rng, n: int) -> tuple[Array, NDArray[np.int64]]:
    """Two of 12 directions tell four classes apart; they are not along features."""
    y = rng.integers(4, size=n)
    x = rng.normal(size=(n, 12))
    x[:, :2] = 0.5 * x[:, :2] + 1.2 * rng.normal(size=(4, 2))[y]
    return x @ np.linalg.qr(rng.normal(size=(12, 12)))[0], y


SYNTHETIC = {
    "irrelevant": _irrelevant, "loud": _loud, "redundant": _redundant, "rotated": _rotated
}  # fmt: skip


def records(table: str, n: int, seed: int) -> Records:
    """Return n records to learn from, and others."""
    if table not in SYNTHETIC:
        make = paper_table if table in PAPERS else mixed_table
        split = make(table, n, seed)
        (x, test), (y, test_y) = split.rows, split.labels
        return Records(x, y, test[:TEST], test_y[:TEST])
    rng = np.random.default_rng([seed, *table.encode()])
    x, y = SYNTHETIC[table](rng, n + TEST)
    x = np.clip((x - x.mean(axis=0)) / (5 * x.std(axis=0).max()), -1, 1) / np.sqrt(x.shape[1])
    return Records(x[:n], y[:n], x[n:], y[n:])


def _gains(table: str, n: int, seed: int, epsilons: Sequence[float]) -> list[list[float]]:
    """Return, by ε, accuracy less the Euclidean one's: before, auto, NCA; and the Euclidean one."""
    data = records(table, n, seed)
    euclidean = data.accuracy(np.asarray)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = slice(min(n, MOST_FOR_NCA))
        analysis = NeighborhoodComponentsAnalysis(max_iter=50, random_state=0)
        best = data.accuracy(analysis.fit(data.x[few] * np.sqrt(n), data.y[few]).transform)
        found = []
        for epsilon in epsilons:
            metric = PrivateMetric(epsilon, DELTA, data_norm=1.0, random_state=seed)
            kept = next(
                candidate
                for candidate in metric.choices(n, data.x.shape[1]).candidates
                if type(candidate.algorithm).__name__ not in ADDED
            )
            before = PrivateMetric(
                epsilon, DELTA, data_norm=1.0, random_state=seed, algorithm=kept.algorithm,
                loss=kept.problem.loss, regularization=kept.problem.regularization,
            )  # fmt: skip
            areas = [data.accuracy(m.fit(data.x, data.y).transform) for m in (before, metric)]
            found.append([*(area - euclidean for area in areas), best - euclidean, euclidean])
    return found


def _tables(report: bool, quick: bool) -> Iterator[tuple[str, int]]:
    present = [name for name in ("adult", "german") if (DATA / f"{name}.csv").is_file()]
    yield from ((name, {"adult": 2000, "german": 700}[name]) for name in present)
    yield from PAPERS.items() if report else ()
    for name in SYNTHETIC:
        yield from ((name, n) for n in ((2000,) if quick else (500, 2000, 5000)))


def print_metrics(
    epsilons: Sequence[float], *, seeds: int, report: bool, quick: bool, jobs: int
) -> None:
    """Print mean gains in accuracy over the Euclidean metric by table and n, and a summary."""
    tables = list(_tables(report, quick))
    cells = [(table, n, seed) for table, n in tables for seed in range(seeds)]
    measured = Parallel(n_jobs=jobs)(delayed(_gains)(*cell, epsilons) for cell in cells)
    # tables × seeds × ε × (before, auto, NCA, Euclidean)
    gains = np.array(measured).reshape(len(tables), seeds, len(epsilons), 4)
    print(
        f"Metrics: 3-NN accuracy on other records less that of the Euclidean metric, mean ± "
        f"standard error over {seeds} seeds\n"
        f"    {'':20s} {'Euclidean':>9s} {'NCA':>7s}  auto at ε =",
        *(f"{epsilon:<15g}" for epsilon in epsilons),
    )
    for (table, n), found in zip(tables, gains, strict=True):
        shown = [mean_error(found[:, i, 1]) for i in range(len(epsilons))]
        print(
            f"    {f'{table} {n}':20s} {found[..., 3].mean():9.3f} {found[..., 2].mean():+7.3f}"
            f"  {'':11s}",
            *(f"{mean:+.3f} ± {error:.3f} " for mean, error in shown),
        )
    real = np.array([table not in SYNTHETIC for table, _ in tables])
    for title, mask in (("real tables", real), ("synthetic families", ~real)):
        means = gains[mask].mean(axis=1)[..., :2]
        if means.size:
            before, auto = means.mean(axis=(0, 1))
            worse = np.mean(means[..., 1] < -WORSE)
            print(
                f"    {title}: mean gain {auto:+.4f}, before {before:+.4f}; worse than Euclidean "
                f"by more than {WORSE} in {worse:.1%} of {means[..., 1].size} cells"
            )
