"""Roots of functions of one variable, by Brent's method.

`scipy.optimize.brentq` is the same, and its results are equal to the last bit; but to import
`scipy.optimize` takes a large part of the time in which a command starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def brentq(
    f: Callable[[float], float],
    a: float,
    b: float,
    *,
    xtol: float = 2e-12,
    rtol: float = 8.881784197001252e-16,
    maxiter: int = 100,
) -> float:
    """Return x between a and b with f(x) = 0 (Brent 1973, Algorithms for Minimization, chapter 4).

    Parameters
    ----------
    f : callable
        A continuous function, whose values at a and b have different signs, or are zero.
    a, b : float
        The ends of the interval.
    xtol, rtol : float
        The root is exact up to xtol + rtol·|x|.
    maxiter : int
        The largest number of steps.

    Examples
    --------
    >>> round(brentq(lambda x: x**2 - 2, 0.0, 2.0), 10)
    1.4142135624
    """
    before, here = float(a), float(b)
    f_before, f_here = _value(f, before), _value(f, here)
    if f_before == 0:
        return before
    if f_here == 0:
        return here
    if (f_before < 0) == (f_here < 0):
        raise ValueError("f(a) and f(b) must have different signs")
    # The root is between `here`, the best point so far, and `other`.
    other, f_other, last, step = before, f_before, 0.0, 0.0
    for _ in range(maxiter):
        if f_before != 0 and f_here != 0 and (f_before < 0) != (f_here < 0):
            other, f_other = before, f_before
            last = step = here - before
        if abs(f_other) < abs(f_here):
            before, here, other = here, other, here
            f_before, f_here, f_other = f_here, f_other, f_here
        tolerance = (xtol + rtol * abs(here)) / 2
        half = (other - here) / 2
        if f_here == 0 or abs(half) < tolerance:
            return here
        tried = math.inf
        if abs(last) > tolerance and abs(f_here) < abs(f_before):
            tried = _interpolated(before, here, other, f_before, f_here, f_other)
        if 2 * abs(tried) < min(abs(last), 3 * abs(half) - tolerance):
            last, step = step, tried
        else:
            last = step = half
        before, f_before = here, f_here
        here += step if abs(step) > tolerance else math.copysign(tolerance, half)
        f_here = _value(f, here)
    raise RuntimeError(f"no root was found in {maxiter} steps; the last point was {here!r}")


def _interpolated(
    before: float, here: float, other: float, f_before: float, f_here: float, f_other: float
) -> float:
    """Return the step to the root of a line, or of an inverse parabola; infinite if there is none.

    A line if only two points are known, which are then ``here`` and ``before`` = ``other``.
    """
    try:
        if before == other:
            return -f_here * (here - before) / (f_here - f_before)
        to_before = (f_before - f_here) / (before - here)
        to_other = (f_other - f_here) / (other - here)
        return (
            -f_here
            * (f_other * to_other - f_before * to_before)
            / (to_other * to_before * (f_other - f_before))
        )
    except ZeroDivisionError:
        return math.inf


def _value(f: Callable[[float], float], x: float) -> float:
    found = float(f(x))
    if math.isnan(found):
        raise ValueError(f"the function is not a number at {x!r}")
    return found
