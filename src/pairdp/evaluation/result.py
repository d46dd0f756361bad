"""What a private evaluation returns, and its file."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pairdp._files import write_atomically
from pairdp._sealed import fields_of, seal, unseal
from pairdp.evaluation.calibration import Calibration
from pairdp.evaluation.noisy_auc import LEVEL, Interval
from pairdp.evaluation.planning import (
    EvaluationPlan,
    Released,
    ScoreEvaluation,
    budget_in_words,
)
from pairdp.evaluation.roc import ROC
from pairdp.evaluation.threshold import NoisyBins, ThresholdFigures
from pairdp.privacy import Certificate, CertificateError
from pairdp.storage import NOT_VALID, decode

FORMAT = "pairdp evaluation"
FORMAT_VERSION = 1
_SAME = 1e-6


@dataclass(frozen=True)
class Evaluation:
    """A released evaluation; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released : Released
        The noisy numbers.
    plan : EvaluationPlan
        What was fixed before any record was read.
    certificate : Certificate
        What was released, and why it is private. `pairdp.verify` checks it.
    """

    released: Released
    plan: EvaluationPlan
    certificate: Certificate

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

    def at(self, threshold: float) -> ThresholdFigures:
        """Return sensitivity, specificity and precision at a threshold that was paid for."""
        return self._bins().at(threshold)

    def _bins(self) -> NoisyBins:
        if self.released.bins is None:
            raise ValueError(
                "counts of scores were not paid for: evaluate with roc=True, or with a threshold"
            )
        return self.released.bins

    def plot(self, ax: Any = None) -> Any:
        """Draw the ROC curve with its band on axes of matplotlib, and return them.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            By default those of a new figure.
        """
        from pairdp.drawing.matplotlib_axes import plot_figure

        return plot_figure(self.roc.figure(), ax)

    def privacy_statement(self) -> str:
        """Return what was released and why it is private, in words."""
        return self.certificate.statement()

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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, the released numbers and the certificate as JSON values."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "figures": self.figures(),
            "released": [list(numbers) for numbers in self.released.numbers],
            "certificate": self.certificate.to_dict(),
        }

    def to_json(self) -> str:
        """Return the evaluation as JSON text, with a digest of its content."""
        return seal(self.to_dict())

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a file, atomically; ``pairdp verify`` checks it."""
        write_atomically(Path(path), self.to_json().encode())

    @classmethod
    def from_json(cls, document: str | bytes) -> Evaluation:
        """Return the evaluation in a JSON text, after computing its figures again.

        Raises
        ------
        CertificateError
            If the text is not an evaluation, was changed or damaged, or its figures do not follow
            from what was released. Use `pairdp.verify` to check the certificate.
        """
        try:
            found, stated = cls._read(unseal(document))
        except CertificateError:
            raise
        except NOT_VALID as error:
            raise CertificateError(f"not a valid evaluation: {error}") from None
        if not _same(json.loads(json.dumps(found.figures())), stated):
            raise CertificateError("the figures do not follow from what was released")
        return found

    @classmethod
    def _read(cls, values: dict[str, object]) -> tuple[Evaluation, object]:
        names = {"format", "format_version", "figures", "released", "certificate"}
        fields = fields_of("evaluation", values, required=names)
        if (fields["format"], fields["format_version"]) != (FORMAT, FORMAT_VERSION):
            raise ValueError("its format is not known to this version of pairdp")
        certificate = Certificate.from_json(seal(fields["certificate"]))
        stored = fields["certificate"].get("plan") or {}
        evaluation = decode(stored.get("statistic"))
        if not isinstance(evaluation, ScoreEvaluation) or certificate.budget is None:
            raise ValueError("its certificate is not that of an evaluation")
        plan = evaluation.plan(certificate.n, certificate.budget, certificate.unit)
        numbers = [[float(number) for number in part] for part in fields["released"]]
        sizes = [release.dimension for release in plan.certificate.releases]
        if [len(part) for part in numbers] != sizes or not all(
            math.isfinite(number) for part in numbers for number in part
        ):
            raise ValueError("its released numbers are not those of its plan")
        return cls(plan.read(*numbers), plan, certificate), fields["figures"]

    def _lines(self) -> list[tuple[str, str]]:
        lower, upper = self.auc_interval
        low, high = self.plan.evaluation.classes
        unit = self.certificate.unit
        protects = "each record" if unit is None else f"all records of one {unit.name}"
        share = self.positives / max(self.certificate.n - self.null_records, 1.0)
        return [
            ("AUC", f"{self.auc:.3f}, 95 % interval {lower:.3f} to {upper:.3f}"),
            ("classes", f"{high} above {low}"),
            (f"share of {high}", f"about {share:.1%} of n = {self.certificate.n} records"),
            ("privacy", f"{budget_in_words(self.plan)}, protects {protects}"),
        ]

    def __str__(self) -> str:
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:{width}}  {value}" for name, value in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(value)}</td></tr>'
            for name, value in self._lines()
        )
        return f"<table><caption>Private evaluation</caption><tbody>{rows}</tbody></table>"


def _same(one: object, other: object) -> bool:
    """Return whether two JSON values are equal, up to the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float | int) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)
    return one == other
