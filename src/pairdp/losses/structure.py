r"""What a function of one variable is made of, so that its sums over pairs can be fast.

A ranking loss φ(k(s - t)) over all pairs of a positive's score s and a negative's t
costs time linear in the records when φ has structure. A loss *declares* its
structure; `pairdp.pairs` has the arithmetic. A declared structure must be φ itself,
not an approximation of it; without one, sums go over all pairs in blocks.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Analytic:
    r"""φ is analytic in the strip \|Im u\| < ``strip``, and straight far from zero.

    Parameters
    ----------
    strip : float
        Distance of the nearest singularity of φ from the real axis.
    straight : float
        For u beyond ± this, φ' equals its limit to the last digit of the largest |φ'|.
    left, right : float
        The limits of φ' at -∞ and +∞.
    """

    strip: float
    straight: float
    left: float
    right: float


@dataclass(frozen=True)
class TruncatedPowers:
    r"""φ(u) = scale · Σ_m sign_m · max(knot - drop_m - u, 0)^power.

    Parameters
    ----------
    knot : float
        Where φ becomes zero.
    power : float
        At least 1; 1 and 2 are summed by suffix sums, others by a tree.
    scale : float
        What the sum is multiplied by.
    terms : tuple of (sign, drop)
        Signs are +1 or -1. A drop is kept apart from the knot because a small one would
        lose its digits.
    """

    knot: float
    power: float
    scale: float = 1.0
    terms: tuple[tuple[int, float], ...] = ((1, 0.0),)

    @property
    def is_rounded_ramp(self) -> bool:
        """Whether φ is the difference of two parabolas, a ramp beyond the second one."""
        signs = tuple(sign for sign, _ in self.terms)
        return self.power == 2 and signs == (1, -1) and self.terms[0][1] == 0 < self.terms[1][1]


@dataclass(frozen=True)
class Quadratic:
    """φ(u) = constant + linear · u + square · u²."""

    constant: float
    linear: float
    square: float


Structure = Analytic | TruncatedPowers | Quadratic
