"""The constants of a loss as maxima over records and parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from pairdp.testing._loss_checks.search_space import Slots, Subject

Array = NDArray[np.float64]
CLOSEST = 1e-6
"""Parameters whose relative difference is smaller count as equal."""
_ROUNDING = 64 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Objective:
    """The norm of a weighted sum of gradients, to be maximised.

    Parameters
    ----------
    name : str
        The constant that bounds it.
    records : int
        The number of records of an example.
    terms : tuple of tuple of int
        The records of each gradient.
    signs : tuple of tuple of float
        The weights of the gradients; the largest of several sums counts.
    exponent : float, optional
        If given, gradients are differences between two parameters, and the sum is divided by their
        distance to this power.
    """

    name: str
    records: int
    terms: tuple[Slots, ...]
    signs: tuple[tuple[float, ...], ...]
    exponent: float | None = None

    def at(self, subject: Subject, parameters: tuple[Array, ...], x: Array, y: Array) -> Array:
        """Return the value for each tuple of records, less a bound on its rounding error."""
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


def lipschitz(arity: int) -> Objective:
    """Return G: the norm of a gradient."""
    return Objective("lipschitz", arity, (tuple(range(arity)),), ((1.0,),))


def smoothness(arity: int) -> Objective:
    """Return L: the distance of gradients at two parameters over that of the parameters."""
    return replace(lipschitz(arity), name="smoothness", exponent=1.0)


def holder(arity: int, exponent: float) -> Objective:
    """Return the Hölder constant: the same with a power of the distance."""
    return replace(lipschitz(arity), name="holder", exponent=exponent)


_BOTH_ORDERS = ((0, 2), (1, 2), (2, 0), (2, 1))


def pair_diameter() -> Objective:
    """Return D_o: record 1 replaces record 0, with partner 2."""
    return Objective(
        "pair_diameter", 3, _BOTH_ORDERS, ((1.0, -1.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0))
    )


def record_diameter(arity: int) -> Objective:
    """Return D_h, the same for both orders; or D of a loss of one record."""
    if arity == 1:
        return Objective("record_diameter", 2, ((0,), (1,)), ((1.0, -1.0),))
    return Objective("record_diameter", 3, _BOTH_ORDERS, ((1.0, -1.0, 1.0, -1.0),))


def null_diameter(arity: int) -> Objective:
    """Return the norm of the sum of both orders of a pair; or of the gradient of one record."""
    if arity == 1:
        return replace(lipschitz(1), name="null_diameter")
    return Objective("null_diameter", 2, ((0, 1), (1, 0)), ((1.0, 1.0),))


def sensitivity(n: int) -> Objective:
    """Return the change of the average over pairs of n records when record n replaces record 0."""
    kept = [pair for i in range(1, n) for pair in ((0, i), (i, 0))]
    new = [pair for i in range(1, n) for pair in ((n, i), (i, n))]
    weight = 1 / (n * (n - 1))
    signs = (weight,) * len(kept) + (-weight,) * len(new)
    return Objective(f"sensitivity(n={n})", n + 1, (*kept, *new), (signs,))


def risk_smoothness(n: int) -> Objective:
    """Return the smoothness of the average over pairs of n records."""
    pairs = tuple(permutations(range(n), 2))
    weights = (1 / (n * (n - 1)),) * len(pairs)
    return Objective(f"risk_smoothness(n={n})", n, pairs, (weights,), exponent=1.0)
