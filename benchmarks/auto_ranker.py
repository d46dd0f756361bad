"""AUC lost by the ranker that "auto" chooses, compared with other candidates, on synthetic data.

The constants of `pairdp.algorithms.choice.ranking` were tuned on shapes of data like those in
`TUNED_ON`. What is printed is measured on those in `HELD_OUT`, which were used for one constant
only: the largest share of the budget for second moments.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from pairdp.algorithms import (
    EpochGradientDescent,
    MinimizerRelease,
    MomentRelease,
    StreamGradientDescent,
)
from pairdp.algorithms.choice import Candidate
from pairdp.algorithms.choice.ranking import choose_ranker
from pairdp.privacy import Budget, NoiseSource

Array = NDArray[np.float64]
# From a generator and the labels to unscaled features with coordinates of spread about 1.
Draw = Callable[[np.random.Generator, Array], Array]
Shape = Callable[[np.random.Generator, int], Draw]
SETTINGS, MOST, TEST = 70, 20_000, 3000
# Runs of a candidate, as many as read this many numbers; it is left out if that is too few,
# unless it is the chosen one.
WORK, FEWEST_RUNS, MOST_RUNS = 2e8, 8, 40


@dataclass(frozen=True)
class Setting:
    """Public facts, and the shape of the data, which the choice does not know."""

    shape: str
    n: int
    features: int
    budget: Budget
    positives: float
    filled: float
    seed: int


def _shifted(factor: Array, direction: Array, distance: float, tails: str = "normal") -> Draw:
    """Return two classes of one covariance, a Mahalanobis distance apart."""
    covariance = factor @ factor.T
    spread = np.sqrt(np.diag(covariance))
    length = np.sqrt(direction @ np.linalg.solve(covariance, direction))
    shift = direction * (distance / length)

    def draw(rng: np.random.Generator, y: Array) -> Array:
        size = (len(y), len(factor))
        kinds = {
            "normal": lambda: rng.normal(size=size),
            "heavy": lambda: rng.standard_t(3, size=size) / np.sqrt(3),
            "laplace": lambda: rng.laplace(size=size) / np.sqrt(2),
            "skewed": lambda: rng.exponential(size=size) - 1,
        }
        return np.asarray((kinds[tails]() @ factor.T + np.outer(y / 2, shift)) / spread)

    return draw


def _turned(rng: np.random.Generator, spectrum: Array) -> Array:
    return np.linalg.qr(rng.normal(size=(spectrum.size, spectrum.size)))[0] * spectrum


def _isotropic(rng: np.random.Generator, d: int) -> Draw:
    return _shifted(np.eye(d), rng.normal(size=d), rng.choice([0.8, 1.6, 2.5]))


def _decaying(rng: np.random.Generator, d: int) -> Draw:
    factor = _turned(rng, np.arange(1, d + 1) ** -0.7)
    return _shifted(factor, factor @ rng.normal(size=d), rng.choice([0.8, 1.6, 2.5]))


def _nuisance(rng: np.random.Generator, d: int) -> Draw:
    spectrum = np.ones(d)
    spectrum[0] = np.sqrt(3 * d)
    return _shifted(_turned(rng, spectrum), rng.normal(size=d), 2.0)


def _correlated(rng: np.random.Generator, d: int) -> Draw:
    places = np.arange(d)
    factor = np.linalg.cholesky(0.8 ** np.abs(places[:, None] - places))
    sparse = np.zeros(d)
    sparse[rng.choice(d, min(2, d), replace=False)] = 1.0
    return _shifted(factor, sparse, 2.0)


def _low(rng: np.random.Generator, d: int) -> Draw:
    spectrum = np.arange(1, d + 1) ** -0.7
    factor = _turned(rng, spectrum)
    return _shifted(factor, factor[:, -1 - d // 4 :].sum(axis=1), 2.0)


def _heavy(rng: np.random.Generator, d: int) -> Draw:
    factor = _turned(rng, np.arange(1, d + 1) ** -0.5)
    return _shifted(factor, rng.normal(size=d), 1.6, "heavy")


def _binary(rng: np.random.Generator, d: int) -> Draw:
    inner = _shifted(_turned(rng, np.arange(1, d + 1) ** -0.3), rng.normal(size=d), 1.6)
    thresholds = 0.8 * rng.normal(size=d)
    return lambda generator, y: np.where(inner(generator, y) > thresholds, 2.0, -2.0)


def _blocks(rng: np.random.Generator, d: int) -> Draw:
    groups = np.arange(d) % max(1, d // 4)
    covariance = 0.6 * (groups[:, None] == groups) + 0.4 * np.eye(d)
    factor = np.linalg.cholesky(covariance)
    return _shifted(factor, rng.normal(size=d) * (groups == 0), 1.8)


def _factors(rng: np.random.Generator, d: int) -> Draw:
    loadings = rng.normal(size=(d, 2)) * [1.5, 0.8]
    factor = np.linalg.cholesky(loadings @ loadings.T + np.eye(d))
    return _shifted(factor, loadings[:, 1] + 0.3 * rng.normal(size=d), 1.5)


def _counts(rng: np.random.Generator, d: int) -> Draw:
    rates, lifts = rng.uniform(0.3, 3, d), np.exp(rng.normal(size=d) * 1.2 / np.sqrt(d))

    def draw(generator: np.random.Generator, y: Array) -> Array:
        busy = generator.gamma(4, 0.25, size=(len(y), 1))
        mean = busy * rates * np.where(y[:, None] > 0, lifts, 1.0)
        return np.asarray((generator.poisson(mean) - rates) / np.sqrt(rates))

    return draw


def _categories(rng: np.random.Generator, d: int) -> Draw:
    odds = rng.dirichlet(np.full(d, 1.0), size=2)

    def draw(generator: np.random.Generator, y: Array) -> Array:
        places = (generator.random(len(y))[:, None] > odds.cumsum(axis=1)[(y > 0) * 1]).sum(axis=1)
        return np.eye(d + 1)[places][:, :d] * 3.0 - 1.0

    return draw


def _unequal(rng: np.random.Generator, d: int) -> Draw:
    wide = _shifted(_turned(rng, np.arange(1, d + 1) ** -0.4), rng.normal(size=d), 1.5, "laplace")
    scales = rng.uniform(0.4, 1.6, d)
    return lambda generator, y: wide(generator, y) * np.where(y[:, None] > 0, scales, 1.0)


def _clusters(rng: np.random.Generator, d: int) -> Draw:
    centers = rng.normal(size=(4, d)) * 0.8

    def draw(generator: np.random.Generator, y: Array) -> Array:
        which = np.where(y > 0, 0, generator.integers(1, 4, len(y)))
        return np.asarray(centers[which] + 0.7 * generator.normal(size=(len(y), d)))

    return draw


def _skewed(rng: np.random.Generator, d: int) -> Draw:
    factor = _turned(rng, np.linspace(1, 0.1, d))
    return _shifted(factor, factor @ rng.normal(size=d), 1.6, "skewed")


TUNED_ON: dict[str, Shape] = {
    "isotropic": _isotropic, "decaying": _decaying, "nuisance": _nuisance,
    "correlated": _correlated, "low": _low, "heavy": _heavy, "binary": _binary,
}  # fmt: skip
HELD_OUT: dict[str, Shape] = {
    "blocks": _blocks, "factors": _factors, "counts": _counts, "categories": _categories,
    "unequal": _unequal, "clusters": _clusters, "skewed": _skewed,
}  # fmt: skip


def data(setting: Setting) -> tuple[Array, Array, Array, Array]:
    """Return features and labels to learn from and to judge on, in the unit ball.

    The features lie in a box with public bounds, of which the data fill only a part, not
    in its middle; they are divided by √d, as scaling by public bounds does.
    """
    rng = np.random.default_rng(setting.seed)
    d = setting.features
    draw = {**TUNED_ON, **HELD_OUT}[setting.shape](rng, d)
    offset = rng.uniform(-1, 1, d) * max(0.0, 1 - 2 * setting.filled)
    parts = []
    for size in (setting.n, TEST):
        y = np.where(rng.random(size) < setting.positives, 1.0, -1.0)
        y[:4] = 1.0, -1.0, 1.0, -1.0
        x = np.clip(setting.filled * draw(rng, y) + offset, -1, 1) / np.sqrt(d)
        parts += [x, y]
    return parts[0], parts[1], parts[2], parts[3]


def settings(shapes: dict[str, Shape], count: int, seed: int, most: float) -> Iterator[Setting]:
    """Yield settings of all sizes up to ``most`` records, all budgets and all shapes."""
    rng, names = np.random.default_rng(seed), list(shapes)
    for i in range(count):
        n = int(10 ** rng.uniform(2, np.log10(most)))
        pure = rng.random() < 0.15
        delta = 0.0 if pure else 10 ** rng.uniform(-8, -np.log10(n))
        yield Setting(
            shape=names[i % len(names)],
            n=n,
            features=round(10 ** rng.uniform(0.3, 2)),
            budget=Budget(10 ** rng.uniform(-1, 0.9), delta),
            positives=rng.choice([0.02, 0.1, 0.2, 0.35, 0.5]) if n > 500 else 0.35,
            filled=rng.choice([0.1, 0.2, 0.33, 0.5]),
            seed=int(rng.integers(2**32)),
        )


def label(candidate: Candidate) -> str:
    """Return what tells candidates of one choice apart."""
    algorithm = candidate.algorithm
    more = [str(getattr(algorithm, "output", ""))]
    if getattr(algorithm, "batch_size", None):
        more.append("batches")
    if hasattr(algorithm, "second_moments"):
        more.append("first and second" if algorithm.second_moments else "first")
    return " ".join([algorithm.name, *filter(None, more)])


def _runs(candidate: Candidate, setting: Setting) -> int:
    """Return how many runs of a candidate can be afforded."""
    n, algorithm = setting.n, candidate.algorithm
    if isinstance(algorithm, MomentRelease):
        return MOST_RUNS
    if isinstance(algorithm, MinimizerRelease):
        passes = 100
    elif isinstance(algorithm, StreamGradientDescent | EpochGradientDescent):
        passes = n
    else:
        # Without given steps it is the last iterate of descent, almost at the minimiser.
        passes = getattr(algorithm, "steps", None) or 20_000
    # A pass takes about 0.1 ms however few records there are.
    return int(min(MOST_RUNS, WORK / (passes * (n * (setting.features + 20) + 1e5))))


def areas(setting: Setting) -> dict[str, Array]:
    """Return the held-out AUC of all affordable runs of every candidate, the chosen one first."""
    x, y, test_x, test_y = data(setting)
    choice = choose_ranker(setting.n, setting.features, setting.budget)
    found = {}
    for candidate in choice.candidates:
        runs = _runs(candidate, setting)
        if runs < FEWEST_RUNS and candidate is not choice.best:
            continue
        problem = candidate.problem
        records = problem.records(x, y)
        plan = candidate.algorithm.plan(problem, setting.n, setting.features, setting.budget)
        fits = [
            plan.run(records, NoiseSource(seed), progress=False)
            for seed in range(max(runs, FEWEST_RUNS))
        ]
        found[label(candidate)] = np.array(
            [roc_auc_score(test_y, test_x @ fit.parameters) for fit in fits]
        )
    return found


def regret(chosen: Array, candidates: Iterable[Array]) -> tuple[float, float]:
    """Return what the best candidate in hindsight has more than the chosen one, twice.

    The largest of many noisy means is larger than what it is the mean of: that regret is too
    large. When the best is named by half of the runs and measured by the others, both ways,
    it is none too large, and too small where noise does the naming.
    """
    halves = np.array([[runs[::2].mean(), runs[1::2].mean()] for runs in candidates])
    best = halves.argmax(axis=0)
    crossed = (halves[best[0], 1] + halves[best[1], 0]) / 2
    return float(halves.mean(axis=1).max() - chosen.mean()), float(crossed - chosen.mean())


def measure(shapes: dict[str, Shape], count: int, seed: int) -> tuple[dict[str, Array], float]:
    """Return the regrets of the choice and of every algorithm, and the mean AUC of the choice."""
    regrets: dict[str, list[tuple[float, float]]] = defaultdict(list)
    means: list[float] = []
    for setting in settings(shapes, count, seed, MOST):
        found = areas(setting)
        chosen = next(iter(found.values()))
        means.append(float(chosen.mean()))
        for name, runs in {"the choice": chosen, **found}.items():
            regrets[name].append(regret(runs, found.values()))
    return {name: np.array(lost) for name, lost in regrets.items()}, float(np.mean(means))


def main() -> None:
    """Print the regret of the choice, and of every algorithm taken always."""
    start = time.perf_counter()
    regrets, mean = measure(HELD_OUT, SETTINGS, 2024)
    print(
        f"{SETTINGS} synthetic data sets, n = 100 to {MOST}, d = 2 to 100, ε = 0.1 to 8: AUC lost "
        "against the best in hindsight,\n  at most, and when the best is named by other runs"
    )
    print(f"  {'':52s} {'at most':>8s} {'worst':>7s} {'crossed':>8s} {'worst':>7s}  data sets")
    for name, lost in sorted(regrets.items(), key=lambda item: float(item[1][:, 0].mean())):
        (most, crossed), (worst, other) = lost.mean(axis=0), lost.max(axis=0)
        print(f"  {name:52s} {most:8.4f} {worst:7.4f} {crossed:8.4f} {other:7.4f}  {len(lost)}")
    print(f"  mean AUC of the choice {mean:.4f}; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
