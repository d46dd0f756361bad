"""What the evaluation of scores returns: the AUC, and figures from counts of scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pairdp.evaluation.calibration import Calibration
from pairdp.evaluation.inversion import LEVEL, Interval
from pairdp.evaluation.result import Evaluation
from pairdp.evaluation.roc import ROC
from pairdp.evaluation.threshold import NoisyBins, ThresholdFigures

if TYPE_CHECKING:
    from pairdp.evaluation.planning import Released, ScorePlan


@dataclass(frozen=True)
class ScoreResult(Evaluation):
    """The released AUC of scores; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    """

    released: Released
    plan: ScorePlan

    @property
    def auc(self) -> float:
        """The estimated AUC.

        It is the chance that a record of the second class scores above one of the first; ties count
        as a half.
        """
        return self.released.auc.estimate

    @cached_property
    def auc_interval(self) -> Interval:
        """The ends of a 95 % interval for the AUC of the population that the records are from.

        It includes the noise of privacy and that of sampling. From 0 to 1 it says nothing.
        """
        return self.released.auc.interval()

    @property
    def positives(self) -> float:
        """The estimated number of records of the second class."""
        return self.released.auc.positives

    @property
    def null_records(self) -> float:
        """The estimated number of null records."""
        return self.released.auc.null_records

    @cached_property
    def roc(self) -> ROC:
        """The ROC curve with a band, if it was paid for; `pairdp.drawing` draws its `figure`."""
        return self._bins().roc()

    @cached_property
    def calibration(self) -> Calibration:
        """Probabilities of the second class as a function of scores, if counts were paid for."""
        return self._bins().calibration()

    def plot(self, ax: Any = None) -> Any:
        """Draw the ROC curve with its band on axes of matplotlib, and return them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default those of a new figure.
        """
        from pairdp.drawing.matplotlib_axes import plot_figure

        return plot_figure(self.roc.figure(), ax)

    def at(self, threshold: float) -> ThresholdFigures:
        """Return sensitivity, specificity and precision at a threshold that was paid for."""
        return self._bins().at(threshold)

    def _bins(self) -> NoisyBins:
        if self.released.bins is None:
            raise ValueError(
                "counts of scores were not paid for: evaluate with roc=True, or with a threshold"
            )
        return self.released.bins

    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "level": LEVEL,
            "positives": self.positives,
            "null_records": self.null_records,
            "classes": list(self.plan.evaluation.classes),
            "thresholds": list(self._thresholds()),
        }

    def _thresholds(self) -> Iterator[dict[str, Any]]:
        for edge in self.plan.evaluation.edges:
            found = self.at(edge)
            shares = {
                name: {"value": share.value, "interval": list(share.interval)}
                for name, share in zip(found._fields[1:], found[1:], strict=True)
            }
            yield {"threshold": edge, **shares}

    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""
        return self.released.numbers

    def _figure_lines(self) -> list[tuple[str, str]]:
        lower, upper = self.auc_interval
        low, high = self.plan.evaluation.classes
        share = self.positives / max(self.plan.items - self.null_records, 1.0)
        what = "records" if self.plan.evaluation.items == "records" else "pairs"
        auc = f"{self.auc:.3f}, 95 % interval {lower:.3f} to {upper:.3f}"
        if (lower, upper) == (0.0, 1.0):  # an estimate would mislead
            auc = "not known: the noise hides it, and the 95 % interval is 0 to 1"
        return [
            ("AUC", auc),
            ("classes", f"{high} above {low}"),
            (f"share of {high}", f"about {share:.1%} of n = {self.plan.items} {what}"),
        ]
