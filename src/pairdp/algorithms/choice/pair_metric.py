"""The choice of an algorithm for a metric that is learned from given pairs."""

from __future__ import annotations

from pairdp.algorithms.choice.candidates import Candidate, Choice, candidates_for
from pairdp.algorithms.choice.linear import LinearTask
from pairdp.algorithms.pair_scatter import PairScatter
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import PairMetricLoss
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, Unit


def choose_pair_metric(
    n: int,
    features: int,
    budget: Budget | None,
    *,
    data_norm: float,
    radius: float,
    loss: PairMetricLoss | None = None,
    regularization: float | None = None,
    unit: Unit | None = None,
) -> Choice:
    """Return the candidates for a metric from given pairs, from public facts alone.

    Without a loss it is `PairScatter`, whose one release of two scatters needs less noise than any
    descent. A loss is minimised by the algorithms for losses of one record, as in
    `pairdp.algorithms.choice.linear`.

    Parameters
    ----------
    n, features : int
        The public numbers of pairs and of features.
    budget : Budget or None
        The privacy budget.
    data_norm, radius : float
        Bounds on differences and on the metric.
    loss : PairMetricLoss, optional
        The loss to minimise, if one must be.
    regularization : float, optional
        λ; None to choose it.
    unit : Unit, optional
        What is protected; a single pair by default.

    Raises
    ------
    ValueError
        If no algorithm applies to the loss: see `choose_linear`.
    """
    problem = PointwiseProblem(
        loss or PairMetricLoss(),
        PSDFrobeniusBall(radius),
        regularization or 0.0,
        data_norm=data_norm,
    )
    if loss is None:
        reason = "the scatters of pairs are released once, and the rest is post-processing"
        scatter = Candidate(problem, PairScatter(), 0.0, reason)
        return Choice(n, features, budget, (scatter,), unit)
    task = LinearTask(n, features, budget, problem, regularization, unit=unit)
    found = candidates_for("linear", task)
    if not found:
        raise ValueError(
            f"{type(loss.metric).__name__} with these parameters has no pure ε-DP algorithm: set "
            "delta > 0, or use a convex and smooth loss without regularization=0"
        )
    return Choice(n, features, budget, found, unit)
