"""The evaluation of a fit on records that are held out: planned, read and run.

Which rows these are is decided before any is read (`pairdp.privacy.certificates.held_out`), so that
model and evaluation cost together as much as the more expensive of the two. The evaluation uses the
released model: parallel composition allows this (`pairdp.privacy.certificates.part.composed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import did_you_mean, flag, positive
from pairdp._reading import read_labels, read_table, uses_null_records
from pairdp.algorithms import Plan
from pairdp.evaluation.evaluate import (
    Hopeless,
    check_hope,
    plan_evaluation,
    run_plan,
    used_records,
)
from pairdp.evaluation.kinds import Options
from pairdp.evaluation.measures import Measure, evaluated_model
from pairdp.evaluation.plan import EvaluationPlan, Noise
from pairdp.evaluation.result import Evaluation, digest_of
from pairdp.evaluation.score_bins import BINS, spread_edges
from pairdp.evaluation.scoring import ScoredModel, bare
from pairdp.privacy import Budget, Certificate
from pairdp.privacy.certificates.combined import combine
from pairdp.privacy.certificates.held_out import (
    EVALUATION,
    TRAINING,
    HeldOut,
    HeldOutRows,
    Placed,
)
from pairdp.schema import Schema

if TYPE_CHECKING:
    from pairdp.estimators.held_out import HoldsOut

Array = NDArray[np.float64]
_LARGEST = 1e150  # what evaluation can score; see `pairdp.evaluation.scoring`


@dataclass(frozen=True)
class EvaluationOptions:
    """How records that are held out are used; see ``evaluation_options`` of `fit`."""

    seed: int = 0
    epsilon: float | None = None
    delta: float | None = None
    noise: Noise = "auto"
    roc: bool = False
    threshold: float | None = None
    score_range: float | None = None
    r2: bool = False
    share: float | None = None
    hopeless: Hopeless = "error"

    @staticmethod
    def of(given: Mapping[str, Any] | None) -> EvaluationOptions:
        """Return given options; an error for others."""
        known = [field.name for field in fields(EvaluationOptions)]
        for name in given or ():
            if name not in known:
                raise ValueError(
                    f"evaluation_options has {name!r}{did_you_mean(str(name), known)}; it takes "
                    f"{', '.join(known)}"
                )
        return EvaluationOptions(**(given or {}))

    def budget(self, training: Budget | None) -> Budget:
        """Return the budget of the evaluation: by default, that of the model."""
        if training is None:
            raise ValueError(
                "evaluation_share is for private models, and epsilon is None: use pairdp.evaluate"
            )
        epsilon = training.epsilon if self.epsilon is None else self.epsilon
        return Budget(epsilon, training.delta if self.delta is None else self.delta)

    def measured(self, measure: Measure) -> Options:
        """Return what an evaluation by a measure is told; an error if it takes no such options."""
        told = Options(self.noise, flag("roc", self.roc), self.threshold, self.score_range, self.r2)
        if measure != "auc":
            told.refuse_counts()
        if measure != "error":
            told.refuse_r2()
        return told

    def edges(self) -> tuple[float, ...]:
        """Return as many edges of bins of scores as there will be; a model says where."""
        more = () if self.threshold is None else (self.threshold,)
        half = 1.0 if self.score_range is None else positive("score_range", self.score_range)
        return spread_edges(half, BINS, *more) if self.roc else more


@dataclass(frozen=True)
class HeldOutPlan:
    """A fit and its evaluation on records that are held out, before any data is read.

    Attributes
    ----------
    n : int
        The public number of records.
    split : HeldOut
        Which of them are held out.
    training : Plan
        The fit, of the others.
    evaluation : EvaluationPlan
        The evaluation; printed, it says what to expect.
    """

    n: int
    split: HeldOut
    training: Plan
    evaluation: EvaluationPlan

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of both together."""
        return self.combined(self.training.certificate, self.evaluation.certificate)

    def combined(self, training: Certificate, evaluation: Certificate) -> Certificate:
        """Return one certificate for those of both runs."""
        return combine(self.n, [(TRAINING, training), (EVALUATION, evaluation)], self.split)

    @property
    def head(self) -> str:
        """How many records are held out, and what both cost together."""
        budget = self.certificate.budget
        both = "" if budget is None else f", ε = {budget.epsilon:g}, δ = {budget.delta:g} in all"
        trained, held_out = self.split.sizes(self.n)
        return f"n = {self.n} records, {trained} for training and {held_out} held out{both}"

    def __str__(self) -> str:
        return f"{self.head}\n{self.training}\n{self.evaluation}"


