r"""A ranking risk and its gradient over all pairs, as a map-reduce over parts of the records.

With positives i and negatives j, n₊n₋ pairs, k the scale of the loss and m its orders,

.. math::
    L(w) &= \frac{m Σ_{ij} φ(k wᵀ(x_i - x_j)) + φ(0)·\#\{\text{same label}\}}{n(n-1)},

    ∇L(w) &= Xᵀc, \quad c_i = \frac{mk}{n(n-1)} Σ_j φ'(k(s_i - s_j)), \quad
    c_j = -\frac{mk}{n(n-1)} Σ_i φ'(k(s_i - s_j)),

where s = Xw, and pairs of the same label have a loss in the two-sided form only. The normaliser
n(n-1) is public; n₊n₋ is not. Null records are in neither class: their scores are removed after all
scores are computed, so that no other score depends on their positions.

`moments` are computed for each part of the records and added over disjoint parts; from their sum,
each part computes its contribution to the gradient, and these are added too, both by compensated
summation, so that the error does not grow with the number of parts. `PartitionedRankingRisk` does
so for records in parts; `RankingRisk` is the same for records in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp._sums import LARGEST_N, Total, block_products, sum_in_pairs, weighted_rows
from pairdp.clipping import check_data_norm
from pairdp.engines.scratch import Scratch
from pairdp.losses.ranking import RankingLoss
from pairdp.records import Records
from pairdp.score_sums.base import Array, Index, Moments, ScoreSums

_BLOCK = 65_536
"""Rows of a block, which is read while it is in the cache."""
_PRODUCTS = 4096
_SCORES = "scores"
Slopes = Callable[[Array, Array], Array]
"""The slopes of located scores times their labels; see `ScoreSums.slopes_for`."""


def score_sums(loss: RankingLoss, low: float, high: float, n: int) -> ScoreSums:
    """Return the sums for the structure of a loss, for n records with k·wᵀx in a range."""
    return loss.structure().sums(loss.phi, loss.slope, low, high, n)


def has_small_moments(loss: RankingLoss) -> bool:
    """Return whether the moments of a part are much smaller than its scores."""
    return loss.structure().sums_in_parts(loss.phi, loss.slope, -1.0, 1.0, 2) is not None


@dataclass(frozen=True, eq=False, repr=False)
class RankingMoments:
    """The moments of a part of the records, which can be added for disjoint parts.

    They contain statistics of raw scores and are not private.
    """

    made_for: tuple[object, ...]
    moments: Any
    n: int
    """Number of records in the part, including null records."""

    @property
    def counts(self) -> Array:
        """Numbers of negatives and positives."""
        return np.asarray(self.moments.counts)

    def __add__(self, other: RankingMoments) -> RankingMoments:
        if self.made_for != other.made_for:
            raise ValueError("moments must have the same loss, weights, n and data_norm")
        return RankingMoments(self.made_for, self.moments + other.moments, self.n + other.n)


@dataclass(frozen=True, eq=False)
class _KeptScores:
    """The located scores of a part, or an array to fill in."""

    made_for: tuple[object, ...]
    values: Array
    known: bool

    @classmethod
    def take(cls, scratch: Scratch, n: int, wanted: tuple[object, ...]) -> _KeptScores:
        """Return what the scratch has, which it then has no more, or an array to fill in."""
        found = scratch.take(_SCORES)
        if found is None:
            return cls(wanted, np.empty(n), known=False)
        return cls(wanted, found.values, known=found.made_for == wanted)


@dataclass(frozen=True, eq=False)
class RankingSums:
    """The map-reduce form of a ranking risk at one weight vector.

    Parameters
    ----------
    loss : RankingLoss
        The loss.
    weights : array of shape (d,)
        The weights at which value and gradient are computed.
    n : int
        Total number of records in all parts.
    data_norm : float
        R, the norm that the records of every part are clipped to, so that |wᵀx| ≤ R|w|.
    in_parts : bool
        Whether moments are sent between processes, so that they should be small.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp.losses import LogisticRanking
    >>> from pairdp.pairs import add_up
    >>> from pairdp.records import Records
    >>> records = Records([[0.6, 0.0], [0.0, 0.5], [-0.3, 0.2], [0.1, -0.4]], [1, -1, 1, -1])
    >>> sums = RankingSums(LogisticRanking(), np.array([0.5, 0.1]), n=4, data_norm=1.0)
    >>> parts = [records.part(slice(0, 2)), records.part(slice(2, 4))]
    >>> moments = sums.moments(parts[0]) + sums.moments(parts[1])
    >>> gradient = add_up(sums.gradient(part, moments) for part in parts)
    >>> bool(np.allclose(gradient, sums.gradient(records, sums.moments(records))))
    True
    """

    loss: RankingLoss
    weights: Array
    n: int
    data_norm: float
    in_parts: bool = True

    def __post_init__(self) -> None:
        integer("n", self.n, at_least=2, at_most=LARGEST_N)
        check_data_norm(self.data_norm)
        weights = np.array(self.weights, dtype=np.float64)
        if weights.ndim != 1 or not np.all(np.isfinite(weights)):
            raise ValueError(f"weights must be a finite vector, got shape {weights.shape}")
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    @property
    def _made_for(self) -> tuple[object, ...]:
        return self.loss, self.weights.tobytes(), self.n, self.data_norm, self.in_parts

    @cached_property
    def _sums(self) -> ScoreSums:
        margin_bound = self.loss.scale * self.data_norm * float(np.linalg.norm(self.weights))
        # A clipped row may exceed the bound by a rounding error.
        margin_bound *= 1 + 1e-9
        found, structure, loss = None, self.loss.structure(), self.loss
        if self.in_parts:
            found = structure.sums_in_parts(
                loss.phi, loss.slope, -margin_bound, margin_bound, self.n
            )
        return found or score_sums(self.loss, -margin_bound, margin_bound, self.n)

    def _blocks(self, part: Records) -> Iterator[tuple[slice, Array, Array]]:
        """Yield blocks: their places, located scores, and labels, without those of null records.

        The next block overwrites the arrays. The scores of a part stay in its `Scratch` for the
        second pass.
        """
        if part.data_norm > self.data_norm or not part.binary:
            raise ValueError(
                f"a part must be Records with labels -1 and +1, clipped to norm {self.data_norm:g}"
            )
        if part.features != self.weights.size:
            raise ValueError(
                f"the weights are for {self.weights.size} features, the part has {part.features}"
            )
        score = self._sums.scorer(self.loss.scale * self.weights)
        size = _BLOCK if has_small_moments(self.loss) else max(part.n, 1)
        kept = None
        if part.scratch is not None:
            kept = _KeptScores.take(part.scratch, part.n, self._made_for)
        known = kept is not None and kept.known
        scores = np.empty(min(size, part.n)) if kept is None else kept.values
        for start in range(0, max(part.n, 1), size):
            some = slice(start, min(start + size, part.n))
            u, labels = scores[: some.stop - start] if kept is None else scores[some], part.y[some]
            if not known:
                score(part.x[some], labels, u)
            if part.has_null:
                present = ~part.null[some]
                u, labels = u[present], labels[present]
            yield some, u, labels
        if kept is not None and part.scratch is not None:
            part.scratch.put(_SCORES, replace(kept, known=True))

    def moments(self, part: Records) -> RankingMoments:
        """Return the moments of one part; add those of all parts with ``+``."""
        found = self._sums.moments_of((u, labels) for _, u, labels in self._blocks(part))
        return RankingMoments(self._made_for, found, part.n)

    def gradient(self, part: Records, moments: RankingMoments) -> Array:
        """Return the contribution of one part to the gradient, given the moments of all parts."""
        return self.gradient_total(part, self.slopes_for(moments)).high

    def slopes_for(self, moments: RankingMoments) -> Slopes:
        """Return what `gradient_total` needs of the moments of all parts."""
        self._check(moments)
        return self._sums.slopes_for(moments.moments)

    def gradient_total(self, part: Records, slopes_of: Slopes) -> Total:
        """Return the contribution of one part as a `Total`, which can be added for all parts."""
        total, slopes_of = Total.zeros(part.features), copy(slopes_of)
        products: list[Array] = []
        for some, u, labels in self._blocks(part):
            weights = slopes_of(u, labels)
            if part.has_null:
                weights = _with_null(weights, part.null[some])
            products.extend(block_products(part.x[some], weights))
            if len(products) >= _PRODUCTS:
                total, products = total + sum_in_pairs(products), []
        if products:
            total += sum_in_pairs(products)
        factor = _factor(self.loss, self.n)
        return Total(factor * total.high, factor * total.low)

    def value(self, moments: RankingMoments) -> float:
        """Return the risk from the moments of all parts."""
        self._check(moments)
        return average_loss(self.loss, self._sums.total(moments.moments), moments, self.n)

    def _check(self, moments: RankingMoments) -> None:
        if moments.made_for != self._made_for:
            raise ValueError("these moments were computed for other sums")
        if moments.n != self.n:
            raise ValueError(
                f"the moments are not those of all n = {self.n} records: add those of every part"
            )


def in_classes(records: Records, u: Array) -> tuple[Array, Index]:
    """Return the scores of the records that are not null, and 1 for positives, 0 for negatives."""
    if not records.has_null:
        return u, records.positive
    return u[~records.null], records.positive[~records.null]


def combined_rows(records: Records, weights: Array) -> Array:
    """Return Xᵀc, with coefficients for the records that are not null."""
    if not records.has_null:
        return weighted_rows(records.x, weights)
    return weighted_rows(records.x, _with_null(weights, records.null))


def gradient_of_slopes(loss: RankingLoss, records: Records, slopes: Array, n: int) -> Array:
    """Return Xᵀc, c = ±(mk/(n(n-1)))·slopes, of the records that are not null; overwrites them.

    Labels are the signs, and 0 for null records; the factor is that of the whole sum.
    """
    weights = _with_null(slopes, records.null) if records.has_null else slopes
    weights *= records.y
    return _factor(loss, n) * weighted_rows(records.x, weights)


def _factor(loss: RankingLoss, n: int) -> float:
    return loss.orders * loss.scale / (n * (n - 1))


def _with_null(slopes: Array, null: NDArray[np.bool_]) -> Array:
    """Return the slopes of all records, with 0 for null ones."""
    found = np.zeros(null.size)
    found[~null] = slopes
    return found


def average_loss(loss: RankingLoss, total: float, moments: Moments, n: int) -> float:
    """Return the average over all ordered pairs from the sum over positive-negative pairs."""
    negatives, positives = (float(count) for count in moments.counts)
    value = loss.orders * total
    if loss.symmetric:
        both = negatives + positives
        same = both * (both - 1) - 2 * negatives * positives
        value += same * float(loss.phi(np.zeros(1))[0])
    return value / (n * (n - 1))
