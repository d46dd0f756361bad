r"""Private ranges of columns: planned from public facts, run on counts with noise.

**What is released.** For each of d columns, three histograms: counts on all powers of ten, with
their signs; then twice on a grid of round numbers, at the range that the counts before showed. The
range of a column is a function of its three noisy histograms alone.

**Why it is private.** Every value is counted exactly once in each histogram, missing ones in a
count of their own, and n is public. Replacing a record moves it from one count to another in each
of d histograms, whatever their bins are: the sensitivity of the d histograms of one stage is
√(2d) in ℓ2 and 2d in ℓ1 norm (`pairdp.privacy.bounds.histograms`), and no bin needs to be fixed
before earlier results are seen. The noise of each stage is fixed in advance, so the three stages
compose as adaptive releases of fixed cost: Gaussian ones exactly, those of pure ε by addition.
Nothing else depends on the data: no count without noise, no number of bins, no stopping.

**Why this way.** Near the scale of the noise, a range that must hold a fixed share of the values
becomes as wide as the grid, because the noise of all empty bins outside adds up. The shortest
window of bins that may hold the share, given the noise (`pairdp.ranges.windows`), leaves out what
the noise hides instead. ``python -m benchmarks private_bounds`` compares both, a binary search and
a choice by noisy maximum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, text
from pairdp._sums import LARGEST_N
from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    L1LaplaceMechanism,
    NoiseSource,
    Release,
    Sensitivity,
    Unit,
)
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.certificates.on_trust import LIBRARY
from pairdp.privacy.certificates.statistic import Statistic
from pairdp.ranges.grids import count_values, decades, round_grid
from pairdp.ranges.windows import Window, shortest_window

Array = NDArray[np.float64]

NAME = "Private ranges of columns"
_SHARES = (0.4, 0.3, 0.3)
_SLACK = 1 - 2e-9  # keeps the sum of shares at or below one in floating point
_TOLERANCES = (1.0, 0.5, 0.0)
_MARGIN = 0.5
"""What the last grid adds on both sides, relative to the range that the second one showed."""
_FEWEST_BINS, _MOST_BINS, _MOST_COLUMNS = 4, 1000, 10_000
_LARGEST_EXPONENT = 15
_UNSEEN = 0.2


@dataclass(frozen=True)
class RangeEstimation(Statistic):
    """Ranges of columns that hold all but a share of their values, as far as noise can show.

    Parameters
    ----------
    columns : tuple of str
        The names of the columns.
    coverage : float, default=0.98
        The share of the values that are not missing which a range should hold, the shortest one
        that does.
    lowest, highest : int, default=-6 and 12
        The smallest and the largest power of ten of the first grid. Values are told apart down to
        10^lowest, and ranges end at 10^highest.
    bins : int, default=20
        How many steps of round numbers a refinement has.
    """

    columns: tuple[str, ...]
    coverage: float = 0.98
    lowest: int = -6
    highest: int = 12
    bins: int = 20

    def __post_init__(self) -> None:
        if isinstance(self.columns, str):
            raise TypeError("columns must be a sequence of names: put a single one into a list")
        keep(self, "columns", tuple(text("the name of a column", name) for name in self.columns))
        if not self.columns:
            raise ValueError("ranges need at least one column")
        if len(self.columns) > _MOST_COLUMNS:
            raise ValueError(f"at most {_MOST_COLUMNS} columns, got {len(self.columns)}")
        if len(set(self.columns)) < len(self.columns):
            twice = next(name for name in self.columns if self.columns.count(name) > 1)
            raise ValueError(f"the column {twice!r} is named twice")
        if isinstance(self.coverage, bool) or not isinstance(self.coverage, float | int):
            raise TypeError(f"coverage must be a number, got {self.coverage!r}")
        if not 0.5 <= self.coverage < 1:
            raise ValueError(
                f"coverage must be at least 0.5 and below 1, got {self.coverage!r}: a range of all "
                "values cannot be private"
            )
        keep(self, "coverage", float(self.coverage))
        most = _LARGEST_EXPONENT
        keep(self, "lowest", integer("lowest", self.lowest, at_least=-most, at_most=most - 1))
        least = self.lowest + 1
        keep(self, "highest", integer("highest", self.highest, at_least=least, at_most=most))
        keep(self, "bins", integer("bins", self.bins, at_least=_FEWEST_BINS, at_most=_MOST_BINS))

    @property
    def stages(self) -> tuple[tuple[str, int], ...]:
        """What is released, in order, with the number of counts of one column."""
        powers = decades(self.lowest, self.highest).size + 2
        refined = self.bins + 5  # at most bins + 2 bins, and those below, above and missing
        return (
            ("counts of values by power of ten", powers),
            ("counts of values near the range", refined),
            ("counts of values at the range", refined),
        )

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> RangePlan:
        """Return the plan for n records.

        Noise is Laplace noise or, if δ > 0 and this is less, Gaussian noise. A unit of k records
        moves k records between counts, so the sensitivities are multiplied by k.
        """
        check_budget(budget)
        n = integer("n", n, at_most=int(LARGEST_N))
        make = _noise(budget, len(self.columns), records_of(unit))
        releases = tuple(
            make(name, counts * len(self.columns), share)
            for (name, counts), share in zip(self.stages, _SHARES, strict=True)
        )
        certificate = Certificate(
            algorithm=NAME,
            budget=budget,
            n=n,
            releases=releases,
            problem={
                "columns": len(self.columns),
                "coverage": self.coverage,
                "algorithm_proof": LIBRARY,
            },
            assumptions=(
                f"The names of the columns are public: {', '.join(self.columns)}.",
                "A cell that is missing or unreadable is counted as missing, and affects no other.",
            ),
            plan=self.plan_facts,
            unit=unit,
        )
        return RangePlan(self, certificate)

    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of the ranges for n records."""
        return self.plan(n, budget, unit).certificate


