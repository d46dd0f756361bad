"""Bounds for gradient descent: its iterates, its last iterate with noise, and the minimiser.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.bounds.averages import average_over_pairs, count_changed_pairs
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

Array = NDArray[np.float64]
_MOST_STEPS = 10**7


def _drifts(
    record_diameter: float, n: int, step_size: float, contraction: float, steps: int
) -> Array:
    """Return the largest distances between the iterates 1..T of two neighbouring runs."""
    change = average_over_pairs(record_diameter, n) * positive("step_size", step_size)
    q = non_negative("contraction", contraction)
    t = np.arange(1, integer("steps", steps, at_most=_MOST_STEPS) + 1, dtype=np.float64)
    with np.errstate(over="ignore"):
        if q == 1:
            return change * t
        if q == 0:
            return np.full(t.size, change)
        return change * np.expm1(t * math.log(q)) / (q - 1)


def _last_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    drift = float(_drifts(record_diameter, n, step_size, contraction, steps)[-1])
    return min(positive("diameter", diameter, finite=False), drift)


def _average_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    with np.errstate(over="ignore"):
        drift = float(_drifts(record_diameter, n, step_size, contraction, steps).mean())
    return min(positive("diameter", diameter, finite=False), drift)


def _unrolled(
    record_diameter: float, n: int, step_size: float, contraction: float, steps: int
) -> tuple[float, float]:
    drift, total = 0.0, 0.0
    change = step_size * count_changed_pairs(record_diameter, n)
    for _ in range(steps):
        drift = contraction * drift + change
        total += drift
    return drift, total / steps


def _unrolled_last(diameter: float = math.inf, **inputs: float) -> float:
    return min(diameter, _unrolled(**inputs)[0])  # type: ignore[arg-type]


def _unrolled_average(diameter: float = math.inf, **inputs: float) -> float:
    return min(diameter, _unrolled(**inputs)[1])  # type: ignore[arg-type]


def _noisy_last_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    r"""Return :math:`\min_{1≤τ≤T} (c^τ·D·[τ<T] + s·S_τ)/(η\sqrt{Q_τ})`, times η.

    Here s = η·record_diameter/n is the divergence of one step, and S_τ and Q_τ are the sums of c^i
    and c^{2i} for i < τ. Noise of standard deviation σ on the gradient is ησ on the iterate, so
    this over σ is μ (Bok, Su and Altschuler 2024; errata, X5).
    """
    eta = positive("step_size", step_size)
    drift = eta * positive("record_diameter", record_diameter) / integer("n", n, at_least=2)
    c = non_negative("contraction", contraction)
    if c > 1:
        raise ValueError(f"contraction must be at most 1, got {c!r}: use smaller steps")
    start = positive("diameter", diameter, finite=False)
    tau = np.arange(1, integer("steps", steps, at_most=_MOST_STEPS) + 1, dtype=np.float64)
    sums, squares = _geometric(c, tau), _geometric(c * c, tau)
    if math.isinf(start) and c > 0:  # avoids inf · 0 where c^τ underflows
        remembered = np.where(tau < steps, math.inf, 0.0)
    else:
        with np.errstate(under="ignore"):
            remembered = np.where(tau < steps, start if c > 0 else 0.0, 0.0) * c**tau
    return float(np.min((remembered + drift * sums) / (eta * np.sqrt(squares))))


def _geometric(ratio: float, terms: Array) -> Array:
    """Return Σ ratio^i for i < terms."""
    if ratio == 1:
        return terms
    if ratio == 0:
        return np.ones_like(terms)
    return np.asarray(np.expm1(terms * math.log(ratio)) / (ratio - 1))


def _noisy_unrolled(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    """Return the same by simulating the coupling: shifts a_t ∝ c^(T-t) that end at zero."""
    drift = step_size * record_diameter / n
    tau = _best_window(drift, contraction, steps, diameter)
    distance = 0.0 if tau == steps or contraction == 0 else diameter
    shifted = 0.0
    weights = [contraction ** (tau - 1 - i) for i in range(tau)]
    for weight in weights:
        distance = contraction * distance + drift
        shifted = contraction * shifted + weight
    return distance / shifted * math.sqrt(math.fsum(w * w for w in weights)) / step_size


def _best_window(drift: float, contraction: float, steps: int, diameter: float) -> int:
    """Return the number of last steps that gives the smallest bound, adding one step at a time."""
    best, window, power, sums, squares = math.inf, steps, 1.0, 0.0, 0.0
    for tau in range(1, steps + 1):
        sums += power
        squares += power * power
        power *= contraction
        start = 0.0 if tau == steps or contraction == 0 else diameter
        left = math.inf if math.isinf(start) else start * power
        found = (left + drift * sums) / math.sqrt(squares)
        if found < best:
            best, window = found, tau
    return window


def _minimiser(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    tolerance: float,
    diameter: float = math.inf,
) -> float:
    r"""Return D_h/(αn) + 2·tol/α: the distance of two minimisers, each computed to tol/α."""
    alpha = positive("strong_convexity", strong_convexity)
    exact = positive("record_diameter", record_diameter) / (alpha * integer("n", n, at_least=2))
    found = exact + 2 * non_negative("tolerance", tolerance) / alpha
    return min(found, positive("diameter", diameter, finite=False))


def _minimiser_by_descent(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    tolerance: float,
    diameter: float = math.inf,
) -> float:
    """Return the limit of the drift of gradient descent, with an error at each gradient."""
    step = 0.5 / strong_convexity
    change = step * (record_diameter / n + 2 * tolerance)
    drift = 0.0
    for _ in range(200):
        drift = 0.5 * drift + change
    return min(drift, diameter)


register_bound(
    Bound(
        "last iterate of gradient descent",
        "the distance of two neighbouring runs grows by at most s·η per step, where s = D/n bounds "
        "the change of the average gradient, and shrinks by the contraction q of a step: "
        "s·η·(1-q^T)/(1-q), or the diameter of the constraint set if less",
        _last_iterate,
        _unrolled_last,
        ("loss", "convexity"),
        per_record="record_diameter",
    )
)
register_bound(
    Bound(
        "average iterate of gradient descent",
        "the average over the iterates 1..T of the largest distance of two neighbouring runs of "
        "gradient descent, or the diameter of the constraint set if less",
        _average_iterate,
        _unrolled_average,
        ("loss", "convexity"),
        per_record="record_diameter",
    )
)
register_bound(
    Bound(
        "last iterate of noisy gradient descent",
        "noise is added at every step and only the last iterate is released: the contraction c "
        "shrinks the effect of earlier steps, so the release is as private as one Gaussian release "
        "of sensitivity min over τ of (c^τ·diameter·[τ<T] + s·η·Σc^i)/(η·√Σc^2i), for the last τ "
        "steps, where s = D/n bounds the change of the average gradient",
        _noisy_last_iterate,
        _noisy_unrolled,
        ("loss", "convexity"),
        per_record="record_diameter",
    )
)
register_bound(
    Bound(
        "regularised minimiser",
        "the average gradient changes by at most D/n, so the minimiser of an "
        "α-strongly convex objective changes by at most D/(αn); each of two is computed to within "
        "tolerance/α",
        _minimiser,
        _minimiser_by_descent,
        ("loss", "convexity"),
        per_record="record_diameter",
    )
)
