r"""Noisy descent on the weights of a scorecard, in coordinates in which rows are about isotropic.

Rows x of the features are divided by their radius and clipped to norm 1. From noisy second moments
C = QΛQᵀ of the scales of all columns, in units in which scales have unit variance, W divides these
by Q(Λ₊ + ridge)^{1/2}, and gives other features, which are about uncorrelated, their sizes
(`whitening_of`). Then z = xW has about r² = ΣΛ₊/(Λ₊ + ridge) + Σ(squared sizes) as expected squared
norm. With c = 2·max(r, 1), z is clipped to norm c, and the logistic gradient (p - y)z/c of a record
to norm `CLIP`. The released means of these have sensitivity 2·CLIP/n, whatever was released before,
since W is a function of released values. All products of two columns may be further coordinates of
z, without W (`pairdp.algorithms.scorecard.squares`).

**Rounding.** The computed mean is Wᵀt/c, where t is the mean of vectors of norm at most 1 in the
coordinates of x. The error of t is at most `SUMMING`, that of the product with W at most
D^1.5·u·|W| with u = 2⁻⁵³ and D features, and |W| is at most `largest_whitening`, c ≥ 2. The norm of
z that decides on clipping has an error of at most D^1.5·u·|W| too, or is not below the true one
(`pairdp.algorithms.scorecard.tabled`). The bound "mean of clipped gradients" pays for all of these.
For second moments, the sums of coefficients by pairs of bins are exact, and the products with two
tables of at most B bins have an error of at most 2Bu times what is summed up: below `SUMMING`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.scorecard.expansion import CONSTANT, Bins, Expansion
from pairdp.algorithms.scorecard.squares import SquareFeatures
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
    all : int, optional
        The number of records in all parts; by default, these are all.
    """

    bins: Bins
    positive: Array
    counted: Array
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
    def of(moments: Array, ridge: float, further: float = 0.0) -> Whitening:
        """Return the coordinates for noisy second moments.

        ``further`` is the expected squared norm of coordinates that need no whitening.
        """
        values, vectors = np.linalg.eigh(moments)
        return Whitening._of_spectrum(values, vectors, ridge, further)

    @staticmethod
    def of_squares(squares: Array, ridge: float) -> Whitening:
        """Return the coordinates for a diagonal matrix of noisy second moments."""
        order = np.argsort(squares, kind="stable")
        return Whitening._of_spectrum(squares[order], np.eye(order.size)[:, order], ridge)

    @staticmethod
    def _of_spectrum(
        values: Array, vectors: Array, ridge: float, further: float = 0.0
    ) -> Whitening:
        values = np.maximum(values, 0.0)
        sizes = np.sqrt(values + ridge)
        radius = float(np.sqrt(np.sum(values / (values + ridge)) + further))
        return Whitening(vectors / sizes, sizes[:, None] * vectors.T, _WIDE * max(radius, 1.0))


def whitening_of(
    expansion: Expansion, scales: Array, ridge: float, damping: float, further: float = 0.0
) -> Whitening:
    """Return the coordinates for noisy second moments of the scales.

    Parameters
    ----------
    expansion : Expansion
        The features.
    scales : array of shape (columns, columns)
        Noisy second moments of the scales, of which a scale has about 1.
    ridge : float
        Added to their eigenvalues.
    damping : float
        The size of named products.
    further : float
        The expected squared norm of coordinates that need no whitening.
    """
    values, vectors = np.linalg.eigh(scales)
    values = np.maximum(values, 0.0)
    roots = np.sqrt(values + ridge)
    sizes = expansion.unit_sizes
    sizes[-1 - expansion.products : -1] *= damping
    places = expansion.scale_places
    matrix, inverse = np.diag(sizes), np.diag(1 / sizes)
    inside = np.ix_(places, places)
    matrix[inside] = sizes[places, None] * vectors / roots
    inverse[inside] = roots[:, None] * vectors.T / sizes[places]
    others = expansion.squared_sizes - len(places) + damping**2 * expansion.products + 1
    radius = float(np.sqrt(np.sum(values / (values + ridge)) + max(others, 0.0) + further))
    return Whitening(
        expansion.radius * matrix, inverse / expansion.radius, _WIDE * max(radius, 1.0)
    )


