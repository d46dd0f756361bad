"""The public facts that a certificate states about the problem and the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pairdp.algorithms.conditions import Condition
from pairdp.algorithms.settings import Settings
from pairdp.algorithms.task import Task
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.problem import Problem
from pairdp.storage import UnknownObjectError, encode

if TYPE_CHECKING:
    from pairdp.algorithms.algorithm import Algorithm


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
