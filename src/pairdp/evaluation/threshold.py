"""Noisy counts of scores by class: figures at a threshold, ROC curve and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import real
from pairdp.evaluation.calibration import Calibration, fit_calibration
from pairdp.evaluation.ratios import CountNoise, Estimate, NoisyCount, share_of
from pairdp.evaluation.roc import ROC, roc_of

Array = NDArray[np.float64]
_TESTED_AT = 0.96


class ThresholdFigures(NamedTuple):
    """Shares of records that are above a threshold, or below it.

    Attributes
    ----------
    threshold : float
        Records whose score is above it are predicted to be positive.
    sensitivity : Estimate
        Of the positive records, those that are above.
    specificity : Estimate
        Of the negative records, those that are not.
    precision : Estimate
        Of the records above, those that are positive.
    """

    threshold: float
    sensitivity: Estimate
    specificity: Estimate
    precision: Estimate

    def __str__(self) -> str:
        names = ("sensitivity", "specificity", "precision")
        return "\n".join(
            [f"at threshold {self.threshold:g}"]
            + [f"  {name:11}  {share}" for name, share in zip(names, self[1:], strict=True)]
        )


@dataclass(frozen=True)
class NoisyBins:
    """Released counts, with their noise.

    Parameters
    ----------
    edges : tuple of float
        The edges of the bins.
    counts : tuple of two tuples of float
        Noisy counts of negative and of positive records in each bin, one more than edges.
    noise : CountNoise
        The noise of each count.
    together : int, default=1
        How many records a unit has at most: these may depend on each other.
    """

    edges: tuple[float, ...]
    counts: tuple[tuple[float, ...], tuple[float, ...]]
    noise: CountNoise
    together: int = 1

    def at(self, threshold: float) -> ThresholdFigures:
        """Return the figures at a threshold, which must be an edge."""
        threshold = real("threshold", threshold) + 0.0
        if threshold not in self.edges:
            nearest = min(self.edges, key=lambda edge: abs(edge - threshold))
            raise ValueError(
                f"there is no count at {threshold:g}; the nearest is at {nearest!r}. Thresholds "
                "are fixed before the evaluation: pass threshold to it"
            )
        above = self.edges.index(threshold) + 1
        (tn, fp), (fn, tp) = (self._sides(row, above) for row in self.counts)
        return ThresholdFigures(
            threshold,
            *(
                share_of(one, other, self.noise, _TESTED_AT, self.together)
                for one, other in ((tp, fn), (tn, fp), (tp, fp))
            ),
        )

    def roc(self) -> ROC:
        """Return the ROC curve with a joint band."""
        sides = [[self._sides(row, i + 1) for i in range(len(self.edges))] for row in self.counts]
        return roc_of(self.edges, sides[0], sides[1], self.noise, self.together)

    def calibration(self) -> Calibration:
        """Return probabilities of the positive class as a function of scores."""
        return fit_calibration(self.edges, np.array(self.counts), self.noise)

    @staticmethod
    def _sides(row: tuple[float, ...], above: int) -> tuple[NoisyCount, NoisyCount]:
        """Return the counts below and above an edge."""
        return (
            NoisyCount(sum(row[:above]), above),
            NoisyCount(sum(row[above:]), len(row) - above),
        )
