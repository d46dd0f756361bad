r"""K-norm and Laplace noise rounded to integers, drawn exactly from exact normal numbers.

A vector with density proportional to e^{-|z|/s} has a uniform direction and a Gamma(d, s) radius.
A direction is X/|X| with X normal in d dimensions. A Gamma(d, 1) number is half of the sum of 2d
squared normals, and a Laplace number is the difference of two Gamma(1, 1) ones. So both laws are
algebraic functions of normals,

.. math:: z = \frac s2 \Bigl(Σ_{j≤2d} Y_j^2\Bigr) \frac{X}{|X|}, \qquad
    z = \frac b2 (Y_1^2 + Y_2^2 - Y_3^2 - Y_4^2),

and of each normal number as many bits can be drawn as are needed: intervals around all of them give
intervals around z in integer arithmetic, and these are refined until each has one nearest integer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp.privacy.mechanisms.rounded_normal import LARGEST_NOISE, normal_points

Integers = NDArray[np.int64]

_FIRST_BITS, _MORE_BITS = 96, 64


def rounded_k_norm(generator: np.random.Generator, ratio: float, dimension: int) -> Integers:
    """Return round(z) for z with density proportional to e^{-|z|/s}.

    Parameters
    ----------
    generator : numpy.random.Generator
        Its 64-bit words are taken as uniform.
    ratio : float
        s, the scale in units of the grid; the exact value of the double.
    dimension : int
        d.
    """
    direction = normal_points(generator, dimension)
    radius = normal_points(generator, 2 * dimension)
    bits = _FIRST_BITS
    while True:
        low, high = _k_norm_bounds(ratio, direction.floors(bits), radius.floors(bits), bits)
        if low == high:
            return np.where(direction.negative, -1, 1) * np.array(low, dtype=np.int64)
        bits += _MORE_BITS


def _k_norm_bounds(
    ratio: float, x: list[int], y: list[int], bits: int
) -> tuple[list[int], list[int]]:
    """Return what the integers of |z| are between, from the floors of 2^bits·|X| and 2^bits·|Y|.

    |z| is numerator · sum · x / (denominator · 2^(2 bits + 1) · norm), with s = numerator /
    denominator and in units of 2^-bits.
    """
    low_norm, high_norm = _root_bounds(x)
    low_sum, high_sum = _square_bounds(y)
    numerator, denominator = ratio.as_integer_ratio()
    denominator <<= 2 * bits + 1
    return (
        [_nearest(numerator * low_sum * a, denominator * high_norm) for a in x],
        [_nearest(numerator * high_sum * (a + 1), denominator * low_norm) for a in x],
    )


def rounded_laplace(generator: np.random.Generator, ratio: float, size: int) -> Integers:
    """Return independent copies of round(z), z with density proportional to e^{-|z|/b}.

    Parameters
    ----------
    generator : numpy.random.Generator
        Its 64-bit words are taken as uniform.
    ratio : float
        b, the scale in units of the grid; the exact value of the double.
    size : int
        How many.
    """
    normals = normal_points(generator, 4 * size)
    bits = _FIRST_BITS
    while True:
        floors = normals.floors(bits)
        numerator, denominator = ratio.as_integer_ratio()
        denominator <<= 2 * bits + 1
        low, high = [], []
        for i in range(size):
            up, down = (_square_bounds(floors[4 * i + k : 4 * i + k + 2]) for k in (0, 2))
            low.append(_nearest(numerator * (up[0] - down[1]), denominator))
            high.append(_nearest(numerator * (up[1] - down[0]), denominator))
        if low == high:
            return np.array(low, dtype=np.int64)
        bits += _MORE_BITS


def _square_bounds(floors: list[int]) -> tuple[int, int]:
    """Return what a sum of squares is between, from the floors of its numbers."""
    return sum(a * a for a in floors), sum((a + 1) * (a + 1) for a in floors)


def _root_bounds(floors: list[int]) -> tuple[int, int]:
    """Return what the norm of a vector is between.

    If all floors are zero, the lower bound is 1 instead of 0. Then (a + 1)/1 still bounds each
    coordinate of the direction, which is at most 1.
    """
    low, high = _square_bounds(floors)
    return max(math.isqrt(low), 1), math.isqrt(high) + 1


def _nearest(numerator: int, denominator: int) -> int:
    """Return the nearest integer to a fraction, within the range of noise."""
    nearest = (2 * numerator + denominator) // (2 * denominator)
    return max(-LARGEST_NOISE, min(nearest, LARGEST_NOISE))
