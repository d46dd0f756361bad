r"""The proposal of the exact normal sampler: strips under which e^{-x²/2} fits.

The half line is cut into strips of width w = 1/16 up to 5, and of width 1 beyond. A 16-bit index
takes strip k with probability n_k/2^16, where the integers n_k add up to 2^16 - 1 and satisfy
n_k ≥ M·exp(-(kw)²/2) for an integer M; the index that is left takes strip j of the tail with
probability 2^{-(j+1)}/2^16. A point x is uniform in its strip. Accepting it with probability

.. math:: \frac{M}{n_k} e^{-x²/2} \quad\text{or, in the tail,}\quad 16M·2^{j+1} e^{-x²/2}

makes its density proportional to e^{-x²/2}, exactly, as the proposal's density is
n_k/(2^16·w) and 2^{-(j+1)}/2^16. Both are at most 1: the first by the choice of n_k, the second at
j = 0 because 32M·e^{-12.5} < 1, and for larger j because it falls by 2e^{-(j+5.5)} < 1 each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.mechanisms.exact_decisions import exp_bounds

STRIPS_PER_UNIT = 16
WIDTH = Fraction(1, STRIPS_PER_UNIT)
TAIL_START = 5
STRIPS = TAIL_START * STRIPS_PER_UNIT
TAIL = STRIPS
"""The number that stands for the tail in the table of strips."""
INDEX_BITS = 16
THRESHOLD_BITS = 11
"""Bits of V that the first look at a point has."""

_PRECISION = 128


@dataclass(frozen=True, eq=False)
class Strips:
    """The table of the proposal.

    Attributes
    ----------
    scale : int
        M.
    counts : array of int
        n_k.
    strip : array of uint8, of size 2^16
        The strip of each index; `TAIL` for the tail.
    sure : array of uint16
        Values of the first 11 bits of V below this accept whatever x and the other bits are.
    peaks : array of float
        M/n_k · exp(-(kw)²/2), with a relative error of at most 2^-52.
    """

    scale: int
    counts: NDArray[np.int64]
    strip: NDArray[np.uint8]
    sure: NDArray[np.uint16]
    peaks: NDArray[np.float64]

    def factor(self, strip: int) -> Fraction:
        """Return M/n_k."""
        return Fraction(self.scale, int(self.counts[strip]))

    def tail_factor(self, step: int) -> Fraction:
        """Return 16M·2^{j+1}."""
        return Fraction(self.scale * STRIPS_PER_UNIT << (step + 1))


@cache
def strips() -> Strips:
    """Return the table, with the largest M that there is room for.

    As n_k ≥ M·exp(-(kw)²/2), M is at most the room divided by the sum of these heights.
    """
    heights = [exp_bounds((k * WIDTH) ** 2 / 2, _PRECISION) for k in range(STRIPS + 1)]
    room = (1 << INDEX_BITS) - 1

    def counts_for(scale: int) -> list[int]:
        return [-(-scale * high.numerator // high.denominator) for _, high in heights[:-1]]

    scale = int(room / sum(high for _, high in heights[:-1]))
    while sum(counts_for(scale)) > room:
        scale -= 1
    counts = counts_for(scale)
    counts[0] += room - sum(counts)
    table = np.repeat(np.arange(STRIPS + 1, dtype=np.uint8), [*counts, 1])
    sure = [
        int(Fraction(scale, count) * low * (1 << THRESHOLD_BITS))
        for count, (low, _) in zip(counts, heights[1:], strict=True)
    ]
    peaks = [
        float(Fraction(scale, count) * high)
        for count, (_, high) in zip(counts, heights, strict=False)
    ]
    # The tail is never accepted at first sight.
    return Strips(
        scale,
        np.array(counts),
        table,
        np.array([*sure, 0], dtype=np.uint16),
        np.array([*peaks, 0.0]),
    )
