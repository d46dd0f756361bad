"""The average over all pairs of a ranking loss with graded responses, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.losses.graded_ranking import GradedRanking
from pairdp.pairs.base import check_shape
from pairdp.pairs.ranking import combined_rows
from pairdp.records import Records
from pairdp.score_sums.graded import GradedSums, graded_sums

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GradedRisk:
    r"""A graded ranking loss over all pairs.

    ∇L(w) = Xᵀc with c_i = 2/(τn(n-1))·Σ_j (y_i - y_j)·φ'(u_ij), u_ij = (y_i - y_j)(s_i - s_j), and
    the scores s = Xw/τ. Null records are removed after all scores are computed, so that no other
    score depends on their positions.
    """

    loss: GradedRanking
    records: Records

    @property
    def _sums(self) -> GradedSums:
        loss, ranking = self.loss, self.loss.ranking
        levels = None
        if loss.levels is not None:
            levels = loss.rounded(loss.label_bound * np.linspace(-1, 1, loss.levels))
        return graded_sums(ranking.structure(), ranking.phi, ranking.slope, levels)

    def _present(self, weights: Array) -> tuple[Array, Array]:
        """Return scores and responses of the records that are not null."""
        records = self.records
        check_shape(weights, (records.features,))
        scores = np.asarray(records.x @ (weights / self.loss.ranking.temperature))
        responses = self.loss.rounded(records.y)
        if not records.has_null:
            return scores, responses
        return scores[~records.null], responses[~records.null]

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        n = self.records.n
        return self._sums.total(*self._present(parameters)) / (n * (n - 1))

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, Xᵀc."""
        n = self.records.n
        factor = 2 / (self.loss.ranking.temperature * n * (n - 1))
        slopes = self._sums.slopes(*self._present(parameters))
        return combined_rows(self.records, factor * slopes)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)
