r"""Bounds for descent with noise inside, on streams, and to the very minimum.

Each is registered with two routes to its value, as in `pairdp.privacy.bounds.sensitivity`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, non_negative, positive
from pairdp.privacy.bounds.sensitivity import Bound, register_bound

Array = NDArray[np.float64]
_MOST_STEPS = 10**7
_FOLLOWED = 512
_LONGEST = 2 * 10**6


def _noisy_last_iterate(
    record_diameter: float,
    n: int,
    step_size: float,
    contraction: float,
    steps: int,
    diameter: float = math.inf,
) -> float:
    r"""Return :math:`\min_{1≤τ≤T} (c^τ·D·[τ<T] + s·S_τ)/(η\sqrt{Q_τ})`, times η.

    With s = η·record_diameter/n the drift of one step, S_τ and Q_τ the sums of c^i and c^{2i} for
    i < τ. Noise of standard deviation σ on the gradient is ησ on the iterate, so this
    over σ is the ratio μ (Bok, Su and Altschuler 2024; errata, X5).
    """
    eta = positive("step_size", step_size)
    drift = eta * positive("record_diameter", record_diameter) / integer("n", n, at_least=2)
    c = non_negative("contraction", contraction)
    if c > 1:
        raise ValueError(f"contraction must be at most 1, got {c!r}: take smaller steps")
    start = positive("diameter", diameter, finite=False)
    tau = np.arange(1, integer("steps", steps, at_most=_MOST_STEPS) + 1, dtype=np.float64)
    sums, squares = _geometric(c, tau), _geometric(c * c, tau)
    if math.isinf(start) and c > 0:  # however little is remembered of it
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
    """Return the same by running the coupling: shifts a_t ∝ c^(T-t) that end at zero."""
    drift = step_size * record_diameter / n
    tau = _best_window(drift, contraction, steps, diameter)
    reach = 0.0 if tau == steps or contraction == 0 else diameter
    shifted = 0.0
    weights = [contraction ** (tau - 1 - i) for i in range(tau)]
    for weight in weights:
        reach = contraction * reach + drift
        shifted = contraction * shifted + weight
    return reach / shifted * math.sqrt(math.fsum(w * w for w in weights)) / step_size


def _best_window(drift: float, contraction: float, steps: int, diameter: float) -> int:
    """Return how many of the last steps give the least bound, by adding up one at a time."""
    best, window, power, sums, squares = math.inf, steps, 1.0, 0.0, 0.0
    for tau in range(1, steps + 1):
        sums += power
        squares += power * power
        power *= contraction
        far = 0.0 if tau == steps or contraction == 0 else diameter
        left = math.inf if math.isinf(far) else far * power
        found = (left + drift * sums) / math.sqrt(squares)
        if found < best:
            best, window = found, tau
    return window


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
    t = np.arange(2, integer("n", n, at_least=2, at_most=_LONGEST) + 1, dtype=np.float64)
    cap = min(2 / (smoothness + strong_convexity), largest)
    if strong_convexity == 0:
        return np.full(t.size, cap)
    return np.minimum(2 / (strong_convexity * t), cap)


def _stream_average(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    largest_step: float = math.inf,
    diameter: float = math.inf,
) -> float:
    r"""Return the largest average over t = 2 … n of how far one record can move w_t.

    With D = record_diameter/2 for the mean of both orders of a pair: the record itself arrives
    at step k and moves w_k by η_k·D; at a later t it is one of t - 1 partners and adds
    η_t·D/(t-1) to the drift, shrunk by 1 - η_t·α; never more than the diameter. Long streams are
    followed in `_FOLLOWED` groups of neighbouring records, a group by its worst member.
    """
    slot = positive("record_diameter", record_diameter) / 2
    positive("diameter", diameter, finite=False)
    steps = stream_steps(n, strong_convexity, smoothness, largest_step)
    groups = min(steps.size, _FOLLOWED)
    drifts, totals = np.zeros(groups), np.zeros(groups)
    for i, eta in enumerate(steps.tolist()):
        arriving = i * groups // steps.size
        met = drifts[: arriving + 1]
        met *= 1 - eta * strong_convexity
        met += eta * slot / (i + 1)
        if i * groups % steps.size < groups:  # the first of its group: nobody there was met before
            met[-1] = 0.0
        met[-1] = max(met[-1], eta * slot)
        np.minimum(met, diameter, out=met)
        totals[: arriving + 1] += met
    return float(totals.max()) / steps.size


def _stream_one_by_one(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    smoothness: float,
    largest_step: float = math.inf,
    diameter: float = math.inf,
) -> float:
    """Return the same by following each record, or the first and last of groups, by itself."""
    slot = record_diameter / 2
    steps = stream_steps(n, strong_convexity, smoothness, largest_step).tolist()
    groups = min(len(steps), _FOLLOWED)
    firsts = [-(-g * len(steps) // groups) for g in range(groups + 1)]

    def moved(group: int) -> float:
        return _follow(steps, slot, strong_convexity, diameter, firsts, group)

    # All groups of short streams; of long ones those near the worst of a coarse search.
    chosen = range(groups)
    if len(steps) > _FOLLOWED:
        worst = max(range(0, groups, 32), key=moved)
        chosen = range(max(0, worst - 32), min(groups, worst + 33))
    return max(map(moved, chosen)) / len(steps)


def _follow(
    steps: list[float],
    slot: float,
    strong_convexity: float,
    diameter: float,
    firsts: list[int],
    group: int,
) -> float:
    """Return the sum of the drifts that the worst record of a group causes."""
    drift, total = 0.0, 0.0
    for i in range(firsts[group], len(steps)):
        eta = steps[i]
        if i > firsts[group]:
            drift = (1 - eta * strong_convexity) * drift + eta * slot / (i + 1)
        if i < firsts[group + 1]:
            drift = max(drift, eta * slot)
        drift = min(drift, diameter)
        total += drift
    return total


def _minimiser(
    record_diameter: float,
    n: int,
    strong_convexity: float,
    tolerance: float,
    diameter: float = math.inf,
) -> float:
    r"""Return D_h/(αn) + 2·tol/α: two minimisers are D_h/(αn) apart, each found to tol/α."""
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
    moved = step * (record_diameter / n + 2 * tolerance)
    drift = 0.0
    for _ in range(200):
        drift = 0.5 * drift + moved
    return min(drift, diameter)


register_bound(
    Bound(
        "last iterate of noisy gradient descent",
        "noise enters at every step and only the last iterate is released: earlier steps are "
        "forgotten as the contraction c shrinks them, so the release is as private as one "
        "Gaussian release of the least (c^τ·diameter·[τ<T] + s·η·Σc^i)/(η·√Σc^2i) over the last "
        "τ steps, where s = D/n is how far the gradient of the average moves",
        _noisy_last_iterate,
        _noisy_unrolled,
        ("loss", "convexity"),
    )
)
register_bound(
    Bound(
        "average iterate of descent on a stream of pairs",
        "each record is met once by all earlier ones and then once by each later one; the drift "
        "that it causes follows a recursion, and the worst record is taken",
        _stream_average,
        _stream_one_by_one,
        ("loss", "convexity"),
    )
)
register_bound(
    Bound(
        "regularised minimiser",
        "the gradient of the average moves by at most D/n, so the minimiser of an "
        "α-strongly convex objective moves by at most D/(αn); each of two is found to within "
        "tolerance/α",
        _minimiser,
        _minimiser_by_descent,
        ("loss", "convexity"),
    )
)
