r"""The choice of an algorithm for a linear model with a loss of one record.

Candidates are compared by upper bounds on the excess risk of a convex problem with p parameters of
norm at most B, where D is the record diameter, G the Lipschitz constant, L the smoothness and μ the
GDP parameter of the budget:

- noise on each of T gradients of norm up to G costs :math:`B\sqrt{G^2/T + p(D/(nμ))^2}`, or
  :math:`B\sqrt{p}D/(nμ)` and a vanishing term if the loss is smooth;
- noise on the minimiser costs :math:`λB^2/2 + (L/2)p(D/(λnμ))^2`.

The first is smaller for all but very small budgets, and needs δ > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from pairdp.algorithms.choice.candidates import Choice, ModelTask, candidates_for
from pairdp.algorithms.choice.regularization import balanced_regularization
from pairdp.constraints import L2Ball
from pairdp.losses import PointwiseLoss
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, Unit


def choose_linear(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float,
    radius: float,
    loss: PointwiseLoss,
    regularization: float | None = None,
    constant: float = 0.0,
    unit: Unit | None = None,
) -> Choice:
    """Return the candidates for a linear model, from public facts alone.

    Parameters
    ----------
    n, features : int
        The public size of the data, a constant feature included.
    budget : Budget or None
        The privacy budget.
    data_norm, radius : float
        Bounds on rows and on weights.
    loss : PointwiseLoss
        The loss of a record.
    regularization : float, optional
        λ; None to choose it.
    constant : float
        The value of the last feature, if it is the same in all records; 0 if there is none.
    unit : Unit, optional
        What is protected; a single record by default.

    Raises
    ------
    ValueError
        If no algorithm applies: output perturbation needs a convex and smooth loss, gradient
        perturbation needs δ > 0.
    """
    problem = PointwiseProblem(loss, L2Ball(radius), regularization or 0.0, data_norm=data_norm)
    task = LinearTask(n, features, budget, problem, regularization, constant, unit=unit)
    found = candidates_for("linear", task)
    if not found:
        raise ValueError(
            f"{type(loss).__name__} with these parameters has no pure ε-DP algorithm: set "
            "delta > 0, or use a convex and smooth loss without regularization=0"
        )
    return Choice(n, features, budget, found, unit)


@dataclass(frozen=True)
class LinearTask(ModelTask):
    """The public facts of a linear model.

    Attributes
    ----------
    problem : PointwiseProblem
        What is minimised, without a regulariser if λ is to be chosen.
    regularization : float or None
        λ, or None if it is to be chosen.
    constant : float
        The value of a last feature that is the same in all records; 0 if there is none.
    """

    problem: PointwiseProblem
    regularization: float | None = None
    constant: float = 0.0

    @property
    def has_minimizer(self) -> bool:
        """Whether the problem is convex and smooth, and may be regularised."""
        smooth = self.problem.is_convex and self.problem.is_smooth
        return smooth and self.regularization != 0

    def balanced(self) -> float:
        """Return λ as specified, or from `balanced_regularization`."""
        return self.regularization or balanced_regularization(
            self.problem, self.n, self.features, self.budget, self.records
        )

    @property
    def gradient_noise(self) -> float:
        """√p·D/(nμ), approximately the norm of the noise on one released gradient."""
        return self.noise(self.problem.sensitivity(self.n))
