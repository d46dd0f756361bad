"""The first test of `pairdp.privacy.mechanisms.rounded_normal`, compiled. Needs numba.

The operations are those of the numpy version, one rounding for one rounding, so that both give the
same integers.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# Repeated because compiled code is cached until this file changes.
UNSURE, UNDECIDED = 1, 2
_TINY = 2.0**-51


def _first_test(
    words: NDArray[np.uint64],
    strip_of: NDArray[np.uint8],
    sure: NDArray[np.uint16],
    step: float,
    integers: NDArray[np.int64],
) -> NDArray[np.uint8]:
    """See `pairdp.privacy.mechanisms.rounded_normal`."""
    status = np.empty(words.size, dtype=np.uint8)
    for i in range(words.size):
        word = words[i]
        strip = strip_of[word & np.uint64(0xFFFF)]
        place = (np.int64(strip) << 36) + np.int64(word >> np.uint64(28))
        value = place * step
        error = value * _TINY + _TINY
        value += 0.5
        floor = math.floor(value)
        value -= floor
        integers[i] = (
            -np.int64(floor) if (word >> np.uint64(27)) & np.uint64(1) else np.int64(floor)
        )
        unsure = value < error or 1 - value <= error + step
        undecided = (word >> np.uint64(16)) & np.uint64(0x7FF) >= sure[strip]
        status[i] = UNSURE * unsure + UNDECIDED * undecided
    return status


def _compile(function: Any) -> Any:
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # there is no place to keep compiled code
        return numba.njit(function)


first_test = _compile(_first_test)