def largest_whitening(columns: int, features: int, products: int, ridge: float) -> float:
    """Return a bound on |W| for so many columns and features, of which some are products.

    A row has a radius of at most √(features/columns + 2), since features have unit variance or less
    before they are divided by √columns, and products together have 1. W multiplies scales by
    √columns over at least √ridge, other features of columns by √columns, products by at most the
    root of their number, and the constant by 1/`CONSTANT`.
    """
    radius = math.sqrt(features / columns + 2)
    scales = math.sqrt(columns) * max(1.0, 1 / math.sqrt(ridge))
    return radius * max(scales, math.sqrt(products), 1 / CONSTANT)


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
    squares: SquareFeatures | None = None,
) -> Descended:
    """Return the weights after noisy steps, and their noise to first order.

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
    squares : SquareFeatures, optional
        All products of two columns, as further coordinates.
    """
    gradients = records.map(_gradients, expansion, whitening, squares)
    start = whitening.inverse @ initial * expansion.radius
    first = len(start)
    start = np.pad(start, (0, 0 if squares is None else squares.size))
    position = start
    size = _STEP / max(positives * (1 - positives), _LEAST_SPREAD) * whitening.width
    last = min(_AVERAGED, steps)
    average = np.zeros_like(start)
    for step in range(steps):
        weights = whitening.matrix @ position[:first]
        total: Total = gradients.map_sum(_total, weights, position[first:])
        inside = np.concatenate([whitening.matrix.T @ total.high[:first], total.high[first:]])
        position = position - size * release(inside / whitening.width, step)
        if step >= steps - last:
            average += position / last
    moved = average - start
    # The average contains the noise of step t in each of the averaged positions after it.
    contained = np.minimum(np.arange(steps, 0, -1), last) / last
    variance = (size * deviation) ** 2 * float(contained @ contained)
    length = float(moved @ moved)
    noise = variance * moved.size
    kept = max(0.0, 1 - _SHRINKAGE * noise / length) if length > 0 else 0.0
    found = start + kept * moved
    spread = kept * np.sqrt(variance) * whitening.matrix / expansion.radius
    return Descended(
        whitening.matrix @ found[:first] / expansion.radius,
        np.asarray(spread @ spread.T),
        found[first:],
        kept * float(np.sqrt(variance)),
    )


class Descended(NamedTuple):
    """The weights of features and the covariance of their noise; those of squares, likewise."""

    weights: Array
    covariance: Array
    square_weights: Array
    square_deviation: float


