"""The constants of a loss as numbers to be maximised over records and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks.search_space import Slots, Subject

Array = NDArray[np.float64]
CLOSEST = 1e-6
"""Parameters that differ by less, relative to their size, are not told apart."""
_ROUNDING = 64 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Question:
    """How large a signed sum of gradients can be.

    Parameters
    ----------
    name : str
        The constant that answers it.
    records : int
        How many records an example has.
    terms : tuple of tuple of int
        Which of the records each gradient takes.
    signs : tuple of tuple of float
        The weight of each gradient; the largest of several sums counts.
    exponent : float, optional
        If given, gradients are differences between two parameters, and the sum is divided
        by their distance to this power.
    """

    name: str
    records: int
    terms: tuple[Slots, ...]
    signs: tuple[tuple[float, ...], ...]
    exponent: float | None = None

    def at(self, subject: Subject, parameters: tuple[Array, ...], x: Array, y: Array) -> Array:
        """Return the answer of each tuple of records.

        What rounding can have added is taken off.
        """
        gradients = subject.gradients(parameters[0], x, y, self.terms)
        sizes = np.linalg.norm(gradients, axis=2)
        if self.exponent is not None:
            others = subject.gradients(parameters[1], x, y, self.terms)
            gradients = gradients - others
            sizes = sizes + np.linalg.norm(others, axis=2)
        signs = np.array(self.signs)
        sums = np.linalg.norm(np.tensordot(signs, gradients, axes=(1, 1)), axis=2)
        sums = np.maximum(sums - _ROUNDING * (np.abs(signs) @ sizes.T), 0.0).max(axis=0)
        if self.exponent is not None:
            sums = sums / _distance(*parameters) ** self.exponent
        return np.where(np.isnan(sums), np.inf, sums)


def _distance(first: Array, second: Array) -> float:
    apart = float(np.linalg.norm(first - second))
    size = max(float(np.linalg.norm(first)), float(np.linalg.norm(second)))
    return apart if apart > CLOSEST * size else np.inf


def lipschitz(places: int) -> Question:
    """Return G: how long a gradient is."""
    return Question("lipschitz", places, (tuple(range(places)),), ((1.0,),))


def smoothness(places: int) -> Question:
    """Return L: how far apart gradients at two parameters are, over their distance."""
    return replace(lipschitz(places), name="smoothness", exponent=1.0)


def holder(places: int, exponent: float) -> Question:
    """Return the same for a power of the distance."""
    return replace(lipschitz(places), name="holder", exponent=exponent)


_BOTH_ORDERS = ((0, 2), (1, 2), (2, 0), (2, 1))


def pair_diameter() -> Question:
    """Return D_o: record 1 takes the place of record 0, beside record 2."""
    return Question(
        "pair_diameter", 3, _BOTH_ORDERS, ((1.0, -1.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0))
    )


def record_diameter(places: int) -> Question:
    """Return D_h, over both orders; or D of a loss of one record."""
    if places == 1:
        return Question("record_diameter", 2, ((0,), (1,)), ((1.0, -1.0),))
    return Question("record_diameter", 3, _BOTH_ORDERS, ((1.0, -1.0, 1.0, -1.0),))


def null_diameter(places: int) -> Question:
    """Return how far both orders of a pair are from zero; or a loss of one record."""
    if places == 1:
        return replace(lipschitz(1), name="null_diameter")
    return Question("null_diameter", 2, ((0, 1), (1, 0)), ((1.0, 1.0),))


def sensitivity(n: int) -> Question:
    """Return how far the average over pairs of n records moves when record n replaces record 0."""
    kept = [pair for i in range(1, n) for pair in ((0, i), (i, 0))]
    new = [pair for i in range(1, n) for pair in ((n, i), (i, n))]
    weight = 1 / (n * (n - 1))
    signs = (weight,) * len(kept) + (-weight,) * len(new)
    return Question(f"sensitivity(n={n})", n + 1, (*kept, *new), (signs,))


def risk_smoothness(n: int) -> Question:
    """Return the smoothness of the average over pairs of n records."""
    pairs = tuple(permutations(range(n), 2))
    weights = (1 / (n * (n - 1)),) * len(pairs)
    return Question(f"risk_smoothness(n={n})", n, pairs, (weights,), exponent=1.0)
