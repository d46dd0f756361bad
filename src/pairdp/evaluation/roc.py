r"""The ROC curve with a band, from noisy counts of scores by class.

At each edge, the false and the true positive rate have intervals at a level that holds for all of
them together (by Bonferroni's inequality). Rates increase as the threshold falls: at a false
positive rate x, the true positive rate is at least the lower end at any edge whose false positive
rate is at most x for certain, and at most the upper end at any edge where it is at least x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp import drawing
from pairdp.evaluation.inversion import Interval
from pairdp.evaluation.ratios import CountNoise, Estimate, NoisyCount, share_of

Array = NDArray[np.float64]
_MISSED = 0.05
_DRAWN = 101


@dataclass(frozen=True)
class ROC:
    """A ROC curve, and intervals that hold at all thresholds together.

    Attributes
    ----------
    thresholds : tuple of float
        From low to high.
    false_positive_rate, true_positive_rate : tuple of float
        The estimates, which do not increase with the threshold.
    false_positive_intervals, true_positive_intervals : tuple of Interval
        With a probability of about 95 %, all of them hold.
    """

    thresholds: tuple[float, ...]
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]
    false_positive_intervals: tuple[Interval, ...]
    true_positive_intervals: tuple[Interval, ...]

    def band(self, false_positive_rate: float) -> Interval:
        """Return the band of the true positive rate at a false positive rate."""
        x, lower, upper = float(false_positive_rate), 0.0, 1.0
        for false, true in zip(
            self.false_positive_intervals, self.true_positive_intervals, strict=True
        ):
            if false.upper <= x:
                lower = max(lower, true.lower)
            if false.lower >= x:
                upper = min(upper, true.upper)
        return Interval(lower, max(lower, upper))

    def curve(self) -> tuple[Array, Array]:
        """Return false and true positive rates, from (0, 0) to (1, 1), for drawing."""
        x = np.array([1.0, *self.false_positive_rate, 0.0])[::-1]
        y = np.array([1.0, *self.true_positive_rate, 0.0])[::-1]
        return x, y

    def figure(self, title: str = "ROC curve") -> drawing.Figure:
        """Return the curve with its band, for `pairdp.drawing`."""
        x, y = self.curve()
        drawn = np.linspace(0.0, 1.0, _DRAWN)
        points = []
        for place, height in zip(drawn.tolist(), np.interp(drawn, x, y).tolist(), strict=True):
            lower, upper = self.band(place)
            points.append(drawing.Point(place, height, (min(lower, height), max(upper, height))))
        chance = (drawing.Point(0.0, 0.0), drawing.Point(1.0, 1.0))
        ends = (0.0, 1.0)
        return drawing.Figure(
            title,
            drawing.Axis("false positive rate", "FPR", scale="linear", include=ends),
            drawing.Axis("true positive rate", "TPR", scale="linear", include=ends),
            (
                drawing.Series(
                    "model", tuple(points), drawing.Style(color=1, marker=None, band=True)
                ),
                drawing.Series("chance", chance, drawing.Style(color=7, marker=None, line="thin")),
            ),
            description="The ROC curve from noisy counts, with a band that holds as a whole.",
            intervals="a 95 % band for the whole curve",
        )


Sides = Sequence[tuple[NoisyCount, NoisyCount]]


def roc_of(
    edges: Sequence[float],
    negative: Sides,
    positive: Sides,
    noise: CountNoise,
    together: int = 1,
) -> ROC:
    """Return the curve from the counts of both classes below and above each edge."""
    level = 1 - _MISSED / (2 * len(edges))

    def rates(sides: Sides) -> list[Estimate]:
        return [share_of(above, below, noise, level, together) for below, above in sides]

    false, true = rates(negative), rates(positive)
    return ROC(
        tuple(edges),
        _falling(false),
        _falling(true),
        tuple(share.interval for share in false),
        tuple(share.interval for share in true),
    )


def _falling(shares: Sequence[Estimate]) -> tuple[float, ...]:
    from sklearn.isotonic import isotonic_regression  # verifying certificates does not need it

    found = isotonic_regression([share.value for share in shares], increasing=False)
    return tuple(np.clip(found, 0.0, 1.0).tolist())
