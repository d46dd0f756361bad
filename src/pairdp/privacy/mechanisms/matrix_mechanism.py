r"""A matrix mechanism for the prefix sums of a stream, with noise that grows like √log n.

All prefix sums S_t = u_1 + … + u_t of a stream are released. With A the lower-triangular matrix of
ones and C a lower-triangular Toeplitz matrix,

.. math:: S + A C^{-1} z = A C^{-1}(C u + z), \quad z \text{ independent normal:}

one Gaussian release of Cu, and post-processing. This holds for values u_t that depend on earlier
releases too, as C is lower triangular. If one u_t changes by Δ, Cu changes by at most Δ·|C|, where
|C|² = 1 + Σ_{0<j<n} c_j² is the squared norm of the first column.

The best Toeplitz C for the largest error is near the square root of A, c_j = binom(2j, j)/4^j
(Fichtenberger, Henzinger and Upadhyay 2023): |C| and the noise of the last sum are both
√(1 + Σ c_j²), about √(ln(n)/π + 1.07). The c_j are moments of the arcsine distribution,

.. math:: c_j = \frac1π ∫_0^1 θ^{j-1/2} (1-θ)^{-1/2} dθ ≈ Σ_i ω_i θ_i^{j-1},

and a few nodes, evenly spaced in the logit of θ, come within 0.06 % of its error. Such a sum of k
powers is a *buffered linear Toeplitz* matrix (Dvijotham and others 2024): C⁻¹z is computed step by
step with k buffers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer

Array = NDArray[np.float64]
LONGEST = 10**8
"""The largest number of steps of a stream."""

_SPACING, _LOWEST, _BEYOND = 2.0, -3.0, 1.0
_BLOCK = 2**16


@dataclass(frozen=True, eq=False)
class PrefixFactor:
    """The factor C for a stream; it depends on the number of steps only.

    Attributes
    ----------
    steps : int
        The number of steps it is optimised for. It is valid for any other number, with more noise.
    weights, decays : arrays of shape (k,)
        ω and θ: c_0 = 1 and c_j = Σ ω_i θ_i^{j-1}.

    Examples
    --------
    >>> factor = PrefixFactor.of(10_000)
    >>> len(factor.weights), round(factor.column_norm() * factor.deviation(10_000), 3)
    (8, 3.999)
    """

    steps: int
    weights: Array
    decays: Array

    @classmethod
    def of(cls, steps: int) -> PrefixFactor:
        """Return the factor for a number of steps."""
        return _factor(integer("steps", steps, at_most=LONGEST))

    def coefficients(self, steps: int | None = None) -> Array:
        """Return c_0, c_1, …, the first column of C."""
        return np.concatenate([[1.0], *self._powers(self._length(steps) - 1)])

    def column_norm(self, steps: int | None = None) -> float:
        """Return |C|, the factor by which the noise exceeds that of one sum.

        Σ c_j² is a sum of geometric series, Σ ω_i ω_l (1 - (θ_iθ_l)^{n-1})/(1 - θ_iθ_l).
        """
        count = self._length(steps) - 1
        gaps = 1 - self.decays
        gap = gaps[:, None] + gaps - np.outer(gaps, gaps)
        series = -np.expm1(count * np.log1p(-gap)) / gap
        return math.sqrt(1 + float(self.weights @ series @ self.weights))

    def column_norm_by_adding(self, steps: int | None = None) -> float:
        """Return |C| by adding up all c_j²."""
        parts = [float(part @ part) for part in self._powers(self._length(steps) - 1)]
        return math.sqrt(1 + math.fsum(parts))

    def deviations(self, steps: int | None = None) -> Array:
        """Return the standard deviations of the noise of S_1 … S_n, for z of deviation 1.

        C⁻¹ has the coefficients -Σ g_i λ_i^{j-1}, with λ the eigenvalues of diag(θ) - √ω√ωᵀ and g
        the squares of √ω along its eigenvectors; AC⁻¹ has their sums, r + Σ g_i λ_i^j/(1-λ_i).
        """
        rest, shares, below = self._inverse
        parts = _geometric(shares, np.log1p(-below), self._length(steps))
        return np.asarray(np.sqrt(np.cumsum(np.concatenate([rest + part for part in parts]) ** 2)))

    def deviation(self, steps: int) -> float:
        """Return the last of `deviations`, 0 for no steps, by geometric series."""
        count = integer("steps", steps, at_least=0, at_most=LONGEST)
        rest, shares, below = self._inverse
        gap = below[:, None] + below - np.outer(below, below)
        crossed = -np.expm1(count * np.log1p(-gap)) / gap
        single = -np.expm1(count * np.log1p(-below)) / below
        mixed = 2 * rest * float(shares @ single)
        return math.sqrt(rest**2 * count + mixed + float(shares @ crossed @ shares))

    @cached_property
    def _inverse(self) -> tuple[float, Array, Array]:
        """Return r = 1/(1 + Σω/(1-θ)), g/(1-λ) and 1-λ."""
        gaps, roots = 1 - self.decays, np.sqrt(self.weights)
        below, vectors = np.linalg.eigh(np.diag(gaps) + np.outer(roots, roots))
        rest = 1 / (1 + float(np.sum(self.weights / gaps)))
        return rest, (vectors.T @ roots) ** 2 / below, below

    def _length(self, steps: int | None) -> int:
        return self.steps if steps is None else integer("steps", steps, at_most=LONGEST)

    def _powers(self, count: int) -> Iterator[Array]:
        return _geometric(self.weights, np.log(self.decays), count)


def _geometric(weights: Array, logarithms: Array, count: int) -> Iterator[Array]:
    """Yield Σ w_i exp(j·l_i) for j = 0 … count-1, in blocks."""
    table = np.exp(np.arange(min(count, _BLOCK))[:, None] * logarithms)
    for start in range(0, count, _BLOCK):
        yield table[: count - start] @ (weights * np.exp(start * logarithms))


@cache
def _factor(steps: int) -> PrefixFactor:
    # With v the logit of θ, θ^{j-1/2} (1-θ)^{-1/2} dθ = θ^{j+1/2} (1-θ)^{1/2} dv: the
    # trapezoidal rule is accurate to exp(-2π²/spacing) if the integrand is small at both ends.
    count = math.ceil((math.log(steps) + _BEYOND - _LOWEST) / _SPACING) + 1
    logits = _LOWEST + _SPACING * np.arange(count)
    decays = 1 / (1 + np.exp(-logits))
    weights = _SPACING / math.pi * decays**1.5 / np.sqrt(1 + np.exp(logits))
    # The integrand beyond the last node decreases like exp(-v/2), and θ is 1 there in effect.
    weights[-1] /= -math.expm1(-_SPACING / 2)
    weights.setflags(write=False)
    decays.setflags(write=False)
    return PrefixFactor(steps, weights, decays)


class PrefixNoise:
    """The noise of prefix sums, step by step: C⁻¹z and its running sum.

    Parameters
    ----------
    factor : PrefixFactor
        C.
    dimension : int
        Length of the values that are summed.

    Notes
    -----
    The state is as secret as the data: anyone who has it can subtract noise from later releases.
    """

    def __init__(self, factor: PrefixFactor, dimension: int) -> None:
        self._weights, self._decays = factor.weights, factor.decays[:, None]
        self._buffers = np.zeros((factor.weights.size, integer("dimension", dimension)))
        self._total = np.zeros(self._buffers.shape[1])

    def increment(self, z: Array) -> Array:
        """Return the noise that this step adds: e = z - Σω_i s_i, then s_i ← θ_i s_i + e."""
        if np.shape(z) != self._total.shape:
            raise ValueError(
                f"noise of shape {self._total.shape} is needed, got shape {np.shape(z)}"
            )
        added = z - self._weights @ self._buffers
        self._buffers *= self._decays
        self._buffers += added
        self._total += added
        return np.asarray(added)

    def step(self, z: Array) -> Array:
        """Return the noise of this step's prefix sum."""
        self.increment(z)
        return self._total.copy()

    @property
    def state(self) -> Array:
        """The buffers, and the running sum as the last row; a copy."""
        return np.vstack([self._buffers, self._total])

    def restore(self, state: Array) -> None:
        """Continue from a saved state."""
        values = np.asarray(state, dtype=np.float64)
        shape = (len(self._buffers) + 1, self._total.size)
        if values.shape != shape or not np.all(np.isfinite(values)):
            raise ValueError(f"a finite state of shape {shape} is needed, got {values.shape}")
        self._buffers, self._total = values[:-1].copy(), values[-1].copy()
