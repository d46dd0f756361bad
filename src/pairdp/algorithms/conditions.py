"""What must be true of the data besides what an algorithm asks for, as facts with a sentence each.

Certificates carry them as objects, so that planning again gives the same sentences: no sentence
of a certificate is free text.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from pairdp._checks import keep
from pairdp.clipping import check_data_norm
from pairdp.problem import Problem
from pairdp.storage import Storable


class Condition(Storable, ABC):
    """A condition on the data or its preparation: a frozen dataclass."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What certificates say."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that it contradicts."""


@dataclass(frozen=True)
class PublicLabels(Condition):
    """The labels are those that occur in the data."""

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return "Which two labels occur is public."


@dataclass(frozen=True)
class ConstantFeature(Condition):
    """Rows are clipped to a norm and get a constant feature of that size.

    Parameters
    ----------
    data_norm : float
        R; the norm of the longer rows is at most √2·R, which the problem must have.
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

    def check(self, problem: Problem) -> None:
        """Refuse a problem of other rows."""
        if not math.isclose(problem.data_norm, math.sqrt(2) * self.data_norm, rel_tol=1e-12):
            raise ValueError(
                f"rows of norm {self.data_norm:g} with a constant feature of that size need a "
                f"data_norm of √2 times that, and the problem has {problem.data_norm:g}"
            )
