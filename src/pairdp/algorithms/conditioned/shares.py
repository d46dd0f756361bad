r"""How a conditioned descent divides its budget and chooses its features, from public facts.

Shares of µ² (of ε, for pure ε): 0.10 for class means, 0.04 for the radius, 0.15 for second moments,
0.06 for the scales of an expansion, and the rest for `STEPS` gradients. (The numbers were chosen on
synthetic data, `TUNED_ON` in benchmarks/auto_ranker.py and four shapes like those.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pairdp.algorithms.conditioned.features import feature_count
from pairdp.algorithms.task import Task
from pairdp.privacy.accounting.gaussian import gdp_mu

STEPS = 8
"""Number of noisy gradients."""

_MEANS, _RADIUS, _SCALES, _MOMENTS = 0.10, 0.04, 0.06, 0.15
_MOST_WORK = 4 * 10**9
"""Multiplications of one pass over rows of features."""
_ENOUGH = 50.0
"""Records times µ per feature that a part of the records must have."""
LARGEST_MATRIX = 3000
"""The most features that a matrix of second moments is released of, and of an expansion."""
_PER_FEATURE = {"additive": 20.0, "quadratic": 30.0}
"""nµ per feature from which an expansion is chosen."""


@dataclass(frozen=True)
class Shares:
    """The shares of each release; they add up to 1."""

    means: float
    radius: float
    scales: float
    moments: float
    gradients: float


def shares_of(*, centred: bool, expanded: bool) -> Shares:
    """Return the shares, with a centre if there is an intercept, and scales for an expansion."""
    means, scales = _MEANS if centred else 0.0, _SCALES if expanded else 0.0
    rest = 1 - means - _RADIUS - scales - _MOMENTS
    return Shares(means, _RADIUS, scales, _MOMENTS, rest)


def mu_of(task: Task) -> float:
    """Return the µ of the budget for one record; infinite without noise."""
    if task.budget is None:
        return math.inf
    if task.budget.is_pure:
        return task.budget.epsilon / task.records
    return gdp_mu(task.budget.epsilon, task.budget.delta) / task.records


def chosen_expansion(n: int, mu: float, d: int) -> str:
    """Return the largest expansion of d numbers that nµ suffices for."""
    for expansion in ("quadratic", "additive"):
        size = feature_count(expansion, d, intercept=True)
        if size <= LARGEST_MATRIX and n * min(mu, 1.0) / size >= _PER_FEATURE[expansion]:
            return expansion
    return "linear"


def chosen_scaling(features: int) -> str:
    """Return whether a matrix of second moments is released, or mean squares alone."""
    return "matrix" if features <= LARGEST_MATRIX else "features"


def used_records(n: int, mu: float, features: int) -> int:
    """Return how many records moments and gradients are computed from.

    All, unless one pass over them takes long: then as many as are fast, or as `_ENOUGH` needs.
    """
    some = max(_MOST_WORK / features**2, _ENOUGH * features / mu)
    return min(n, math.ceil(some))
