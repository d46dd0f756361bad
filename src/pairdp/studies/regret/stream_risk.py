"""Losses of a stream (Huai 2020, equation 3), one step at a time and on average. Not private.

They are L̂_t(w) = Σ_{i<t} h(w; z_t, z_i)/(t-1), h the mean of both orders of a pair. Their average
over t = 2 … n is a weighted average over pairs, with weight 1/(max(i, j)-1) for records i and j.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses import MetricLoss, PairwiseLoss, RankingLoss
from pairdp.pairs import Risk, one_against
from pairdp.records import Records

Array = NDArray[np.float64]
_BLOCK = 256


def stream_risk(loss: PairwiseLoss, records: Records) -> Risk:
    """Return the average of L̂_2 … L̂_n, without the regulariser; O(n²d) time."""
    # A subclass may override the value or the gradient: then both are called.
    own = type(loss)
    for base, kind in ((RankingLoss, _RankingStream), (MetricLoss, _MetricStream)):
        if isinstance(loss, base) and own.value is base.value and own.gradient is base.gradient:
            return kind(loss, records)
    return _AnyStream(loss, records)


def step_loss(loss: PairwiseLoss, parameters: Array, records: Records, t: int) -> float:
    """Return the average loss of the record at index t with the t before it, in both orders.

    Pairs with a null record have the loss zero.
    """
    if records.null[t]:
        return 0.0
    x, y = records.x[:t], records.evaluable[:t]
    mine = np.broadcast_to(records.x[t], x.shape), np.broadcast_to(records.y[t], y.shape)
    values = loss.value(parameters, *mine, x, y)
    if not loss.symmetric:
        values = (values + loss.value(parameters, x, y, *mine)) / 2
    return float(np.mean(np.where(records.null[:t], 0.0, values)))


@dataclass(frozen=True)
class _Stream(ABC):
    """The average loss of a stream of records."""

    loss: PairwiseLoss
    records: Records

    @abstractmethod
    def value(self, parameters: Array) -> float:
        """Return the average loss."""

    @abstractmethod
    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return the average loss and its gradient."""

    def gradient(self, parameters: Array) -> Array:
        return self.value_and_gradient(parameters)[1]


class _AnyStream(_Stream):
    """One record at a time."""

    def value(self, parameters: Array) -> float:
        steps = range(1, self.records.n)
        losses = [step_loss(self.loss, parameters, self.records, t) for t in steps]
        return math.fsum(losses) / len(losses)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        total = np.zeros_like(parameters)
        for t in range(1, self.records.n):
            earlier = self.records.part(slice(0, t))
            total += one_against(self.loss, parameters, self.records, t, earlier) / t
        return self.value(parameters), total / (self.records.n - 1)


class _RankingStream(_Stream):
    """Positives with negatives: the only pairs with a gradient."""

    loss: RankingLoss

    def _blocks(self, parameters: Array) -> Iterator[tuple[slice, Array, Array]]:
        """Yield some positives, margins u of their pairs, and weights that count both orders."""
        up, down = self._places()
        scores = self.loss.scale * (self.records.x @ parameters)
        share = self.loss.orders / 2 / (self.records.n - 1)
        for start in range(0, up.size, _BLOCK):
            rows = slice(start, start + _BLOCK)
            u = scores[up[rows], None] - scores[down]
            yield rows, u, share / np.maximum(up[rows, None], down)

    def _places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.nonzero(self.records.y > 0)[0], np.nonzero(self.records.y < 0)[0]

    def _constant(self) -> float:
        """Return what pairs of equal labels contribute: φ(0) in the two-sided form."""
        if not self.loss.symmetric:
            return 0.0
        # Null records have the label 0: yy' is 1 for equal labels, and y²y'² for any that count.
        y, earlier = self.records.y, np.arange(1, self.records.n)
        signed = y[1:] * np.cumsum(y)[:-1] / earlier
        counted = y[1:] ** 2 * np.cumsum(y**2)[:-1] / earlier
        return float(np.mean(counted + signed) / 2) * float(self.loss.phi(np.zeros(1))[0])

    def value(self, parameters: Array) -> float:
        parts = [float(np.vdot(w, self.loss.phi(u))) for _, u, w in self._blocks(parameters)]
        return math.fsum(parts) + self._constant()

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        up, down = self._places()
        pulls, total = np.zeros(self.records.n), self._constant()
        for rows, u, weights in self._blocks(parameters):
            total += float(np.vdot(weights, self.loss.phi(u)))
            weights *= self.loss.slope(u)
            pulls[up[rows]] += weights.sum(axis=1)
            pulls[down] -= weights.sum(axis=0)
        return total, self.loss.scale * (self.records.x.T @ pulls)


class _MetricStream(_Stream):
    """Distances of blocks of records to all before them, by matrix products."""

    loss: MetricLoss

    def _blocks(
        self, parameters: Array
    ) -> Iterator[tuple[slice, slice, Array, NDArray[np.bool_], Array]]:
        """Yield rows and columns, squared distances, whether labels are equal, and weights."""
        x, y, n, null = self.records.x, self.records.y, self.records.n, self.records.null
        weighted = x @ ((parameters + parameters.T) / 2)
        norms = np.einsum("ij,ij->i", weighted, x)
        for start in range(1, n, _BLOCK):
            rows = slice(start, min(start + _BLOCK, n))
            columns = slice(0, rows.stop)
            squared = norms[rows, None] + norms[columns] - 2 * weighted[rows] @ x[columns].T
            places = np.arange(rows.start, rows.stop)[:, None]
            earlier = np.arange(rows.stop) < places
            earlier &= ~(null[rows, None] | null[columns])
            weights = np.where(earlier, 1 / (places * (n - 1)), 0.0)
            yield rows, columns, squared, y[rows, None] == y[columns], weights

    def value(self, parameters: Array) -> float:
        return math.fsum(
            float(np.vdot(weights, self.loss.of_distance(squared, same)))
            for _, _, squared, same, weights in self._blocks(parameters)
        )

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        x, total = self.records.x, 0.0
        sums, crossed = np.zeros(self.records.n), np.zeros_like(parameters)
        for rows, columns, squared, same, weights in self._blocks(parameters):
            total += float(np.vdot(weights, self.loss.of_distance(squared, same)))
            weights *= self.loss.slope(squared, same)
            sums[rows] += weights.sum(axis=1)
            sums[columns] += weights.sum(axis=0)
            crossed += x[rows].T @ (weights @ x[columns])
        return total, (x.T * sums) @ x - crossed - crossed.T
