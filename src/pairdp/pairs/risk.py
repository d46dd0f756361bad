"""The average loss over pairs and its gradient, by the fastest exact method for the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp.engines.scratch import Scratch
from pairdp.losses.base import PairwiseLoss
from pairdp.losses.bilinear_similarity import BilinearSimilarity
from pairdp.losses.graded_ranking import GradedRanking
from pairdp.losses.metric import MetricLoss
from pairdp.losses.minimum_error_entropy import MinimumErrorEntropy
from pairdp.losses.ranking import RankingLoss
from pairdp.pairs.base import Risk, check_shape
from pairdp.pairs.block_design import BlockDesign
from pairdp.pairs.blocked import design_gradient, design_value
from pairdp.pairs.design import PairDesign
from pairdp.pairs.design_in_parts import BlockDesignRisk
from pairdp.pairs.error_entropy import ErrorEntropyRisk
from pairdp.pairs.graded import GradedRisk
from pairdp.pairs.metric import metric_gradient, metric_value, metric_value_and_gradient
from pairdp.pairs.partitioned import PartitionedRankingRisk, check_parts
from pairdp.pairs.ranking import (
    RankingMoments,
    RankingSums,
    average_loss,
    gradient_of_slopes,
    has_small_moments,
    in_classes,
    score_sums,
)
from pairdp.pairs.similarity import SimilarityRisk
from pairdp.partitioned_records import PartitionedRecords
from pairdp.records import Records
from pairdp.score_sums.base import Index, ScoreSums

Array = NDArray[np.float64]


def risk(
    loss: PairwiseLoss,
    records: Records | PartitionedRecords,
    design: PairDesign | BlockDesign | None = None,
) -> Risk:
    """Return the average loss over all n(n-1) ordered pairs, or over a design.

    Pairs with a null record are included in the average, with value and gradient zero.

    Parameters
    ----------
    loss : PairwiseLoss
        The time is O(n) or O(n log n) for a ranking loss, depending on its structure (O(n²) for
        `AllPairs`), O(n²) for a graded response unless the loss is quadratic, O(n) for minimum
        error entropy, O(n²d) for a metric or a similarity, and O(n²) evaluations for any other; the
        memory is O(nd).
    records : Records or PartitionedRecords
        The data. Records in parts need a ranking loss whose sums have small moments, or a
        `BlockDesign`.
    design : PairDesign or BlockDesign, optional
        The pairs to average over, in O(nm) time; must be drawn before the data is read.
    """
    if records.n < 2:
        raise ValueError(f"a pair needs two records, got n = {records.n}")
    if loss.binary and not records.binary:
        raise ValueError(
            f"{type(loss).__name__} needs labels -1 and +1, and these records have class "
            "names: make them with binary=True, or with problem.records(x, y)"
        )
    if isinstance(design, BlockDesign):
        return BlockDesignRisk.of(loss, records, design)
    if isinstance(records, PartitionedRecords):
        return _risk_in_parts(loss, records, design)
    if design is not None:
        if design.n != records.n:
            raise ValueError(
                f"the design is for n = {design.n} records, there are {records.n}: "
                f"draw it with PairDesign.draw({records.n}, ...)"
            )
        return DesignRisk(loss, records, design)
    # For a subclass that overrides value or gradient, its own formulas are used.
    if isinstance(loss, RankingLoss) and _inherits(loss, RankingLoss.value, RankingLoss.gradient):
        return RankingRisk(loss, records)
    if isinstance(loss, MetricLoss) and _inherits(loss, MetricLoss.value, MetricLoss.gradient):
        return MetricRisk(loss, records)
    if type(loss) in _RISKS:
        return _RISKS[type(loss)](loss, records)
    return DesignRisk(loss, records, PairDesign.complete(records.n))


def _risk_in_parts(
    loss: PairwiseLoss, records: PartitionedRecords, design: PairDesign | None
) -> Risk:
    check_parts(loss)
    if design is not None or not isinstance(loss, RankingLoss):
        raise ValueError("records in parts need a BlockDesign, or none for a ranking loss")
    return PartitionedRankingRisk(loss, records)


def _inherits(loss: PairwiseLoss, value: object, gradient: object) -> bool:
    return type(loss).value is value and type(loss).gradient is gradient


@dataclass(frozen=True)
class RankingRisk:
    """A ranking loss over all pairs; see `pairdp.pairs.ranking` for the formulas.

    If its sums have small moments, the records are read in blocks, which are scored and added up
    while they are in the cache, and the scores are kept for the second pass and the next gradient.
    Otherwise all scores are sorted at once.
    """

    loss: RankingLoss
    records: Records

    @cached_property
    def _kept(self) -> Records | None:
        """The records with a `Scratch` for their scores; None if scores are needed at once."""
        if not has_small_moments(self.loss):
            return None
        own = self.records
        return Records.of_arrays(own.facts, own.x, own.y, own.null, own.keys, scratch=Scratch())

    def _in_blocks(self, weights: Array) -> tuple[RankingSums, RankingMoments]:
        check_shape(weights, (self.records.features,))
        sums = RankingSums(
            self.loss, weights, self.records.n, self.records.data_norm, in_parts=False
        )
        return sums, sums.moments(self._records)

    @property
    def _records(self) -> Records:
        return self._kept or self.records

    def _sums(self, weights: Array) -> tuple[ScoreSums, Array, Index]:
        """Return the sums, the scaled scores, and which are those of positives."""
        check_shape(weights, (self.records.features,))
        scores = np.asarray(self.records.x @ (self.loss.scale * weights))
        u, positive = in_classes(self.records, scores)
        low, high = (float(u.min()), float(u.max())) if u.size else (0.0, 0.0)
        return score_sums(self.loss, low, high, self.records.n), u, positive

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        if self._kept is not None:
            of_blocks, found = self._in_blocks(parameters)
            return of_blocks.value(found)
        sums, u, positive = self._sums(parameters)
        moments = sums.moments(u, positive)
        return average_loss(self.loss, sums.total(moments), moments, self.records.n)

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, Xᵀc."""
        if self._kept is not None:
            of_blocks, found = self._in_blocks(parameters)
            return of_blocks.gradient(self._records, found)
        sums, u, positive = self._sums(parameters)
        if not u.size:  # all records are null
            return np.zeros(self.records.features)
        return self._gradient(sums.all_slopes(u, positive))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, from the same moments."""
        if self._kept is not None:
            of_blocks, found = self._in_blocks(parameters)
            return of_blocks.value(found), of_blocks.gradient(self._records, found)
        sums, u, positive = self._sums(parameters)
        moments = sums.moments(u, positive)
        value = average_loss(self.loss, sums.total(moments), moments, self.records.n)
        return value, self._gradient(sums.slopes(u, positive, moments))

    def _gradient(self, slopes: Array) -> Array:
        return gradient_of_slopes(self.loss, self.records, slopes, self.records.n)


@dataclass(frozen=True)
class MetricRisk:
    """A metric loss over all pairs, in blocks."""

    loss: MetricLoss
    records: Records

    def _data(self, matrix: Array) -> tuple[MetricLoss, Array, Array, Array]:
        check_shape(matrix, (self.records.features,) * 2)
        return self.loss, matrix, self.records.x, self.records.y

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        return metric_value(*self._data(parameters), null=_null(self.records))

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient, a symmetric matrix."""
        return metric_gradient(*self._data(parameters), null=_null(self.records))

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, from the same distances."""
        return metric_value_and_gradient(*self._data(parameters), null=_null(self.records))


@dataclass(frozen=True)
class DesignRisk:
    """Any loss over the pairs of a design, both orders of each."""

    loss: PairwiseLoss
    records: Records
    design: PairDesign

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        records, null = self.records, _null(self.records)
        return design_value(
            self.loss, parameters, records.x, records.evaluable, self.design, null=null
        )

    def gradient(self, parameters: Array) -> Array:
        """Return its gradient."""
        records, null = self.records, _null(self.records)
        return design_gradient(
            self.loss, parameters, records.x, records.evaluable, self.design, null=null
        )

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)


def _null(records: Records) -> NDArray[np.bool_] | None:
    """Return which records are null, or None if there are none."""
    return records.null if records.has_null else None


_RISKS: dict[type[PairwiseLoss], Callable[[Any, Records], Risk]] = {
    GradedRanking: GradedRisk,
    MinimumErrorEntropy: ErrorEntropyRisk,
    BilinearSimilarity: SimilarityRisk,
}
