"""Assumptions on the data beyond those of an algorithm, each with a sentence for certificates.

Certificates store them as objects, so that planning again gives the same sentences: no sentence of
a certificate is free text.
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
        """Raise ValueError if the problem contradicts the condition."""


@dataclass(frozen=True)
class PublicLabels(Condition):
    """The two labels are read from the data, and are public."""

    @property
    def sentence(self) -> str:
        """What certificates say."""
        return "Which two labels occur is public."


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

    def check(self, problem: Problem) -> None:
        """Raise ValueError if the problem has another data norm."""
        if not math.isclose(problem.data_norm, math.sqrt(2) * self.data_norm, rel_tol=1e-12):
            raise ValueError(
                f"rows of norm {self.data_norm:g} with a constant feature of that size need a "
                f"data_norm of √2 times that, and the problem has {problem.data_norm:g}"
            )
