r"""Which algorithm to take for a linear model of a loss of one record.

Both candidates are judged by what they are sure not to exceed, the excess risk of a convex
problem of p parameters within B, with D the change of one record's gradient, G its bound, L its
smoothness and μ the ratio of one Gaussian release within the budget:

- noise on each of T gradients of size up to G costs :math:`B\sqrt{G^2/T + p(D/(nμ))^2}`, or
  :math:`B\sqrt{p}D/(nμ)` and a vanishing rest when the loss is smooth;
- noise on the minimiser costs :math:`λB^2/2 + (L/2)p(D/(λnμ))^2`.

The first is the smaller of the two for all budgets but the tiniest, and it needs δ > 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from pairdp.algorithms import MinimizerRelease, NoisyGradientDescent
from pairdp.choice.base import Candidate, Choice
from pairdp.choice.regularization import balanced_regularization
from pairdp.constraints import L2Ball
from pairdp.losses import PointwiseLoss
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget
from pairdp.privacy.accounting.gaussian import gdp_mu

_BATCHES = 20
_WHOLE_UP_TO = 20_000
_MOST_STEPS, _FEWEST_STEPS = 2000, 20


def choose_linear(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float,
    radius: float,
    loss: PointwiseLoss,
    regularization: float | None = None,
) -> Choice:
    """Return the candidates for a linear model, from public facts alone.

    Parameters
    ----------
    n, features : int
        The public size of the data, a constant feature included.
    budget : Budget or None
        What may be spent.
    data_norm, radius : float
        Bounds on rows and on weights.
    loss : PointwiseLoss
        The loss of a record.
    regularization : float, optional
        λ; None leaves it open.

    Raises
    ------
    ValueError
        If nothing suits: noise on the output needs a convex and smooth loss, noise on gradients
        δ > 0.
    """
    problem = PointwiseProblem(loss, L2Ball(radius), regularization or 0.0, data_norm=data_norm)
    found = (
        *_minimisers(problem, n, features, budget, regularization),
        *_descents(problem, n, features, budget, regularization),
    )
    if not found:
        raise ValueError(
            f"{type(loss).__name__} with these parameters has no pure algorithm: set delta > 0, "
            "or use a convex and smooth loss without regularization=0"
        )
    return Choice(n, features, budget, found)


def _length(problem: PointwiseProblem, n: int, features: int, budget: Budget | None) -> float:
    """Return √p·D/(nμ), about how long the noise on one released gradient is."""
    if budget is None:
        return 0.0
    moved = problem.sensitivity(n)
    if budget.is_pure:
        return features * moved / budget.epsilon
    return math.sqrt(features) * moved / gdp_mu(budget.epsilon, budget.delta)


def _minimisers(
    problem: PointwiseProblem,
    n: int,
    features: int,
    budget: Budget | None,
    regularization: float | None,
) -> Iterator[Candidate]:
    if not (problem.is_convex and problem.is_smooth) or regularization == 0:
        return
    pull = regularization or balanced_regularization(problem, n, features, budget)
    regular = replace(problem, regularization=pull)
    noise = _length(problem, n, features, budget) / pull
    bias = pull * problem.constraint.radius**2 / 2
    error = bias + problem.constants(n).smoothness * noise**2 / 2
    reason = f"noise on the minimiser, predicted excess risk {error:.3g}"
    yield Candidate(regular, MinimizerRelease(), error, reason)


def _descents(
    problem: PointwiseProblem,
    n: int,
    features: int,
    budget: Budget | None,
    regularization: float | None,
) -> Iterator[Candidate]:
    if budget is not None and budget.is_pure:
        return
    if budget is None and problem.is_convex and problem.is_smooth and regularization != 0:
        return  # without noise, the minimiser itself is best
    noise, radius = _length(problem, n, features, budget), problem.constraint.radius
    batch = n // _BATCHES if n > _WHOLE_UP_TO else None
    if problem.is_smooth:
        algorithm, error = NoisyGradientDescent(batch_size=batch), radius * noise
    else:
        steep = problem.constants(n).lipschitz
        wanted = 4 * (steep / noise) ** 2 if noise > 0 else math.inf
        steps = math.ceil(min(_MOST_STEPS, max(_FEWEST_STEPS, wanted)))
        size = radius / math.sqrt(steps * (steep**2 + steps * noise**2))
        algorithm = NoisyGradientDescent(steps=steps, step_size=size, batch_size=batch)
        error = radius * math.hypot(noise, steep / math.sqrt(steps))
    reason = f"noise on every gradient, predicted excess risk {error:.3g}"
    yield Candidate(problem, algorithm, error, reason)
