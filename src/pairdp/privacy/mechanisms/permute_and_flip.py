r"""Permute-and-flip: the place of the largest of several private scores.

Every replaced record changes each of the scores q_1, …, q_m by at most Δ. With q* the largest of
them and a scale s, each place j is accepted with probability exp(-(q* - q_j)/s), independently of
the others, and one of the accepted places is released, all with equal probability. (The published
form goes through the places in a random order and takes the first one that is accepted, which is
the same.)

**Why it is private.** It is the place of the largest of q_j + E_j, with independent E_j that are
exponential of mean s: given that q_j + E_j > q*, an event of probability exp(-(q* - q_j)/s), the
excess is again exponential of mean s, for every j, so that each place of those above q* is equally
likely to be the largest; the place of q* is always among them. The probability of the place r is

.. math:: P_q(r) = \int_0^∞ \frac{e^{-t/s}}{s} \prod_{j≠r} F(q_r - q_j + t)\,dt, \qquad
    F(x) = (1 - e^{-x/s})_+.

On a neighbouring data set every difference q_r - q_j is at least what it was less 2Δ. F increases,
so with t = u + 2Δ

.. math:: P_{q'}(r) ≥ \int_0^∞ \frac{e^{-t/s}}{s} \prod_{j≠r} F(q_r - q_j + t - 2Δ)\,dt
    ≥ e^{-2Δ/s} \int_0^∞ \frac{e^{-u/s}}{s} \prod_{j≠r} F(q_r - q_j + u)\,du = e^{-2Δ/s} P_q(r),

where u from -2Δ to 0 was left out. So it is ε-DP with ε = 2Δ/s, for any number of scores.

**What it loses.** q_r + E_r ≥ q* + E_*, so q* - q_r is at most the largest of m exponential numbers
of mean s less one of them: s(½ + ⅓ + … + 1/m) < s·ln m in expectation.

**Exactly.** Scores are rounded to the grid, which adds g to Δ, and each decision compares a uniform
number of as many bits as needed with bounds on the exponential in rational arithmetic
(`pairdp.privacy.mechanisms.exact_decisions`).

McKenna and Sheldon 2020, *Permute-and-flip*; Ding et al. 2021, *The permute-and-flip mechanism is
identical to report-noisy-max with exponential noise*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, positive
from pairdp.privacy.accounting.events import Event, NonPrivateEvent, PureEvent
from pairdp.privacy.mechanisms.exact_decisions import LazyUniform, below_exponential
from pairdp.privacy.mechanisms.lattice import grid_for, is_grid, to_grid, with_rounding
from pairdp.privacy.mechanisms.rounded_normal import random_words
from pairdp.privacy.mechanisms.vector_mechanism import VectorMechanism

Array = NDArray[np.float64]
_UP = 1 + 2.0**-50
_RAISED = 1 + 2.0**-48


@dataclass(frozen=True)
class PermuteAndFlip(VectorMechanism):
    """The place of the largest of m scores.

    Parameters
    ----------
    sensitivity : float
        Δ, how far a replaced record changes each score.
    scale : float
        s, the mean of the exponential noise that the choice amounts to: 2Δ/ε.
    dimension : int
        m, the number of scores.
    grid : float, optional
        g, a power of two. By default the rounding adds at most 2^-21 of Δ.

    Examples
    --------
    >>> choice = PermuteAndFlip.for_epsilon(1.0, 1.0, 3)
    >>> choice.release([0.0, 100.0, 3.0], np.random.default_rng(0))
    array([1.])
    """

    sensitivity: float
    scale: float
    dimension: int
    grid: float = 0.0

    def __post_init__(self) -> None:
        keep(self, "sensitivity", positive("sensitivity", self.sensitivity))
        keep(self, "scale", positive("scale", self.scale))
        keep(self, "dimension", integer("dimension", self.dimension))
        if self.grid == 0:
            keep(self, "grid", grid_for(self.sensitivity, self.scale, 1))
        keep(self, "grid", positive("grid", self.grid))
        if not is_grid(self.grid):
            raise ValueError(f"grid must be a power of two, got {self.grid!r}")

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float, dimension: int) -> PermuteAndFlip:
        """Return the mechanism that is ε-DP."""
        inverse = 2 / positive("epsilon", epsilon)
        scale = with_rounding(positive("sensitivity", sensitivity), inverse, 1) * inverse
        return cls(sensitivity, scale * _RAISED, dimension)

    @property
    def rounding(self) -> float:
        """g: what rounding to the grid adds to the sensitivity of a score."""
        return self.grid

    @property
    def rounded_sensitivity(self) -> float:
        """Δ + g, the sensitivity of each rounded score."""
        return self.sensitivity + self.grid

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        epsilon = 2 * self.rounded_sensitivity / self.scale * _UP
        return NonPrivateEvent() if math.isinf(epsilon) else PureEvent(epsilon, steps)

    def expected_loss(self) -> float:
        """Return s(½ + … + 1/m): the largest score less the chosen one is no more on average."""
        return self.scale * sum(1 / i for i in range(2, self.dimension + 1))

    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        if vector.size != self.dimension:
            raise ValueError(f"{self.dimension} scores are needed, got {vector.size}")
        steps = to_grid(vector, self.grid)
        best = int(steps.max())
        unit = Fraction(self.grid) / Fraction(self.scale)
        accepted = [
            place
            for place, step in enumerate(steps.tolist())
            if below_exponential(_uniform(generator), (best - step) * unit)
        ]
        return np.array([float(accepted[generator.integers(len(accepted))])])


def _uniform(generator: np.random.Generator) -> LazyUniform:
    return LazyUniform(lambda: int(random_words(generator, 1)[0]))
