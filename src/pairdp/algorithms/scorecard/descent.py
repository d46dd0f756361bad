r"""Noisy descent on the weights of a scorecard, in coordinates in which rows are about isotropic.

Rows x of the features are divided by their radius and clipped to norm 1. From noisy second moments
C = QΛQᵀ of these, W = Q(Λ₊ + ridge)^{-1/2}, and z = xW has about r² = ΣΛ₊/(Λ₊ + ridge) as expected
squared norm. With c = 2·max(r, 1), z is clipped to norm c, and the logistic gradient (p - y)z/c of
a record to norm `CLIP`. The released means of these have sensitivity 2·CLIP/n, whatever was
released before, since W is a function of released values.

**Rounding.** The computed mean is Wᵀt/c, where t is the mean of vectors of norm at most 1 in the
coordinates of x. The error of t is at most `SUMMING`, that of the product with W at most
D^1.5·u·|W| with u = 2⁻⁵³ and D features, and |W| ≤ ridge^{-1/2}, c ≥ 2. The norm of z that decides
on clipping has an error of at most D^1.5·u·|W| too, or is not below the true one
(`pairdp.algorithms.scorecard.tabled`). The bound "mean of clipped gradients" pays for all of these.
For second moments, the sums of coefficients by pairs of bins are exact, and the products with two
tables of at most B bins have an error of at most 2Bu times what is summed up: below `SUMMING`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.expansion import CONSTANT, Bins, Expansion
from pairdp.algorithms.scorecard.tabled import (
    GroupedBins,
    blocks,
    pair_sums,
    squared_norms,
    truncated,
    worthwhile,
)
from pairdp.engines.local import InProcess
from pairdp.engines.parts import Part, Parts

Array = NDArray[np.float64]

CLIP = 0.35
"""The largest norm of a record's gradient, in units of c."""
_WIDE = 2.0
_AVERAGED = 4
_STEP, _LEAST_SPREAD = 0.7, 0.02
_SHRINKAGE = 0.3
_UNIT = 2.0**-53


