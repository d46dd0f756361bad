"""Parameters and plans as plain JSON values, and back by known constructors only.

Nothing in a file names code to run: an object is written as the name of one of this library's
classes and its fields, and read back by calling that class, which checks them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from pairdp import algorithms, constraints, losses
from pairdp._sealed import fields_of
from pairdp.algorithms import Plan, Task
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, Certificate
from pairdp.privacy.noise import UNDRAWN
from pairdp.problem import Problem


class UnknownObjectError(ValueError):
    """A value that a model file cannot hold."""


@cache
def _known() -> dict[str, type]:
    """Return the classes that may be written, by name."""
    from pairdp import online  # which has files of its own, by this codec

    found = {}
    for module in (losses, constraints, algorithms, online):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and dataclasses.is_dataclass(thing):
                found[name] = thing
    for name in ("Plan", "Fit", "Task"):
        found.pop(name, None)
    return found


def encode(value: Any) -> Any:
    """Return a parameter as JSON values.

    Raises
    ------
    UnknownObjectError
        If it is not plain and of no known class.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"float": repr(number)}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [encode(item) for item in value]}
    if isinstance(value, Mapping) or hasattr(value, "to_dict"):  # a pandas Series has it
        entries = dict(value)
        if all(isinstance(key, str) for key in entries):
            return {"dict": {key: encode(item) for key, item in entries.items()}}
    if isinstance(value, np.ndarray) or hasattr(value, "to_numpy"):
        items = np.asarray(value).tolist()
        is_list = isinstance(items, list)
        return {"array": [encode(item) for item in items]} if is_list else encode(items)
    name = type(value).__name__
    if _known().get(name) is not type(value):
        raise UnknownObjectError(
            f"a model file cannot hold a {name}: it holds plain values and objects of pairdp; "
            "pickle the model instead"
        )
    fields = {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}  # type: ignore[arg-type]
    return {"object": name, "fields": fields}


def decode(value: Any) -> Any:
    """Return the parameter that `encode` wrote, refusing anything else."""
    match value:
        case None | bool() | str() | int() | float():
            return value
        case {"float": "inf" | "-inf" | "nan" as text, **rest} if not rest:
            return float(text)
        case {"array": list(items), **rest} if not rest:
            return np.array([decode(item) for item in items])
        case {"list": list(items), **rest} if not rest:
            return [decode(item) for item in items]
        case {"tuple": list(items), **rest} if not rest:
            return tuple(decode(item) for item in items)
        case {"dict": dict(items), **rest} if not rest:
            return {key: decode(item) for key, item in items.items()}
        case {"object": str(name), "fields": dict(fields), **rest} if not rest:
            if name not in _known():
                raise ValueError(f"unknown object {name!r}")
            made = {key: decode(item) for key, item in fields.items()}
            return _known()[name](**made)
    raise ValueError(f"not a parameter: {type(value).__name__}")


def encode_plan(plan: Plan) -> dict[str, Any]:
    """Return a plan without its certificate as JSON values."""
    problem = plan.problem
    return {
        "algorithm": encode(plan.algorithm),
        "problem": {
            "loss": encode(problem.loss),
            "constraint": encode(problem.constraint),
            "regularization": problem.regularization,
            "center": encode(problem.center),
            "data_norm": problem.data_norm,
        },
        "features": plan.task.features,
        "calibration": plan.task.calibration,
        "settings": {name: encode(value) for name, value in plan.settings.items()},
        "reasons": list(plan.reasons),
    }


def decode_plan(values: object, certificate: Certificate) -> Plan:
    """Return the plan that `encode_plan` wrote."""
    fields = fields_of(
        "plan",
        values,
        required={"algorithm", "problem", "features", "calibration", "settings", "reasons"},
    )
    of_problem = fields_of(
        "problem",
        fields["problem"],
        required={"loss", "constraint", "regularization", "center", "data_norm"},
    )
    made = {name: decode(value) for name, value in of_problem.items()}
    of_one = isinstance(made["loss"], losses.PointwiseLoss)
    problem = (PointwiseProblem if of_one else Problem)(**made)
    budget = certificate.budget
    task = Task(
        problem,
        certificate.n,
        fields["features"],
        None if budget is None else Budget(budget.epsilon, budget.delta),
        fields["calibration"],
    )
    algorithm = decode(fields["algorithm"])
    if not isinstance(algorithm, algorithms.Algorithm):
        raise ValueError("the plan's algorithm is none")
    if not isinstance(fields["settings"], dict) or not isinstance(fields["reasons"], list):
        raise ValueError("the plan's settings or reasons are malformed")
    settings = {name: decode(value) for name, value in fields["settings"].items()}
    planned = dataclasses.replace(certificate, noise_source=UNDRAWN)
    return Plan(algorithm, task, planned, settings, tuple(map(str, fields["reasons"])))
