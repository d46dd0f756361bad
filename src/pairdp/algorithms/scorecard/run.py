"""A run of a scorecard: what it releases, in order, and the points that follow from that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from pairdp._sums import Total, Totals
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.plan import Progress
from pairdp.algorithms.scorecard.cell_records import CellRecords, Coded, coded_parts
from pairdp.algorithms.scorecard.cells import FINE, Cells, NumberCells
from pairdp.algorithms.scorecard.column_features import factors_of
from pairdp.algorithms.scorecard.descent import (
    LabelledBins,
    descend,
    second_moments,
    whitening_of,
)
from pairdp.algorithms.scorecard.evidence import (
    Column,
    Smoothing,
    columns_of,
    combined,
    share_of_positives,
)
from pairdp.algorithms.scorecard.expansion import (
    CONSTANT,
    Expansion,
    all_products,
    expand,
    scales_unit,
)
from pairdp.algorithms.scorecard.pair_choice import Pairs, gradient_of_products, largest
from pairdp.algorithms.scorecard.partition import Counted, Edges, bin_of_cells, merge, partition
from pairdp.algorithms.scorecard.refinement import refine
from pairdp.algorithms.scorecard.squares import SquareFeatures, damping_of
from pairdp.algorithms.scorecard.tabled import blocks as blocks_of
from pairdp.engines.parts import Parts
from pairdp.partitioned_records import PartitionedRecords
from pairdp.privacy import NoiseSource, Release
from pairdp.records import Records

Array = NDArray[np.float64]
PARTITION, COUNTS = "counts of cells", "labelled counts of bins"
MOMENTS, GRADIENTS = "second moments of features", "clipped gradients"
CHOICE = "gradient of products"
_NAIVE, _LEAST_NAIVE = 0.7, 0.05
"""The weight of shapes when pairs are chosen, and the least that the descent starts from."""


class Binned(NamedTuple):
    """The columns with their bins, functions of released counts."""

    columns: list[Column]
    edges: list[Edges | None]
    bin_of: list[NDArray[np.int64]]
    positives: float

    def naive(self) -> Learned:
        """Return the points of naive Bayes: all weights are 1."""
        shapes = [column.shape for column in self.columns]
        deviations = [column.deviations for column in self.columns]
        nothing = np.zeros((0, 0))
        intercept = float(logit(self.positives))
        return Learned(shapes, deviations, intercept, nothing, [np.zeros(0)], nothing)


class Learned(NamedTuple):
    """Points and deviations by column, the intercept, and the products with their deviations."""

    points: list[Array]
    deviations: list[Array]
    intercept: float
    interactions: Array
    factors: list[Array]
    product_deviations: Array


@dataclass(frozen=True, eq=False)
class Run:
    """The records of a run, which enter what it returns through releases only.

    Attributes
    ----------
    columns : sequence of Cells
        The columns.
    coded : Parts
        Parts of `Coded` records.
    n : int
        Number of records.
    releases : dict
        The planned releases, by name.
    noise : NoiseSource
        The source of their noise.
    """

    columns: Sequence[Cells]
    coded: Parts
    n: int
    releases: dict[str, Release]
    noise: NoiseSource

    @classmethod
    def of(
        cls,
        columns: Sequence[Cells],
        records: Records | PartitionedRecords | CellRecords,
        releases: Sequence[Release],
        noise: NoiseSource,
    ) -> Run:
        """Return a run on some records."""
        coded = coded_parts(records, columns)
        by_name = {release.name: release for release in releases}
        return cls(columns, coded, records.n, by_name, noise)

    def bin(self, bins: int, levels: int, resolution: int = 0) -> Binned:
        """Release the counts, and return the bins with their shapes.

        With a resolution, the bins of numbers are divided after the releases (`refinement`).
        """
        n, columns = self.n, self.columns
        sizes = [column.size for column in columns]
        labelled = list(self.coded.map_sum(_labelled_cells, sizes))
        cells = self._partition([both.sum(axis=0) for both in labelled], bins, levels)
        known = {j: merge(one, bins) for j, one in cells.items()}
        bin_of = [
            bin_of_cells(known[j].edges, column.size - FINE)
            if j in known
            else np.arange(column.size)
            for j, column in enumerate(columns)
        ]
        excesses, counts = self._labelled_counts(bin_of, labelled)
        sigma = deviation(self.releases[COUNTS])
        positives = share_of_positives(excesses, n)
        shapes = []
        edges: list[Edges | None] = []
        for j, column in enumerate(columns):
            before = known.get(j)
            estimate, variances = combined(
                counts[j] if before is None else before.counts,
                None if before is None else before.variances,
                counts[j],
                4 * sigma**2,
                n,
            )
            parts = None
            if before is not None and resolution:
                parts = refine(cells[j], replace(before, counts=estimate), resolution)
                bin_of[j] = bin_of_cells(parts.edges, column.size - FINE)
            edges.append(None if before is None else (parts or before).edges)
            shapes.append(
                Smoothing.of(
                    excesses[j],
                    estimate,
                    variances,
                    positives,
                    sigma,
                    is_number=before is not None,
                    missing=column.size - FINE if before is not None else 0,
                    refined=parts,
                )
            )
        return Binned(columns_of(shapes), edges, bin_of, positives)

    def _partition(
        self, cells: list[NDArray[np.int64]], bins: int, levels: int
    ) -> dict[int, Counted]:
        """Release counts of the cells of numbers, and return them by column."""
        numbers = [j for j, one in enumerate(self.columns) if isinstance(one, NumberCells)]
        if not numbers:
            return {}
        release = self.releases[PARTITION]

        def noisy(values: Array, level: int) -> Array:
            return _padded_release(release, values, self.noise.stream(PARTITION, level))

        exact = [cells[j] for j in numbers]
        found = partition(exact, self.n, bins, levels, deviation(release), noisy)
        return dict(zip(numbers, found, strict=True))

    def _labelled_counts(
        self, bin_of: list[NDArray[np.int64]], labelled: list[NDArray[np.int64]]
    ) -> tuple[list[Array], list[Array]]:
        """Release labelled counts, and return the excess of positives and the count of each bin."""
        exact = [
            np.array([np.bincount(bins, side, minlength=int(bins[-1]) + 1) for side in both])
            for bins, both in zip(bin_of, labelled, strict=True)
        ]
        excess = np.concatenate([(ups - downs) / 2 for ups, downs in exact])
        halves = np.concatenate([(ups + downs) / 2 for ups, downs in exact])
        noisy = _padded_release(
            self.releases[COUNTS], np.concatenate([excess, halves]), self.noise.stream(COUNTS)
        )
        ends = np.cumsum([both.shape[1] for both in exact])
        counts = np.split(2 * noisy[ends[-1] :], ends[:-1])
        return np.split(noisy[: ends[-1]], ends[:-1]), counts

    def learn(
        self,
        binned: Binned,
        blocks: Sequence[str],
        pairs: Pairs | int,
        steps: int,
        ridge: float,
        sampled: int,
        progress: Progress,
    ) -> Learned:
        """Release moments and gradients of some blocks of features, and return the points.

        ``pairs`` are the columns of products, or how many are chosen. If there are none, and
        products are among the blocks, they are of all columns, with squares.
        """
        n = self.n
        if isinstance(pairs, int):
            pairs = self._chosen_pairs(binned, pairs)
        with_squares = "products" in blocks and not pairs
        if with_squares:
            blocks = [name for name in blocks if name != "products"]
        expansion = expand(binned.columns, binned.edges, blocks, pairs)
        scales = self._scales(binned, expansion, sampled)
        columns = len(binned.columns)
        damping = math.sqrt(damping_of(columns, expansion.products, ridge))
        squares = None
        if with_squares:
            squares = _square_features(binned, scales, ridge)
        descended = min(n, 2 * sampled)
        larger = n / descended
        release = self.releases[GRADIENTS]
        shown = progress.steps(steps, "learning weights")

        def noisy_gradient(total: Array, step: int) -> Array:
            next(shown, None)
            noisy = release.mechanism.release(total / n, self.noise.stream(GRADIENTS, step))
            return larger * noisy

        further = 0.0 if squares is None else squares.squared_radius
        found = descend(
            expansion,
            self._labelled_bins(binned, descended),
            whitening_of(expansion, scales, ridge, damping, further),
            expansion.initial(
                _shared_weight(expansion, binned.columns, scales), float(logit(binned.positives))
            ),
            binned.positives,
            larger * deviation(release),
            steps,
            noisy_gradient,
            squares,
        )
        shown.close()
        weights = found.weights
        deviations, place = [], 0
        for table, parts, column in zip(
            expansion.tables, expansion.shape_parts, binned.columns, strict=True
        ):
            part = slice(place, place + table.shape[1])
            place += table.shape[1]
            of_weights = np.einsum("bi,ij,bj->b", table, found.covariance[part, part], table)
            of_shape = (parts @ weights[part] * column.deviations) ** 2
            deviations.append(np.sqrt(np.maximum(of_weights, 0.0) + of_shape))
        if squares is not None:
            factors = squares.factors
            matrix, constant = squares.interactions(found.square_weights)
            spread = squares.deviations(found.square_deviation)
        else:
            factors, constant = expansion.factors, 0.0
            matrix = expansion.interactions(weights)
            spread = expansion.interactions(np.sqrt(np.maximum(np.diag(found.covariance), 0.0)))
        return Learned(
            expansion.points(weights),
            deviations,
            float(weights[-1] * CONSTANT + constant),
            matrix,
            list(factors) or [np.zeros(0)],
            spread,
        )

    def _scales(self, binned: Binned, expansion: Expansion, sampled: int) -> Array:
        """Release second moments of the scales, in units in which these have about 1."""
        scales = expansion.scales
        # Records that are left out contribute zero to the sums over n that are released.
        total: Total = self._labelled_bins(binned, sampled).map_sum(_second_moments, scales)
        moments = self.releases[MOMENTS].mechanism.release_symmetric(
            total.high / self.n, self.noise.stream(MOMENTS)
        )
        factor = scales_unit(len(binned.columns)) * self.n / sampled
        return np.asarray(factor * moments[:-1, :-1])

    def _labelled_bins(self, binned: Binned, count: int) -> Parts:
        """Return so many of the records, at places that are evenly distributed over all."""
        return self.coded.map(_labelled_bins, binned.bin_of, self.n, count)

    def _chosen_pairs(self, binned: Binned, count: int) -> Pairs:
        """Release the gradient of all products at naive Bayes, and return the largest."""
        total: Total = self._labelled_bins(binned, self.n).map_sum(
            _gradient_of_products,
            list(factors_of(binned.columns)),
            [_NAIVE * column.shape for column in binned.columns],
            float(logit(binned.positives)),
        )
        noisy = self.releases[CHOICE].mechanism.release(
            total.high / self.n, self.noise.stream(CHOICE)
        )
        return largest(noisy, len(self.columns), count)


def _labelled_cells(coded: Coded, sizes: Sequence[int]) -> Totals:
    """Return the numbers of positives and negatives in each cell of each column."""
    found = [np.zeros(3 * size, dtype=np.int64) for size in sizes]
    for some in blocks_of(len(coded.y)):
        y = coded.y[some]
        sides = np.where(y > 0, 0, np.where(y < 0, 1, 2)).astype(np.int16)
        for counts, row in zip(found, coded.codes, strict=True):
            joint = row[some] * np.int16(3) + sides
            counts += np.bincount(joint, minlength=counts.size)
    return Totals(*(counts.reshape(-1, 3)[:, :2].T for counts in found))


def _labelled_bins(
    coded: Coded, bin_of: Sequence[NDArray[np.int64]], n: int, count: int
) -> LabelledBins:
    """Return the records at those of ``count`` evenly distributed places that are in a part."""
    # ⌊in/count⌋ is at least a place if i is at least that place times count/n.
    stop = coded.start + len(coded.y)
    first, last = (-(-place * count // n) for place in (coded.start, stop))
    some: slice | NDArray[np.int64] = slice(None)
    if count < n:
        some = np.arange(first, last, dtype=np.int64) * n // count - coded.start
    bins = np.empty((len(coded.codes), last - first), dtype=np.int16)
    for row, codes, known in zip(bins, coded.codes, bin_of, strict=True):
        np.take(known.astype(np.int16), codes[some], out=row, mode="clip")
    counted = np.where(coded.null[some], 0.0, 1.0)
    return LabelledBins(bins, (coded.y[some] > 0).astype(np.float64), counted, count)


def _second_moments(records: LabelledBins, expansion: Expansion) -> Total:
    return Total.of(second_moments(expansion, records))


def _gradient_of_products(
    records: LabelledBins, factors: Sequence[Array], points: Sequence[Array], intercept: float
) -> Total:
    return Total.of(gradient_of_products(factors, points, intercept, records))


def _shared_weight(expansion: Expansion, columns: Sequence[Column], scales: Array) -> float:
    """Return the weight of all shapes that fits best, for the released dependence of the scales.

    The sum of shapes of independent columns has the variance Σv of all shapes; if columns repeat
    each other, it has more, and the weight is Σv over its variance. Second moments of clipped rows
    are too small, all by about the same factor, which the known variances of the scales show.
    """
    alone = sum(column.variance for column in columns)
    root = math.sqrt(len(columns))
    first = np.concatenate(expansion.shape_weights)[expansion.scale_places] / root
    sizes = np.array(
        [
            float(column.shares @ table[:, 0] ** 2) * len(columns)
            for column, table in zip(columns, expansion.tables, strict=True)
        ]
    )
    trace = float(np.trace(scales))
    lost = sizes.sum() / trace if trace > 0 else 1.0
    together = lost * float(first @ scales @ first) + max(alone - float(first**2 @ sizes), 0.0)
    return float(np.clip(alone / together, _LEAST_NAIVE, 1.0)) if together > 0 else 1.0


def _square_features(binned: Binned, scales: Array, ridge: float) -> SquareFeatures:
    """Return the features of all products, from released counts and moments."""
    factors = list(factors_of(binned.columns))
    variances = [c.shares @ f**2 for c, f in zip(binned.columns, factors, strict=True)]
    sizes = np.maximum(np.diag(scales), 0.0) + ridge
    correlations = np.clip(scales / np.sqrt(np.outer(sizes, sizes)), -1.0, 1.0)
    np.fill_diagonal(correlations, 1.0)
    damping = damping_of(len(factors), all_products(len(factors)), ridge)
    return SquareFeatures.of(factors, np.array(variances), correlations, damping)


def _padded_release(release: Release, values: Array, stream: np.random.Generator) -> Array:
    """Return values with noise; their number is at most the planned dimension."""
    padded = np.zeros(release.dimension)
    padded[: values.size] = values
    return release.mechanism.release(padded, stream)[: values.size]
