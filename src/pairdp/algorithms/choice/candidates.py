"""Candidates for ``algorithm="auto"``, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from pairdp._discovery import import_modules
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.facts import Condition
from pairdp.algorithms.plan import Plan
from pairdp.privacy import Budget
from pairdp.problem import Problem

Model = Literal["ranking", "metric", "linear"]
Source = Callable[[Any], Iterator["Candidate"]]
Registered = TypeVar("Registered", bound=Source)


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the problem it would solve, and how well it is predicted to do.

    Attributes
    ----------
    problem : Problem
        What it would minimise.
    algorithm : Algorithm
        The hyper-parameters.
    error : float
        Predicted loss of quality against perfect knowledge, comparable within one choice.
    reason : str
        Where that number comes from, in a sentence.
    draft : PlanDraft, optional
        What the algorithm decides for the problem, if the prediction needed it.
    """

    problem: Problem
    algorithm: Algorithm
    error: float
    reason: str
    draft: PlanDraft | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Choice:
    """All that was considered for a task, the best first.

    Attributes
    ----------
    n, features : int
        The public size of the data.
    budget : Budget or None
        What may be spent.
    candidates : tuple of Candidate
        By predicted error, the least first.
    """

    n: int
    features: int
    budget: Budget | None
    candidates: tuple[Candidate, ...]

    def __post_init__(self) -> None:
        if not self.candidates:
            raise ValueError("there is nothing to choose from")
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
        """Return the plan of a candidate; what its prediction decided is not decided again.

        Parameters
        ----------
        candidate : Candidate, optional
            The best one by default.
        complete : callable, optional
            Returns the algorithm with whatever else the model releases, such as a threshold.
        conditions : sequence of Condition
            What else must be true of the data, for the certificate to say.
        """
        chosen = self.best if candidate is None else candidate
        algorithm = chosen.algorithm if complete is None else complete(chosen.algorithm)
        return algorithm.plan(
            chosen.problem,
            self.n,
            self.features,
            self.budget,
            conditions=conditions,
            draft=chosen.draft and algorithm.draft_from(chosen.algorithm, chosen.draft),
        )


class _Entry(NamedTuple):
    order: int
    name: str
    source: Source


_ENTRIES: dict[Model, dict[str, _Entry]] = {"ranking": {}, "metric": {}, "linear": {}}


def register_candidates(model: Model, *, order: int = 100) -> Callable[[Registered], Registered]:
    """Let a function say when an algorithm is a candidate, and how well it would do.

    Parameters
    ----------
    model : {"ranking", "metric", "linear"}
        What is fitted. The function is called with a `RankingTask`, `MetricTask` or `LinearTask`,
        which has only public facts, and yields candidates, or none where the algorithm does not
        apply.
    order : int
        Of candidates with equal errors, the one of the lowest order is taken. Those of this
        library come first.
    """
    if model not in _ENTRIES:
        raise ValueError(f"model must be one of {', '.join(_ENTRIES)}, got {model!r}")

    def register(source: Registered) -> Registered:
        name = f"{source.__module__}.{source.__qualname__}"
        _ENTRIES[model][name] = _Entry(order, name, source)
        return source

    return register


def candidates_for(model: Model, task: object) -> tuple[Candidate, ...]:
    """Return the candidates of all algorithms, in an order that no import changes.

    Modules of `pairdp.algorithms` that register candidates for the model are imported first: those
    whose source has both words.
    """
    import_modules("pairdp.algorithms", register_candidates.__name__, model)
    return tuple(
        candidate
        for entry in sorted(_ENTRIES[model].values(), key=lambda entry: entry[:2])
        for candidate in entry.source(task)
    )


def best(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the candidate with the least error, the first of them; none if there is none."""
    found = min(candidates, key=lambda candidate: candidate.error, default=None)
    if found is not None:
        yield found
