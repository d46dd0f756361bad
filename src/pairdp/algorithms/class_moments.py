"""Moments of two classes, as sums that can be accumulated over parts of the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pairdp._reading import Invalid, read_table, uses_null_records
from pairdp._sums import BLOCK, Total, Totals
from pairdp.gathering import Batch
from pairdp.partitioned_records import PartitionedRecords
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Sums over some records, which can be added for disjoint parts. They are not private.

    The rounding error does not depend on the parts; see `pairdp._sums`.

    Attributes
    ----------
    n, positives, negatives : int
        Number of records, and of those with labels +1 and -1; the others are null records.
    features : int
        Number of features.
    sums : Total
        Of (yx, x) and of xxᵀ over the positives and over the negatives, as one vector.
    data_norm : float
        R, which the records were clipped to.
    limit : UnitLimit or None
        The limit on the records of a unit, which counts those of all parts together.
    """

    n: int
    positives: int
    negatives: int
    features: int
    sums: Total
    data_norm: float
    limit: UnitLimit | None = None

    @classmethod
    def of(cls, records: Records | PartitionedRecords) -> ClassMoments:
        """Return the sums of some records, copying at most one block at a time."""
        if not records.binary:
            raise ValueError("class moments need records with labels -1 and +1")
        positives, negatives, sums = records.map_sum(_sums_of)
        return cls(records.n, positives, negatives, records.features, sums, records.data_norm)

    @classmethod
    def gather(
        cls,
        problem: Problem,
        batches: Iterable[Batch],
        n: int,
        features: int,
        *,
        invalid: Invalid = "error",
        limit: UnitLimit | None = None,
    ) -> ClassMoments:
        """Return the sums of n records in batches, with one batch in memory at a time.

        Parameters
        ----------
        problem : Problem
            Converts batches to records.
        batches : iterable of (x, y), or of (x, y, groups) with a limit
            Features and labels, and the unit of each record.
        n, features : int
            Total number of records, and number of features.
        invalid : {"error", "null"}
            What to do with records that cannot be read; see `pairdp.records.Records`.
        limit : UnitLimit, optional
            Decides which records of each unit are used.
        """
        total: ClassMoments | None = None
        for x, y, *of_unit in batches:
            if uses_null_records(invalid):
                x = x if hasattr(x, "shape") else read_table(x, features)
            elif np.ndim(y) != 1:
                raise ValueError(f"y must have one label per record, got {np.ndim(y)} dimensions")
            groups = of_unit[0] if of_unit else None
            records = problem.records(x, y, invalid=invalid, groups=groups, limit=limit)
            sums = replace(cls.of(records), limit=limit)
            if sums.features != features:
                raise ValueError(f"a batch has {sums.features} features, not {features}")
            total = sums if total is None else total + sums
        if total is None or total.n != n:
            raise ValueError(
                f"the plan is for {n} records, and the batches have "
                f"{0 if total is None else total.n}: plan again for these"
            )
        return total

    @property
    def max_records(self) -> int | None:
        """How many records of each unit may be used; None if they were not limited."""
        return None if self.limit is None else self.limit.max_records

    @property
    def binary(self) -> bool:
        """Whether labels are -1 and +1; always True."""
        return True

    @property
    def signed(self) -> Array:
        """Σyx."""
        return self.sums.high[: self.features]

    @property
    def plain(self) -> Array:
        """Σx."""
        return self.sums.high[self.features : 2 * self.features]

    @property
    def ups(self) -> Array:
        """Σxxᵀ over the positives."""
        return self._squares(0)

    @property
    def downs(self) -> Array:
        """Σxxᵀ over the negatives."""
        return self._squares(1)

    def _squares(self, place: int) -> Array:
        d = self.features
        square = self.sums.high[2 * d :].reshape(2, d, d)[place]
        return np.asarray((square + square.T) / 2)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if self.features != other.features:
            raise ValueError(
                f"moments of {self.features} and of {other.features} features cannot be added"
            )
        return ClassMoments(
            self.n + other.n,
            self.positives + other.positives,
            self.negatives + other.negatives,
            self.features,
            self.sums + other.sums,
            max(self.data_norm, other.data_norm),
            # Two limits would admit k records of a unit each.
            self.limit if self.limit is other.limit else None,
        )

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("moments of raw data cannot be pickled: pickle the release instead")

    def __repr__(self) -> str:
        return f"ClassMoments(n={self.n}, features={self.features})"


def _sums_of(records: Records) -> Totals:
    """Return the numbers of positives and negatives, and the sums."""
    sums = Total.zeros(2 * records.features + 2 * records.features**2)
    for start in range(0, records.n, BLOCK):
        some = slice(start, start + BLOCK)
        sums += _block_sums(records.x[some], records.y[some])
    return Totals(*(int(np.count_nonzero(records.y * sign > 0)) for sign in (1, -1)), sums)


def _block_sums(x: Array, y: Array) -> Array:
    """Return the sums over one block of records, as one vector."""
    ups, downs = x.compress(y > 0, axis=0), x.compress(y < 0, axis=0)
    return np.concatenate(
        [y @ x, np.ones(len(y)) @ x, (ups.T @ ups).ravel(), (downs.T @ downs).ravel()]
    )
