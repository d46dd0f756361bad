"""What synthetic tables are made of: columns with a schema, and labels drawn from log-odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.utility.tables import LABEL, Columns, Split
from pairdp import Schema

Array = NDArray[np.float64]
Rng = np.random.Generator
TEST = 4000


@dataclass(frozen=True)
class Drawn:
    """Records of one population, without labels.

    Attributes
    ----------
    columns : dict of arrays
        The cells by column.
    forms : dict
        The public description of each column, as in a schema.
    score : array of shape (n,)
        The log-odds, up to shift and scale.
    """

    columns: Columns
    forms: dict[str, Any]
    score: Array


@dataclass(frozen=True)
class Family:
    """Populations of one kind; a seed draws one of them, and its records.

    Attributes
    ----------
    draw : callable
        Draws a population and n records of it.
    rate : float
        The share of the second class.
    strength : float
        The standard deviation of the log-odds.
    """

    draw: Callable[[Rng, int], Drawn]
    rate: float = 0.35
    strength: float = 2.0

    @property
    def summary(self) -> str:
        """What the family is like, in a line."""
        return (self.draw.__doc__ or "").splitlines()[0]

    def split(self, name: str, n: int, seed: int) -> Split:
        """Return n records to learn from and others to judge on."""
        rng = np.random.default_rng([seed, *name.encode()])
        drawn = self.draw(rng, n + TEST)
        score = (drawn.score - drawn.score.mean()) / drawn.score.std()
        chance = _chances(self.strength * score, self.rate)
        positive = rng.random(n + TEST) < chance
        for place in (0, n):  # a table without one of the classes could not be judged
            positive[place : place + 2] = False, True
        columns = {**drawn.columns, LABEL: np.where(positive, "yes", "no")}
        schema = Schema.of({**drawn.forms, LABEL: {"label": ["no", "yes"]}})
        return Split(
            name,
            schema,
            {key: cells[:n] for key, cells in columns.items()},
            {key: cells[n:] for key, cells in columns.items()},
        )


def _chances(log_odds: Array, rate: float) -> Array:
    """Return probabilities of mean ``rate``, by a shift of the log-odds."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        if expit(log_odds + middle).mean() < rate:
            low = middle
        else:
            high = middle
    return np.asarray(expit(log_odds + low))


def numbers(
    rng: Rng, x: Array, *, slack: tuple[float, float] = (0.2, 1.0), **options: Any
) -> tuple[Columns, dict[str, Any]]:
    """Return columns of numbers, and public ranges that are wider than the data.

    Both ends of a range lie outside the bulk of the data by a share of its width between the two
    ends of ``slack``, so that the data is neither in the middle of its range nor fills it.
    """
    columns, forms = {}, {}
    for i, values in enumerate(x.T):
        low, high = np.nanquantile(values, [0.001, 0.999])
        below, above = rng.uniform(*slack, 2) * (high - low)
        columns[f"x{i}"] = values
        ends = [float(f"{low - below:.2g}"), float(f"{high + above:.2g}")]
        forms[f"x{i}"] = {"range": ends, **options} if options else ends
    return columns, forms


def positive_numbers(rng: Rng, x: Array) -> tuple[Columns, dict[str, Any]]:
    """Return columns of numbers above zero, and ranges from 0 to beyond nearly all of them."""
    columns = {f"x{i}": values for i, values in enumerate(x.T)}
    tops = np.quantile(x, 0.999, axis=0) * rng.uniform(1, 3, x.shape[1])
    ranges = ([0.0, float(f"{top:.1g}")] for top in tops)
    return columns, dict(zip(columns, ranges, strict=True))


def categories(
    codes: NDArray[np.int64], sizes: list[int], prefix: str = "c"
) -> tuple[Columns, dict[str, Any]]:
    """Return columns of categories from their places, and their lists."""
    columns, forms = {}, {}
    for i, size in enumerate(sizes):
        names = np.array([f"v{place}" for place in range(size)], dtype=object)
        columns[f"{prefix}{i}"] = names[codes[:, i]]
        forms[f"{prefix}{i}"] = names.tolist()
    return columns, forms


def random_categories(rng: Rng, n: int, sizes: list[int]) -> tuple[NDArray[np.int64], Array]:
    """Return places of categories with unequal shares, and the sum of an effect of each."""
    codes = np.column_stack([rng.choice(k, n, p=rng.dirichlet(np.full(k, 2.0))) for k in sizes])
    effects = [rng.normal(size=k)[codes[:, i]] for i, k in enumerate(sizes)]
    return codes, np.sum(effects, axis=0)


def standardised(x: Array) -> Array:
    """Return columns with mean 0 and standard deviation 1."""
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0))
