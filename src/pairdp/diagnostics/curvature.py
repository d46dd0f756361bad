r"""The gradient of every record's terms, and the Hessian of the risk.

With L the risk, a record i contributes to its gradient

.. math:: g_i = \frac{1}{n(n-1)} Σ_{j≠i} (∇ℓ(w;z_i,z_j) + ∇ℓ(w;z_j,z_i)),

or ∇ℓ(w;z_i)/n if the loss is one of single records. If z_i becomes a null record, the gradient of
the risk changes by exactly -g_i.

For a ranking loss, u = k·Xw, and m orders of a pair that have a gradient, the partner sums V, S of
φ' and T, r of φ'' over rows x and over ones give

.. math::
    g_i = ± \frac{mk}{n(n-1)} (S_i x_i - V_i), \qquad
    ∇²L\,v = \frac{mk²}{n(n-1)} Xᵀ(r ∘ t - Ct), \quad t = Xv,

where C has the entries φ''(u_i - u_j). For any other loss, products with the Hessian are
differences of gradients of order four. Symmetric matrices are packed into vectors of d(d+1)/2
numbers, with the same inner product.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.plan import Progress
from pairdp.diagnostics.partner_sums import Derivative, partner_sums
from pairdp.losses import Domain
from pairdp.pairs import Risk, one_against
from pairdp.pairs.ranking import in_classes
from pairdp.pairs.risk import RankingRisk
from pairdp.pointwise_problem import RecordRisk
from pairdp.privacy import pack, unpack
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_STEP = 1e-3
_BLOCK = 2048


class Curvature(ABC):
    """Gradients of records and products with the Hessian of the risk, at one parameter.

    The regulariser is not part of them. All vectors are packed.
    """

    @abstractmethod
    def record_gradients(self, progress: Progress) -> Array:
        """Return g_i of every record, of shape (n, p); zero for null records."""

    @abstractmethod
    def product(self, vector: Array) -> Array:
        """Return ∇²L·v."""

    def hessian(self, size: int, progress: Progress) -> Array:
        """Return ∇²L, of shape (p, p)."""
        unit = np.eye(size)
        columns = [self.product(unit[k]) for k in progress.steps(size, "Hessian")]
        return np.asarray((np.array(columns) + np.transpose(columns)) / 2)


def curvature_at(problem: Problem, records: Records, parameters: Array) -> Curvature:
    """Return the fastest curvature for the loss of a problem.

    Raises
    ------
    ValueError
        If the loss is not smooth.
    """
    if not math.isfinite(problem.loss.smoothness(_around(problem, parameters))):
        raise ValueError(
            f"{type(problem.loss).__name__} has no Hessian everywhere: use a smooth loss, such as "
            "the logistic one or a hinge with a width"
        )
    risk = problem.risk(records)
    if isinstance(risk, RankingRisk):
        return RankingCurvature(risk, parameters)
    return GradientDifferences(problem, risk, records, parameters)


def _around(problem: Problem, parameters: Array) -> Domain:
    """Return the domain of parameters not much larger than these."""
    return problem.domain(float(np.linalg.norm(parameters)) + 1 / problem.data_norm)


class RankingCurvature(Curvature):
    """A ranking loss over all pairs, by sums over partners: O(n) for analytic losses."""

    def __init__(self, risk: RankingRisk, weights: Array) -> None:
        self._loss, self._records = risk.loss, risk.records
        scores = np.asarray(risk.records.x @ (risk.loss.scale * weights))
        self._u, self._positive = in_classes(risk.records, scores)
        self._x = risk.records.x[~risk.records.null] if risk.records.has_null else risk.records.x
        self._factor = risk.loss.orders * risk.loss.scale / (risk.records.n * (risk.records.n - 1))

    def _sums(self, derivative: Derivative, rows: Array) -> Array:
        return partner_sums(self._loss, derivative, self._u, self._positive, rows)

    def record_gradients(self, progress: Progress) -> Array:
        """Return ±(S_i x_i - V_i), scaled."""
        sums = self._sums(1, np.column_stack([self._x, np.ones(len(self._x))]))
        found = sums[:, -1:] * self._x - sums[:, :-1]
        found *= np.where(self._positive, self._factor, -self._factor)[:, None]
        gradients = np.zeros(self._records.x.shape)
        gradients[~self._records.null] = found
        return gradients

    @cached_property
    def _row_sums(self) -> Array:
        """The sums r of φ'' over the partners of each record."""
        return self._sums(2, np.ones((len(self._x), 1)))[:, 0]

    def product(self, vector: Array) -> Array:
        """Return Xᵀ(r ∘ t - Ct), scaled."""
        t = self._x @ vector
        coefficients = self._row_sums * t - self._sums(2, t[:, None])[:, 0]
        return np.asarray(self._factor * self._loss.scale * (self._x.T @ coefficients))

    def hessian(self, size: int, progress: Progress) -> Array:
        """Return the same for all unit vectors, from sums of whole rows."""
        x, r = self._x, self._row_sums[:, None]
        found = x.T @ (r * x - self._sums(2, x))
        return np.asarray(self._factor * self._loss.scale * (found + found.T) / 2)


class GradientDifferences(Curvature):
    """Any smooth loss, by differences of gradients of its risk."""

    def __init__(self, problem: Problem, risk: Risk, records: Records, parameters: Array) -> None:
        self._problem, self._risk, self._records, self._at = problem, risk, records, parameters
        domain = _around(problem, parameters)
        loss = problem.loss
        length = loss.lipschitz(domain) / max(loss.smoothness(domain), 1e-300)
        self._step = _STEP * (length if math.isfinite(length) and length > 0 else 1.0)

    def record_gradients(self, progress: Progress) -> Array:
        """Return the gradients of all records, one after the other."""
        records, loss = self._records, self._problem.loss
        if isinstance(self._risk, RecordRisk):
            parts = [records.part(slice(k, k + _BLOCK)) for k in range(0, records.n, _BLOCK)]
            found = [self._risk.loss.gradient(self._at, part.x, part.evaluable) for part in parts]
            return np.where(records.null[:, None], 0.0, np.concatenate(found)) / records.n
        scale, rows = 2 / (records.n * (records.n - 1)), []
        for i in progress.steps(records.n, "gradients of records"):
            others = np.ones(records.n)
            others[i] = 0.0
            total = one_against(loss, self._at, records, i, records, others)
            rows.append(scale * packed(total))
        return np.array(rows)

    def product(self, vector: Array) -> Array:
        """Return the derivative of the gradient in this direction."""
        size = float(np.linalg.norm(vector))
        if size == 0:
            return np.zeros_like(vector)
        h = self._step / size
        direction = unpack(vector) if self._at.ndim == 2 else vector

        def difference(multiple: float) -> Array:
            shift = multiple * h * direction
            above = self._risk.gradient(self._at + shift)
            return packed(above - self._risk.gradient(self._at - shift))

        return (8 * difference(1.0) - difference(2.0)) / (12 * h)


def packed(parameters: Array) -> Array:
    """Return parameters as a vector; a symmetric matrix with the same inner product."""
    return pack(parameters) if np.ndim(parameters) == 2 else np.asarray(parameters)