@dataclass(frozen=True, eq=False)
class Gradients:
    """Sums of clipped gradients over records; as private as the data.

    Attributes
    ----------
    expansion, squares, records, grouped
        The features, and the bins of the records, also in groups.
    rows : array of shape (n, columns) or (n, 0)
        h of `SquareFeatures` for each record.
    kept : array of shape (n,)
        The factor that clips z; 0 for null records.
    scales : array of shape (n,)
        The same, times the factor that makes x of the features.
    norms : array of shape (n,)
        The norm of the clipped z, in units of c.
    """

    expansion: Expansion
    squares: SquareFeatures | None
    records: LabelledBins
    grouped: GroupedBins
    rows: Array
    kept: Array
    scales: Array
    norms: Array

    @staticmethod
    def of(
        expansion: Expansion,
        records: LabelledBins,
        whitening: Whitening,
        squares: SquareFeatures | None = None,
    ) -> Gradients:
        """Return the gradients in some coordinates."""
        grouped = GroupedBins.of(records.bins, expansion.bins)
        factors, lengths = _lengths(expansion, records, grouped, whitening)
        rows = np.zeros((len(lengths), 0))
        if squares is not None:
            rows = squares.rows(records.bins)
            for some in blocks(len(lengths)):
                lengths[some] += squares.squared_norms(rows[some])
        np.sqrt(lengths, out=lengths)
        clip = whitening.width / np.maximum(lengths, whitening.width)
        norms = lengths * clip / whitening.width
        kept = clip * records.counted
        return Gradients(expansion, squares, records, grouped, rows, kept, factors * kept, norms)

    def total(self, weights: Array, square_weights: Array) -> tuple[Array, Array]:
        """Return Σ(p - y)·min(1, CLIP/|(p - y)z/c|)·x over records, and the same of products."""
        n, expansion, squares = len(self.scales), self.expansion, self.squares
        points = self.grouped.joint(expansion.points(weights))
        sums = self.grouped.sums()
        products = Total.zeros(expansion.products)
        of_squares = Total.zeros(square_weights.size)
        for some in blocks(n):
            bins = self.records.bins[:, some]
            scores = self.grouped.sum_of(points, some)
            scores += weights[-1] * CONSTANT
            if expansion.factors:
                scores += expansion.product_scores(bins, weights)
            scores *= self.scales[some]
            if squares is not None:
                scores += self.kept[some] * squares.scores(self.rows[some], square_weights)
            slopes = chances(scores)
            slopes -= self.records.positive[some]
            lengths = np.abs(slopes)
            lengths *= self.norms[some]
            slopes *= CLIP / np.maximum(lengths, CLIP, out=lengths)
            if squares is not None:
                of_squares += squares.sums(self.rows[some], slopes * self.kept[some])
            slopes *= self.scales[some]
            slopes = truncated(slopes, self.records.n)
            sums.add(slopes, some)
            if expansion.factors:
                products += expansion.product_sums(bins, slopes)
        return expansion.sums_of_rows(sums.by_column(), products.high), of_squares.high


def _gradients(
    records: LabelledBins,
    expansion: Expansion,
    whitening: Whitening,
    squares: SquareFeatures | None,
) -> Gradients:
    return Gradients.of(expansion, records, whitening, squares)


def _total(gradients: Gradients, weights: Array, square_weights: Array) -> Total:
    return Total.of(np.concatenate(gradients.total(weights, square_weights)))


def _lengths(
    expansion: Expansion, records: LabelledBins, grouped: GroupedBins, whitening: Whitening
) -> tuple[Array, Array]:
    """Return the factor of each row that makes it x, and |xW|²."""
    if expansion.factors or not worthwhile(expansion.bins, records.n):
        return _lengths_of_rows(expansion, records, whitening)
    factors = _factors(expansion, grouped)
    lengths = squared_norms(grouped, records.bins, expansion.tables, CONSTANT, whitening.matrix)
    lengths *= factors**2
    lengths += _slack(expansion, whitening)
    return factors, lengths


def _lengths_of_rows(
    expansion: Expansion, records: LabelledBins, whitening: Whitening
) -> tuple[Array, Array]:
    factors, lengths = np.empty(len(records.counted)), np.empty(len(records.counted))
    for some, bins in records.blocks():
        rows, factors[some] = _unit_rows(expansion, bins)
        inside = rows @ whitening.matrix
        lengths[some] = np.einsum("ij,ij->i", inside, inside)
    return factors, lengths


def _slack(expansion: Expansion, whitening: Whitening) -> float:
    """Return a bound on the error of a squared norm of z by bins, with a factor d + 1 to spare."""
    columns = len(expansion.tables) + 1
    terms = (4 * expansion.size**1.5 + 2 * columns**2) * columns
    return float(terms * _UNIT * np.linalg.norm(whitening.matrix, 2) ** 2)


def chances(scores: Array) -> Array:
    """Return 1/(1 + exp(-score)), in place."""
    np.negative(scores, out=scores)
    with np.errstate(over="ignore"):  # the chance is then 0
        np.exp(scores, out=scores)
    scores += 1
    return np.reciprocal(scores, out=scores)
