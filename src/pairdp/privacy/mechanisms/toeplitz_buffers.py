r"""Products with a buffered linear Toeplitz matrix, step by step, with a proved error.

For c_0 = 1 and c_j = Σ ω_i θ_i^{j-1}, the product y = Cu is y_t = u_t + Σ_i v_i with buffers

.. math:: v_i ← v_i + (ω_i u_t - γ_i v_i), \qquad γ_i = 1 - θ_i.

What is released is the *computed* y, and two neighbouring streams have different rounding errors
from the step in which they differ, so the sensitivity includes these errors. With buffers in double
precision each step rounds the whole buffer, and over T steps the errors add up to about u·T² times
a value, u = 2⁻⁵³: too much for long streams. So a buffer is a double h and what rounding left of
it, l with |l| ≤ u|h| (`pairdp._sums.compensated`). Only the *increment* is rounded to double
precision. Its error is relative to ω_i u_t and γ_i v_i, and decays like the increment itself, so
that all errors together remain a multiple of u times the buffer.

**Error of a buffer.** With a_t = |u_t|, entry by entry, let V_t = ω Σ_{s<t} θ^{t-1-s} a_s, which
bounds |v|. Terms of order u² are written only where a factor T makes them larger.

- The increment computed from h is off by 2uωa (a product and a difference) + 2uγV (the same) + uγV
  (for l); adding it is off by u times the sum of |l| and of what is left of h plus the increment,
  less than 4u²(V + ωa).
- The exact recursion maps an error e of v to θe, so that at the end errors of 2uωa are 2uV. The
  errors in V are summed with weights θ^s, which add up to M = (1-θ^T)/γ ≤ min(T, 1/γ). In Euclidean
  norm over the entries, |V_t| ≤ ωM·U for |u_t| ≤ U: they are at most (3uγ + 4u²)M·ωMU, and this is
  less than (3 + 4uT)u·ωMU. As T ≤ 10⁸, 4uT < 10⁻⁷: together less than 6u·ωMU.

**Error of y.** It is added up from k numbers h: (k-1)u for the sum in any order, u for the missing
l, u for adding u_t, each times Σ_i ω_iM_i·U + U ≤ U·Σ_{j<T} c_j. In all (k + 8)u·U·Σc_j a step, and
√T times that for all steps. Numbers that underflow are off by less than 2⁻¹⁰²² each, which vanishes
beside u·U for any sensitivity that is allowed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp._sums import compensated

Array = NDArray[np.float64]
_UNIT = 2.0**-53


def encoding_error(buffers: int, steps: int, column_sum: float) -> float:
    """Return how far two computed products Cu can be from the exact ones, for values of norm 1.

    Parameters
    ----------
    buffers, steps : int
        k and T.
    column_sum : float
        Σ_{j<T} c_j.
    """
    return 2 * (buffers + 8) * _UNIT * math.sqrt(steps) * column_sum


class ToeplitzBuffers:
    """Σ_{j>0} c_j u_{t-j}, what the values so far add to the next entry of Cu.

    Parameters
    ----------
    weights, decays : arrays of shape (k,)
        ω and θ; 1 - θ must be exact.
    dimension : int
        Length of the values.

    Notes
    -----
    The state is as secret as the values: the buffers after one step are multiples of the value.
    """

    def __init__(self, weights: Array, decays: Array, dimension: int) -> None:
        self._weights, self._gaps = weights[:, None], 1 - decays[:, None]
        self._high = np.zeros((weights.size, integer("dimension", dimension)))
        self._low = np.zeros_like(self._high)

    @property
    def pending(self) -> Array:
        """What the values so far add to the next entry."""
        return np.asarray(self._high.sum(axis=0))

    def push(self, value: Array) -> None:
        """Take the next value."""
        if np.shape(value) != self._high.shape[1:]:
            raise ValueError(
                f"values of shape {self._high.shape[1:]} are needed, got shape {np.shape(value)}"
            )
        increment = self._weights * value - self._gaps * self._high
        self._high, self._low = compensated(self._high, self._low, increment)

    @property
    def state(self) -> Array:
        """The buffers and what rounding left of them; a copy."""
        return np.stack([self._high, self._low])

    def restore(self, state: Array) -> None:
        """Continue from a saved state."""
        values = np.asarray(state, dtype=np.float64)
        shape = (2, *self._high.shape)
        if values.shape != shape or not np.all(np.isfinite(values)):
            raise ValueError(f"a finite state of shape {shape} is needed, got {values.shape}")
        self._high, self._low = values.copy()
