"""What a report says: released values and public facts only, collected from a model."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date as Date  # noqa: N812 - the field is called date
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import sklearn

from pairdp._version import __version__
from pairdp.drawing import Figure
from pairdp.evaluation.result import Evaluation
from pairdp.privacy import BudgetLedger, Certificate, CertificateError, PrivacyCurve
from pairdp.privacy.accounting.events import Event, ParallelEvent, SequentialEvent
from pairdp.privacy.certificates.recomputation import Check
from pairdp.privacy.ledger.balance import Remaining
from pairdp.privacy.ledger.entries import Spend
from pairdp.privacy.mechanisms.noise_source import SEEDED
from pairdp.report.attackers import Attackers
from pairdp.report.card import ModelCard, card_of
from pairdp.report.columns import last_step
from pairdp.report.model_figures import model_figures
from pairdp.verification.certificates import verify
from pairdp.verification.models import verify_model
from pairdp.verification.report import Report


class SourceFile(NamedTuple):
    """A file that a report is about: its name and the SHA-256 of its content."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Verified:
    """The result of a verification.

    Attributes
    ----------
    state : {"holds", "open", "refused", "no claim"}
        Whether a certificate was planned again with the same numbers; was not planned again; was
        refused; or claims no privacy.
    headlines : tuple of str
        The result in words, one for each certificate.
    checks : tuple of Check
        Every number that was recomputed.
    """

    state: Literal["holds", "open", "refused", "no claim"]
    headlines: tuple[str, ...]
    checks: tuple[Check, ...] = ()

    @classmethod
    def of(cls, reports: Iterable[Report]) -> Verified:
        """Return the result of all reports together: the worst."""
        found = tuple(reports)
        state: Literal["holds", "open", "no claim"] = "holds"
        if any(not report.planned_again for report in found):
            state = "open"
        elif any(not report.holds for report in found):
            state = "no claim"
        checks = tuple(check for report in found for check in report.checks)
        return cls(state, tuple(report.headline for report in found), checks)


@dataclass(frozen=True)
class LedgerEntry:
    """An entry of a ledger, its cost alone, and what it paid for among what is reported."""

    spend: Spend
    epsilon: float
    paid_for: str


@dataclass(frozen=True)
class LedgerFacts:
    """A ledger at the time of the report."""

    epsilon: float
    delta: float
    data_set: str | None
    unit: str | None
    entries: tuple[LedgerEntry, ...]
    spent: float
    remaining: Remaining

    @classmethod
    def of(cls, ledger: BudgetLedger, certificates: dict[str, Certificate]) -> LedgerFacts:
        """Return a ledger, with the entries whose cost is that of a certificate marked."""
        delta = ledger.budget.delta
        costs = {name: _in_any_order(one.event) for name, one in certificates.items()}
        entries = tuple(
            LedgerEntry(
                spend,
                PrivacyCurve(spend.event).epsilon(delta),
                ", ".join(
                    name for name, cost in costs.items() if cost == _in_any_order(spend.event)
                ),
            )
            for spend in ledger.spends
            for paid in (_in_any_order(spend.event),)
        )
        return cls(
            ledger.budget.epsilon,
            delta,
            ledger.data_set,
            ledger.unit,
            entries,
            ledger.spent(),
            ledger.remaining(),
        )


def _in_any_order(event: Event) -> str:
    """Return an event as text, whatever the order: a search lists the chosen model first."""
    match event:
        case SequentialEvent(events):
            return f"in sequence: {sorted(map(_in_any_order, events))}"
        case ParallelEvent(parts):
            return f"in parallel: {sorted(map(_in_any_order, parts))}"
    return repr(event)


