"""Plans from the JSON values that certificates store: as stored, or planned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pairdp._sealed import fields_of
from pairdp.algorithms.algorithm import Algorithm
from pairdp.algorithms.facts import Condition
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.task import Task
from pairdp.losses.trust import as_stated
from pairdp.privacy import Certificate
from pairdp.privacy.certificates.certificate import Scalar
from pairdp.privacy.mechanisms.noise_source import UNDRAWN
from pairdp.problem import Problem
from pairdp.storage import Trusted, decode

_FIELDS = {
    "algorithm", "problem", "solved", "features", "schedule", "departures", "conditions",
    "settings",
}  # fmt: skip
NO_FACTS = (
    "it stores no facts of a plan: it was made by hand, or from objects that are not dataclasses"
)


@dataclass(frozen=True)
class PlanFacts:
    """The public facts of a certificate, read back.

    Attributes
    ----------
    algorithm : Algorithm
        The algorithm with its hyper-parameters.
    task : Task
        The original problem, n, the number of features, the budget and the calibration.
    solved : Problem
        The problem that is solved: the original one, or with a regulariser added by the algorithm.
    conditions : tuple of Condition
        Further assumptions on the data.
    settings : dict of str to number or string
        The settings, as recorded.
    """

    algorithm: Algorithm
    task: Task
    solved: Problem
    conditions: tuple[Condition, ...]
    settings: dict[str, Scalar]


def facts_of(certificate: Certificate, trusted: Trusted) -> PlanFacts:
    """Return the facts of a certificate.

    Raises
    ------
    ValueError or TypeError
        If there are no facts, or if they are malformed.
    UntrustedClassError, UnknownObjectError
        If they name a class that is not trusted or cannot be imported.
    """
    stored = certificate.to_dict()["plan"]
    if stored is None:
        raise ValueError(NO_FACTS)
    fields = fields_of("plan", stored, required=_FIELDS)
    if not isinstance(fields["settings"], dict) or not isinstance(fields["conditions"], list):
        raise ValueError("the settings or conditions of its plan are malformed")
    algorithm = decode(fields["algorithm"], trusted)
    problem = decode(fields["problem"], trusted)
    solved = problem if fields["solved"] is None else decode(fields["solved"], trusted)
    conditions = tuple(decode(item, trusted) for item in fields["conditions"])
    if not isinstance(algorithm, Algorithm):
        raise ValueError("the algorithm of its plan is not an Algorithm")
    if not isinstance(problem, Problem) or not isinstance(solved, Problem):
        raise ValueError("the problem of its plan is not a Problem")
    if not all(isinstance(condition, Condition) for condition in conditions):
        raise ValueError("a condition of its plan is not a Condition")
    printed = certificate.calibration == "printed"
    task = Task(
        problem,
        certificate.n,
        fields["features"],
        certificate.budget,
        "printed" if printed else "certified",
        fields["schedule"],
        certificate.unit,
    )
    settings = {name: decode(value) for name, value in fields["settings"].items()}
    return PlanFacts(algorithm, task, solved, conditions, settings)


def stored_plan(
    certificate: Certificate,
    reasons: Sequence[str] = (),
    departures: Sequence[str] = (),
    trusted: Trusted | None = None,
) -> Plan:
    """Return the plan of a certificate as stored, without checking its numbers."""
    facts = facts_of(certificate, trusted or Trusted())
    planned = replace(certificate, noise_source=UNDRAWN)
    task = replace(facts.task, problem=facts.solved)
    settings = facts.algorithm.settings_from(facts.settings)
    return Plan(facts.algorithm, task, planned, settings, tuple(reasons), tuple(departures))


def plan_again(certificate: Certificate, trusted: Trusted | None = None) -> Plan:
    """Return the plan that this version makes from the facts of a certificate alone."""
    facts = facts_of(certificate, trusted or Trusted())
    task = facts.task
    with as_stated(certificate.problem.get("loss_constants")):
        return facts.algorithm.plan(
            task.problem,
            task.n,
            task.features,
            task.budget,
            calibration=task.calibration,
            schedule=task.schedule,
            conditions=facts.conditions,
            unit=task.unit,
        )
