"""Verifying the certificates of a fitted model, and that its parameters lead to them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pairdp.algorithms.comparison import differences
from pairdp.losses.trust import as_stated
from pairdp.privacy import Certificate, CertificateError
from pairdp.privacy.certificates.held_out import EVALUATION, TRAINING, certificate_of
from pairdp.storage import NOT_VALID, Trusted, decode
from pairdp.storage.registry import of_library, path_of
from pairdp.verification.certificates import explain_differences, verify
from pairdp.verification.report import Report


def verify_model(model: Any, *, trusted: Iterable[type | str] = ()) -> tuple[Report, ...]:
    """Verify every certificate of a fitted model, and that its parameters lead to it.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted private estimator, or a pipeline that contains some.
    trusted : iterable of class or str, default=()
        See `pairdp.verify`.

    Returns
    -------
    tuple of Report
        One for each certificate, in the order of the steps; then those of evaluations by which
        models are calibrated.

    Raises
    ------
    CertificateError
        If a certificate is refused, or differs from the one that the parameters of its estimator,
        the number of features and n lead to.
    """
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    steps = [getattr(step, "best_estimator_", step) for step in steps]  # of a search
    private = [step for step in steps if hasattr(step, "certificate_")]
    if not private:
        raise CertificateError("there is no fitted model with a certificate")
    known = Trusted(trusted)
    reports = [_verified(step, known) for step in private]
    calibrated = [step.calibration_ for step in private if hasattr(step, "calibration_")]
    return (*reports, *(verify(evaluation.certificate) for evaluation in calibrated))


def _verified(step: Any, trusted: Trusted) -> Report:
    report = verify(step.certificate_, trusted=trusted)
    if not of_library(type(step)):
        report = replace(report, on_trust=(path_of(type(step)), *report.on_trust))
    if not report.planned_again:
        return report
    return replace(
        report, not_planned=explain_differences(step.certificate_, _contradictions(step))
    )


def _contradictions(step: Any) -> Iterator[str]:
    """Yield where a model differs from the plan of its parameters."""
    stated = certificate_of(step.certificate_, TRAINING)
    if stated is None:
        yield "its certificate does not say how the model was trained"
        return
    yield from _other_evaluation(step)
    try:
        with as_stated(stated.problem.get("loss_constants")), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown when the model was fitted
            given = None if step.schema is not None else step.n_features_in_
            planned = step.plan(stated.n, given)
    except NOT_VALID as error:
        yield f"planning with the model's parameters fails: {error}"
        return
    for difference in differences(stated, planned.certificate):
        yield f"it does not follow from the model's parameters: {difference}"
    kept = step.plan_
    for difference in differences(kept.certificate, planned.certificate):
        yield f"the model's plan_ does not follow from its parameters: {difference}"
    words = (kept.reasons, kept.departures) != (planned.reasons, planned.departures)
    if words or kept.settings.to_dict() != _settings(kept.certificate):
        yield (
            "the model's plan_ does not follow from its parameters: its reasons, departures or "
            "settings"
        )


def _other_evaluation(step: Any) -> Iterator[str]:
    """Yield where the evaluation of a model is not that of its certificate."""
    stated = certificate_of(step.certificate_, EVALUATION)
    found = getattr(step, "evaluation_", None)
    if (stated is None) != (found is None):
        yield "it has an evaluation without a certificate, or the certificate of one"
    elif stated is not None and found is not None:
        for difference in differences(found.certificate, stated):
            yield f"the evaluation is not that of the model's certificate: {difference}"


def _settings(certificate: Certificate) -> dict[str, Any]:
    """Return the settings of a plan from its certificate."""
    plan = certificate.plan or {"settings": {}}
    return {name: decode(value) for name, value in plan["settings"].items()}
