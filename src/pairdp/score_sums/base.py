r"""The interface of structures and of the sums that they provide.

With φ a function of one variable, a ranking loss over all pairs is the sum of φ(u₊ - u₋) over the
scaled scores u₊ of positives and u₋ of negatives. A `Structure` makes that sum faster than pair by
pair. It must describe φ exactly, not an approximation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Function = Callable[[Array], Array]
Scorer = Callable[[Array, Array, Array], None]


class Moments(Protocol):
    """The statistics of scores that sums need, which can be added for disjoint parts."""

    @property
    def counts(self) -> Array:
        """Numbers of negatives and positives."""

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
        """Return, for each record, Σ φ'(u₊ - u₋) over its partners, given the moments of all.

        Partners are the records of the other class. The caller may overwrite the array.
        """

    @abstractmethod
    def total(self, moments: Any) -> float:
        """Return Σ φ(u₊ - u₋) over all positive-negative pairs."""

    def locate(self, u: Array, labels: Array) -> None:  # noqa: B027 - may leave scores as they are
        """Overwrite scaled scores by what `moments_of` and `slopes_for` need of them.

        Labels are -1.0 or 1.0, here and in those. Without an implementation, that is the scores.
        """

    def scorer(self, weights: Array) -> Scorer:
        """Return a function that scores rows, and locates their scores, for many calls.

        ``function(rows, labels, out)`` writes to ``out`` what `locate` makes of rows @ weights. Use
        one in each thread.
        """
        return partial(_located, self, weights)

    def moments_of(self, blocks: Iterable[tuple[Array, Array]]) -> Any:
        """Return the moments of the records of some blocks (located scores, labels) together."""
        found: Any = None
        for u, labels in blocks:
            more = self.moments(u, _classes(labels))
            found = more if found is None else found + more
        return found

    def slopes_for(self, moments: Any) -> Callable[[Array, Array], Array]:
        """Return a function of (located scores, labels): `slopes` times labels, for many calls.

        The next call may overwrite the array that it returns: use a copy of the function in each
        thread.
        """
        return partial(_slopes, self, moments)

    def all_slopes(self, u: Array, positive: Index) -> Array:
        """Return `slopes` if these are all records, of which there is at least one."""
        return self.slopes(u, positive, self.moments(u, positive))


def _located(sums: ScoreSums, weights: Array, rows: Array, labels: Array, out: Array) -> None:
    np.matmul(rows, weights, out=out)
    sums.locate(out, labels)


def _slopes(sums: ScoreSums, moments: Any, u: Array, labels: Array) -> Array:
    return sums.slopes(u, _classes(labels), moments) * labels


def _classes(labels: Array) -> Index:
    return np.greater(labels, 0.0).astype(np.intp)


class Structure(ABC):
    """The structure of φ, which provides its sums."""

    @abstractmethod
    def sums(self, phi: Function, slope: Function, low: float, high: float, n: int) -> ScoreSums:
        """Return the fastest sums.

        Their error must be at most 1e-12 times the largest term, per term.

        Parameters
        ----------
        phi, slope : callable
            φ and φ', of arrays.
        low, high : float
            Bounds on all scaled scores.
        n : int
            Total number of records.
        """

    def sums_in_parts(
        self, phi: Function, slope: Function, low: float, high: float, n: int
    ) -> ScoreSums | None:
        """Return sums whose moments have a small size that does not depend on n; None without.

        They are for records in parts, whose moments are sent between processes. The parameters are
        those of `sums`, and the range must be public.
        """
        return None
