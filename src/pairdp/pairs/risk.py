"""The average loss over pairs and its gradient, by the fastest exact way for the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.base import PairwiseLoss
from pairdp.losses.metric import MetricLoss
from pairdp.losses.ranking import RankingLoss
from pairdp.pairs.blocked import (
    all_pairs_gradient,
    all_pairs_value,
    design_gradient,
    design_value,
)
from pairdp.pairs.design import PairDesign
from pairdp.pairs.metric import metric_gradient, metric_value, metric_value_and_gradient
from pairdp.pairs.products import weighted_rows
from pairdp.pairs.ranking import all_slopes, average_loss, coefficients, score_sums
from pairdp.records import Records

Array = NDArray[np.float64]

ACCURACY = 1e-12
"""Stated accuracy of the gradients of all risks: the norm of the error of summing, over G.

The sum is of what each pair, by itself, is computed to be: at the corner of a hinge that is
one subgradient or another, decided by the pair alone. So neighbouring data sets differ in
the pairs of one record and in the errors of two sums; sensitivities of computed gradients
include those. It holds for n up to 10¹⁰: all sums are made in two levels whose error does not
grow with n (`pairdp._sums`). What the tests find is at least ten times smaller."""


class Risk(Protocol):
    """The average loss over pairs of some records."""

    def value(self, parameters: Array) -> float:
        """Return the average loss."""

    def gradient(self, parameters: Array) -> Array:
        """Return its (sub)gradient."""

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, sharing what work they share."""


def risk(loss: PairwiseLoss, records: Records, design: PairDesign | None = None) -> Risk:
    """Return the average loss over all n(n-1) ordered pairs, or over a design.

    Parameters
    ----------
    loss : PairwiseLoss
        A ranking loss costs O(n) or O(n log n) time when it declares its structure, a metric
        loss O(n²d), any other O(n²) evaluations; memory is O(nd) always.
    records : Records
        The data.
    design : PairDesign, optional
        Average over its pairs only, in O(nm) time; drawn before the data was read.
    """
    if records.n < 2:
        raise ValueError(f"a pair needs two records, got n = {records.n}")
    if loss.binary and not records.binary:
        raise ValueError(
            f"{type(loss).__name__} needs labels -1 and +1, and these records only name "
            "classes: make them with binary=True, or with problem.records(x, y)"
        )
    if design is not None:
        if design.n != records.n:
            raise ValueError(
                f"the design is for n = {design.n} records, there are {records.n}: "
                f"draw it with PairDesign.draw({records.n}, ...)"
            )
        return DesignRisk(loss, records, design)
    # A subclass with a value or a gradient of its own is taken at its word.
    if isinstance(loss, RankingLoss) and _keeps(loss, RankingLoss.value, RankingLoss.gradient):
        return RankingRisk(loss, records)
    if isinstance(loss, MetricLoss) and _keeps(loss, MetricLoss.value, MetricLoss.gradient):
        return MetricRisk(loss, records)
    return BlockedRisk(loss, records)


def _keeps(loss: PairwiseLoss, value: object, gradient: object) -> bool:
    return type(loss).value is value and type(loss).gradient is gradient


@dataclass(frozen=True)
class RankingRisk:
    """A ranking loss over all pairs; see `pairdp.pairs.ranking` for the formulas."""

    loss: RankingLoss
    records: Records

    def _scaled(self, weights: Array) -> Array:
        _check_shape(weights, (self.records.features,))
        return np.asarray(self.records.x @ (self.loss.scale * weights))

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        u, n = self._scaled(parameters), self.records.n
        sums = score_sums(self.loss, float(u.min()), float(u.max()), n)
        moments = sums.moments(u, self.records.positive)
        return average_loss(self.loss, sums.total(moments), moments, n)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, Xᵀc."""
        u, n, positive = self._scaled(parameters), self.records.n, self.records.positive
        sums = score_sums(self.loss, float(u.min()), float(u.max()), n)
        slopes = all_slopes(sums, u, positive)
        return weighted_rows(self.records.x, coefficients(self.loss, slopes, positive, n))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, from the same moments."""
        u, n, positive = self._scaled(parameters), self.records.n, self.records.positive
        sums = score_sums(self.loss, float(u.min()), float(u.max()), n)
        moments = sums.moments(u, positive)
        value = average_loss(self.loss, sums.total(moments), moments, n)
        slopes = sums.slopes(u, positive, moments)
        return value, weighted_rows(self.records.x, coefficients(self.loss, slopes, positive, n))


@dataclass(frozen=True)
class MetricRisk:
    """A metric loss over all pairs, in blocks."""

    loss: MetricLoss
    records: Records

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        _check_shape(parameters, (self.records.features,) * 2)
        return metric_value(self.loss, parameters, self.records.x, self.records.y)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, a symmetric matrix."""
        _check_shape(parameters, (self.records.features,) * 2)
        return metric_gradient(self.loss, parameters, self.records.x, self.records.y)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, from the same distances."""
        _check_shape(parameters, (self.records.features,) * 2)
        return metric_value_and_gradient(self.loss, parameters, self.records.x, self.records.y)


@dataclass(frozen=True)
class BlockedRisk:
    """Any loss over all pairs, one by one in blocks."""

    loss: PairwiseLoss
    records: Records

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        return all_pairs_value(self.loss, parameters, self.records.x, self.records.y)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient."""
        return all_pairs_gradient(self.loss, parameters, self.records.x, self.records.y)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, one after the other."""
        return self.value(parameters), self.gradient(parameters)


@dataclass(frozen=True)
class DesignRisk:
    """Any loss over the pairs of a design, both orders of each."""

    loss: PairwiseLoss
    records: Records
    design: PairDesign

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        records = self.records
        return design_value(self.loss, parameters, records.x, records.y, self.design)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient."""
        records = self.records
        return design_gradient(self.loss, parameters, records.x, records.y, self.design)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, one after the other."""
        return self.value(parameters), self.gradient(parameters)


def _check_shape(parameters: Array, shape: tuple[int, ...]) -> None:
    if np.shape(parameters) != shape:
        raise ValueError(
            f"the parameter must have shape {shape} for these records, got {np.shape(parameters)}"
        )
    if not np.all(np.isfinite(parameters)):
        raise ValueError("the parameter must be finite")
