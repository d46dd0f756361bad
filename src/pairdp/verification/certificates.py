"""A certificate, planned again from its own facts and recomputed by other routes."""

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
from pairdp.privacy.certificates.recomputation import recompute
from pairdp.storage import NOT_VALID, Trusted, UnknownObjectError, UntrustedClassError
from pairdp.storage.codec import user_classes
from pairdp.verification.report import Report

_SHOWN = 5

import_modules("pairdp.online")  # its algorithms register


def verify(
    certificate: Certificate | str | bytes | Path, *, trusted: Iterable[type | str] = ()
) -> Report:
    """Plan again from the facts of a certificate, compare everything, and recompute every number.

    A certificate carries all public facts of its plan. They are planned again, by the code that
    plans, and every release, number and sentence must be the same. Then the arithmetic is done once
    more by other routes: sensitivities by the second route of their bound; the privacy curve by its
    own accounting and by inverting the moment function of the privacy loss, by enumeration, or by
    dp-accounting.

    Parameters
    ----------
    certificate : Certificate, JSON text, or Path
        A path must be a `pathlib.Path`: a string is the certificate's text.
    trusted : iterable of class or str, default=()
        Classes outside pairdp, such as a loss of one's own, that may be called to plan again; see
        `pairdp.load`. What they declare is taken on trust, and the report says so first.

    Returns
    -------
    Report
        Printable, with each number beside its recomputation. Its first line says that the
        certificate holds, or that it could not be planned again and why: then only its arithmetic
        was checked, and ``planned_again`` and ``holds`` are False. That is so for a certificate
        without facts, of a class that is not trusted, or of another version of pairdp that plans
        otherwise.

    Raises
    ------
    CertificateError
        If it is no certificate, was changed or damaged, or does not hold; the message
        says precisely what does not.

    Notes
    -----
    A certificate that passes is true of the facts that it states. That a model was made by this
    plan, from n records that were clipped to this norm, with the noise source that is named, is
    what its maker says: no certificate can show it.
    """
    known = Trusted(trusted)
    read = _read(certificate)
    with np.errstate(all="ignore"):  # forged facts may overflow, which the comparison finds
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
            f"verify takes a Certificate, its JSON text or a Path, got {type(certificate).__name__}"
        )
    return certificate


def _not_planned(certificate: Certificate, trusted: Trusted) -> str:
    """Return why it could not be planned again; refuse it if it was, with another result."""
    if certificate.plan is None:
        return NO_FACTS
    try:
        planned = plan_again(certificate, trusted)
    except (UntrustedClassError, UnknownObjectError) as error:
        return str(error)
    except NOT_VALID as error:
        return otherwise(certificate, [f"it cannot be planned from its own facts: {error}"])
    return otherwise(certificate, differences(certificate, planned.certificate))


def otherwise(certificate: Certificate, reasons: Iterable[str]) -> str:
    """Refuse what is not as planned, unless another version may have planned otherwise.

    Returns why it could not be planned again, which is empty where there are no reasons.
    """
    found = list(islice(reasons, _SHOWN))
    if not found:
        return ""
    made_by = certificate.library_version
    if made_by == __version__:
        raise CertificateError(*found)
    return f"it was made by pairdp {made_by}, and {__version__} plans otherwise"