def _noise(budget: Budget, columns: int, records: int) -> Callable[[str, int, float], Release]:
    """Return what makes a release with a share of the budget: of ε, or of μ² for Gaussian noise."""
    l1 = Sensitivity.of("histograms of columns, in ℓ1", columns=columns).for_records(records)
    l2 = Sensitivity.of("histograms of columns", columns=columns).for_records(records)

    def laplace(name: str, dimension: int, share: float) -> Release:
        epsilon = budget.epsilon * share * _SLACK
        mechanism = L1LaplaceMechanism.for_epsilon(epsilon, l1.value, dimension)
        return Release(name, mechanism, l1, dimension)

    def gaussian(name: str, dimension: int, share: float) -> Release:
        mu = gdp_mu(budget.epsilon, budget.delta) * math.sqrt(share * _SLACK)
        mechanism = GaussianMechanism.for_mu(mu, l2.value, dimension)
        return Release(name, mechanism, l2, dimension)

    if budget.is_pure:
        return laplace
    last = _SHARES[-1]
    found = [make("counts", columns, last) for make in (laplace, gaussian)]
    return laplace if deviation(found[0]) <= deviation(found[1]) else gaussian


def deviation(release: Release) -> float:
    """Return the standard deviation of the noise on each count."""
    mechanism = release.mechanism
    if isinstance(mechanism, L1LaplaceMechanism):
        return math.sqrt(2) * mechanism.scale
    if isinstance(mechanism, GaussianMechanism):
        return mechanism.scale
    raise TypeError("counts are released with Laplace or Gaussian noise only")


@dataclass(frozen=True)
class RangePlan:
    """A range estimation with all of its noise, before any data is read.

    Attributes
    ----------
    estimation : RangeEstimation
        The columns and the grids.
    certificate : Certificate
        What is released, and why it is private.
    """

    estimation: RangeEstimation
    certificate: Certificate

    @property
    def unseen(self) -> float:
        """The share of the records that the noise of the last counts typically hides."""
        last = self.certificate.releases[-1]
        counts = self.estimation.stages[-1][1]
        return deviation(last) * math.sqrt(counts) / 2 / self.certificate.n

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings from public facts, one sentence each; empty for sensible plans."""
        if self.unseen < _UNSEEN:
            return ()
        columns = len(self.estimation.columns)
        of = "1 column" if columns == 1 else f"{columns} columns"
        sentence = (
            f"with {self.certificate.n} records, {of} and this budget, noise hides about "
            f"{min(self.unseen, 1.0):.0%} of the values of a column: ranges may be far too narrow "
            "or too wide. Use a larger epsilon, fewer columns, or limits that are known without "
            "the data"
        )
        return (sentence,)

    def run(self, values: Sequence[Array], source: NoiseSource) -> Array:
        """Return lower and upper ends for each column, from noisy counts of its values.

        Parameters
        ----------
        values : sequence of arrays of shape (n,)
            The values of each column, in the order of the names; NaN where they are missing.
        source : NoiseSource
            The source of the noise.

        Returns
        -------
        array of shape (d, 2)
        """
        n, columns = self.certificate.n, len(self.estimation.columns)
        if len(values) != columns or any(np.shape(column) != (n,) for column in values):
            raise ValueError(f"values must be {columns} columns of {n} numbers")
        first = decades(self.estimation.lowest, self.estimation.highest)
        outer = self._stage(0, values, [first] * columns, source)
        near = self._stage(1, values, [self._grid(*ends) for ends in outer], source)
        wider = [
            (max(low, a - _MARGIN * (b - a)), min(high, b + _MARGIN * (b - a)))
            for (low, high), (a, b) in zip(outer, near, strict=True)
        ]
        return self._stage(2, values, [self._grid(*ends) for ends in wider], source)

    def _grid(self, lower: float, upper: float) -> Array:
        return round_grid(lower, upper, self.estimation.bins)

    def _stage(
        self, stage: int, values: Sequence[Array], grids: Sequence[Array], source: NoiseSource
    ) -> Array:
        """Release the counts of one stage, and return the ends of the range of each column."""
        release = self.certificate.releases[stage]
        size = self.estimation.stages[stage][1]
        counts = np.zeros((len(values), size))
        for row, column, edges in zip(counts, values, grids, strict=True):
            found = count_values(column, edges)
            row[: found.size - 1], row[-1] = found[:-1], found[-1]
        noisy = release.mechanism.release(counts.ravel(), source.stream("counts", stage))
        ends = np.empty((len(values), 2))
        for j, (row, edges) in enumerate(zip(noisy.reshape(counts.shape), grids, strict=True)):
            # Bins that the grid of this column does not have are left out.
            used = np.append(row[: edges.size + 1], row[-1])
            window = shortest_window(
                used,
                self.certificate.n,
                self.estimation.coverage,
                deviation(release),
                _TOLERANCES[stage],
            )
            ends[j] = _ends(window, edges)
        return ends


def _ends(window: Window, edges: Array) -> tuple[float, float]:
    """Return the ends of a window, within the edges and at least one bin apart.

    The first count is of what is below the edges, so bin i is from edge i - 1 to edge i.
    """
    last = edges.size - 1
    first = min(max(window.first, 1), last)
    return float(edges[first - 1]), float(edges[min(max(window.last, first), last)])
