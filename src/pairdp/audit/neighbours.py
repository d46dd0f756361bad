"""Neighbouring data sets that are easy to distinguish.

The worst cases of the errata, for any problem: all other records equal to the worst partner, one
label flipped, a record alone in its class, a record that becomes null. `pairdp.audit.search` finds
the worst for a given plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, keep, positive
from pairdp.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Two data sets that differ in the record at one place, or in the records of one unit.

    Attributes
    ----------
    x, y : array
        The one data set.
    place : int or tuple of int
        Which record is replaced, or which ones, of the same unit.
    other_x, other_y : array, label
        What replaces it; for several records a row and a label for each.

    A record of NaN is a null record for plans of this library.
    """

    x: NDArray[Any]
    y: NDArray[Any]
    place: int | tuple[int, ...]
    other_x: NDArray[Any]
    other_y: Any

    def __post_init__(self) -> None:
        keep(self, "x", _numbers(self.x))
        keep(self, "y", np.array(self.y))
        keep(self, "other_x", _numbers(self.other_x))
        if self.x.ndim != 2 or self.y.shape != (len(self.x),):
            raise ValueError(
                f"x must be a table with a label for every row, got shapes {self.x.shape} and "
                f"{self.y.shape}"
            )
        for place in self.rows:
            integer("place", place, at_least=0, at_most=len(self.y) - 1)
        if len(set(self.rows)) < len(self.rows) or not self.rows:
            raise ValueError("the places of replaced records must be different")
        several = (len(self.rows),) if isinstance(self.place, tuple) else ()
        if several:
            keep(self, "other_y", np.array(self.other_y))
        if self.other_x.shape != (*several, *self.x.shape[1:]):
            raise ValueError(
                f"the other record must have {self.x.shape[1]} features, got shape "
                f"{self.other_x.shape}"
            )
        if np.shape(self.other_y) != several:
            raise ValueError("every replaced record needs one other label")

    def __repr__(self) -> str:
        n, d = self.x.shape
        return f"Neighbours(n={n}, features={d}, place={self.place})"

    @property
    def rows(self) -> list[int]:
        """The places of the replaced records."""
        return list(self.place) if isinstance(self.place, tuple) else [self.place]

    @property
    def groups(self) -> NDArray[np.intp]:
        """Numbers of units: the replaced records are one, and every other record is its own."""
        groups = np.arange(len(self.y))
        groups[self.rows] = self.rows[0]
        return groups

    @property
    def one(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Features and labels of the one data set."""
        return self.x.copy(), self.y.copy()

    @property
    def other(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Features and labels of the other."""
        x, rows = self.x.copy(), self.rows
        x[rows] = self.other_x
        # Concatenated, so that labels are not cast to the type of the others.
        labels = np.concatenate([self.y, np.atleast_1d(self.other_y)])
        taken = np.arange(len(self.y))
        taken[rows] = len(self.y) + np.arange(len(rows))
        return x, labels[taken]

    def both(self) -> tuple[tuple[NDArray[Any], NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]:
        """Return both data sets."""
        return self.one, self.other


def widened(pair: Neighbours, records: int) -> Neighbours:
    """Return neighbours in which a unit of so many records, equal to the one, is replaced."""
    n, (place,) = len(pair.y), pair.rows
    count = min(integer("records", records), n)
    start = min(place, n - count)
    rows = tuple(range(start, start + count))
    x, y = pair.one
    x[list(rows)], y[list(rows)] = x[place].copy(), y[place]
    return Neighbours(x, y, rows, np.tile(pair.other_x, (count, 1)), [pair.other_y] * count)


def _numbers(values: ArrayLike) -> Array:
    """Return a copy as floats; the error does not quote values, which may be data."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("records must be rows of numbers, of the same length") from None


def worst_cases(problem: Problem, n: int, features: int, place: int = 0) -> Iterator[Neighbours]:
    """Yield the known worst cases, for a replaced record at one place.

    Parameters
    ----------
    problem : Problem
        The problem, which has the bounds on records and targets.
    n, features : int
        The public size of the data.
    place : int
        Which record is replaced.
    """
    integer("n", n, at_least=2)
    integer("features", features)
    integer("place", place, at_least=0, at_most=n - 1)
    size = problem.loss.label_bound or 1.0
    norm = problem.data_norm
    e, f = np.zeros(features), np.zeros(features)
    e[0] = f[-1] = norm
    all_equal = np.full(features, norm / math.sqrt(features))
    zero = np.zeros(features)
    for label in (-size, size):
        for where, labels in (
            (-e, np.full(n, label)),  # all others are the worst partner of a record at e
            (zero, np.full(n, label)),
            (-e, np.where(np.arange(n) % 2, label, -label)),  # both classes have others
        ):
            x = np.tile(where, (n, 1))
            for own, sign, other, other_sign in (
                (e, -1, e, 1),  # the label of a record alone in its class flips
                (e, -1, -e, 1),  # the label flips, and the record joins the others
                (all_equal, -1, -all_equal, 1),  # the label flips, and every number changes
                (e, -1, -e, -1),  # the label stays
                (e, 1, -e, 1),  # the label stays, in the class of the others
                (f, -1, e, -1),  # the label stays, at a right angle
                (e, -1, np.full(features, np.nan), -1),  # the record becomes null
            ):
                own_x, own_y = x.copy(), labels.copy()
                own_x[place], own_y[place] = own, sign * label
                yield Neighbours(own_x, own_y, place, other, other_sign * label)


def canaries(x: ArrayLike, y: ArrayLike, data_norm: float, place: int = 0) -> Iterator[Neighbours]:
    """Yield neighbours of a user's data in which one record becomes an extreme one.

    The replaced record moves to the boundary of the ball, away from or towards the mean of the
    others, or along its own direction, with its label or another one that occurs.

    Parameters
    ----------
    x, y : array-like
        The data; labels may be of any kind.
    data_norm : float
        The public bound on the norm of records.
    place : int
        Which record is replaced. Do not choose it by looking at the data if others will see the
        report; see the documentation of audits.
    """
    rows, labels = _numbers(x), np.asarray(y)
    if rows.ndim != 2 or len(rows) < 2 or labels.shape != (len(rows),):
        raise ValueError("x must be a table of at least two rows, with a label for each")
    positive("data_norm", data_norm)
    integer("place", place, at_least=0, at_most=len(rows) - 1)
    others = np.delete(rows, place, axis=0).mean(axis=0)
    axis = np.eye(rows.shape[1])[0]
    own = labels[place]
    different = [label for label in np.unique(labels) if label != own][:1]
    for direction in (others, rows[place], axis):
        size = float(np.linalg.norm(direction))
        edge = data_norm * (direction / size if size > 0 else axis)
        for sign in (-1.0, 1.0):
            for label in (own, *different):
                # The one data set may have a canary too, so that the attacker knows both records.
                for here in (rows[place], -sign * edge):
                    x_one = rows.copy()
                    x_one[place] = here
                    yield Neighbours(x_one, labels, place, sign * edge, label)
