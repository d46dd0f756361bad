r"""From the noise of releases to the noise of parameters, for descent and for noisy outputs.

The noise of a parameter is its difference from what the same run gives without noise, with the same
draws of records. It is bounded from public facts alone.

Projections onto convex sets, and gradient steps on convex functions of smoothness L with η ≤ 2/L,
do not increase distances. Let D be the difference of a run with noise and one without. A step with
a map G of Lipschitz constant q, followed by a projection P, with independent noise z of mean zero
and standard deviation s in each of p coordinates, gives

.. math::
    E|D'|^2 = E|P(G(w) + z) - P(G(w'))|^2 \le E|G(w) - G(w') + z|^2 \le q^2 E|D|^2 + ps^2,

since z is independent of w, w' and has mean zero. So :math:`\sqrt{E|D|^2/p}`, the root mean square
over the coordinates, satisfies a recursion. That of an average of iterates is at most the average
of theirs, by Minkowski's inequality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pairdp.algorithms.descent import contraction
from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.problem import Problem

if TYPE_CHECKING:
    from pairdp.algorithms.plan import Plan

_NO_BOUND = (
    "the effect of the noise of earlier steps on later ones is bounded only for convex smooth "
    "losses and steps of at most 2/L"
)


def output_noise(plan: Plan, *, projected: bool = True) -> ParameterNoise:
    """Return the noise of an algorithm that adds it once, to its output.

    Before the projection it is exact. The projection P does not increase distances, so the root
    mean square of P(w + z) - P(w) over the coordinates is at most that of z.
    """
    sigma = deviation(plan.certificate.releases[0])
    words = f"noise of standard deviation {sigma:.3g} was added to each weight"
    if projected:
        words += "; the projection onto the constraint set, which followed, can only reduce it"
    return ParameterNoise("exact", words, sigma)


def descent_noise(
    plan: Plan, step_size: float, steps: int, *, average: bool, whole: bool
) -> ParameterNoise:
    """Return a bound on the noise of descent with noise on each of T gradients.

    With s_0 = 0 and s_{t+1}² = q²s_t² + η²σ², it is s_T, or the mean of s_0 … s_T.

    Parameters
    ----------
    plan : Plan
    step_size : float
        η.
    steps : int
        T.
    average : bool
        Whether the average of all iterates is released, and not the last one.
    whole : bool
        Whether gradients are those of all records; those of a batch may have any pair's curvature.
    """
    problem, n = plan.problem, plan.task.n
    q = _step_contraction(problem, step_size, n if whole else None)
    if q is None:
        return unknown_noise(_NO_BOUND)
    sigma = step_size * deviation(plan.certificate.releases[0])
    variance, total = 0.0, 0.0
    for _ in range(steps):
        variance = q**2 * variance + sigma**2
        total += math.sqrt(variance)
    return _bound(plan, total / (steps + 1) if average else math.sqrt(variance))


def restarted_noise(plan: Plan, stages: Iterable[tuple[float, int]]) -> ParameterNoise:
    """Return a bound on the noise of descent in stages, with noise on the average of each stage.

    Each stage starts at the noisy point before it. The average of w_1 … w_T is a function of the
    start with Lipschitz constant at most the mean of q, …, q^T.

    Parameters
    ----------
    plan : Plan
        With one release for each stage.
    stages : iterable of (float, int)
        Step size and number of steps.
    """
    variance = 0.0
    for release, (step_size, steps) in zip(plan.certificate.releases, stages, strict=True):
        q = _step_contraction(plan.problem, step_size, None)
        if q is None:
            return unknown_noise(_NO_BOUND)
        kept = 1.0 if q == 1 else q * (1 - q**steps) / (steps * (1 - q))
        variance = kept**2 * variance + deviation(release) ** 2
    return _bound(plan, math.sqrt(variance))


def _step_contraction(problem: Problem, step_size: float, n: int | None) -> float | None:
    """Return the Lipschitz constant of a gradient step; None if it may exceed one.

    Without n, it is for the risk of any records or pairs.
    """
    if not (problem.is_convex and problem.is_smooth):
        return None
    smoothness = problem.loss.smoothness(problem.domain()) + problem.regularization
    if n is not None:
        smoothness = problem.constants(n).smoothness
    q = contraction(step_size, smoothness, problem.regularization)
    return min(q, 1.0) if q <= 1 + 1e-9 else None


def _bound(plan: Plan, size: float) -> ParameterNoise:
    """Return a bound, or the diameter of the constraint set if that is smaller."""
    size = min(size, plan.task.diameter / math.sqrt(plan.task.dimension))
    words = (
        f"the difference from a run without noise is at most {size:.3g}, the root mean square over "
        "all weights and the expectation over the noise"
    )
    return ParameterNoise("bound", words, size)