@dataclass(frozen=True)
class ReportFacts:
    """Everything that a report shows.

    Attributes
    ----------
    card : ModelCard
        What the model is.
    date : date
        The day of the report.
    verified : Verified
        The result of verifying the model.
    statement : str
        The privacy statement of the model.
    figures : tuple of Figure
        The released numbers of the model.
    handles_invalid : str
        What happened to records that cannot be read: "error" or "null".
    is_stream : bool
        Whether the model learned from a stream.
    evaluation : Evaluation or None
        A private evaluation of the model, or another object with ``figures`` and ``certificate``.
    evaluation_verified : Verified or None
        The result of verifying its certificate.
    of_this_model : bool or None
        Whether the evaluation states the digest of this model; None if that cannot be checked.
    held_out : bool
        Whether the evaluation is of records that were held out from the fit.
    ledger : LedgerFacts or None
        The ledger that paid.
    files : tuple of SourceFile
        The files that the report is about, the model first.
    others : tuple of (str, Certificate)
        What else this report or the model shows of records, that the certificate of the model does
        not cover: an evaluation on other records than those held out, or a calibration by one.
    """

    card: ModelCard
    date: Date
    verified: Verified
    statement: str
    figures: tuple[Figure, ...]
    handles_invalid: str = "error"
    is_stream: bool = False
    evaluation: Any = None
    evaluation_verified: Verified | None = None
    of_this_model: bool | None = None
    held_out: bool = False
    ledger: LedgerFacts | None = None
    files: tuple[SourceFile, ...] = ()
    others: tuple[tuple[str, Certificate], ...] = ()

    @property
    def certificate(self) -> Certificate:
        """The certificate of the model."""
        return self.card.certificate

    @property
    def is_metric(self) -> bool:
        """Whether the model is a metric."""
        return self.card.weights_are == "diagonal of the matrix"

    @cached_property
    def attackers(self) -> Attackers | None:
        """Bounds on attackers; None if no privacy is claimed or the claim is false."""
        claims = self.certificate.budget is not None and self.certificate.holds
        return Attackers(self.certificate) if claims else None

    @property
    def refused(self) -> bool:
        """Whether the certificate of the model or of the evaluation was refused."""
        found = (self.verified, self.evaluation_verified)
        return any(one is not None and one.state == "refused" for one in found)

    @property
    def warning(self) -> tuple[str, str] | None:
        """What must be said first, loudly: a title and a sentence; None if there is nothing."""
        certificate = self.certificate
        if certificate.budget is None:
            return "NOT PRIVATE", (
                "This model was fitted without noise. Nothing protects the records that it was "
                "fitted to: do not release it."
            )
        if not certificate.holds:
            true = certificate.epsilon()
            return "FALSE CLAIM", (
                f"This model is published with {self.card.budget_in_words}, but its noise gives "
                f"ε = {true:.4g} at that δ. Do not release it as private."
            )
        if self.refused:
            return "REFUSED", "A certificate was refused: do not rely on what it claims."
        if certificate.noise_source == SEEDED:
            return "NOT SECRET", (
                "The noise was drawn from a given seed. Whoever knows or guesses it can subtract "
                "the noise: this model is for study and tests only."
            )
        if certificate.calibration == "printed":
            return "FOR STUDY", (
                "The noise follows a published formula as printed, not the proofs of this library."
            )
        return None

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """The versions of the software that made the certificate and the report."""
        return (
            ("certificate", f"pairdp {self.certificate.library_version}"),
            (
                "report",
                (
                    f"pairdp {__version__}, Python {platform.python_version()}, numpy "
                    f"{np.__version__}, scikit-learn {sklearn.__version__}"
                ),
            ),
        )


def collect_facts(
    model: Any,
    *,
    evaluation: Any = None,
    ledger: BudgetLedger | None = None,
    date: Date | None = None,
    trusted: Iterable[type | str] = (),
    files: Iterable[SourceFile] = (),
) -> ReportFacts:
    """Return the facts of a report on a fitted model; see `pairdp.write_report`."""
    card, estimator = card_of(model), last_step(model)
    trusted = tuple(trusted)
    own = getattr(estimator, "evaluation_", None)
    evaluation = own if evaluation is None else evaluation
    certificates = {"this model": card.certificate}
    if evaluation is not None:
        _check_evaluation(evaluation, card)
        if isinstance(evaluation, Evaluation):
            evaluation.check_model(estimator)
        certificates["this evaluation"] = evaluation.certificate
    ledger = getattr(estimator, "ledger", None) if ledger is None else ledger
    return ReportFacts(
        card=card,
        date=Date.today() if date is None else date,
        verified=_verified(lambda: verify_model(model, trusted=trusted)),
        statement=estimator.privacy_statement(),
        figures=model_figures(model, card),
        handles_invalid=str(getattr(estimator, "invalid", "error")),
        is_stream=hasattr(estimator, "horizon"),
        evaluation=evaluation,
        evaluation_verified=None
        if evaluation is None
        else _verified(lambda: (verify(evaluation.certificate, trusted=trusted),)),
        of_this_model=evaluation.is_of(estimator) if isinstance(evaluation, Evaluation) else None,
        held_out=evaluation is not None and evaluation is own,
        ledger=LedgerFacts.of(ledger, certificates) if isinstance(ledger, BudgetLedger) else None,
        files=tuple(files),
        others=tuple(_others(estimator, evaluation)),
    )


def _others(estimator: Any, evaluation: Any) -> Iterator[tuple[str, Certificate]]:
    """Yield what is shown of records in addition to what the certificate of a model covers."""
    calibration = None
    if hasattr(estimator, "_separate_calibration"):
        calibration = estimator._separate_calibration()
    if calibration is not None:
        yield "the calibration of its probabilities", calibration.certificate
    covered = (getattr(estimator, "evaluation_", None), calibration)
    if evaluation is not None and not any(
        known is evaluation or known == evaluation for known in covered if known is not None
    ):
        yield "the evaluation in this report", evaluation.certificate


def _verified(reports: Any) -> Verified:
    try:
        return Verified.of(reports())
    except CertificateError as error:
        return Verified("refused", (f"REFUSED: {error}",))


def _check_evaluation(evaluation: Any, card: ModelCard) -> None:
    """Raise an error for an evaluation that cannot be of this model."""
    if not hasattr(evaluation, "figures") or not hasattr(evaluation, "certificate"):
        raise TypeError(
            f"evaluation must be what pairdp.evaluate returns, got {type(evaluation).__name__}"
        )
    classes = evaluation.figures().get("classes")
    if classes is not None and card.weights_are != "diagonal of the matrix":
        known = list(card.ranked or ())
        if classes != known:
            has = f"has the classes {', '.join(known)}" if known else "has no classes"
            raise ValueError(
                f"the evaluation is of another model: it is for the classes {', '.join(classes)}, "
                f"and this model {has}"
            )
