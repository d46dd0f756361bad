r"""A bound on the regret of a planned stream, with all constants (Huai 2020, Theorems 2 and 3).

The paper states an order, O(G²√d·ln^1.5(n/ζ)√(n ln(1/δ))/(αε) + G² ln(n)/α + GL²|C|/α²), and no
constants. This is a bound of the same three parts for exactly what a plan runs. Notation: f_t is
the loss of step t with the regulariser of the plan, α-strongly convex and G-Lipschitz on the set C
of diameter D, and u any point of C.

**Burn-in.** A random point costs at most GD.

**Descent.** With steps η_t and contraction by projection,

.. math:: Σ_t f_t(w_{t-1}) - f_t(u) ≤ \frac{D^2}{2} Σ_t \max\Big(0, \frac1{η_t} -
    \frac1{η_{t-1}} - α\Big) + \frac{G^2}{2} Σ_t η_t.

**Noise.** On models: w_t + n_t is projected onto C, which moves f_{t+1} by at most G·min(D, |n_t|),
and |n_t| ≤ σ_t(√p + √(2 ln(n/ζ))) for all t with probability at least 1 - ζ. In gradients: n_t is
independent of w_{t-1} and u, so that the expected regret grows by pσ²Ση_t/2. Both add the rounding
to the grid.

**Regulariser.** Regret without a regulariser that the plan adds is larger by at most
α'/2·max|u - w₀|² in each of n - 1 steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import between
from pairdp.algorithms import Plan
from pairdp.online import OnlineDescent
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RegretBound:
    """A bound on the regret of all models of a stream, by its parts.

    Attributes
    ----------
    burn_in, descent, noise, regularizer : float
        The parts; see the module.
    trivial : float
        (n-1)GD, which bounds the regret of any models of the set.
    n : int
        Number of records.
    failure : float
        The probability ζ that the noise exceeds the bound; 0 for a bound in expectation.
    """

    burn_in: float
    descent: float
    noise: float
    regularizer: float
    trivial: float
    n: int
    failure: float

    @property
    def total(self) -> float:
        """The bound on R(n)."""
        return self.burn_in + self.descent + self.noise + self.regularizer

    @property
    def average(self) -> float:
        """The bound on R(n)/(n-1)."""
        return self.total / (self.n - 1)

    @property
    def is_vacuous(self) -> bool:
        """Whether any models of the set, learned or not, satisfy the bound."""
        return self.total >= self.trivial

    def __str__(self) -> str:
        how = f"with probability {1 - self.failure:g}" if self.failure else "in expectation"
        parts = ", ".join(
            f"{name} {getattr(self, name) / (self.n - 1):.4g}"
            for name in ("burn_in", "descent", "noise", "regularizer")
        ).replace("_", "-")
        flag = " VACUOUS: any models of the set have less" if self.is_vacuous else ""
        return f"average regret at most {self.average:.4g} {how} ({parts}).{flag}"


def regret_bound(plan: Plan[Any], problem: Problem, *, failure: float = 0.05) -> RegretBound:
    """Return the bound for a plan of `OnlineDescent` with one record per step and all partners.

    Parameters
    ----------
    plan : Plan
        The plan.
    problem : Problem
        What the regret is measured in: the original problem, before the plan added a regulariser.
    failure : float
        ζ, for noise on models.

    Raises
    ------
    ValueError
        If no bound is proved for the plan.
    """
    between("failure", failure, 1e-100, 1.0)
    algorithm, task, settings = plan.algorithm, plan.task, plan.settings
    if not isinstance(algorithm, OnlineDescent):
        raise ValueError("a bound on the regret is proved for OnlineDescent only")
    if settings.batch_size > 1 or settings.buffer < task.n:
        raise ValueError(
            "a bound on the regret is proved for one record per step, paired with all earlier ones"
        )
    solved, n = plan.problem, task.n
    if not (solved.is_convex and solved.is_bounded):
        raise ValueError("a bound on the regret needs a convex loss and a bounded set")
    radius, diameter = solved.constraint.radius, task.diameter
    at_random = algorithm.random_share(plan)
    far = radius + max(radius if at_random else 0.0, float(np.linalg.norm(solved.center)))
    loss = solved.loss.lipschitz(solved.domain())
    lipschitz = loss + solved.regularization * far
    random = settings.burn_in or 0
    sizes = algorithm.step_sizes(plan)
    etas = sizes[max(1, random) :]  # of the records 2 … n, or of those after the burn-in
    noise = _noise(plan, algorithm, etas, lipschitz, failure)
    added = solved.regularization - problem.regularization
    if solved.loss != problem.loss or added < 0:
        raise ValueError("the problem must be the one that the plan was made for")
    of_problem = loss + problem.regularization * (radius + float(np.linalg.norm(problem.center)))
    return RegretBound(
        burn_in=max(0, random - 1) * lipschitz * diameter,
        descent=_descent(etas, solved.regularization, lipschitz, diameter),
        noise=noise,
        regularizer=(n - 1) * added / 2 * far**2,
        trivial=(n - 1) * of_problem * diameter,
        n=n,
        failure=failure if algorithm.noise == "models" and noise else 0.0,
    )


def _descent(etas: Array, alpha: float, lipschitz: float, diameter: float) -> float:
    grown = np.diff(1 / etas, prepend=0.0) - alpha
    return diameter**2 / 2 * float(np.maximum(grown, 0.0).sum()) + lipschitz**2 / 2 * float(
        etas.sum()
    )


def _noise(
    plan: Plan[Any], algorithm: OnlineDescent, etas: Array, lipschitz: float, failure: float
) -> float:
    (release,) = plan.certificate.releases
    mechanism, task = release.mechanism, plan.task
    if not isinstance(mechanism, GaussianMechanism):
        return 0.0
    p, scale = task.dimension, mechanism.scale
    rounding = mechanism.grid * math.sqrt(p)
    if algorithm.noise == "gradients":
        exact = lipschitz**2 + p * scale**2
        rounded = (math.sqrt(exact) + rounding) ** 2
        biased = etas.size * rounding * task.diameter
        return float(etas.sum()) / 2 * (rounded - lipschitz**2) + biased
    # The models after each step but the last serve a record; rounding is in the same units.
    units = algorithm.units(plan)[-etas.size : -1]
    longest = scale * (math.sqrt(p) + math.sqrt(2 * math.log(task.n / failure))) + rounding
    return lipschitz * float(np.minimum(units * longest, task.diameter).sum())
