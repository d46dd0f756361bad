r"""What a structure is, and the sums that it brings.

With φ a function of one variable, a ranking loss over all pairs is the sum of φ(u₊ - u₋) over the
scaled scores u₊ of positives and u₋ of negatives. A `Structure` is what makes that sum faster than
pair by pair. It must be of φ itself, not of an approximation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Function = Callable[[Array], Array]


class Moments(Protocol):
    """What sums need to know of some records' scores; moments of disjoint parts add up."""

    @property
    def counts(self) -> Array:
        """How many negatives and positives there are."""

    def __add__(self, other: Any, /) -> Self: ...


class ScoreSums(ABC):
    """Sums of φ and φ' of score differences over all positive-negative pairs.

    In all methods ``u`` are scaled scores, and ``positive`` is 1 for positives and 0 for negatives.
    """

    @abstractmethod
    def moments(self, u: Array, positive: Index) -> Any:
        """Return the `Moments` of these records."""

    @abstractmethod
    def slopes(self, u: Array, positive: Index, moments: Any) -> Array:
        """Return, for each record, Σ φ'(u₊ - u₋) over its partners, from all records' moments.

        Partners are the records of the other class. The array is the caller's to overwrite.
        """

    @abstractmethod
    def total(self, moments: Any) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` when these are all the records, of which there is at least one."""
        return self.slopes(u, positive, self.moments(u, positive))


class Structure(ABC):
    """What is known of φ, and the sums that follow from it."""

    @abstractmethod
    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return the fastest sums.

        Their error is stated to be at most 1e-12 of the largest term, a term.

        Parameters
        ----------
        phi, slope : callable
            φ and φ', of arrays.
        low, high : float
            Bounds on all scaled scores.
        n : int
            How many records there are in all.
        """
