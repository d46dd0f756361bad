r"""The AUC and the number of positives, released together at the price of one number.

Of n records, P are positive, Q negative and Z null, with scores s. With κ(d) = 1, ½ or 0 for a
difference d that is positive, zero or negative,

.. math:: S = \sum_{i∈P,\,j∈Q} (κ(s_i - s_j) - ½), \qquad \mathrm{AUC} = ½ + \frac{S}{PQ}.

The position between the classes is m = P + Z/2, which moves by 1 if a label flips and by ½ if a
record becomes null. `CentredAUC` defines V(m), w(m) = V(m)/(m(n-m)) and h(m), all symmetric in the
classes. What is released is T = w(m)S, h(m) and, where null records may occur, γZ. Without null
records, T = V(m)(AUC - ½).

**The function V.** With k = min(m, n - m), u = n - k and a whole number f of about n/11 (in ℓ1),
3n/13 (in ℓ2) or n/3 (for T alone), u_f = n - f,

.. math:: V = k \;\text{for}\; k ≤ f, \qquad V = u(2c - λ(u-1)) \;\text{beyond}, \qquad
    c = ½ + \frac{f}{u_f} - \frac{n}{2u_f^2}, \qquad λ = \frac{1+2c}{2u_f - 1}.

The second piece is a concave quadratic in k that touches k at f, so V ≤ k everywhere. Both pieces
of w, 1/u and λ - (λ(n-1) - 2c)/k, increase with k: λ(n-1) ≥ 2c is (2u_f - 1)f² ≥ 0 multiplied out.
(With f = 0 it is the plain form, T = S/n and h = m/2.)

**One replaced record.** Let p, q and z be the numbers of the others, a = p + z/2 and b = q + z/2,
so a + b = n - 1. Let a + 1 ≤ n/2; the other side follows by exchanging the classes.

- *The class stays.* |ΔS| ≤ q at m = a + 1, or p at m = a, and h does not change. Since q ≤ n - m
  and p ≤ m, |ΔT| ≤ V/min(m, n - m) ≤ 1. One positive that moves from the top to the bottom
  attains it.
- *The label flips*, m from a to a + 1. The pairs of the others change by the change of w, those of
  the record appear or vanish: as w increases,

  .. math:: |ΔT| ≤ φ(a) = \frac{(w(a+1) - w(a))pq + w(a+1)q + w(a)p}{2}
      ≤ \frac{w(a+1)b(a+1) - w(a)a(b-1)}{2}.

  For the first piece this is ½ + a/(n-a), and for the second it is c, exactly, which is how V was
  found. It increases with w(a+1) and decreases with w(a), each of which is the smaller of the two
  pieces; so φ(a) ≤ ½ + a/(n-a) for a ≤ f, and φ(a) ≤ c for a ≥ f, where w(a) is the second piece.
  Across n/2 (a = b), w(a+1) = w(a), which is less than the second piece continued: φ ≤ c.
- *In ℓ1*, h rises by ½ - a/u_f ≤ 1 - φ(a) from a to a + 1 for a ≤ f, and by ½ - f/u_f ≤ 1 - c
  beyond (less where both meet): |ΔT| + |Δh| ≤ 1. A first positive among negatives attains it.
- *In ℓ2*, h rises by the chord of √(1 - φ²), which is concave in a, from 0.866 < √3/2 at a = 0 to
  0.6 at f, where φ ≤ ½ + f/u_f ≤ 0.8, and by 0.6 beyond: |ΔT|² + |Δh|² ≤ 1.
- *A positive becomes null*, m from a + 1 to a + ½: |ΔT| ≤ ((w(a+1) - w(a+½))ab + w(a+1)b)/2, which
  is at most ½ + a/(4(n-a-½)) for the first piece and (1+2c)/4 for the second; h changes by half a
  step, at most ¼ - a/(2u_f) or ¼ - f/(2u_f) in ℓ1. Together at most ¾, since n - a - ½ ≥ u_f/2 and
  c - ½ ≤ f/u_f; so γ = ¼. *A negative becomes null*: |ΔT| ≤ ((w(a+½) - w(a))ab + w(a)a)/2 < ½, and
  the same holds. In ℓ2, |ΔT| ≤ 0.65 and |Δh| ≤ 0.47, and γ = ½.

- *T alone*, as a score to choose models by: f ≤ n/3, so f/u_f ≤ ½ and φ ≤ 1 for flips; a record
  that becomes null changes T by at most ½ + a/(4(n-a-½)) or (1+2c)/4, which are below 1. There is
  no h, and V is larger: 0.4375n for equal classes, after 0.2975n in ℓ1.

Values are computed in rational arithmetic and rounded to doubles once, at most n·2^-52 in all on
each of two data sets. k replaced records change the vector by k times as much.

The second route evaluates the changes above along m, from V and h as they are, without this proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

Array = NDArray[np.float64]

LEAST_N, MOST_N = 5, 10**9
IN_L1, IN_L2 = "centred AUC and classes, in ℓ1", "centred AUC and classes"
ALONE = "centred AUC"
_HALF = Fraction(1, 2)
_ALL = 120
_ROUNDING = 2.0**-51


@dataclass(frozen=True)
class CentredAUC:
    """V, w and h for n records; see the module.

    Parameters
    ----------
    n : int
        The number of records, null ones included.
    norm : {1, 2, inf}
        The norm in which a replaced record changes T, h and γZ together by at most 1. Infinity is
        for T alone; h and γ are 0.
    """

    n: int
    norm: float = 1

    def __post_init__(self) -> None:
        keep(self, "n", integer("n", self.n, at_least=LEAST_N, at_most=MOST_N))
        if self.norm not in (1, 2, math.inf):
            raise ValueError(f"norm must be 1, 2 or infinity, got {self.norm!r}")

    @cached_property
    def flat(self) -> int:
        """f: up to which size of the smaller class V is that size."""
        if self.norm == 1:
            return max(1, self.n // 11)
        return max(1, 3 * self.n // 13 if self.norm == 2 else self.n // 3)

    @cached_property
    def steps(self) -> tuple[Fraction, Fraction]:
        """How much h rises from m = 0 to 1, and for each positive in the middle."""
        if self.norm == 2:
            return Fraction(433, 500), Fraction(3, 5)
        if math.isinf(self.norm):
            return Fraction(0), Fraction(0)
        return _HALF, _HALF - Fraction(self.flat, self.n - self.flat)

    @property
    def null_weight(self) -> Fraction:
        """γ, the weight of the number of null records."""
        if self.norm == 1:
            return Fraction(1, 4)
        return _HALF if self.norm == 2 else Fraction(0)

    @cached_property
    def curve(self) -> tuple[Fraction, Fraction]:
        """2c and λ of the second piece of V."""
        u = self.n - self.flat
        twice = 1 + Fraction(2 * self.flat * u - self.n, u * u)
        return twice, (1 + twice) / (2 * u - 1)

    def weight(self, m: Fraction) -> Fraction:
        """Return w(m), exactly."""
        k = min(m, self.n - m)
        u = self.n - k
        if k <= self.flat:
            return 1 / u
        twice, bend = self.curve
        return (twice - bend * (u - 1)) / k

    def height(self, m: Fraction) -> Fraction:
        """Return h(m), exactly."""
        if 2 * m > self.n:
            return 2 * self.height(Fraction(self.n, 2)) - self.height(self.n - m)
        first, middle = self.steps
        until = min(m, Fraction(self.flat + 1))
        bent = first * until - (first - middle) * until * (until - 1) / (2 * self.flat)
        return bent + middle * (m - until)

    def weights(self, m: Array) -> Array:
        """Return w(m) in floating point."""
        k = np.minimum(m, self.n - m)
        u = self.n - k
        twice, bend = map(float, self.curve)
        beyond = (twice - bend * (u - 1)) / np.maximum(k, self.flat)
        return np.asarray(np.where(k <= self.flat, 1 / u, beyond))

    def values(self, m: Array) -> Array:
        """Return V(m) in floating point."""
        return np.asarray(self.weights(m) * m * (self.n - m))

    def heights(self, m: Array) -> Array:
        """Return h(m) in floating point."""
        first, middle = map(float, self.steps)
        k = np.minimum(m, self.n - m)
        until = np.minimum(k, self.flat + 1)
        bent = first * until - (first - middle) * until * (until - 1) / (2 * self.flat)
        below = bent + middle * (k - until)
        top = 2 * float(self.height(Fraction(self.n, 2)))
        return np.asarray(np.where(2 * m > self.n, top - below, below))

    def positions(self, heights: Array) -> Array:
        """Return m with h(m) = height, within 0 and n, in floating point."""
        first, middle = map(float, self.steps)
        half = self.n / 2
        top = 2 * float(self.heights(np.array([half]))[0])
        heights = np.clip(heights, 0.0, top)
        low = np.clip(np.minimum(heights, top - heights), 0.0, top / 2)
        bend = (first - middle) / self.flat
        joint = min(self.flat + 1.0, half)
        until = np.minimum(low, float(self.heights(np.array([joint]))[0]))
        slope = first + bend / 2
        bent = 2 * until / (slope + np.sqrt(np.maximum(slope**2 - 2 * bend * until, 0.0)))
        k = np.minimum(bent + (low - until) / middle, half)
        return np.asarray(np.where(2 * heights > top, self.n - k, k))

    def vector(self, positives: int, negatives: int, doubled_sum: int) -> tuple[float, ...]:
        """Return T, h and γZ, from P, Q and 2S, each rounded once."""
        null = self.n - positives - negatives
        m = positives + Fraction(null, 2)
        t = self.weight(m) * Fraction(doubled_sum, 2)
        return float(t), float(self.height(m)), float(self.null_weight * null)


def _places(n: int, flat: int) -> set[Fraction]:
    """Return positions a, multiples of ½ from 0 to n - 1: all, or those at ends and joints."""
    last = 2 * (n - 1)
    if last <= _ALL:
        return {Fraction(i, 2) for i in range(last + 1)}
    centres = (0, 2 * flat, n, 2 * (n - flat), last)
    near = [centre + step for centre in centres for step in range(-4, 5)]
    spread = [last * i // _ALL for i in range(_ALL)]
    return {Fraction(i, 2) for i in (*near, *spread) if 0 <= i <= last}


def _largest_change(n: int, norm: float) -> float:
    """Return the largest change that one record makes, along positions of the others."""
    auc = CentredAUC(n, norm)
    return max(
        float(np.linalg.norm([float(part) for part in change], ord=norm))
        for a in _places(auc.n, auc.flat)
        for change in _changes(auc, a)
    )


def _changes(auc: CentredAUC, a: Fraction) -> Iterator[tuple[Fraction, ...]]:
    """Yield the largest changes of T, h and γZ: the class stays, flips, or is lost."""
    b, null = auc.n - 1 - a, auc.null_weight
    negative, none, positive = (auc.weight(a + step) for step in (Fraction(0), _HALF, Fraction(1)))
    lowest, middle, highest = (auc.height(a + step) for step in (Fraction(0), _HALF, Fraction(1)))
    yield (positive * b,)
    yield (negative * a,)
    flip = (abs(positive - negative) * a * b + positive * b + negative * a) / 2
    yield flip, highest - lowest
    yield (abs(positive - none) * a * b + positive * b) / 2, highest - middle, null
    yield (abs(none - negative) * a * b + negative * a) / 2, middle - lowest, null


def _one(n: int) -> float:
    return 1 + integer("n", n, at_least=LEAST_N, at_most=MOST_N) * _ROUNDING


def _along_positions(n: int) -> float:
    return _largest_change(n, 1) + math.ldexp(n, -51)


def _along_positions_in_l2(n: int) -> float:
    return _largest_change(n, 2) + math.ldexp(n, -51)


def _alone_along_positions(n: int) -> float:
    return _largest_change(n, math.inf) + math.ldexp(n, -51)


_WEIGHTED = (
    "the sum over pairs of a positive and a negative record, each ±½ or 0 by the order of their "
    "scores, is multiplied by a weight that depends on the numbers of records of the classes: if "
    "a record is replaced, by another or by a null record, it changes"
)
_WORDS = f"{_WEIGHTED} together with a function of these numbers by at most 1"
register_bound(Bound(IN_L1, f"{_WORDS} in ℓ1 norm", _one, _along_positions))
register_bound(Bound(IN_L2, _WORDS, _one, _along_positions_in_l2))
register_bound(Bound(ALONE, f"{_WEIGHTED} by at most 1", _one, _alone_along_positions))
