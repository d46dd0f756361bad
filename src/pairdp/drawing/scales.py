"""Scales: from values to positions on the page, and the ticks of axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_LOG_FROM_RATIO = 30.0
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """A map from values to positions on the page.

    Parameters
    ----------
    low, high : float
        The values at both ends.
    start, end : float
        The positions of both ends.
    log : bool
        Whether the scale is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a value, clipped to the ends."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(inside / self.low) / math.log(self.high / self.low)
        else:
            share = (inside - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Return about ``count`` round values between the ends."""
        ticks = _log_ticks(self.low, self.high, count) if self.log else []
        return ticks if len(ticks) > 1 else _even_ticks(self.low, self.high, count)

    def ticks_at(self, values: Sequence[float], room: float) -> list[float]:
        """Return those of ``values`` at least ``room`` apart, or round values if there are many."""
        if len(values) > 12:
            return self.ticks()
        kept: list[float] = []
        for value in sorted(values):
            if not kept or abs(self(value) - self(kept[-1])) >= room:
                kept.append(value)
        return kept


def fit(
    values: Sequence[float], start: float, end: float, *, may_be_log: bool = True, pad: float = 0.06
) -> Scale:
    """Return the scale that shows all of ``values``, with some room at its ends.

    It is logarithmic where the values are positive and of very different sizes.
    """
    low, high = min(values), max(values)
    if may_be_log and low > 0 and high / low >= _LOG_FROM_RATIO:
        return fit_log(values, start, end, pad=pad)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        room = 0.05 * abs(low) or 1.0
    else:
        room = pad * (high - low)
    return Scale(low - room, high + room, start, end)


def fit_log(values: Sequence[float], start: float, end: float, *, pad: float = 0.06) -> Scale:
    """Return the logarithmic scale that shows all of ``values``, which are positive."""
    room = (max(values) / min(values)) ** pad
    return Scale(min(values) / room, max(values) * room, start, end, log=True)


def grow_by_one_factor(values: Sequence[float]) -> bool:
    """Return whether three or more sorted values grow by about the same factor, such as 2."""
    if len(values) < 3 or values[0] <= 0:
        return False
    factors = [b / a for a, b in pairwise(values)]
    return max(factors) <= 1.1 * min(factors) and min(factors) >= 1.5


def _even_ticks(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(s * size for s in _STEPS if s * size >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [_clean(i * step, step) for i in range(first, last + 1)]


def _log_ticks(low: float, high: float, count: int) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for leading in ((1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0**k for k in decades for d in leading if low <= d * 10.0**k <= high]
        if len(ticks) <= count + 2:
            return ticks
    every = math.ceil(len(ticks) / count)
    return ticks[::every]


def _clean(value: float, step: float) -> float:
    """Return a multiple of a step without the last digits' error."""
    digits = 2 - math.floor(math.log10(step))
    return round(value, digits) + 0.0
