"""Records in parts, each in the memory of some process.

An algorithm reads `Records` and `PartitionedRecords` in the same way: their public facts, and
``map_sum(function, *shared)``, the sum of ``function(records of a part, *shared)``. Parts travel
between processes as arrays of clipped rows and coded labels; `Records`, which refuse to be pickled,
are made of them inside a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.engines.base import Engine, Function
from pairdp.engines.local import InProcess
from pairdp.engines.parts import Part, Parts
from pairdp.engines.scratch import Scratch
from pairdp.records import Keys, PublicFacts, RecordFacts, Records

Array = NDArray[np.float64]


class RecordArrays(NamedTuple):
    """The arrays of some records, clipped and coded; as private as the data.

    Attributes
    ----------
    x, y, null : arrays
        As in `Records`.
    keys : array or None
        The keys of names of classes.
    start : int
        The number of records before these in the data set.
    scratch : Scratch or None
        What functions keep of these records from call to call.
    """

    x: Array
    y: Array
    null: NDArray[np.bool_]
    keys: Keys | None
    start: int = 0
    scratch: Scratch | None = None


@dataclass(frozen=True, eq=False)
class PartitionedRecords(PublicFacts):
    """n records in parts on an engine.

    Parameters
    ----------
    facts : RecordFacts
        What is public of them.
    parts : Parts
        Parts of `RecordArrays`.

    Examples
    --------
    >>> from pairdp.records import Records
    >>> records = Records([[0.1], [0.2], [0.3]], [1, -1, 1])
    >>> PartitionedRecords.split(records, 2).map_sum(lambda some: some.n)
    3
    """

    facts: RecordFacts
    parts: Parts

    @classmethod
    def split(
        cls, records: Records, count: int, engine: Engine | None = None
    ) -> PartitionedRecords:
        """Return records of this process in so many parts of nearly equal size."""
        ends = [records.n * i // count for i in range(count + 1)]
        parts = [
            Part(i, stop - start, arrays_of(records.part(slice(start, stop)), start))
            for i, (start, stop) in enumerate(pairwise(ends))
        ]
        return cls(records.facts, Parts(engine or InProcess(), parts, records.n))

    def targets_are_within(self, bound: float) -> bool:
        """Return whether labels are known to be numbers within a bound."""
        if self.target_bound is None:
            return self.binary and bound >= 1
        return self.target_bound <= bound

    def map(self, function: Function, *shared: Any) -> Parts:
        """Return parts with ``function(records, *shared)`` as their values."""
        return self.parts.map(_on_records, self.facts, function, shared)

    def map_sum(self, function: Function, *shared: Any) -> Any:
        """Return the sum of ``function(records, *shared)`` over all parts."""
        return self.parts.map_sum(_on_records, self.facts, function, shared)

    def __repr__(self) -> str:
        return (
            f"PartitionedRecords(n={self.n}, features={self.features}, "
            f"data_norm={self.data_norm:g}, parts={len(self.parts.handles)})"
        )


def arrays_of(records: Records, start: int = 0) -> RecordArrays:
    """Return the arrays of records as a part of a data set, without copying them."""
    return RecordArrays(records.x, records.y, records.null, records.keys, start, Scratch())


def _on_records(
    arrays: RecordArrays, facts: RecordFacts, function: Function, shared: tuple[Any, ...]
) -> Any:
    return function(Records.of_arrays(facts, *arrays), *shared)
