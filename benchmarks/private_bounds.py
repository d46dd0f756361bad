"""Ranges of columns at pure ε: shortest windows, compared with three other private methods.

For each method the median over runs of two numbers: the share of values outside the range, which
should be at most 2 %, and its width, divided by that of the shortest range that holds 98 % of the
values. All methods have the same budget for one column and fix nothing by the data. The others are
a histogram on signed powers of two, projected to non-negative counts that add up to n, and its
quantiles; a binary search for both quantiles on a grid of round numbers; and the best point of that
grid for each quantile, by report-noisy-max with exponential noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairdp import Budget, NoiseSource
from pairdp.ranges import RangeEstimation

Array = NDArray[np.float64]
Ends = tuple[float, float]
RUNS = 25
COVERAGE = 0.98
TAIL = (1 - COVERAGE) / 2

FAMILIES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal(50, 10)": lambda rng, n: rng.normal(50, 10, n),
    "normal(0, 1)": lambda rng, n: rng.normal(0, 1, n),
    "lognormal(0, 1)": lambda rng, n: rng.lognormal(0, 1, n),
    "Student t, 2 df": lambda rng, n: rng.standard_t(2, n),
    "Pareto, 1.5": lambda rng, n: 1 + rng.pareto(1.5, n),
    "80 % zeros": lambda rng, n: np.where(rng.random(n) < 0.8, 0.0, rng.lognormal(3, 1, n)),
    "years 2015 to 2023": lambda rng, n: rng.integers(2015, 2024, n).astype(float),
    "constant 7": lambda rng, n: np.full(n, 7.0),
}
_POWERS = 2.0 ** np.arange(-40, 41)
_DIGITS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_ROUND = np.array([digit * 10.0**k for k in range(-12, 13) for digit in _DIGITS])


def signed(edges: Array) -> Array:
    """Return edges on both sides of zero."""
    return np.concatenate([-edges[::-1], [0.0], edges])


def windows(values: Array, epsilon: float, rng: np.random.Generator) -> Ends:
    """Return the range that the library releases."""
    plan = RangeEstimation(("x",), COVERAGE).plan(values.size, Budget(epsilon))
    ((lower, upper),) = plan.run([values], NoiseSource(int(rng.integers(2**60))))
    return float(lower), float(upper)


def histogram(values: Array, epsilon: float, rng: np.random.Generator) -> Ends:
    """Return quantiles of a noisy histogram, projected to counts that add up to n."""
    edges = signed(_POWERS)
    counts = np.bincount(np.searchsorted(edges, values, "right"), minlength=edges.size + 1)
    noisy = counts + rng.laplace(0, 2 / epsilon, counts.size)
    ordered = np.sort(noisy)[::-1]
    levels = (np.cumsum(ordered) - values.size) / np.arange(1, ordered.size + 1)
    level = levels[np.flatnonzero(ordered > levels)[-1]]
    below = np.cumsum(np.maximum(noisy - level, 0.0)) / values.size
    first, last = np.searchsorted(below, [TAIL, 1 - TAIL])
    ends = np.clip([first - 1, last], 0, edges.size - 1)
    return float(edges[ends[0]]), float(edges[ends[1]])


def binary_search(values: Array, epsilon: float, rng: np.random.Generator) -> Ends:
    """Return two quantiles by noisy counts of what is below a point, halving the grid."""
    edges = signed(_ROUND)
    steps = int(np.ceil(np.log2(edges.size)))
    scale = 2 * steps / epsilon  # each of 2·steps counts changes by one at most
    found = []
    for share in (TAIL, 1 - TAIL):
        low, high = 0, edges.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            noisy = np.sum(values < edges[middle]) + rng.laplace(0, scale)
            low, high = (middle, high) if noisy < share * values.size else (low, middle)
        found.append(edges[low] if share < 0.5 else edges[high])
    return float(found[0]), float(found[1])


def noisy_maximum(values: Array, epsilon: float, rng: np.random.Generator) -> Ends:
    """Return the points whose rank is nearest to that of a quantile, plus exponential noise."""
    edges = signed(_ROUND)
    ranks = np.searchsorted(np.sort(values), edges)
    scores = [-np.abs(ranks - share * values.size) for share in (TAIL, 1 - TAIL)]
    noise = rng.exponential(2 / (epsilon / 2), (2, edges.size))
    chosen = edges[np.argmax(np.array(scores) + noise, axis=1)]
    return float(chosen.min()), float(chosen.max())


METHODS = {
    "windows": windows,
    "histogram": histogram,
    "binary search": binary_search,
    "noisy maximum": noisy_maximum,
}


def shortest(values: Array) -> float:
    """Return the width of the shortest range that holds the share, without privacy."""
    ordered = np.sort(values)
    held = int(np.ceil(COVERAGE * ordered.size))
    return float(np.min(ordered[held - 1 :] - ordered[: ordered.size - held + 1]))


def score(method: Callable[..., Ends], name: str, n: int, epsilon: float) -> str:
    """Return the median share outside and the median relative width, as text."""
    rng = np.random.default_rng([n, round(1000 * epsilon), len(name)])
    outside, widths = [], []
    for _ in range(RUNS):
        values = FAMILIES[name](rng, n)
        lower, upper = method(values, epsilon, rng)
        outside.append(np.mean((values < lower) | (values > upper)))
        widths.append((upper - lower) / (shortest(values) or abs(float(values[0]))))
    return f"{np.median(outside):6.1%} {np.median(widths):9.3g}"


def main() -> None:
    """Print one table for each n and ε."""
    print(__doc__.splitlines()[0])
    for n in (1000, 10_000):
        for epsilon in (0.1, 1.0):
            print(f"\nn = {n}, ε = {epsilon:g}: share outside, width (ideal: 2 %, 1)")
            print(" " * 19 + "".join(f"{method:>19s}" for method in METHODS))
            for name in FAMILIES:
                cells = (score(method, name, n, epsilon) for method in METHODS.values())
                print(f"{name:19s}" + "".join(f"{cell:>19s}" for cell in cells))
    print("\nThe width of a constant column is relative to its value.")


if __name__ == "__main__":
    main()
