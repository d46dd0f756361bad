"""The default regularisation of a noisy minimiser."""

from __future__ import annotations

from pairdp.privacy import Budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

_WITHOUT_NOISE = 1e-3


def balanced_regularization(
    problem: Problem, n: int, features: int, budget: Budget | None, records: int = 1
) -> float:
    r"""Return the λ at which the bias and the noise of a noisy minimiser cost the same.

    The regulariser costs up to λB²/2; noise of standard deviation D_h/(λnμ) on p numbers costs
    about (L/2)pσ². Both are equal at λ³ = L·p·D_h²/(nμB)², with kD_h for units of k records.
    Without noise, a thousandth of L.
    """
    constants = problem.constants(n)
    if budget is None:
        return _WITHOUT_NOISE * constants.smoothness
    dimension = problem.constraint.dimension(features)
    if budget.is_pure:
        # The norm of K-norm noise is about p·Δ/ε, that of Gaussian noise √p·σ.
        sigma = dimension**0.5 / budget.epsilon
    else:
        sigma = 1 / gdp_mu(budget.epsilon, budget.delta)
    shift = records * constants.record_diameter * sigma / (n * problem.constraint.radius)
    return float((constants.smoothness * dimension * shift**2) ** (1 / 3))
