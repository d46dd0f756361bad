"""What a certificate takes on trust, said before anything else is.

A certificate's facts tell where its foundations come from: ``loss_constants``, ``constraint_set``
and ``algorithm_proof`` are "library" (proved), "checked in this process" (the process that planned
looked for counterexamples and found none), "on trust", or "not used". A bound that was registered
from outside is taken on trust too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairdp._provenance import is_own
from pairdp.privacy.bounds.sensitivity import find_bound

if TYPE_CHECKING:
    from pairdp.privacy.certificates.certificate import Certificate

LIBRARY = "library"
CHECKED = "checked in this process"
ON_TRUST = "on trust"
UNUSED = "not used"

_CONSTANTS = "the constants of the loss"
_FOUNDATIONS = {
    "loss_constants": _CONSTANTS,
    "constraint_set": "the constraint set",
    "algorithm_proof": "the algorithm",
}


def trust_lines(certificate: Certificate) -> tuple[str, ...]:
    """Return what must be said first: what is taken on trust, and what was checked only."""
    if certificate.budget is None:
        return ()
    problem = certificate.problem
    trusted = [words for fact, words in _FOUNDATIONS.items() if problem.get(fact) == ON_TRUST]
    bounds = {r.sensitivity.bound for r in certificate.releases if r.sensitivity is not None}
    convexity = " and its convexity" if any(map(_rests_on_convexity, bounds)) else ""
    trusted = [f"{words}{convexity}" if words == _CONSTANTS else words for words in trusted]
    trusted += [f"the bound {name!r}" for name in sorted(bounds) if not _is_known(name)]
    lines = []
    if trusted:
        lines.append(
            f"TAKEN ON TRUST, not derived by this library: {'; '.join(trusted)}. What follows "
            "holds if that is right."
        )
    if problem.get("loss_constants") == CHECKED:
        lines.append(
            f"CHECKED, NOT PROVED: {_CONSTANTS}{convexity} are not this library's; the process "
            "that planned found no counterexample to them. What follows holds if they are right."
        )
    return tuple(lines)


def needs_convexity(certificate: Certificate) -> tuple[str, ...]:
    """Return the releases whose bound needs a convex loss although the problem has none."""
    if certificate.problem.get("convex") is not False:
        return ()
    return tuple(
        release.name
        for release in certificate.releases
        if release.sensitivity is not None and _rests_on_convexity(release.sensitivity.bound)
    )


def _rests_on_convexity(name: str) -> bool:
    try:
        return "convexity" in find_bound(name).rests_on
    except KeyError:
        return False


def _is_known(name: str) -> bool:
    try:
        return is_own(find_bound(name).formula)
    except KeyError:
        return False
