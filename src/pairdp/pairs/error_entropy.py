"""The average over all pairs of the minimum error entropy loss, and its gradient, in O(n) time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.minimum_error_entropy import MinimumErrorEntropy
from pairdp.pairs.base import check_shape
from pairdp.pairs.ranking import combined_rows
from pairdp.records import Records
from pairdp.score_sums.base import Index, ScoreSums

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorEntropyRisk:
    r"""Minimum error entropy over all pairs.

    The sums of φ(e - e') over all pairs of n errors are those over the positive-negative pairs of
    2n scores: every error once as a positive and once as a negative.
    ∇L(w) = Xᵀc with c_i = -2/(hn(n-1))·Σ_j φ'(e_i - e_j).
    """

    loss: MinimumErrorEntropy
    records: Records

    def _twice(self, weights: Array) -> tuple[ScoreSums, Array, Index]:
        """Return the sums and the errors in units of h, first as positives, then as negatives."""
        records, loss = self.records, self.loss
        check_shape(weights, (records.features,))
        errors = np.asarray((records.y - records.x @ weights) / loss.bandwidth)
        if records.has_null:
            errors = errors[~records.null]
        low, high = (float(errors.min()), float(errors.max())) if errors.size else (0.0, 0.0)
        sums = loss.structure().sums(loss.phi, loss.slope, low, high, 2 * records.n)
        return sums, np.tile(errors, 2), np.repeat(np.array([1, 0], dtype=np.intp), errors.size)

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        sums, errors, positive = self._twice(parameters)
        n = self.records.n
        return sums.total(sums.moments(errors, positive)) / (n * (n - 1))

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, Xᵀc."""
        sums, errors, positive = self._twice(parameters)
        if not errors.size:  # all records are null
            return np.zeros(self.records.features)
        n = self.records.n
        slopes = sums.all_slopes(errors, positive)[: errors.size // 2]
        return combined_rows(self.records, -2 / (self.loss.bandwidth * n * (n - 1)) * slopes)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)
