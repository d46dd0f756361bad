r"""Regret of the models of a stream (Huai 2020, equations 3 to 5).

.. math:: R(n) = Σ_{t=2}^n L̂_t(w_{t-1}) - \min_{w∈C} Σ_{t=2}^n L̂_t(w), \quad
    L̂_t(w) = \frac1{t-1} Σ_{i<t} h(w; z_t, z_i) + \frac{λ}{2}|w - w_0|^2,

h the mean of both orders of a pair. All of these are statistics of the data, **not private**: for
studies, on data that is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, positive
from pairdp.pairs import risk
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.studies.regret.best_fixed import best_fixed
from pairdp.studies.regret.stream_risk import step_loss, stream_risk

Array = NDArray[np.float64]
TOLERANCE = 1e-5
"""How near to the least average loss the best fixed model is sought."""


@dataclass(frozen=True, eq=False)
class Regret:
    """How much more the models of a stream lost than the best fixed one. Not private.

    Attributes
    ----------
    losses, best_losses : arrays of shape (n-1,)
        What the model before each of the records 2 … n lost on it, and what ``best`` loses.
    best : array
        The best fixed model in hindsight.
    gap : float
        Proved accuracy of ``best``: the true regret is at least `total` and at most that plus gap.
        Infinite where nothing is proved: on unbounded sets without a regulariser.
    """

    losses: Array
    best_losses: Array
    best: Array
    gap: float

    @property
    def cumulative(self) -> Array:
        """What was lost more up to each record; the last of them is the regret."""
        return np.cumsum(self.losses - self.best_losses)

    @property
    def total(self) -> float:
        """R(n)."""
        return float(self.cumulative[-1])

    @property
    def average(self) -> float:
        """R(n)/(n-1)."""
        return self.total / self.losses.size


def regret(
    problem: Problem,
    records: Records,
    models: ArrayLike,
    *,
    batch_size: int = 1,
    tolerance: float = TOLERANCE,
) -> Regret:
    """Return the regret of the models of a stream (equation 4). Not private.

    Parameters
    ----------
    problem : Problem
        The losses, the regulariser and the set of fixed models.
    records : Records
        The stream, in its order.
    models : array of shape (steps, ...)
        The model after each batch; a model serves until the next one comes, and zero before.
    batch_size : int
        How many records a batch has; the last may have fewer.
    tolerance : float
        How near to the least average loss the best fixed model is sought. It takes O(n²d) time a
        step: seconds for 2000 records. A sharp hinge may end up less near; ``gap`` tells.
    """
    problem.check_records(records)
    n = integer("number of records", records.n, at_least=2)
    path = _checked(problem, records.features, models, n, batch_size)
    losses = np.array(
        [
            step_loss(problem.loss, _before(problem, path, t, batch_size), records, t)
            + _penalty(problem, _before(problem, path, t, batch_size))
            for t in range(1, n)
        ]
    )
    best = best_fixed(
        problem,
        records.features,
        lambda loss: stream_risk(loss, records),
        positive("tolerance", tolerance),
    )
    found = [step_loss(problem.loss, best.parameters, records, t) for t in range(1, n)]
    best_losses = np.array(found) + _penalty(problem, best.parameters)
    return Regret(losses, best_losses, best.parameters, best.gap * (n - 1))


def generalized_regret(
    problem: Problem,
    held_out: Records,
    models: ArrayLike,
    *,
    batch_size: int = 1,
    n: int | None = None,
    tolerance: float = TOLERANCE,
) -> Regret:
    """Return the regret in risk, with that of held-out records as L_P (equation 5). Not private.

    Parameters
    ----------
    problem, models, batch_size, tolerance
        See `regret`.
    held_out : Records
        Records that the models did not learn from; the risk is over all their pairs, with the
        regulariser.
    n : int, optional
        How many records the stream had; by default all batches were full.
    """
    problem.check_records(held_out)
    count = len(np.asarray(models)) * integer("batch_size", batch_size) if n is None else n
    path = _checked(problem, held_out.features, models, integer("n", count, at_least=2), batch_size)
    average = problem.risk(held_out)
    # Each model once: with batches it serves many records.
    start = problem.constraint.initial(held_out.features)
    values = np.array([average.value(w) + _penalty(problem, w) for w in (start, *path)])
    losses = values[np.arange(1, count) // batch_size]
    best = best_fixed(
        problem,
        held_out.features,
        lambda loss: risk(loss, held_out),
        positive("tolerance", tolerance),
    )
    gap = best.gap * (count - 1)
    return Regret(losses, np.full(count - 1, best.value), best.parameters, gap)


def _before(problem: Problem, path: Array, t: int, batch_size: int) -> Array:
    """Return the model that was there after t records."""
    done = t // batch_size
    return np.asarray(path[done - 1] if done else problem.constraint.initial(path.shape[1]))


def _penalty(problem: Problem, parameters: Array) -> float:
    shift = parameters - problem.center
    return problem.regularization / 2 * float(np.vdot(shift, shift))


def _checked(problem: Problem, features: int, models: ArrayLike, n: int, batch_size: int) -> Array:
    steps = -(-n // integer("batch_size", batch_size))
    shape = (steps, *problem.constraint.initial(features).shape)
    path = np.asarray(models, dtype=np.float64)
    if path.shape != shape or not np.all(np.isfinite(path)):
        raise ValueError(
            f"{n} records in batches of {batch_size} need finite models of shape {shape}, got "
            f"shape {path.shape}"
        )
    return path
