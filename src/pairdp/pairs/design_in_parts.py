"""The average loss over a pair design of records in parts, which are dealt into blocks once.

Each part sends every other part the records of its blocks, clipped and coded. From then on a block
is in one place, and a gradient is one sum over all parts, without further exchange of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.engines.parts import Parts
from pairdp.losses.base import PairwiseLoss
from pairdp.pairs.base import check_shape
from pairdp.pairs.block_design import BlockDesign
from pairdp.pairs.blocked import Runs, gradient_sums, pairs_at_a_time, value_sums
from pairdp.pairs.design import Indices
from pairdp.partitioned_records import PartitionedRecords, RecordArrays
from pairdp.records import RecordFacts, Records

Array = NDArray[np.float64]
Sums = Callable[..., Iterator[Array]]


@dataclass(frozen=True, eq=False, repr=False)
class _Dealt:
    """Records with their blocks, and their places in them."""

    block: Indices
    place: NDArray[np.uint64]
    x: Array
    y: Array
    null: NDArray[np.bool_]

    def some(self, rows: Indices) -> _Dealt:
        """Return the records at some indices."""
        return _Dealt(
            self.block[rows], self.place[rows], self.x[rows], self.y[rows], self.null[rows]
        )


@dataclass(frozen=True)
class BlockDesignRisk:
    """Any loss over the pairs of a `BlockDesign`, both orders of each.

    Attributes
    ----------
    loss : PairwiseLoss
        The loss.
    facts : RecordFacts
        What is public of the records.
    blocks : Parts
        The records, dealt into blocks; use `of`.
    design : BlockDesign
        The pairs.
    """

    loss: PairwiseLoss
    facts: RecordFacts
    blocks: Parts
    design: BlockDesign

    @classmethod
    def of(
        cls, loss: PairwiseLoss, records: Records | PartitionedRecords, design: BlockDesign
    ) -> BlockDesignRisk:
        """Return the risk of some records, which are copied into their blocks."""
        if design.n != records.n:
            raise ValueError(f"the design is for {design.n} records, there are {records.n}")
        if isinstance(records, Records):
            records = PartitionedRecords.split(records, 1)
        blocks = records.parts.exchange(_pieces, _in_blocks, design)
        return cls(loss, records.facts, blocks, design)

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        return float(self._total(value_sums, parameters, ())) / self.design.pairs

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient."""
        return self._total(gradient_sums, parameters, np.shape(parameters)) / self.design.pairs

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)

    def _total(self, sums: Sums, parameters: Array, shape: tuple[int, ...]) -> Array:
        check_shape(parameters, (self.facts.features,) * (2 if self.loss.matrix else 1))
        total: Total = self.blocks.map_sum(
            _block_sums, sums, self.facts, self.design, self.loss, parameters, shape
        )
        return total.high


def _pieces(arrays: RecordArrays, count: int, design: BlockDesign) -> list[tuple[int, _Dealt]]:
    """Return the records of a part by the new part that has their block."""
    n = len(arrays.y)
    block, place = design.dealt(arrays.start, arrays.start + n)
    dealt = _Dealt(block, place, arrays.x, arrays.y, arrays.null)
    owner = block * count // design.blocks
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(count + 1))
    return [(int(stop - start), dealt.some(order[start:stop])) for start, stop in pairwise(ends)]


def _in_blocks(pieces: list[_Dealt], design: BlockDesign) -> _Dealt:
    """Return the records of all pieces in the order of their blocks, and of places in these."""
    together = _Dealt(
        *(
            np.concatenate(some)
            for some in zip(*(vars(one).values() for one in pieces), strict=True)
        )
    )
    # Pieces come in the order of positions, so that equal places, if any, stay in that order.
    return together.some(np.lexsort((together.place, together.block)))


def _block_sums(
    dealt: _Dealt,
    sums: Sums,
    facts: RecordFacts,
    design: BlockDesign,
    loss: PairwiseLoss,
    parameters: Array,
    shape: tuple[int, ...],
) -> Total:
    """Return the sum over the pairs of all blocks of a part."""
    total, most = Total.zeros(*shape), pairs_at_a_time(parameters)
    for records, runs in _blocks(dealt, facts, design, most):
        present = ~records.null if records.has_null else None
        for one in sums(loss, parameters, records.x, records.evaluable, present, runs):
            total += one
    return total


def _blocks(
    dealt: _Dealt, facts: RecordFacts, design: BlockDesign, most: int
) -> Iterator[tuple[Records, Runs]]:
    """Iterate over the blocks of a part, and the runs of their pairs."""
    numbers, starts = np.unique(dealt.block, return_index=True)
    ends = pairwise([*starts, len(dealt.block)])
    for number, (start, stop) in zip(numbers, ends, strict=True):
        some = slice(start, stop)
        records = Records.of_arrays(facts, dealt.x[some], dealt.y[some], dealt.null[some], None)
        yield records, design.runs(int(number), int(stop - start), most)