@dataclass(frozen=True)
class LabelledBins:
    """The bins of records and their labels; as private as the data.

    Attributes
    ----------
    bins : array of shape (columns, n)
        The bin of each record in each column.
    positive : array of shape (n,)
        1 for records of the second class, 0 for others.
    counted : array of shape (n,)
        0 for null records, otherwise 1.
    start : int
        The number of records before these, if they are a part.
    all : int, optional
        The number of records in all parts; by default, these are all.
    """

    bins: Bins
    positive: Array
    counted: Array
    start: int = 0
    all: int | None = None

    @property
    def n(self) -> int:
        """Number of records in all parts."""
        return len(self.counted) if self.all is None else self.all

    def in_one_part(self) -> Parts:
        """Return all records as one part."""
        return Parts(InProcess(), [Part(0, len(self.counted), self)], len(self.counted))

    def blocks(self) -> Iterator[tuple[slice, Bins]]:
        """Yield the places of blocks of records, and their bins."""
        for start in range(0, self.bins.shape[1], BLOCK):
            some = slice(start, start + BLOCK)
            yield some, self.bins[:, some]

    def evenly(self, count: int) -> LabelledBins:
        """Return those at so many places that are evenly distributed over all parts."""
        n, start = self.n, self.start
        if count == n:
            return self
        # ⌊in/count⌋ is at least a place if i is at least that place times count/n.
        first, last = (-(-place * count // n) for place in (start, start + len(self.counted)))
        places = np.arange(first, last, dtype=np.int64) * n // count - start
        bins = self.bins[:, places]
        return LabelledBins(bins, self.positive[places], self.counted[places], first, count)


@dataclass(frozen=True)
class Whitening:
    """The coordinates of the descent, functions of released values.

    Attributes
    ----------
    matrix : array of shape (features, features)
        W.
    inverse : array
        Its inverse.
    width : float
        c.
    """

    matrix: Array
    inverse: Array
    width: float

    @staticmethod
    def of(moments: Array, ridge: float) -> Whitening:
        """Return the coordinates for noisy second moments."""
        values, vectors = np.linalg.eigh(moments)
        values = np.maximum(values, 0.0)
        sizes = np.sqrt(values + ridge)
        radius = float(np.sqrt(np.sum(values / (values + ridge))))
        return Whitening(vectors / sizes, sizes[:, None] * vectors.T, _WIDE * max(radius, 1.0))


def second_moments(expansion: Expansion, records: LabelledBins) -> Array:
    """Return Σxxᵀ over records of rows over their radius, clipped to norm 1."""
    if expansion.factors or not worthwhile(expansion.bins, records.n):
        return _moments_of_rows(expansion, records)
    factors = _factors(expansion, GroupedBins.of(records.bins, expansion.bins))
    return _moments_by_pairs(expansion, records, factors)


def _moments_of_rows(expansion: Expansion, records: LabelledBins) -> Array:
    total = Total.zeros(expansion.size, expansion.size)
    for some, bins in records.blocks():
        rows, _ = _unit_rows(expansion, bins)
        rows *= records.counted[some, None]
        total += rows.T @ rows
    return np.asarray((total.high + total.high.T) / 2)


def _moments_by_pairs(expansion: Expansion, records: LabelledBins, factors: Array) -> Array:
    coefficients = truncated(factors**2 * records.counted, records.n)
    ends = np.cumsum([0, *(table.shape[1] for table in expansion.tables)])
    places = [slice(start, stop) for start, stop in pairwise(ends.tolist())]
    found = np.zeros((expansion.size, expansion.size))
    sums = pair_sums(records.bins, expansion.bins, coefficients)
    alone = [np.bincount(records.bins[0], coefficients, expansion.bins[0])] * len(places)
    for (first, left), (second, right) in combinations(enumerate(expansion.tables), 2):
        both = next(sums)
        alone[second] = both.sum(axis=0)
        found[places[first], places[second]] = left.T @ both @ right
    for place, table, one in zip(places, expansion.tables, alone, strict=True):
        found[place, place] = (table.T * one) @ table / 2
        found[place, -1] = CONSTANT * (table.T @ one)
    found[-1, -1] = CONSTANT**2 * coefficients.sum() / 2
    return np.asarray(found + found.T)


def _factors(expansion: Expansion, bins: GroupedBins) -> Array:
    """Return the factor of each row that divides it by its radius and clips it to norm 1."""
    squares = bins.joint([np.einsum("bi,bi->b", table, table) for table in expansion.tables])
    found = np.empty(bins.codes.shape[1])
    for some in blocks(found.size):
        norms = np.sqrt(bins.sum_of(squares, some) + CONSTANT**2)
        found[some] = 1 / np.maximum(norms, expansion.radius)
    return found


def _unit_rows(expansion: Expansion, bins: Bins) -> tuple[Array, Array]:
    """Return rows over their radius, clipped to norm 1, and the factors that made them so."""
    rows = expansion.rows(bins)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    factors = 1 / np.maximum(norms, expansion.radius)
    rows *= factors[:, None]
    return rows, factors


def descend(
    expansion: Expansion,
    records: Parts,
    whitening: Whitening,
    initial: Array,
    positives: float,
    deviation: float,
    steps: int,
    release: Callable[[Array, int], Array],
) -> tuple[Array, Array]:
    """Return the weights after noisy steps, and the covariance of their noise to first order.

    Parameters
    ----------
    expansion : Expansion
        The features.
    records : Parts
        The records, parts of `LabelledBins`. They enter through ``release`` only.
    whitening : Whitening
        The coordinates.
    initial : array
        The weights to start from.
    positives : float
        The released share of positives.
    deviation : float
        The standard deviation of the noise on a mean gradient, in units of c.
    steps : int
        Number of steps.
    release : callable
        Adds noise to a sum of clipped gradients over n, at a step.
    """
    prepared = records.map(_prepared, expansion, whitening)
    start = whitening.inverse @ initial * expansion.radius
    position = start
    size = _STEP / max(positives * (1 - positives), _LEAST_SPREAD) * whitening.width
    last = min(_AVERAGED, steps)
    average = np.zeros_like(start)
    for step in range(steps):
        weights = whitening.matrix @ position
        total: Total = prepared.map_sum(_gradients, weights)
        gradient = release(whitening.matrix.T @ total.high / whitening.width, step)
        position = position - size * gradient
        if step >= steps - last:
            average += position / last
    moved = average - start
    # The average contains the noise of step t in each of the averaged positions after it.
    contained = np.minimum(np.arange(steps, 0, -1), last) / last
    variance = (size * deviation) ** 2 * float(contained @ contained)
    length = float(moved @ moved)
    noise = variance * moved.size
    kept = max(0.0, 1 - _SHRINKAGE * noise / length) if length > 0 else 0.0
    found = whitening.matrix @ (start + kept * moved) / expansion.radius
    spread = kept * np.sqrt(variance) * whitening.matrix / expansion.radius
    return found, np.asarray(spread @ spread.T)


class _Prepared(NamedTuple):
    """What the steps need of the records of a part."""

    expansion: Expansion
    records: LabelledBins
    grouped: GroupedBins
    scales: Array
    norms: Array


def _prepared(records: LabelledBins, expansion: Expansion, whitening: Whitening) -> _Prepared:
    grouped = GroupedBins.of(records.bins, expansion.bins)
    scales, norms = _clipped(expansion, records, grouped, whitening)
    norms /= whitening.width
    return _Prepared(expansion, records, grouped, scales, norms)


def _gradients(some: _Prepared, weights: Array) -> Total:
    return Total.of(
        _sum_of_gradients(
            some.expansion, some.records, some.grouped, weights, some.scales, some.norms
        )
    )


def _clipped(
    expansion: Expansion, records: LabelledBins, grouped: GroupedBins, whitening: Whitening
) -> tuple[Array, Array]:
    """Return the factor of each row that gives its clipped z (0 if null), and the norm of z."""
    if expansion.factors or not worthwhile(expansion.bins, records.n):
        factors, lengths = _lengths_of_rows(expansion, records, whitening)
    else:
        factors = _factors(expansion, grouped)
        lengths = _lengths_by_pairs(expansion, records, grouped, whitening)
        lengths *= factors**2
        lengths += _slack(expansion, whitening)
        np.sqrt(lengths, out=lengths)
    clip = whitening.width / np.maximum(lengths, whitening.width)
    return factors * clip * records.counted, lengths * clip


def _lengths_of_rows(
    expansion: Expansion, records: LabelledBins, whitening: Whitening
) -> tuple[Array, Array]:
    factors, lengths = np.empty(len(records.counted)), np.empty(len(records.counted))
    for some, bins in records.blocks():
        rows, factors[some] = _unit_rows(expansion, bins)
        inside = rows @ whitening.matrix
        lengths[some] = np.sqrt(np.einsum("ij,ij->i", inside, inside))
    return factors, lengths


def _lengths_by_pairs(
    expansion: Expansion, records: LabelledBins, grouped: GroupedBins, whitening: Whitening
) -> Array:
    """Return |xW|² of rows that are not divided by their radius."""
    ends = np.cumsum([table.shape[1] for table in expansion.tables])
    parts = np.split(whitening.matrix[:-1], ends[:-1])
    tables = [table @ part for table, part in zip(expansion.tables, parts, strict=True)]
    return squared_norms(grouped, records.bins, tables, CONSTANT * whitening.matrix[-1])


def _slack(expansion: Expansion, whitening: Whitening) -> float:
    """Return a bound on the error of a squared norm of z by pairs of bins."""
    columns = len(expansion.tables) + 1
    terms = (4 * expansion.size**1.5 + 2 * columns**2) * columns
    return float(terms * _UNIT * np.linalg.norm(whitening.matrix, 2) ** 2)


def _sum_of_gradients(
    expansion: Expansion,
    records: LabelledBins,
    grouped: GroupedBins,
    weights: Array,
    scales: Array,
    norms: Array,
) -> Array:
    """Return Σ(p - y)·min(1, CLIP/|(p - y)z/c|)·x over records, in the coordinates of x."""
    n = len(scales)
    points = grouped.joint(expansion.points(weights))
    sums = grouped.sums()
    products = Total.zeros(expansion.products)
    for some in blocks(n):
        scores = grouped.sum_of(points, some)
        scores += weights[-1] * CONSTANT
        if expansion.factors:
            scores += expansion.product_scores(records.bins[:, some], weights)
        scores *= scales[some]
        slopes = chances(scores)
        slopes -= records.positive[some]
        lengths = np.abs(slopes)
        lengths *= norms[some]
        slopes *= CLIP / np.maximum(lengths, CLIP, out=lengths)
        slopes *= scales[some]
        slopes = truncated(slopes, records.n)
        sums.add(slopes, some)
        if expansion.factors:
            products += expansion.product_sums(records.bins[:, some], slopes)
    return expansion.sums_of_rows(sums.by_column(), products.high)


def chances(scores: Array) -> Array:
    """Return 1/(1 + exp(-score)), in place."""
    np.negative(scores, out=scores)
    with np.errstate(over="ignore"):  # the chance is then 0
        np.exp(scores, out=scores)
    scores += 1
    return np.reciprocal(scores, out=scores)
