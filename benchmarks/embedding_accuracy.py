"""3-NN accuracy by private embeddings beside metrics, where they pay and where not.

Classes are shells or corners in rotated directions, which no linear map separates, or differ in
their means. Neighbours are training records, which are not private: see `PrivateEmbedding`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from benchmarks.utility.tables import DELTA
from pairdp import PrivateEmbedding, PrivateMetric

Array = NDArray[np.float64]
FEATURES, TEST, SEEDS = 12, 3000, 3
EPSILONS = (1.0, 4.0)
SIZES = (10_000, 50_000)
METRIC, EMBEDDING = "PrivateMetric (auto)", "PrivateEmbedding"
PAIRS = "PrivateEmbedding, sums over pairs"
NCA_RECORDS = 1000
"""Records of NCA, whose time is quadratic in them."""


def shells(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return records of three classes by the norm of three rotated directions."""
    x = rng.normal(size=(n, FEATURES))
    z = x @ np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    norms = np.linalg.norm(z[:, :3], axis=1) + 0.1 * rng.normal(size=n)
    return x, np.digitize(norms, [1.28, 1.84])


def corners(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return records of four classes by the signs of products of rotated directions."""
    x = rng.normal(size=(n, FEATURES))
    z = x @ np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    y = 2 * (z[:, 0] * z[:, 1] > 0) + (z[:, 2] * z[:, 3] > 0)
    return x, np.where(rng.random(n) < 0.05, rng.integers(0, 4, n), y)


def means(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return records of three classes that differ in the means of three features."""
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, FEATURES)) * np.where(np.arange(FEATURES) < 3, 1.0, 2.0)
    x[:, :3] += 1.6 * np.eye(3)[y]
    return x, y


FAMILIES: dict[str, Callable[[np.random.Generator, int], tuple[Array, Array]]] = {
    "shells": shells,
    "corners": corners,
    "means": means,
}


def accuracy(transform: Callable[[Array], Array], x: Array, y: Array, n: int) -> float:
    """Return the accuracy of 3 nearest neighbours, of n records on the others."""
    rows = transform(x)
    return float(KNeighborsClassifier(3).fit(rows[:n], y[:n]).score(rows[n:], y[n:]))


def _print_row(title: str, name: str, cells: list[list[float]]) -> None:
    words = [
        f"{np.mean(c):.3f} ± {np.std(c, ddof=1) / np.sqrt(len(c)):.3f}" if c else "" for c in cells
    ]
    print(f"| {title} | {name} | {' | '.join(words)} |", flush=True)


def _private(epsilon: float | None, seed: int, name: str) -> Any:
    facts = {"epsilon": epsilon, "delta": DELTA, "data_norm": 1.0, "random_state": seed}
    if name == METRIC:
        return PrivateMetric(**facts)
    return PrivateEmbedding(gradient="pairwise" if name == PAIRS else "reference", **facts)


def _print_rows(title: str, data: list[tuple[Array, Array]], n: int) -> None:
    none: list[float] = []
    _print_row(title, "Euclidean", [[accuracy(lambda rows: rows, x, y, n) for x, y in data], none])
    for name in (METRIC, EMBEDDING, *((PAIRS,) if n == SIZES[0] else ())):
        cells = [
            [
                accuracy(_private(epsilon, s, name).fit(x[:n], y[:n]).transform, x, y, n)
                for s, (x, y) in enumerate(data)
            ]
            for epsilon in EPSILONS
        ]
        _print_row(title, name, cells)
    x, y = data[0]
    few = slice(NCA_RECORDS)
    nca = NeighborhoodComponentsAnalysis(4, max_iter=50, random_state=0).fit(x[few], y[few])
    found = accuracy(nca.transform, x, y, n)
    print(f"| {title} | NCA of {NCA_RECORDS} records, not private | {found:.3f} | |", flush=True)
    plain = PrivateEmbedding(None, data_norm=1.0, random_state=0).fit(x[:n], y[:n])
    found = accuracy(plain.transform, x, y, n)
    print(f"| {title} | embedding, not private | {found:.3f} | |", flush=True)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(
        f"3-NN accuracy on other records, mean ± standard error of {SEEDS} seeds, δ = {DELTA:g}, "
        "replace one"
    )
    print(f"| records | coordinates | {' | '.join(f'ε = {e:g}' for e in EPSILONS)} |")
    print(f"|---|---|{'---|' * len(EPSILONS)}")
    for n in SIZES:
        for name, family in FAMILIES.items():
            if n == SIZES[0] or name != "means":
                drawn = [family(np.random.default_rng(seed), n + TEST) for seed in range(SEEDS)]
                data = [(x / (4 * np.sqrt(FEATURES)), y) for x, y in drawn]
                _print_rows(f"{name}, n = {n}", data, n)


if __name__ == "__main__":
    main()
