"""The public facts that a certificate states: of the problem, the data, the plan, its assumptions.

A sensitivity bound assumes the constants of the loss, and often its convexity. These are proved for
the losses, constraint sets and algorithms of this library; for all others they are taken on trust,
and the certificate says so. Assumptions that no bound of a plan uses are not mentioned.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairdp import losses
from pairdp._checks import RECORDS, flag, keep, real
from pairdp._provenance import is_own
from pairdp.algorithms.requirements import require_convex
from pairdp.algorithms.task import Settings, Task
from pairdp.clipping import check_data_norm
from pairdp.losses import PairwiseLoss
from pairdp.losses.trust import constants_from
from pairdp.privacy import Certificate, Release
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.privacy.certificates.on_trust import CHECKED, LIBRARY, ON_TRUST, UNUSED
from pairdp.problem import Problem
from pairdp.storage import Storable, UnknownObjectError, encode

if TYPE_CHECKING:
    from pairdp.algorithms.algorithm import Algorithm


BY_POSITION = (
    "What a record is combined with depends on its position: the order of the records must not "
    "depend on their values. In a table that is sorted by a column, or in files that are named "
    "after values, replacing a record would move others; shuffle such a table first."
)
"""What certificates say of algorithms that declare ``uses_positions``."""


class Condition(Storable, ABC):
    """A condition on the data or its preparation: a frozen dataclass."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What certificates say."""

    def check(self, problem: Problem, features: int) -> None:
        """Raise ValueError if the problem, or its number of features, contradicts the condition."""


@dataclass(frozen=True)
class PublicLabels(Condition):
    """The two labels are read from the data, and are public."""

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return "Which two labels occur is public."


@dataclass(frozen=True)
class CountedRecords(Condition):
    """The number of records was counted in the data, and is public."""

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return "The number of records n was counted in the data, and is public."


def n_is_counted(certificate: Certificate) -> bool:
    """Return whether a certificate states that n was counted."""
    plan: Any = certificate.to_dict()["plan"] or {}
    stored = plan.get("conditions", ())
    return any(isinstance(one, dict) and one.get("object") == "CountedRecords" for one in stored)


@dataclass(frozen=True)
class ConstantFeature(Condition):
    """Rows are clipped to a norm, and a constant feature of that size is appended.

    Parameters
    ----------
    data_norm : float
        R; the problem must have the data norm √2·R, to include the constant feature.
    """

    data_norm: float

    def __post_init__(self) -> None:
        keep(self, "data_norm", check_data_norm(self.data_norm))

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return (
            f"Rows are clipped to norm {self.data_norm:g} and get a constant feature of that size, "
            "which makes their norm at most √2 times that."
        )

    def check(self, problem: Problem, features: int) -> None:
        """Raise ValueError if the problem has another data norm."""
        if not math.isclose(problem.data_norm, math.sqrt(2) * self.data_norm, rel_tol=1e-12):
            raise ValueError(
                f"rows of norm {self.data_norm:g} with a constant feature of that size need a "
                f"data_norm of √2 times that, and the problem has {problem.data_norm:g}"
            )


@dataclass(frozen=True)
class GivenPairs(Condition):
    """Records are given pairs of rows.

    Parameters
    ----------
    of_units : bool
        Whether the rows of a pair belong to two units, which are protected.
    """

    of_units: bool = False

    def __post_init__(self) -> None:
        keep(self, "of_units", flag("of_units", self.of_units))

    @property
    def sentence(self) -> str:
        """What certificates say."""
        pair = (
            "A record is a pair of rows and its label, similar or dissimilar: n is the number of "
            "pairs, and the difference of the two rows is clipped."
        )
        if not self.of_units:
            return f"{pair} One pair is protected, and not all pairs of one person."
        return (
            f"{pair} It belongs to the units of both rows, and is used if each of them has fewer "
            "used pairs before it than the limit. Who is in a pair with whom is the same in "
            "neighbouring data sets, and not protected."
        )

    def check(self, problem: Problem, features: int) -> None:
        """Raise ValueError for a problem that is not of given pairs."""
        if not isinstance(problem.loss, losses.PairMetricLoss):
            raise ValueError(f"{type(problem.loss).__name__} is not a loss of given pairs")


@dataclass(frozen=True)
class ResponseBounds(Condition):
    """A graded response is clipped to public bounds, and mapped from these to [-1, 1].

    Parameters
    ----------
    low, high : float
        The bounds; the problem must have the label bound 1.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = real(name, getattr(self, name))
            if not abs(value) <= RECORDS[1]:
                raise ValueError(f"a response bound must be at most {RECORDS[1]:g} in size")
            keep(self, name, value)
        if not self.low < self.high or self.high - self.low < RECORDS[0]:
            raise ValueError(
                f"response bounds must be (low, high) with low below high, got {self.low:g} and "
                f"{self.high:g}"
            )

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return (
            f"Responses are clipped to the range from {self.low:g} to {self.high:g}, which is "
            "public, and mapped to the range from -1 to 1."
        )

    def check(self, problem: Problem, features: int) -> None:
        """Raise ValueError if the problem has another label bound."""
        if problem.loss.label_bound != 1:
            raise ValueError("responses between -1 and 1 need a loss with label_bound 1")


def problem_facts(problem: Problem, features: int) -> dict[str, Scalar]:
    """Return the public facts of a problem for its certificate."""
    facts: dict[str, Any] = {
        "loss": _in_words(problem.loss),
        "constraint": _in_words(problem.constraint),
        "regularization": problem.regularization,
        "data_norm": problem.data_norm,
        "features": features,
    }
    domain = problem.domain()
    for name, value in (
        ("lipschitz", problem.loss.lipschitz(domain)),
        (problem.smoothness_of, problem.loss.smoothness(domain)),
    ):
        facts[name] = value if np.isfinite(value) else None
    return facts


def plan_facts(
    algorithm: Algorithm,
    problem: Problem,
    task: Task,
    settings: Settings,
    departures: Sequence[str],
    conditions: Sequence[Condition],
) -> dict[str, Any] | None:
    """Return the inputs and the settings of a plan, as JSON values.

    None if some object cannot be stored: such a certificate cannot be planned again. The problem is
    the original one; the problem that is solved is added if it differs.
    `pairdp.algorithms.stored_plans` reads them back.
    """
    solved = task.problem
    try:
        return {
            "algorithm": encode(algorithm),
            "problem": encode(problem),
            "solved": None if solved == problem else encode(solved),
            "features": task.features,
            "schedule": task.schedule,
            "departures": list(departures),
            "conditions": [encode(condition) for condition in conditions],
            "settings": {name: encode(value) for name, value in settings.to_dict().items()},
        }
    except UnknownObjectError:
        return None


def _in_words(thing: object) -> str:
    """Return the repr of an object, or the name of its class if the default repr would be used."""
    kind = type(thing)
    plain = kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__
    return f"{kind.__name__}()" if plain else str(thing)


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
