r"""The pairs of a stream, from batches of records and a buffer of earlier ones, and step sizes.

Step s reads the next b records. Each is paired with the m_s earlier records in the buffer and with
those of its own batch: N_s = b·m_s + b(b-1)/2 pairs, which are averaged. The last batch may have
fewer than b records; its sum is still divided by N_s, so that no record has a larger weight. The
share of a record in the average is (m_s + b - 1)/N_s when it arrives, and b/N_s while it is in the
buffer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, keep, non_negative, positive

Array = NDArray[np.float64]
_MOST_STEPS = 2 * 10**7
_MOST_RECORDS = 2 * 10**6


@dataclass(frozen=True)
class StreamShape:
    """The public description of a stream.

    Parameters
    ----------
    n : int
        The horizon: the number of records.
    buffer : int, optional
        The number of earlier records that are kept; all of them by default.
    batch : int
        b, the number of records per step.
    reservoir : bool
        Whether the buffer is a random sample of all earlier records, any of which may stay until
        the end; otherwise it contains the latest.

    Examples
    --------
    >>> shape = StreamShape(5)
    >>> shape.own.tolist()                  # the first record has no partner
    [0.0, 1.0, 1.0, 1.0, 1.0]
    >>> shape.partner.round(3).tolist()
    [0.0, 1.0, 0.5, 0.333, 0.25]
    """

    n: int
    buffer: int | None = None
    batch: int = 1
    reservoir: bool = False

    def __post_init__(self) -> None:
        keep(self, "n", integer("n", self.n, at_least=2))
        if self.buffer is not None:
            keep(self, "buffer", integer("buffer", self.buffer))
        keep(self, "batch", min(integer("batch", self.batch), self.n))
        flag("reservoir", self.reservoir)
        if self.steps > _MOST_STEPS:
            raise ValueError(
                f"a stream must have at most {_MOST_STEPS} steps, got {self.steps}: use larger "
                "batches"
            )

    @property
    def steps(self) -> int:
        """The number of steps."""
        return -(-self.n // self.batch)

    @property
    def kept(self) -> int:
        """The largest number of records in the buffer."""
        return self.n if self.buffer is None else min(self.buffer, self.n)

    @property
    def sizes(self) -> Array:
        """The number of records of each step."""
        sizes = np.full(self.steps, float(self.batch))
        sizes[-1] = self.n - self.batch * (self.steps - 1)
        return sizes

    @property
    def met(self) -> Array:
        """m_s, the number of records in the buffer at each step."""
        return np.minimum(self.batch * np.arange(self.steps, dtype=np.float64), self.kept)

    @property
    def pairs(self) -> Array:
        """N_s, the divisor of the sum of a step; 0 where there is no pair."""
        return pairs_of_step(self.batch, self.met)

    @property
    def own(self) -> Array:
        """The largest share of an arriving record in the average of each step."""
        return _over(self.met + self.sizes - 1, self.pairs)

    @property
    def partner(self) -> Array:
        """The share of a record in the buffer in the average of each step."""
        return _over(np.where(self.met > 0, self.sizes, 0.0), self.pairs)

    @property
    def last(self) -> NDArray[np.int64]:
        """For each step, the last step (from 0) at which one of its records is a partner."""
        steps = np.arange(self.steps)
        if self.reservoir or self.buffer is None:
            return np.full(self.steps, self.steps - 1)
        # The buffer of step s has records before s·b; the last record of step s is b(s+1) - 1.
        return np.minimum(self.steps - 1, steps + 1 + (self.kept - 1) // self.batch)


def pairs_of_step(batch: int, met: Array) -> Array:
    """Return b·m + b(b-1)/2."""
    return np.asarray(batch * met + batch * (batch - 1) / 2)


def _over(shares: Array, pairs: Array) -> Array:
    return np.divide(shares, pairs, out=np.zeros_like(pairs), where=pairs > 0)


def shape_of(n: int, buffer: float = math.inf, batch: int = 1, reservoir: int = 0) -> StreamShape:
    """Return the stream described by the inputs of a bound."""
    return StreamShape(n, None if math.isinf(buffer) else int(buffer), batch, bool(reservoir))


def stream_steps(
    n: int, strong_convexity: float, smoothness: float, largest: float = math.inf
) -> Array:
    r"""Return the step sizes η_2 … η_n of descent on a stream: min(2/(αt), 2/(L+α)).

    The cap keeps every step a contraction, so that no random burn-in is needed.
    """
    alpha = non_negative("strong_convexity", strong_convexity)
    if positive("smoothness", smoothness) < alpha:
        raise ValueError(f"smoothness must be at least strong_convexity, got {smoothness!r}")
    positive("largest_step", largest, finite=False)
    t = np.arange(2, integer("n", n, at_least=2, at_most=_MOST_RECORDS) + 1, dtype=np.float64)
    cap = min(2 / (smoothness + strong_convexity), largest)
    if strong_convexity == 0:
        return np.full(t.size, cap)
    return np.minimum(2 / (strong_convexity * t), cap)


def late_steps(n: int, strong_convexity: float, smoothness: float, burn_in: int) -> Array:
    r"""Return η_1 … η_n of Huai 2020: 0 in the burn-in, then (t-1)/(t-2)·2/(αt).

    Raises
    ------
    ValueError
        If a step after the burn-in is no contraction.
    """
    t = np.arange(1, integer("n", n, at_least=2, at_most=_MOST_RECORDS) + 1, dtype=np.float64)
    late = t > integer("burn_in", burn_in, at_least=2)
    sizes = np.zeros(n)
    sizes[late] = printed_steps(t[late], positive("strong_convexity", strong_convexity))
    if np.any(sizes > 2 / (positive("smoothness", smoothness) + strong_convexity)):
        raise ValueError(f"burn_in = {burn_in} is too short: the steps after it do not contract")
    return sizes


def printed_steps(t: Array, strong_convexity: float) -> Array:
    """Return η_t = (t-1)/(t-2)·2/(αt), for t > 2."""
    return np.asarray((t - 1) / (t - 2) * 2 / (strong_convexity * t))
