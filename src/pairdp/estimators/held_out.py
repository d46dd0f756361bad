"""Fits that evaluate themselves on records that are held out from training.

Which rows these are is decided before any is read (`pairdp.privacy.certificates.held_out`), so that
model and evaluation cost together as much as the more expensive of the two. The evaluation uses the
released model: parallel composition allows this (`pairdp.privacy.certificates.part.composed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from pairdp._checks import did_you_mean, flag, positive
from pairdp._reading import read_labels, read_table, uses_null_records
from pairdp.algorithms import Plan
from pairdp.estimators.planning import PlannedModel
from pairdp.evaluation.evaluate import (
    Hopeless,
    check_hope,
    plan_evaluation,
    run_plan,
    used_records,
)
from pairdp.evaluation.kinds import Measure, Options, evaluated_model
from pairdp.evaluation.plan import EvaluationPlan, Noise
from pairdp.evaluation.result import Evaluation
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

Array = NDArray[np.float64]
Measured = tuple[Measure, tuple[float, float] | None]
"""What a model is evaluated by, and the range of its target if it has one."""
_REQUESTED, _RECORDS = "_evaluation_requested", "_held_out_records"
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
        told = Options(self.noise, flag("roc", self.roc), self.threshold, self.score_range)
        if measure != "auc":
            told.refuse_counts()
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
                yield _safe_indexing(x, rest), labels[rest], *placed.groups_of(rest)
        places.finish()

    def _keep(self, x: Any, labels: NDArray[Any], placed: Placed, n_features: int) -> None:
        kept = placed.evaluation
        if not kept.size:
            return
        rows = read_table(_safe_indexing(x, kept), n_features)
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
        return run_plan(plan, *records, random_state=model.random_state)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("records are raw data and cannot be pickled")


class HoldsOut(PlannedModel):
    """An estimator that can evaluate itself on records that are held out."""

    evaluation_: Evaluation
    certificate_: Certificate

    def _measure(self) -> Measured:
        """Return what the model is evaluated by; an error if there is nothing."""
        raise ValueError(
            f"evaluation_share: this {type(self).__name__} cannot be evaluated privately on "
            "records that are held out"
        )

    def _decoded(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return labels, as the problem codes them, as an evaluation takes them."""
        return labels

    def plan_with_evaluation(
        self,
        n: int,
        n_features: int | None = None,
        *,
        evaluation_share: float = 0.2,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> HeldOutPlan:
        """Return what `fit` with ``evaluation_share`` would do with n records, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data, including the records that are held out.
        evaluation_share, evaluation_options
            As for `fit`.

        Returns
        -------
        HeldOutPlan
            Printable, with the interval to expect. It has the plan of the fit as ``training``, and
            that of the evaluation as ``evaluation``.
        """
        measure, target_range = self._measure()
        options = EvaluationOptions.of(evaluation_options)
        options.measured(measure)
        split = HeldOut(evaluation_share, options.seed)
        trained, held_out = split.sizes(n)
        training = self.plan(trained, n_features)
        budget, unit = options.budget(training.task.budget), self._unit()
        units = {} if unit is None else {"unit": unit.name, "max_records": unit.max_records}
        with _naming(held_out, n):
            evaluation = plan_evaluation(
                held_out,
                budget.epsilon,
                budget.delta,
                null_records=uses_null_records(self.invalid) or _makes_null(self._schema()),
                noise=options.noise,
                edges=options.edges(),
                measure=measure,
                target_range=target_range,
                **units,  # type: ignore[arg-type]
            )
        return HeldOutPlan(n, split, training, evaluation)

    @contextmanager
    def _holding_out(
        self,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Iterator[None]:
        """Hold out a share of the records of the fit within; none if it is None."""
        if evaluation_share is None and evaluation_options is not None:
            raise ValueError("evaluation_options need evaluation_share, such as 0.2")
        if evaluation_share is not None:
            self.__dict__[_REQUESTED] = (evaluation_share, evaluation_options)
        try:
            yield
        finally:
            for name in (_REQUESTED, _RECORDS):
                self.__dict__.pop(name, None)

    def _plan_all(self, n: int, n_features: int) -> tuple[Plan, Certificate]:
        """Return the plan of a fit to n records, and the certificate of all that it releases."""
        if _REQUESTED not in self.__dict__:
            plan = self.plan(n, n_features)
            return plan, plan.certificate
        share, given = self.__dict__[_REQUESTED]
        options = EvaluationOptions.of(given)
        whole = self.plan_with_evaluation(
            n, n_features, evaluation_share=share, evaluation_options=given
        )
        with _naming(whole.evaluation.n, n):
            check_hope(whole.evaluation, options.share, options.hopeless)
        null = self._schema() is not None or uses_null_records(self.invalid)
        self.__dict__[_RECORDS] = HeldOutRecords(whole, options, null=null)
        return whole.training, whole.certificate

    @property
    def _held_out(self) -> HeldOutRecords | None:
        """The records that the fit under way holds out."""
        return self.__dict__.get(_RECORDS)


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
