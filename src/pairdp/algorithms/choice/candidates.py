"""Candidates for ``algorithm="auto"``, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from pairdp._discovery import import_modules
from pairdp.algorithms.algorithm import Algorithm, PlanDraft, UnitsNotOfferedError
from pairdp.algorithms.facts import Condition
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.task import Task
from pairdp.privacy import Budget, Unit
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.unit import records_of
from pairdp.problem import Problem

Model = Literal["ranking", "metric", "linear"]
Source = Callable[[Any], Iterator["Candidate"]]
Registered = TypeVar("Registered", bound=Source)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the problem that it would solve and its predicted error.

    Attributes
    ----------
    problem : Problem
        The problem that it would solve.
    algorithm : Algorithm
        The hyper-parameters.
    error : float
        Predicted loss of quality relative to the best possible model, comparable within one choice.
    reason : str
        How the prediction was made, in one sentence.
    draft : PlanDraft, optional
        The draft of the algorithm for the problem, if the prediction computed it.
    """

    problem: Problem
    algorithm: Algorithm
    error: float
    reason: str
    draft: PlanDraft | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Choice:
    """All candidates for a task, the best first.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        The privacy budget.
    candidates : tuple of Candidate
        In increasing order of predicted error.
    unit : Unit or None
        What is protected; a single record if it is None.
    """

    n: int
    features: int
    budget: Budget | None
    candidates: tuple[Candidate, ...]
    unit: Unit | None = None

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ValueError("there are no candidates to choose from")
        ordered = tuple(sorted(self.candidates, key=lambda candidate: candidate.error))
        object.__setattr__(self, "candidates", ordered)

    @property
    def best(self) -> Candidate:
        """The candidate with the least predicted error."""
        return self.candidates[0]

    def plan(
        self,
        *,
        candidate: Candidate | None = None,
        complete: Callable[[Algorithm], Algorithm] | None = None,
        conditions: Sequence[Condition] = (),
    ) -> Plan:
        """Return the plan of a candidate, made from its draft if it has one.

        Parameters
        ----------
        candidate : Candidate, optional
            The best one by default.
        complete : callable, optional
            Maps the algorithm to one with further releases, such as a threshold.
        conditions : sequence of Condition
            Further assumptions on the data, which the certificate states.
        """
        chosen = self.best if candidate is None else candidate
        algorithm = chosen.algorithm if complete is None else complete(chosen.algorithm)
        return algorithm.plan(
            chosen.problem,
            self.n,
            self.features,
            self.budget,
            conditions=conditions,
            unit=self.unit,
            draft=chosen.draft and algorithm.draft_from(chosen.algorithm, chosen.draft),
        )


@dataclass(frozen=True)
class ModelTask:
    """The public facts of a model to be fitted; one class is derived for each kind of model.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        The privacy budget.
    unit : Unit or None
        What is protected; a single record if it is None.
    """

    n: int
    features: int
    budget: Budget | None
    unit: Unit | None = field(default=None, kw_only=True)

    @property
    def records(self) -> int:
        """How many records may differ between neighbours: k of a unit, otherwise 1."""
        return records_of(self.unit)

    @property
    def mu(self) -> float:
        """µ of Gaussian DP, or ε if it is pure, for one record; infinite without noise."""
        if self.budget is None:
            return math.inf
        if self.budget.is_pure:
            return self.budget.epsilon / self.records
        return gdp_mu(self.budget.epsilon, self.budget.delta) / self.records

    def task(self, problem: Problem) -> Task:
        """Return the task of solving a problem."""
        return Task(problem, self.n, self.features, self.budget, unit=self.unit)

    def noise(self, sensitivity: float, largest: float = math.inf) -> float:
        """Return approximately the norm of the noise on d numbers.

        Parameters
        ----------
        sensitivity : float
            Their sensitivity if one record is replaced.
        largest : float
            A bound on their change if any number of records is replaced.
        """
        sensitivity = min(self.records * sensitivity, largest)
        if self.budget is None:
            return 0.0
        if self.budget.is_pure:
            return sensitivity * self.features / self.budget.epsilon
        mu = gdp_mu(self.budget.epsilon, self.budget.delta)
        return sensitivity * math.sqrt(self.features) / mu


class _Entry(NamedTuple):
    order: int
    name: str
    source: Source


_ENTRIES: dict[Model, dict[str, _Entry]] = {"ranking": {}, "metric": {}, "linear": {}}


def register_candidates(model: Model, *, order: int = 100) -> Callable[[Registered], Registered]:
    """Register a function that yields candidates with their predicted errors.

    Parameters
    ----------
    model : {"ranking", "metric", "linear"}
        The kind of model. The function is called with a `RankingTask`, `MetricTask` or
        `LinearTask`, which contains only public facts; it yields nothing if the algorithm does not
        apply.
    order : int
        Among candidates with equal errors, the one with the lowest order is chosen. Those of this
        library come first.
    """
    if model not in _ENTRIES:
        raise ValueError(f"model must be one of {', '.join(_ENTRIES)}, got {model!r}")

    def register(source: Registered) -> Registered:
        name = f"{source.__module__}.{source.__qualname__}"
        _ENTRIES[model][name] = _Entry(order, name, source)
        return source

    return register


def candidates_for(model: Model, task: ModelTask) -> tuple[Candidate, ...]:
    """Return the candidates of all algorithms, in an order that does not depend on imports.

    If the task has a unit, only algorithms that offer units are candidates.

    Modules of `pairdp.algorithms` that register candidates for the model are imported first: those
    whose source contains ``register_candidates`` and the name of the model.
    """
    import_modules("pairdp.algorithms", register_candidates.__name__, model)
    return tuple(
        candidate
        for entry in sorted(_ENTRIES[model].values(), key=lambda entry: entry[:2])
        for candidate in _offered(entry.source, task)
    )


def _offered(source: Source, task: ModelTask) -> Iterator[Candidate]:
    """Yield the candidates that offer the unit of a task; a source may compute drafts of others."""
    try:
        for candidate in source(task):
            if task.unit is None or candidate.algorithm.offers_units:
                yield candidate
    except UnitsNotOfferedError:
        return


def best(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the first candidate with the smallest error, if there is any."""
    found = min(candidates, key=lambda candidate: candidate.error, default=None)
    if found is not None:
        yield found
