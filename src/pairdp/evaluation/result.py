"""What a private evaluation returns."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from pairdp.evaluation.noisy_auc import LEVEL, Interval
from pairdp.evaluation.planning import EvaluationPlan, budget_in_words
from pairdp.privacy import Certificate


@dataclass(frozen=True)
class Evaluation:
    """A released evaluation; everything in it is a function of noisy numbers.

    Attributes
    ----------
    auc : float
        The estimated AUC: the chance that a record of the second class scores above one of the
        first, ties counted as a half.
    auc_interval : Interval
        The ends of a 95 % interval for the AUC of the population that the records are from. It
        includes the noise of privacy and that of sampling; from 0 to 1 it says nothing.
    positives, null_records : float
        The estimated numbers of records of the second class, and of null records.
    plan : EvaluationPlan
        What was fixed before any record was read.
    certificate : Certificate
        What was released, and why it is private. `pairdp.verify` checks it.
    """

    auc: float
    auc_interval: Interval
    positives: float
    null_records: float
    plan: EvaluationPlan
    certificate: Certificate

    def privacy_statement(self) -> str:
        """Return what was released and why it is private, in words."""
        return self.certificate.statement()

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and the certificate as JSON values."""
        return {
            "auc": self.auc,
            "auc_interval": list(self.auc_interval),
            "level": LEVEL,
            "positives": self.positives,
            "null_records": self.null_records,
            "n": self.certificate.n,
            "classes": list(self.plan.evaluation.classes),
            "certificate": self.certificate.to_dict(),
        }

    def _lines(self) -> list[tuple[str, str]]:
        lower, upper = self.auc_interval
        low, high = self.plan.evaluation.classes
        unit = self.certificate.unit
        protects = "each record" if unit is None else f"all records of one {unit.name}"
        return [
            ("AUC", f"{self.auc:.3f}, 95 % interval {lower:.3f} to {upper:.3f}"),
            ("classes", f"{high} above {low}"),
            (f"share of {high}", f"about {self._share:.1%} of n = {self.certificate.n} records"),
            ("privacy", f"{budget_in_words(self.plan)}, protects {protects}"),
        ]

    @property
    def _share(self) -> float:
        return self.positives / max(self.certificate.n - self.null_records, 1.0)

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
