"""A statement of a paper about accuracy, evaluated for one problem."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Quantity = Literal[
    "excess risk",
    "regret",
    "generalization gap",
    "optimization error",
    "distance of two runs",
    "squared distance of two runs",
    "Rademacher complexity",
]


@dataclass(frozen=True)
class Assumption:
    """What a statement assumes, and whether the problem is known to have it."""

    text: str
    met: bool


@dataclass(frozen=True)
class Proved:
    """A number that `pairdp.theory.proved` proves, and the schedule that it holds for."""

    value: float
    setting: str


@dataclass(frozen=True)
class UtilityBound:
    """A theorem or lemma of a paper with the numbers of one problem.

    Attributes
    ----------
    paper, statement : str
        Such as "Kang 2021" and "Theorem 2".
    quantity : str
        What is bounded.
    holds : str
        "in expectation", "always", or with which probability.
    assumptions : tuple of Assumption
        What the statement assumes.
    rate : str
        The order that the paper states, in words.
    value : float or None
        The printed bound with all its constants; None if an assumption is not met, or if the paper
        states an order only.
    setting : str
        Steps, step size and noise that the value is for.
    trivial : float or None
        What holds without learning anything: the excess risk of w = 0, the diameter of the set.
        None if it is not known.
    proved : Proved or None
        A bound on the same quantity that is proved in this library, if there is one.
    remark : str
        What is wrong, missing or loose in the statement as printed.
    """

    paper: str
    statement: str
    quantity: Quantity
    holds: str
    assumptions: tuple[Assumption, ...]
    rate: str = ""
    value: float | None = None
    setting: str = ""
    trivial: float | None = None
    proved: Proved | None = None
    remark: str = ""

    def __post_init__(self) -> None:
        if self.trivial is not None and not math.isfinite(self.trivial):
            object.__setattr__(self, "trivial", None)

    @property
    def unmet(self) -> tuple[str, ...]:
        """The assumptions that the problem is not known to meet."""
        return tuple(each.text for each in self.assumptions if not each.met)

    @property
    def applies(self) -> bool:
        """Whether all assumptions are met."""
        return not self.unmet

    @property
    def vacuous(self) -> bool | None:
        """Whether the printed number is no better than the trivial one; None without a number."""
        return _is_vacuous(self.value, self.trivial)

    @property
    def proved_vacuous(self) -> bool | None:
        """The same for the number that is proved here."""
        return _is_vacuous(self.proved.value if self.proved else None, self.trivial)

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes, for JSON."""
        return {
            **asdict(self),
            "applies": self.applies,
            "vacuous": self.vacuous,
            "proved_vacuous": self.proved_vacuous,
        }


def _is_vacuous(value: float | None, trivial: float | None) -> bool | None:
    return None if value is None or trivial is None else value >= trivial
