"""What a certificate takes on trust; the statement and the report say this first.

The facts of a certificate say where its proofs come from: ``loss_constants``, ``constraint_set``
and ``algorithm_proof`` are "library" (proved), "checked in this process" (the process that planned
searched for counterexamples and found none), "on trust", or "not used". A bound registered by other
code is taken on trust too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


def weakest_foundations(problems: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return where the proofs of several problems come from: for each, the weakest that is stated.

    Anything unknown is taken on trust.
    """
    found = {}
    for fact in _FOUNDATIONS:
        stated = {problem[fact] for problem in problems if fact in problem}
        if stated:
            known = (CHECKED, LIBRARY, UNUSED)
            foreign = not stated <= set(known)
            found[fact] = ON_TRUST if foreign else next(s for s in known if s in stated)
    return found


def trust_lines(certificate: Certificate) -> tuple[str, ...]:
    """Return one line for what is taken on trust, and one for what was checked but not proved."""
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
            "holds if they are right."
        )
    if problem.get("loss_constants") == CHECKED:
        lines.append(
            f"CHECKED, NOT PROVED: {_CONSTANTS}{convexity} are not from this library; the process "
            "that planned found no counterexample. What follows holds if they are right."
        )
    return tuple(lines)


def needs_convexity(certificate: Certificate) -> tuple[str, ...]:
    """Return the releases whose bound needs a convex loss if the loss is not convex."""
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
