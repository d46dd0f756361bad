"""Verifying a certificate: planning again from its facts, and recomputing its numbers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np

from pairdp._discovery import import_modules
from pairdp._version import __version__
from pairdp.algorithms.comparison import differences
from pairdp.algorithms.stored_plans import NO_FACTS, plan_again
from pairdp.privacy import Certificate, CertificateError
from pairdp.privacy.certificates.combined import certificates_in, is_combined
from pairdp.privacy.certificates.recomputation import recompute
from pairdp.privacy.certificates.statistic import certify_again, is_of_statistic
from pairdp.storage import NOT_VALID, Trusted, UnknownObjectError, UntrustedClassError
from pairdp.storage.codec import user_classes
from pairdp.verification.report import Report

_SHOWN = 5

import_modules("pairdp.online")  # its algorithms register
import_modules("pairdp.algorithms", "(Statistic)")
import_modules("pairdp.ranges", "(Statistic)")
import_modules("pairdp.evaluation", "(EvaluationStatistic)")


def verify(
    certificate: Certificate | str | bytes | Path, *, trusted: Iterable[type | str] = ()
) -> Report:
    """Plan again from the facts of a certificate, compare everything, and recompute every number.

    A certificate contains all public facts of its plan. The library plans again from them, and
    every release, number and sentence must be the same. Then the numbers are recomputed:
    sensitivities by the second route of their bound; what rounding to the grid adds to them in
    rational arithmetic; the privacy curve by the accounting and by a second route (moment
    inversion, enumeration, a cosine series, or dp-accounting).

    Parameters
    ----------
    certificate : Certificate, JSON text, or Path
        A path must be a `pathlib.Path`: a string is the text of a certificate.
    trusted : iterable of class or str, default=()
        Classes outside pairdp, such as a user-defined loss, that may be called to plan again; see
        `pairdp.load`. Their declarations are taken on trust, and the report says so first.

    Returns
    -------
    Report
        Printable, with each number and its recomputed value. Its first line says that the
        certificate holds, or that it could not be planned again and why: then only its arithmetic
        was checked, and ``planned_again`` and ``holds`` are False. This happens for a certificate
        without facts, with a class that is not trusted, or from another version of pairdp that
        plans differently.

    Raises
    ------
    CertificateError
        If it is not a certificate, was changed or damaged, or does not hold; the message says what
        is wrong.

    Notes
    -----
    A certificate that passes is true for the facts that it states. No certificate can show that a
    model was made by this plan, from n records clipped to this norm, with the stated noise source:
    for that, one has to trust whoever made it.
    """
    known = Trusted(trusted)
    read = _read(certificate)
    with np.errstate(all="ignore"):  # forged facts may overflow; the comparison detects them
        not_planned = _not_planned(read, known)
        checks, notes = recompute(read)
    on_trust = () if not_planned else tuple(dict.fromkeys(user_classes(read.plan)))
    return Report(read, checks, notes, not_planned, on_trust)


def _read(certificate: Certificate | str | bytes | Path) -> Certificate:
    if isinstance(certificate, Path):
        return Certificate.load(certificate)
    if isinstance(certificate, str | bytes):
        return Certificate.from_json(certificate)
    if not isinstance(certificate, Certificate):
        raise TypeError(
            "certificate must be a Certificate, its JSON text or a Path, got "
            f"{type(certificate).__name__}; for a fitted model, pass its certificate_"
        )
    return certificate


def _not_planned(certificate: Certificate, trusted: Trusted) -> str:
    """Return why it could not be planned again; raise an error if the result differs."""
    if certificate.plan is None:
        return NO_FACTS
    if is_combined(certificate):
        return _part_not_planned(certificate, trusted)
    try:
        planned = (
            certify_again(certificate, trusted)
            if is_of_statistic(certificate)
            else plan_again(certificate, trusted).certificate
        )
    except (UntrustedClassError, UnknownObjectError, ModuleNotFoundError) as error:
        return str(error)  # of a module: an extra that is not installed here
    except NOT_VALID as error:
        return explain_differences(
            certificate, [f"it cannot be planned from its own facts: {error}"]
        )
    return explain_differences(certificate, differences(certificate, planned))


def _part_not_planned(certificate: Certificate, trusted: Trusted) -> str:
    """Return why a certificate within a combined one could not be planned again."""
    try:
        found = certificates_in(certificate)
    except NOT_VALID as error:
        raise CertificateError(f"its certificates cannot be read: {error}") from None
    reasons = (_not_planned(own, trusted) for _, own in found)
    return next(filter(None, reasons), "")


def explain_differences(certificate: Certificate, reasons: Iterable[str]) -> str:
    """Raise an error for differences, unless another version of pairdp explains them.

    Returns why the certificate could not be planned again, empty if there are no differences.
    """
    found = list(islice(reasons, _SHOWN))
    if not found:
        return ""
    made_by = certificate.library_version
    if made_by == __version__:
        raise CertificateError(*found)
    return f"it was made by pairdp {made_by}, and {__version__} plans differently"
