"""The public facts that a certificate states about the problem, the data and the plan."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairdp._checks import keep
from pairdp.algorithms.task import Settings, Task
from pairdp.clipping import check_data_norm
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.problem import Problem
from pairdp.storage import Storable, UnknownObjectError, encode

if TYPE_CHECKING:
    from pairdp.algorithms.algorithm import Algorithm


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
