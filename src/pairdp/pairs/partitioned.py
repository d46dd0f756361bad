"""The average loss over all pairs of records that are in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import Total
from pairdp.losses.base import PairwiseLoss
from pairdp.losses.ranking import RankingLoss
from pairdp.pairs.base import check_shape
from pairdp.pairs.ranking import RankingMoments, RankingSums, Slopes, has_small_moments
from pairdp.partitioned_records import PartitionedRecords
from pairdp.records import Records

Array = NDArray[np.float64]


def check_parts(loss: PairwiseLoss) -> None:
    """Raise ValueError for a loss over all pairs that is not a sum over parts of the records."""
    if not isinstance(loss, RankingLoss):
        raise ValueError(
            f"{type(loss).__name__} over all pairs compares records of different parts, and they "
            "are not sent to each other: use WithPairDesign(algorithm), for some pairs of each "
            "record, learn a metric from sums with FisherMetric or ScatterMetric, or fit records "
            "in one place"
        )
    own = type(loss).value is RankingLoss.value and type(loss).gradient is RankingLoss.gradient
    if not own or not has_small_moments(loss):
        raise ValueError(
            f"the sums of {type(loss).__name__} over all pairs need all scores in one place: for "
            "records in parts use LogisticRanking or LeastSquaresRanking, or "
            "WithPairDesign(algorithm) for some pairs of each record"
        )


@dataclass(frozen=True)
class PartitionedRankingRisk:
    """A ranking loss over all pairs of records in parts, in two passes over the parts.

    The first adds up the moments of the classes, the second the contributions of the parts to the
    gradient; see `pairdp.pairs.ranking`.
    """

    loss: RankingLoss
    records: PartitionedRecords

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        sums, moments = self._moments(parameters)
        return sums.value(moments)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient."""
        return self._gradient(*self._moments(parameters))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, from the same moments."""
        sums, moments = self._moments(parameters)
        return sums.value(moments), self._gradient(sums, moments)

    def _moments(self, weights: Array) -> tuple[RankingSums, RankingMoments]:
        check_shape(weights, (self.records.features,))
        sums = RankingSums(self.loss, weights, self.records.n, self.records.data_norm)
        return sums, self.records.map_sum(_moments, sums)

    def _gradient(self, sums: RankingSums, moments: RankingMoments) -> Array:
        total: Total = self.records.map_sum(_gradient, sums, sums.slopes_for(moments))
        return total.high


def _moments(records: Records, sums: RankingSums) -> RankingMoments:
    return sums.moments(records)


def _gradient(records: Records, sums: RankingSums, slopes: Slopes) -> Total:
    return sums.gradient_total(records, slopes)
