"""Projected gradient descent: its iterates, and how far apart steps bring two runs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp import losses
from pairdp.algorithms.plan import Progress
from pairdp.pairs import Risk
from pairdp.problem import Problem

Array = NDArray[np.float64]


def contraction(step_size: float, smoothness: float, strong_convexity: float) -> float:
    """Return q = max(|1-ηα|, |1-ηL|), the Lipschitz constant of a step on a convex problem.

    On other problems it may be up to 1 + ηL, and no bound of this library uses it.
    """
    return max(abs(1 - step_size * strong_convexity), abs(1 - step_size * smoothness))


def known_radius(problem: Problem, step_size: float, steps: int) -> float:
    """Return a bound on the norm of all iterates of a number of steps from zero, for all data.

    Each step adds at most ηG, and with a regulariser centred at w₀ the distance from w₀ is at most
    max(|w₀|, G/λ) (errata, G9). The last gradient is evaluated one step earlier.
    """
    radius = problem.constraint.radius
    if problem.regularization == 0 or np.ndim(problem.center) == 0:
        radius = min(radius, (steps - 1) * step_size * problem.loss.lipschitz(problem.domain()))
    if 0 < step_size * problem.regularization <= 1:
        radius = min(radius, regularized_radius(problem))
    return radius


def regularized_radius(problem: Problem) -> float:
    """Return a bound on the norm of all iterates of steps η ≤ 1/λ from zero, for all data.

    w - w₀ becomes (1-ηλ)(w - w₀) - ηg, so |w - w₀| never exceeds the larger of |w₀| and G/λ.
    """
    if problem.regularization == 0:
        return problem.constraint.radius
    center = float(np.linalg.norm(problem.center))
    lipschitz = problem.loss.lipschitz(problem.domain())
    far = center + max(center, lipschitz / problem.regularization)
    return float(min(problem.constraint.radius, far))


def restart_radius(problem: Problem, step_size: float, steps: int) -> float:
    """Return the radius that noisy points are clipped to before further steps start from them.

    It is that of the constraint set or, on an unbounded set, the radius of all iterates without
    noise; then iterates of the steps that follow are within twice this radius.
    """
    radius = problem.constraint.radius
    return radius if problem.is_bounded else known_radius(problem, step_size, steps + 1)


def descend(
    problem: Problem,
    risk: Risk,
    start: Array,
    step_size: float,
    steps: int,
    progress: Progress,
    *,
    average: bool = False,
) -> Array:
    """Return the last of w_1 … w_T, or their average, of projected gradient descent."""
    point, total = start, np.zeros_like(start)
    for _ in progress.steps(steps, "gradient descent"):
        point = problem.projected_step(point, step_size, risk.gradient(point))
        if average:
            total += point
    return total / steps if average else point


def steps_to_shrink(contraction: float, factor: float, most: int) -> int:
    """Return the number of contracting steps that reduce a distance by ``factor``."""
    if factor <= 1 or contraction <= 0:
        return 1
    if contraction >= 1:
        return most
    return min(most, max(1, math.ceil(math.log(factor) / -math.log(contraction))))


class StepDivergence(NamedTuple):
    """How much one step can increase the distance of two neighbouring runs, in units of η.

    Attributes
    ----------
    replaced : float
        D*: by the change of the gradient of a pair with the replaced record.
    common : float
        G₀: by the gradients of a pair that both runs share, at two parameters; 0 if steps are
        non-expansive.
    """

    replaced: float
    common: float


def step_of_least_error(
    problem: Problem, steps: int, noise: float, dimension: int
) -> tuple[float, tuple[str, ...]]:
    """Return η and the reason, for noise of ηm on each of p numbers of an average over T steps.

    B²/(2ηT) + ηG²/2 + ηGm√p is smallest at B/√(T(G² + 2Gm√p)).
    """
    lipschitz = problem.loss.lipschitz(problem.domain())
    smoothness = problem.loss.smoothness(problem.domain()) + problem.regularization
    slope = lipschitz**2 + 2 * lipschitz * noise * math.sqrt(dimension)
    eta = problem.constraint.radius / math.sqrt(steps * slope)
    if 0 < smoothness < math.inf and eta > 2 / smoothness:
        return 2 / smoothness, ("step_size is the largest non-expansive one, 2/(L+λ)",)
    if problem.regularization > 0:
        eta = min(eta, 1 / problem.regularization)
    return eta, ("step_size minimises the predicted error",)


def step_divergence(problem: Problem, step_size: float, *, ordered: bool = False) -> StepDivergence:
    """Return how much one step can increase the distance of two neighbouring runs.

    A step uses the mean of both orders of its pairs, or only one order of each if ``ordered``: then
    D_o takes the place of D_h/2, and G that of G times half the number of orders with a loss.

    Replacing a record by a null record removes the gradient of a pair: at most D_h/2 at one point
    (`Problem.exact_record_diameter`), and at two points at most G times the fraction of orders with
    a loss, which is never more than in the other cases. A pair with a null record in both runs
    changes neither.
    """
    loss, domain = problem.loss, problem.domain()
    if isinstance(loss, losses.GradedRanking):
        loss = loss.two_class  # the same bounds, also at two points
    smoothness = loss.smoothness(domain) + problem.regularization
    lipschitz = loss.lipschitz(domain)
    # A record drawn twice may be paired with itself; then both records of the pair are replaced.
    # The gradient of such a pair is zero for ranking and metric losses.
    meets_itself = not isinstance(loss, losses.RankingLoss | losses.MetricLoss)
    if math.isfinite(smoothness) and step_size * smoothness <= 2 * (1 + 1e-12):
        replaced = problem.exact_record_diameter(domain) / 2
        if ordered:
            replaced = problem.constants(2).pair_diameter
        return StepDivergence(2 * replaced if meets_itself else replaced, 0.0)
    if isinstance(loss, losses.RankingLoss):
        # Derivatives of the same sign differ by at most G.
        share = 1.0 if ordered else loss.orders / 2
        both = lipschitz * share * (1 if loss.decreasing else 2)
        return StepDivergence(both, both)
    return StepDivergence(2 * lipschitz, 2 * lipschitz if meets_itself else lipschitz)
