r"""Privacy losses on a grid, rounded pessimistically.

A dominating pair is rounded to a grid of losses by *connecting the dots* (Doroshenko, Ghazi,
Kamath, Kumar and Manurangsi 2022): the mass of every bin goes to the bin's two ends so that both P
and Q keep their total. This rounding can only raise the curve, and no other rounding to the same
grid raises it less.

Masses are floating-point numbers, which lose precision below 1e-308 and are zero below 5e-324. Each
step therefore counts 1e-305 of its mass as an infinite loss, far more than all masses on a grid can
lose to underflow, and treats a Q-mass below 1e-290 as zero, which raises the curve. As a
consequence, a δ below about 1e-305 per step is never claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.accounting.dominating_pairs import DominatingPair

Array = NDArray[np.float64]

LARGEST_EXPONENT = 700.0
"""Exponents above this overflow."""
MACHINE_EPSILON = float(np.finfo(np.float64).eps)
MAX_GRID = 2**22
"""The largest number of grid points of one transform."""
_UNDERFLOW_MASS = 1e-305
_SMALLEST_Q_MASS = 1e-290


class GridTooFineError(ValueError):
    """The loss grid would not fit into memory."""


@dataclass(frozen=True)
class DiscreteLoss:
    """The privacy loss of one step on the grid ``width * {-K, ..., K}``.

    Attributes
    ----------
    width : float
        Distance between two neighbouring grid points.
    masses : ndarray of shape (2 K + 1,)
        P-mass of every grid point, from the lowest loss to the highest.
    infinite : float
        P-mass at an infinite loss.
    """

    width: float
    masses: Array
    infinite: float

    @property
    def half(self) -> int:
        """K, the number of grid points on either side of zero."""
        return (len(self.masses) - 1) // 2

    @cached_property
    def losses(self) -> Array:
        """The losses of the grid points."""
        return self.width * np.arange(-self.half, self.half + 1, dtype=np.float64)

    @cached_property
    def log_masses(self) -> Array:
        """The logarithms of the masses."""
        with np.errstate(divide="ignore"):
            return np.log(self.masses)


def discretize(pair: DominatingPair, width: float, log_tail: float) -> DiscreteLoss:
    """Round a dominating pair to a grid, pessimistically.

    Parameters
    ----------
    pair : DominatingPair
        The pair to round.
    width : float
        Distance between two neighbouring grid points.
    log_tail : float
        Logarithm of the P-mass that may be moved to an infinite loss.
    """
    half = max(1, math.ceil(pair.loss_bound(log_tail) / width))
    if half > MAX_GRID:
        raise GridTooFineError(f"a loss grid of {half} points is too large")
    edges = width * np.arange(half + 1, dtype=np.float64)
    p_tail, q_tail = pair.tails(edges)
    p, q = -np.diff(p_tail), -np.diff(q_tail)
    q[q < _SMALLEST_Q_MASS] = 0.0
    # Share of the bin's upper end; the second term covers the rounding of the first.
    # Where exp(l) overflows, all mass goes to the upper end, which is a valid bound.
    growth = np.exp(np.minimum(edges, LARGEST_EXPONENT))
    upper = (p - q * growth[:-1]) / -math.expm1(-width) + 4 * MACHINE_EPSILON * p / width
    upper = np.where(edges[:-1] < LARGEST_EXPONENT, np.clip(upper, 0.0, p), p)
    positive = np.zeros(half + 1)
    positive[:-1] += p - upper
    positive[1:] += upper
    covered = float(q_tail[-1] * growth[-1]) if q_tail[-1] >= _SMALLEST_Q_MASS else 0.0
    infinite = max(0.0, float(p_tail[-1]) - covered) + _UNDERFLOW_MASS
    positive[-1] += max(0.0, float(p_tail[-1]) - infinite)
    # The mirror image: a symmetric pair has mass(-l) = mass(l) exp(-l).
    masses = np.concatenate([(positive[1:] * np.exp(-edges[1:]))[::-1], [0.0], positive[1:]])
    masses[half] = max(0.0, 1.0 - infinite - float(masses.sum()))
    return DiscreteLoss(width, masses, infinite)
