"""Whether a declared structure is the function itself."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from pairdp.score_sums.all_pairs import AllPairsSums
from pairdp.score_sums.analytic import Analytic
from pairdp.score_sums.base import Structure
from pairdp.score_sums.quadratic import Quadratic
from pairdp.score_sums.truncated_powers import TruncatedPowers

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
_EXACT = 1e-11
_LAST_DIGIT = 4 * float(np.finfo(float).eps)
_SLOWER = 0.95
_SCORES = 200


def structure_problem(phi: Function, slope: Function, structure: Structure) -> str:
    """Return how a function differs from its declared structure; empty if it does not."""
    if isinstance(structure, TruncatedPowers):
        return _truncated_problem(phi, structure)
    if isinstance(structure, Quadratic):
        return _quadratic_problem(phi, structure)
    if isinstance(structure, Analytic):
        return _limits_problem(phi, slope, structure) or _strip_problem(slope, structure)
    return _sums_problem(phi, slope, structure)


def _sums_problem(phi: Function, slope: Function, structure: Structure) -> str:
    """Say where the sums of a structure differ from those over all pairs, for some scores."""
    rng = np.random.default_rng(0)
    for spread in (0.1, 1.0, 10.0):
        u = spread * rng.normal(size=_SCORES)
        u[: _SCORES // 4] = np.round(u[: _SCORES // 4])  # with ties, and at corners
        positive = (rng.random(_SCORES) < 0.4).astype(np.intp)
        sums = structure.sums(phi, slope, float(u.min()), float(u.max()), _SCORES)
        right = AllPairsSums(phi, slope)
        halves = (slice(None, _SCORES // 2), slice(_SCORES // 2, None))
        moments = sums.moments(u[halves[0]], positive[halves[0]])
        moments = moments + sums.moments(u[halves[1]], positive[halves[1]])
        expected = right.all_slopes(u, positive)
        allowed = _EXACT * _SCORES * float(np.abs(slope(u[:, None] - u)).max())
        for found in (sums.slopes(u, positive, moments), sums.all_slopes(u, positive)):
            if not (np.abs(found - expected) <= allowed).all():
                return f"its sums of slopes differ by {np.abs(found - expected).max():.3g}"
        total, whole = sums.total(moments), right.total(right.moments(u, positive))
        if not abs(total - whole) <= _EXACT * _SCORES**2 * float(np.abs(phi(u[:, None] - u)).max()):
            return f"its sum is {total:.9g}, that over all pairs {whole:.9g}"
    return ""


def _truncated_problem(phi: Function, structure: TruncatedPowers) -> str:
    if structure.power < 1 or any(abs(sign) != 1 for sign, _ in structure.terms):
        return "a power is below 1, or a sign is not ±1"
    knots = structure.knot - np.array([drop for _, drop in structure.terms])
    u = np.concatenate([np.linspace(-60.0, 60.0, 2401), *(knots + t for t in (-1e-3, 0.0, 1e-3))])
    terms = [
        structure.scale * sign * np.maximum(structure.knot - u - drop, 0.0) ** structure.power
        for sign, drop in structure.terms
    ]
    return _difference(u, phi(u), np.sum(terms, axis=0), np.sum(np.abs(terms), axis=0))


def _quadratic_problem(phi: Function, structure: Quadratic) -> str:
    u = np.linspace(-60.0, 60.0, 2401)
    terms = [np.full(u.shape, structure.constant), structure.linear * u, structure.square * u * u]
    return _difference(u, phi(u), np.sum(terms, axis=0), np.sum(np.abs(terms), axis=0))


def _difference(u: Array, values: Array, built: Array, size: Array) -> str:
    wrong = np.abs(values - built) > _EXACT * (size + np.abs(values))
    if not wrong.any():
        return ""
    at = int(wrong.argmax())
    return f"φ({u[at]:.6g}) is {values[at]:.9g}, the structure gives {built[at]:.9g}"


def _limits_problem(phi: Function, slope: Function, structure: Analytic) -> str:
    # To the last digit of the largest slope: the limits themselves may be zero.
    inside = np.linspace(-structure.linear_beyond, structure.linear_beyond, 2001)
    size = float(np.abs(slope(inside)).max())
    for side, limit in ((-1.0, structure.left_slope), (1.0, structure.right_slope)):
        u = side * structure.linear_beyond * np.linspace(1.0, 3.0, 41)
        if (np.abs(slope(u) - limit) > _LAST_DIGIT * size).any():
            return f"the slope beyond {side * structure.linear_beyond:g} is not {limit:g}"
        line = phi(u[:1]) + limit * (u - u[0])
        if (np.abs(phi(u) - line) > _EXACT * (np.abs(line) + size)).any():
            return f"φ is not linear beyond {side * structure.linear_beyond:g}"
    return ""


def _strip_problem(slope: Function, structure: Analytic) -> str:
    """Return where Chebyshev coefficients decay more slowly than analyticity in the strip implies.

    On an interval of half-width H, those of a function that is analytic within the ellipse
    through ± i·strip decay like ρ^{-n}, with ρ = (strip + √(strip² + H²)) / H.
    """
    for half in structure.strip * np.array([1.0, 2.0, 4.0]):
        rate = math.asinh(structure.strip / half)
        degree = math.ceil(-math.log(1e-14) / rate)
        for centre in structure.strip * np.array([-2.0, -1.0, 0.0, 1.0, 2.0]):
            measured = _decay(slope, centre, half, degree)
            if measured < _SLOWER * rate:
                return (
                    f"around {centre:.3g} ± {half:.3g} coefficients decay by "
                    f"e^-{measured:.4g}, the strip implies e^-{rate:.4g}"
                )
    return ""


def _decay(function: Function, centre: float, half: float, degree: int) -> float:
    """Return the rate at which Chebyshev coefficients decay, above the level of rounding."""
    nodes = chebyshev.chebpts1(2 * degree)
    values = function(centre + half * nodes)
    found = chebyshev.chebvander(nodes, 2 * degree - 1).T @ values / degree
    envelope = np.maximum.accumulate(np.abs(found)[::-1])[::-1]
    heard = np.nonzero(envelope > 1e-12 * envelope[0])[0]
    first, last = degree // 5, min(int(heard[-1]), degree)
    # Too few to measure a rate: they decay immediately.
    if last - first < 5:
        return math.inf
    return float(np.log(envelope[first] / envelope[last]) / (last - first))