class HeldOutRecords:
    """The records of one fit that are held out: read, and kept until the model is there.

    They are raw data, which is dropped with the fit and cannot be pickled.
    """

    def __init__(self, plan: HeldOutPlan, options: EvaluationOptions, *, null: bool) -> None:
        self.plan = plan
        self._options = options
        self._null = null
        self._rows: list[Array] = []
        self._labels: list[NDArray[Any]] = []
        self._groups: list[Any] = []

    def without(self, batches: Iterable[Any], n_features: int) -> Iterator[Any]:
        """Yield what is for training of batches, and keep the other records."""
        places = HeldOutRows(self.plan.split, self.plan.n)
        for x, y, *groups in batches:
            labels = read_labels(y)
            placed = places.of_batch(len(labels), *groups)
            rest = placed.training
            self._keep(x, labels, placed, n_features)
            if rest.size:
                yield _rows_at(x, rest), labels[rest], *placed.groups_of(rest)
        places.finish()

    def _keep(self, x: Any, labels: NDArray[Any], placed: Placed, n_features: int) -> None:
        kept = placed.evaluation
        if not kept.size:
            return
        rows = read_table(_rows_at(x, kept), n_features)
        if not self._null and not (np.abs(rows) <= _LARGEST).all():
            raise ValueError(
                "some records cannot be read, because of a missing, infinite or huge number: leave "
                'them out, or pass invalid="null", which makes them null records'
            )
        self._rows.append(rows)
        self._labels.append(labels[kept])
        for groups in placed.groups_of(kept):
            self._groups += groups

    def evaluate(self, model: HoldsOut) -> Evaluation:
        """Run the evaluation of a fitted model, which is public."""
        planned = self.plan.evaluation.certificate
        measure, target_range = model._measure()
        evaluated = evaluated_model(model, measure, target_range)
        null = bool(planned.problem["null_records"])
        statistic = evaluated.statistic(null, self._options.measured(measure))
        if planned.budget is None:
            raise ValueError("an evaluation needs a budget")
        plan = statistic.plan(planned.n, planned.budget, planned.unit)
        of_rows = replace(evaluated, model=ScoredModel([], bare(model), None))
        outputs = of_rows.outputs(np.concatenate(self._rows), "null")
        coded = model._decoded(np.concatenate(self._labels))
        labels = np.nan_to_num(coded) if measure == "auc" else of_rows.coded(coded, "null")
        groups = None if planned.unit is None else self._groups
        records = used_records(plan, of_rows, outputs, labels, groups)
        return run_plan(plan, *records, model=digest_of(model), random_state=model.random_state)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records are raw data and cannot be pickled")


def plan_held_out(
    model: HoldsOut,
    n: int,
    n_features: int | None,
    share: float,
    options: EvaluationOptions,
) -> HeldOutPlan:
    """Return the plan of a fit and of its evaluation, without any data."""
    measure, target_range = model._measure()
    options.measured(measure)
    split = HeldOut(share, options.seed)
    trained, held_out = split.sizes(n)
    training = model.plan(trained, n_features)
    budget, unit = options.budget(training.task.budget), model._unit()
    units = {} if unit is None else {"unit": unit.name, "max_records": unit.max_records}
    with _naming(held_out, n):
        evaluation = plan_evaluation(
            held_out,
            budget.epsilon,
            budget.delta,
            null_records=uses_null_records(model.invalid) or _makes_null(model._schema()),
            noise=options.noise,
            edges=options.edges(),
            measure=measure,
            target_range=target_range,
            r2=options.r2,
            **units,  # type: ignore[arg-type]
        )
    return HeldOutPlan(n, split, training, evaluation)


def held_out_records(
    model: HoldsOut,
    n: int,
    n_features: int,
    share: float,
    given: Mapping[str, Any] | None,
) -> HeldOutRecords:
    """Return what a fit holds out; an error if the evaluation is hopeless."""
    options = EvaluationOptions.of(given)
    whole = plan_held_out(model, n, n_features, share, options)
    with _naming(whole.evaluation.n, n):
        check_hope(whole.evaluation, options.share, options.hopeless)
    null = model._schema() is not None or uses_null_records(model.invalid)
    return HeldOutRecords(whole, options, null=null)


@contextmanager
def _naming(held_out: int, n: int) -> Iterator[None]:
    """Say in an error how many records would be held out."""
    try:
        yield
    except ValueError as error:
        words = f"{held_out} of the {n} records would be held out"
        raise ValueError(f"{words}, and {error}") from None


def _makes_null(schema: Schema | None) -> bool:
    """Return whether a schema declares cells that make null records."""
    columns = () if schema is None else schema.columns
    return any(getattr(column, "missing", None) == "null" for column in columns)


def _rows_at(x: Any, places: NDArray[np.intp]) -> Any:
    """Return some rows of a table: an array, a DataFrame, or a sequence of rows."""
    if hasattr(x, "iloc"):
        return x.iloc[places]
    return x[places] if hasattr(x, "shape") else [x[place] for place in places.tolist()]
