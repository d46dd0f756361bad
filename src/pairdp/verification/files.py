"""Verifying the certificates in a file: a certificate, a model, or a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pairdp._discovery import import_modules
from pairdp.evaluation.result import Evaluation, is_evaluation
from pairdp.online.state_file import FORMAT as STREAM
from pairdp.online.state_file import StreamFile, stream_header
from pairdp.privacy import Certificate, CertificateError
from pairdp.storage import (
    NOT_VALID,
    ModelFileError,
    Trusted,
    UntrustedClassError,
    format_of,
)
from pairdp.storage.codec import user_classes
from pairdp.verification.certificates import verify
from pairdp.verification.models import verify_model
from pairdp.verification.report import Report


def verify_file(path: str | Path, *, trusted: Iterable[type | str] = ()) -> tuple[Report, ...]:
    """Verify every certificate in a file: a certificate, a model, a stream, or an evaluation.

    For a model, and for a stream that an estimator paused, the certificate must also follow from
    the parameters. The file of a stream is not changed. The figures of an evaluation are computed
    again from what was released.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of class or str, default=()
        See `pairdp.verify`.

    Raises
    ------
    CertificateError
        If the file cannot be read, has no certificate, or a certificate is refused.
    ModelFileError
        If a model or stream is damaged.
    """
    path, known = Path(path), Trusted(trusted)
    try:
        with path.open("rb") as opened:
            start = opened.read(64)
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from None
    # A container starts with the length of its header in eight bytes, the last of which is zero.
    if start.lstrip().startswith(b"{") and b"\0" not in start:
        return (verify(_certificate_in(path), trusted=known),)
    return _of_stream(path, known) if format_of(path) == STREAM else _of_model(path, known)


def _certificate_in(path: Path) -> Certificate:
    """Return the certificate in a JSON file: one alone, or that of an evaluation."""
    if is_evaluation(path):
        return Evaluation.from_json(path.read_bytes()).certificate
    return Certificate.load(path)


def _of_model(path: Path, trusted: Trusted) -> tuple[Report, ...]:
    from pairdp.estimators import load  # imports scikit-learn, which other files do not need
    from pairdp.model_file import header_of

    steps = header_of(path)["steps"]
    if why := _untrusted(steps, trusted):
        found = [step["certificate"] for step in steps if "certificate" in step]
        return _alone(found, trusted, why)
    model = load(path, trusted=trusted)
    if not any("certificate" in step for step in steps):
        raise CertificateError(f"{path} contains no model with a certificate")
    return verify_model(model, trusted=trusted)


def _of_stream(path: Path, trusted: Trusted) -> tuple[Report, ...]:
    header = stream_header(path)
    if why := _untrusted(header, trusted):
        return _alone([header["certificate"]], trusted, why)
    try:
        file = StreamFile(path)
        certificate = file.certificate
        if not file.has_estimator:
            return (verify(certificate, trusted=trusted),)
        import_modules("pairdp.estimators")
        from pairdp.model_file.states import with_state

        estimator, arrays = file.estimator()
        model = with_state(estimator, "", arrays, trusted)
    except NOT_VALID as error:
        if isinstance(error, CertificateError | ModelFileError):
            raise
        raise ModelFileError(f"the stream {path} is not valid: {error}") from None
    if model.certificate_ != certificate:
        raise CertificateError("the certificates of the stream and of its estimator differ")
    return verify_model(model, trusted=trusted)


def _untrusted(stored: Any, trusted: Trusted) -> str:
    """Return the error of the first class that is not trusted; empty if there is none."""
    try:
        for path in user_classes(stored):
            trusted[path]
    except UntrustedClassError as error:
        return str(error)
    return ""


def _alone(certificates: Sequence[Any], trusted: Trusted, why: str) -> tuple[Report, ...]:
    """Verify certificates without their model, which cannot be read."""
    if not certificates:
        raise CertificateError("the file contains no model with a certificate")
    found = (verify(json.dumps(certificate), trusted=trusted) for certificate in certificates)
    return tuple(replace(report, not_planned=report.not_planned or why) for report in found)
