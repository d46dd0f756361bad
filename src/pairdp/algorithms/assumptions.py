"""The assumptions of a plan's guarantee, as facts and in words.

A sensitivity bound assumes the constants of the loss, and often its convexity. These are proved for
the losses, constraint sets and algorithms of this library; for all others they are taken on trust,
and the certificate says so. Assumptions that no bound of a plan uses are not mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable

from pairdp._provenance import is_own
from pairdp.algorithms.requirements import require_convex
from pairdp.losses import PairwiseLoss
from pairdp.losses.trust import constants_from
from pairdp.privacy import Release
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.privacy.certificates.on_trust import CHECKED, LIBRARY, ON_TRUST, UNUSED
from pairdp.problem import Problem


def assumed_by(releases: Iterable[Release]) -> set[str]:
    """Return what the bounds of some releases assume of the loss."""
    stated = (release.sensitivity for release in releases)
    return {what for one in stated if one is not None for what in find_bound(one.bound).rests_on}


def check_convexity(name: str, problem: Problem, releases: Iterable[Release]) -> None:
    """Raise ValueError if a bound needs a convex loss and the loss is not convex."""
    if "convexity" in assumed_by(releases):
        require_convex(name, problem)


def assumption_facts(
    problem: Problem, releases: Iterable[Release], algorithm_is_own: bool
) -> dict[str, Scalar]:
    """Return where the assumptions of a certificate come from, as facts.

    ``convex`` is what the loss declares; ``loss_constants``, ``constraint_set`` and
    ``algorithm_proof`` state their source, see `pairdp.privacy.certificates.on_trust`.
    """
    used = bool(assumed_by(releases))
    return {
        "convex": problem.is_convex,
        "loss_constants": _constants(problem) if used else UNUSED,
        "constraint_set": (LIBRARY if is_own(type(problem.constraint)) else ON_TRUST)
        if used
        else UNUSED,
        "algorithm_proof": LIBRARY if algorithm_is_own else ON_TRUST,
    }


def _constants(problem: Problem) -> str:
    # A subclass of Problem may compute its constants differently.
    own = is_own(type(problem))
    return constants_from(problem.loss, problem.domain()) if own else ON_TRUST


def assumption_sentences(
    problem: Problem, releases: Iterable[Release], facts: dict[str, Scalar], algorithm: str
) -> tuple[str, ...]:
    """Return the same in words, for the assumptions of a certificate."""
    used = assumed_by(releases)
    loss, source = type(problem.loss).__name__, facts["loss_constants"]
    check = (
        "check_pairwise_loss" if isinstance(problem.loss, PairwiseLoss) else "check_pointwise_loss"
    )
    said = []
    if source == ON_TRUST:
        said.append(
            f"The constants of the loss {loss}, which is not of this library, are taken on trust: "
            f"in the process that planned they had not passed {check} on this problem's domain."
        )
    elif source == CHECKED:
        said.append(
            f"The constants of the loss {loss}, which is not of this library, are as its class "
            f"declares: in the process that planned they passed {check} on this problem's domain, "
            "which is a search for counterexamples and not a proof."
        )
    if "convexity" in used:
        proved = "which is proved" if source == LIBRARY else "as its class declares"
        said.append(f"The loss {loss} is convex, {proved}.")
    if facts["constraint_set"] == ON_TRUST:
        said.append(
            f"The constraint set {type(problem.constraint).__name__} is not of this library: that "
            "it is convex, that its projection is exact and that its radius and diameter are right "
            "is taken on trust."
        )
    if facts["algorithm_proof"] == ON_TRUST:
        said.append(
            f"{algorithm} is not an algorithm of this library: that it releases what is listed and "
            "nothing else, and that the bounds fit what it computes, is taken on trust."
        )
    return tuple(said)
