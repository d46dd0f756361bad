"""Records as the cells of their columns, which is all that a scorecard needs of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid
from pairdp._sums import BLOCK
from pairdp.algorithms.scorecard.cells import Cells, Codes, codes_of
from pairdp.clipping import ClippedBlocks
from pairdp.engines.local import InProcess
from pairdp.engines.parts import Part, Parts
from pairdp.gathering import Batch, gather
from pairdp.partitioned_records import PartitionedRecords
from pairdp.problem import Problem
from pairdp.records import PublicFacts, RecordFacts, Records
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Coded(NamedTuple):
    """The cells of some records and their labels; as private as the data.

    Attributes
    ----------
    codes : array of shape (columns, n)
        The cell of each record in each column.
    y, null : arrays of shape (n,)
        As in `Records`.
    start : int
        The number of records before these.
    """

    codes: Codes
    y: Array
    null: Mask
    start: int


@dataclass(frozen=True, eq=False, repr=False)
class CellRecords(PublicFacts):
    """n records as the cells of their columns, in a quarter of the memory of their rows.

    Attributes
    ----------
    facts : RecordFacts
        What is public of them.
    columns : tuple of Cells
        The columns.
    coded : Coded
        The cells and the labels.
    """

    facts: RecordFacts
    columns: tuple[Cells, ...]
    coded: Coded

    @classmethod
    def gather(
        cls,
        problem: Problem,
        columns: Sequence[Cells],
        batches: Iterable[Batch],
        n: int,
        features: int,
        *,
        invalid: Invalid = "error",
        limit: UnitLimit | None = None,
    ) -> CellRecords:
        """Return the cells of n records in batches, of which one block is clipped at a time.

        Parameters
        ----------
        problem : Problem
            A problem with two classes, whose norm rows are clipped to.
        columns : sequence of Cells
            The columns.
        batches, n, features, invalid, limit
            As of `Records.gather`.
        """
        most = None if limit is None else limit.max_records
        facts = replace(problem.record_facts(n, features), max_records=most)
        unreadable: list[Mask] = []

        def cells(x: ArrayLike) -> Codes:
            blocks = ClippedBlocks(x, facts.data_norm, invalid, features)
            codes = np.empty((len(columns), blocks.shape[0]), dtype=np.int16)
            for some, rows in blocks:
                unreadable.append(np.isnan(rows[:, 0]))
                rows[unreadable[-1]] = 0.0
                codes_of(columns, rows, out=codes[:, some])
            return codes.T

        found = gather(
            batches,
            n,
            cells,
            binary=facts.binary,
            target_bound=facts.target_bound,
            invalid=invalid,
            limit=limit,
        )
        codes, null = found.kept.T, found.unreadable
        null |= np.concatenate(unreadable)
        codes[:, null] = codes_of(columns, np.zeros((1, features)))  # as of a row of zeros
        found.y[null] = 0.0
        for array in (codes, found.y, null):
            array.setflags(write=False)
        return cls(facts, tuple(columns), Coded(codes, found.y, null, 0))

    def parts(self) -> Parts:
        """Return one part with the cells of all records."""
        return Parts(InProcess(), [Part(0, self.n, self.coded)], self.n)

    def __repr__(self) -> str:
        return f"CellRecords(n={self.n}, columns={len(self.columns)})"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records contain raw data and cannot be pickled: pickle the release")


def coded_parts(
    records: Records | PartitionedRecords | CellRecords, columns: Sequence[Cells]
) -> Parts:
    """Return the cells of records, in parts of `Coded`."""
    if isinstance(records, CellRecords):
        return records.parts()
    return records.map(_coded, tuple(columns))


def _coded(records: Records, columns: Sequence[Cells]) -> Coded:
    codes = np.empty((len(columns), records.n), dtype=np.int16)
    for start in range(0, records.n, BLOCK):
        some = slice(start, start + BLOCK)
        codes_of(columns, records.x[some], out=codes[:, some])
    return Coded(codes, records.y, records.null, records.start)
