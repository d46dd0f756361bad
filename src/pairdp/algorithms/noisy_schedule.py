"""The default steps and step size of noisy gradient descent."""

from __future__ import annotations

import math

from pairdp.algorithms.descent import contraction
from pairdp.algorithms.gradient_noise import GradientNoise
from pairdp.algorithms.requirements import require_bounded, require_smooth

_STEPS = tuple(sorted({round(10 ** (i / 12)) for i in range(40)}))
_HALVINGS = 12


def least_error_schedule(
    name: str, noise: GradientNoise, steps: int | None, step_size: float | None
) -> tuple[float, int, tuple[str, ...]]:
    """Return η, T and the reasons; what is None is chosen to minimise the predicted error.

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    noise : GradientNoise
        The noise as a function of η and T.
    steps, step_size : optional
        T and η if they are fixed.
    """
    problem = noise.task.problem
    if step_size is None:
        instead = "give step_size; the guarantee does not need smoothness"
        require_smooth(name, problem, instead)
    require_bounded(name, problem, "to choose its steps (or give steps and step_size)")
    if step_size is None:
        largest = 1 / problem.constants(noise.task.n).smoothness
        sizes = [largest * 2.0**-i for i in range(_HALVINGS)]
        reason = "steps and step_size minimise" if steps is None else "step_size minimises"
    else:
        sizes, reason = [step_size], "steps minimise"
    choices = [(eta, t) for t in (_STEPS if steps is None else (steps,)) for eta in sizes]
    best = min(choices, key=lambda choice: predicted_error(noise, *choice))
    return *best, (f"{reason} the predicted error",)


def predicted_error(noise: GradientNoise, step_size: float, steps: int) -> float:
    r"""Return a rough bound on the excess risk: optimisation error plus noise.

    For the average B²/(2ηT) + ηpσ²/2; for the last iterate of a strongly convex problem
    (L/2)(q^{2T}B² + η²pσ²Σq^{2i}). A mini-batch adds its own variance, ηG²/(2b). If the loss is not
    convex, the excess risk cannot be predicted, and the mean squared gradient divided by 2L is used
    instead; by the descent lemma it is at most GB/(ηTL) + ηpσ²/2, because the initial excess risk
    is at most GB.
    """
    task, problem, b = noise.task, noise.task.problem, noise.batches.size
    constants, radius, p = problem.constants(task.n), problem.constraint.radius, task.dimension
    # For tiny budgets the square of the noise would overflow.
    sigma = min(noise.predicted_scale(step_size, steps), 1e100)
    smoothness = constants.smoothness
    q = contraction(step_size, smoothness, constants.strong_convexity)
    if noise.output == "last" and q < 1:
        decay = q ** (2 * steps)
        variance = step_size**2 * p * sigma**2 * (1 - decay) / (1 - q * q)
        return smoothness / 2 * (decay * radius**2 + variance)
    variance = p * sigma**2 + (constants.lipschitz**2 / b if b < task.n else 0.0)
    start = radius**2 / 2
    if not problem.is_convex and 0 < smoothness < math.inf:
        start = constants.lipschitz * radius / smoothness
    return start / (step_size * steps) + step_size * variance / 2
