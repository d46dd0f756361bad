r"""Values and noise on a public grid gℤ, so that a release has no rounding that depends on data.

A value v is rounded to the grid, noise that is a multiple of g is added, and the sum is formed in
integers. With noise g·round(z/g) the result is that of rounding v_g + z to the grid, where v_g is
the rounded value: post-processing of the ideal mechanism on v_g. Rounding moves each coordinate by
at most g/2, so v_g has the sensitivity Δ + g√d instead of Δ; that difference is paid for. The range
of values is limited to ±2^61 grid steps by clipping, which increases no distance. That of the sum
is limited likewise, which is post-processing; noise is limited to ±2^62 steps before, which changes
no such sum. Conversion to double precision comes last and is a function of the released integer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import positive
from pairdp.privacy.mechanisms.rounded_normal import LARGEST_NOISE, LARGEST_RATIO

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

GROWTH = 2.0**-21
"""The largest share of the sensitivity that rounding adds to it, unless noise is huge."""
LARGEST_INTEGER = LARGEST_NOISE // 2
_SMALLEST_GRID = 2.0**-960


def grid_for(sensitivity: float, scale: float, dimension: int) -> float:
    """Return the largest power of two g with g√d ≤ 2^-21·Δ, or more if noise is huge.

    The scale of the noise is at most 2^51 grid steps, so that noise fits in the integers, in a unit
    that is no power of two (`GaussianMechanism.in_units`) too. This makes the grid coarser where
    the scale exceeds 2^30·Δ/√d.
    """
    finest = max(sensitivity * GROWTH / math.sqrt(dimension), _SMALLEST_GRID)
    return max(power_of_two_below(finest), 2 * power_of_two_below(scale / (LARGEST_RATIO / 2)))


def power_of_two_below(value: float) -> float:
    """Return the largest power of two that is at most a positive number."""
    return math.ldexp(0.5, math.frexp(value)[1])


def is_grid(grid: float) -> bool:
    """Return whether a number is a power of two that can be a grid."""
    return grid >= _SMALLEST_GRID and math.frexp(grid)[0] == 0.5


def rounding(grid: float, dimension: int) -> float:
    """Return g√d, rounded up: what rounding adds to an ℓ2 sensitivity."""
    return grid * math.sqrt(dimension) * (1 + 2.0**-50)


def with_rounding(sensitivity: float, multiplier: float, dimension: int) -> float:
    """Return Δ + g√d for the default grid of noise of scale multiplier·Δ, rounded up.

    Where the scale determines the grid, that of twice the scale is taken, since the rounding makes
    the scale larger, though never by more.

    Raises
    ------
    ValueError
        If the noise is so large that rounding would add more than Δ.
    """
    scale = positive("scale", 2 * multiplier * sensitivity)
    more = rounding(grid_for(sensitivity, scale, dimension), dimension)
    if more > sensitivity:
        raise ValueError(
            f"the budget needs noise of {multiplier:.3g} times the sensitivity in {dimension} "
            "numbers, which does not fit into 64-bit integers with the precision of the guarantee: "
            "use a larger epsilon"
        )
    return sensitivity + more


def to_grid(value: Array, grid: float) -> Integers:
    """Return the nearest multiples of g, in units of g, within the range of integers."""
    with np.errstate(over="ignore"):  # what overflows is clipped
        steps = np.rint(value / grid)
    return np.clip(steps, -LARGEST_INTEGER, LARGEST_INTEGER).astype(np.int64)
