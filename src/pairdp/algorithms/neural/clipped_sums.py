r"""Sums of clipped gradients of scores over all records, in blocks.

**Slopes of one record** ("reference"): :math:`Σ_i clip_C(c_i∇s_i)/n`, where cᵢ depends on record i
and on released values. Each term has norm at most C, so a replaced record changes the mean by at
most 2C/n.

**Slopes of pairs**: with :math:`u_i = clip_C(∇s_i)` and slopes of pairs a_ij of positives i and
negatives j within [-1, 0], :math:`Σ_{ij} a_{ij}(u_i - u_j)/(n(n-1)) = Σ_i c_iu_i` with
:math:`c_i = ±Σ_j a_{ij}/(n(n-1))` by fast sums over scores: sensitivity 2C/n
(`pairdp.privacy.bounds.clipped_rows`), and 4C/n for slopes within [-1, 1]
(`pairdp.privacy.bounds.score_gradients`). Scores are clipped to ±`LARGEST_SCORE`, so that a
slope is a function of two records.

**Mini-batches.** The same sums over the b records of a batch that was drawn without replacement,
with b for n.

**Rounding.** Clipping factors and norms are computed in double precision from the gradients as they
are, whatever their own rounding errors; norms are of relative accuracy better than `CLIP_SLACK`
leaves room for. Terms are added up as `pairdp._sums` describes. A row of a matrix product depends
on that row and on the shapes alone, so a record changes no other's term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import BLOCK, Total
from pairdp.algorithms.neural.score_network import ScoreNetwork, clipping_factors
from pairdp.losses.ranking import RankingLoss
from pairdp.pairs.ranking import score_sums

Array = NDArray[np.float64]
LARGEST_SCORE = 15.0
"""Scores are clipped to ± this in sums over pairs."""


@dataclass(frozen=True, eq=False)
class NetworkRecords:
    """Standardised rows and their labels; as private as the data.

    Attributes
    ----------
    network : ScoreNetwork
        The network.
    rows : array of shape (n, d)
        Standardised rows.
    y : array of shape (n,)
        -1 and 1; 0 for null records.
    """

    network: ScoreNetwork
    rows: Array
    y: Array

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.rows)

    def drawn(self, places: NDArray[np.intp]) -> NetworkRecords:
        """Return the records at some places: a mini-batch."""
        return NetworkRecords(self.network, self.rows[places], self.y[places])

    def _blocks(self) -> Iterator[slice]:
        size = min(self.network.block, BLOCK)
        return (slice(start, start + size) for start in range(0, self.n, size))

    def scores(self, parameters: Array) -> Array:
        """Return the score of each record."""
        found = np.empty(self.n)
        for some in self._blocks():
            found[some] = self.network.scores(parameters, self.rows[some])
        return found

    def mean_of_clipped(
        self,
        parameters: Array,
        slopes: Callable[[Array, Array], Array],
        clip: float,
        *,
        only_linear: bool = False,
    ) -> Array:
        """Return the mean of slope·gradient, each clipped to a norm.

        Parameters
        ----------
        parameters : array
            The parameters of the network.
        slopes : callable
            The slope of each record, from its score and its label.
        clip : float
            C.
        only_linear : bool
            Whether gradients are in the linear part only, and zero elsewhere.
        """

        def weights(some: slice, scores: Array, norms: Array) -> Array:
            slope = slopes(scores, self.y[some])
            return slope * clipping_factors(np.abs(slope) * norms, clip)

        return self._mean(parameters, weights, only_linear=only_linear)

    def mean_over_pairs(
        self, parameters: Array, loss: RankingLoss, clip: float, *, only_linear: bool = False
    ) -> Array:
        """Return the average over pairs of slope·(uᵢ - uⱼ), slopes in units of the largest one."""
        largest = loss.scale * LARGEST_SCORE
        margins = loss.scale * np.clip(self.scores(parameters), -LARGEST_SCORE, LARGEST_SCORE)
        used = np.flatnonzero(self.y)
        coefficients = np.zeros(self.n)
        if used.size:
            positive = (self.y[used] > 0).astype(np.intp)
            sums = score_sums(loss, -largest, largest, self.n)
            found = sums.all_slopes(margins[used], positive) / loss.derivative_bound(2 * largest)
            coefficients[used] = found * (2 * positive - 1) / (self.n - 1)

        def weights(some: slice, scores: Array, norms: Array) -> Array:
            return coefficients[some] * clipping_factors(norms, clip)

        return self._mean(parameters, weights, only_linear=only_linear)

    def _mean(
        self,
        parameters: Array,
        weights: Callable[[slice, Array, Array], Array],
        *,
        only_linear: bool,
    ) -> Array:
        """Return Σ weight·gradient over all records, divided by their number."""
        total = Total.zeros(self.network.size)
        for some in self._blocks():
            total += self.network.gradient_sum(
                parameters, self.rows[some], partial(weights, some), only_linear=only_linear
            )
        return np.asarray(total.high / self.n)
