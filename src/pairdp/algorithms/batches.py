"""The records and pairs that a step of stochastic gradient descent uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pairdp.algorithms.task import Task
from pairdp.privacy import FixedSizeSampling

Pairing = Literal["all", "disjoint"]


@dataclass(frozen=True)
class Batches:
    """b of n records, drawn without replacement at each step, and their pairs.

    Parameters
    ----------
    task : Task
        Gives n, and whether the loss is of pairs or of one record.
    batch_size : int, optional
        b; all records by default.
    pairing : {"all", "disjoint"}
        All pairs of a batch, or pairs of consecutive draws.

    Raises
    ------
    ValueError
        If the batch is larger than the data, or does not allow the pairing.
    """

    task: Task
    batch_size: int | None = None
    pairing: Pairing = "all"

    def __post_init__(self) -> None:
        if self.size > self.task.n:
            raise ValueError(f"batch_size must be at most n = {self.task.n}, got {self.size}")
        if not self.of_pairs:
            if self.pairing == "disjoint":
                raise ValueError("a loss of one record has no pairs: leave pairing at its default")
        elif self.size == 1:
            raise ValueError("batch_size must be at least 2 for a pairwise loss, got 1")
        elif self.pairing == "disjoint" and self.size % 2:
            which = "batch_size" if self.batch_size else "n, where batch_size is not given,"
            raise ValueError(
                f"disjoint pairs need an even batch, and {which} is {self.size}: set "
                f"batch_size={self.size - 1}"
            )

    @property
    def size(self) -> int:
        """B."""
        return self.batch_size or self.task.n

    @property
    def of_pairs(self) -> bool:
        """Whether the loss is pairwise; otherwise it is of one record."""
        return self.task.problem.average == "average over pairs"

    @property
    def disjoint(self) -> bool:
        """Whether a step uses disjoint pairs. Two records are one pair with either pairing."""
        return self.of_pairs and (self.pairing == "disjoint" or self.size == 2)

    @property
    def sampling(self) -> FixedSizeSampling | None:
        """The sampling that amplifies privacy; None if a step uses all records."""
        return FixedSizeSampling(self.size, self.task.n) if self.size < self.task.n else None
