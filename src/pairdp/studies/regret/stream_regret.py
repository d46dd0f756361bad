r"""Regret of the models of a stream (Huai 2020, equations 3 to 5).

.. math:: R(n) = Σ_{t=2}^n L̂_t(w_{t-1}) - \min_{w∈C} Σ_{t=2}^n L̂_t(w), \quad
    L̂_t(w) = \frac1{t-1} Σ_{i<t} h(w; z_t, z_i) + \frac{λ}{2}|w - w_0|^2,

h the mean of both orders of a pair. All of these are statistics of the data, **not private**: for
studies on public data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, positive
from pairdp.pairs import risk
from pairdp.problem import Problem
from pairdp.records import Records
from pairdp.studies.regret.best_fixed import best_fixed, penalty
from pairdp.studies.regret.stream_risk import step_loss, stream_risk

Array = NDArray[np.float64]
TOLERANCE = 1e-5
"""The tolerance of the best fixed model, in average loss."""


@dataclass(frozen=True, eq=False)
class Regret:
    """The loss of a stream's models in excess of the best fixed model. Not private.

    Attributes
    ----------
    losses, best_losses : arrays of shape (n-1,)
        The loss on each of the records 2 … n, of the model before it and of ``best``.
    best : array
        The best fixed model in hindsight.
    gap : float
        The regret is at least `total` and at most `total` + gap. Infinite if nothing is proved, as
        on unbounded sets without a regulariser.
    """

    losses: Array
    best_losses: Array
    best: Array
    gap: float

    @property
    def cumulative(self) -> Array:
        """The excess loss up to each record; the last one is the regret."""
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
        The model after each batch, used until the next one; before the first, zero is used.
    batch_size : int
        Number of records in a batch; the last may have fewer.
    tolerance : float
        The tolerance of the best fixed model, in average loss. A step takes O(n²d) time: seconds
        for 2000 records. For a sharp hinge it may not be reached; see ``gap``.
    """
    problem.check_records(records)
    n = integer("number of records", records.n, at_least=2)
    path = _checked(problem, records.features, models, n, batch_size)
    served = [_model_before(problem, path, t, batch_size) for t in range(1, n)]
    losses = np.array(
        [
            step_loss(problem.loss, w, records, t) + penalty(problem, w)
            for t, w in enumerate(served, 1)
        ]
    )
    best = best_fixed(
        problem,
        records.features,
        lambda loss: stream_risk(loss, records),
        positive("tolerance", tolerance),
    )
    found = [step_loss(problem.loss, best.parameters, records, t) for t in range(1, n)]
    best_losses = np.array(found) + penalty(problem, best.parameters)
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
    """Return the regret in risk, estimated on held-out records (equation 5). Not private.

    Parameters
    ----------
    problem, models, batch_size, tolerance
        See `regret`.
    held_out : Records
        Records that no model was fitted to; the risk is over all their pairs, with the regulariser.
    n : int, optional
        Number of records in the stream; by default all batches are full.
    """
    problem.check_records(held_out)
    count = len(np.asarray(models)) * integer("batch_size", batch_size) if n is None else n
    path = _checked(problem, held_out.features, models, integer("n", count, at_least=2), batch_size)
    average = problem.risk(held_out)
    # Each model once: in batches it is used for many records.
    start = problem.constraint.initial(held_out.features)
    values = np.array([average.value(w) + penalty(problem, w) for w in (start, *path)])
    losses = values[np.arange(1, count) // batch_size]
    best = best_fixed(
        problem,
        held_out.features,
        lambda loss: risk(loss, held_out),
        positive("tolerance", tolerance),
    )
    gap = best.gap * (count - 1)
    return Regret(losses, np.full(count - 1, best.value), best.parameters, gap)


def _model_before(problem: Problem, path: Array, t: int, batch_size: int) -> Array:
    """Return the model after t records."""
    done = t // batch_size
    return np.asarray(path[done - 1] if done else problem.constraint.initial(path.shape[1]))


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
