"""The base class of private estimators: a plan from public facts, a ledger, a certificate."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairdp import constraints, model_file, privacy
from pairdp._checks import did_you_mean, one_of
from pairdp._reading import Invalid
from pairdp.algorithms import Algorithm, Fit, Plan, choice
from pairdp.algorithms.choice import Choice
from pairdp.algorithms.facts import Condition
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.schema_rows import SchemaRows
from pairdp.clipping import check_data_norm
from pairdp.estimators.fit_warnings import NO_DATA_NORM, warn_before
from pairdp.estimators.named_parts import algorithm_of, loss_of
from pairdp.estimators.schema_tables import (
    pieces,
    table_labels,
    table_length,
    table_records,
)
from pairdp.estimators.table_input import TableInput
from pairdp.estimators.validation import public_shape, validated
from pairdp.losses import Loss
from pairdp.privacy import Budget, NoiseSource, Unit, default_delta
from pairdp.privacy.accounting.unit import records_of
from pairdp.problem import Problem
from pairdp.records import Batch
from pairdp.schema import Schema

Array = NDArray[np.float64]


class PrivateEstimator(TableInput, BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator whose fit is a private release with a certificate.

    The parameters below have these values where ``__init__`` of a derived class does not set them.
    """

    epsilon: float | None = 1.0
    delta: float | None = None
    data_norm: float | None = None
    radius: float = 1.0
    regularization: float | None = None
    loss: str | Loss | None = None
    algorithm: str | Algorithm = "auto"
    calibration: str = "certified"
    schedule: str | None = None
    ledger: privacy.BudgetLedger | None = None
    data_set: str | None = None
    unit: str | None = None
    max_records: int | None = None
    random_state: Any = None
    verbose: bool | None = None
    invalid: Invalid = "error"

    plan_: Plan

    _loss_kind: ClassVar[type[Loss]]
    _problem_kind: ClassVar[type[Problem]] = Problem

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Return what `fit` would do with data of this size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.

        Returns
        -------
        Plan
            Printable, with noise, steps and reasons.
        """
        n_features = self._width(n_features)
        algorithm = self._algorithm(n)
        why: tuple[str, ...] = ()
        if algorithm is None:
            choice = self.choices(n, n_features)
            why = (f"auto: {choice.best.reason}",)
            plan = choice.plan(complete=self.completed, conditions=self._conditions())
        else:
            plan = self.completed(algorithm).plan(
                self._problem(algorithm, n, n_features),
                n,
                self._columns(n_features),
                self._budget(n),
                calibration=self.calibration,  # type: ignore[arg-type]
                schedule=self.schedule,  # type: ignore[arg-type]
                conditions=self._conditions(),
                unit=self._unit(),
            )
        if plan.task.unit != self._unit():
            raise TypeError(f"the choice of {type(self).__name__} does not plan for its unit")
        return replace(plan, reasons=(*why, *plan.reasons, *self._reasons_for_defaults(plan)))

    def choices(self, n: int, n_features: int | None = None) -> Choice:
        """Return the candidates of ``algorithm="auto"``, best first.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.
        """
        n_features = self._width(n_features)
        if self.calibration != "certified":
            raise ValueError(
                'algorithm="auto" chooses among certified plans: name a published algorithm '
                'such as "DPGDSC" for calibration="printed"'
            )
        one_of("schedule", self.schedule, None, "theorem", "tuned")
        if self.schedule == "theorem":
            raise ValueError(
                'algorithm="auto" chooses among tuned plans: name a published algorithm such as '
                '"DPGDSC" for schedule="theorem"'
            )
        unit = self._unit()
        return self._choose(
            n,
            self._columns(n_features),
            self._budget(n),
            **({} if unit is None else {"unit": unit}),
            data_norm=self._norm(),
            radius=self.radius,
            loss=self._given_loss(),
            regularization=self.regularization,
        )

    def _algorithm(self, n: int) -> Algorithm | None:
        """Return the algorithm that the parameters specify, None for "auto"."""
        return algorithm_of(self.algorithm)

    @abstractmethod
    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        """Return the candidates of "auto" for this kind of model."""

    @abstractmethod
    def _constraint(self) -> constraints.Constraint:
        """Return the set of parameters."""

    @abstractmethod
    def _default_loss(self, algorithm: Algorithm) -> Loss:
        """Return the loss to use if none is given."""

    def _given_loss(self) -> Loss | None:
        """Return the loss that the parameters specify, None if they specify none."""
        return loss_of(self.loss, self._loss_kind)

    @property
    def _numeric_targets(self) -> bool:
        """Whether labels are numbers."""
        return False

    def _columns(self, n_features: int) -> int:
        """Return the number of features of a record, given that of the data."""
        return n_features

    def _norm(self) -> float:
        """Return the bound on the norm of records."""
        return self._clipped_to()

    def _clipped_to(self) -> float:
        """Return the norm that rows are clipped to; 1 if none is given."""
        return 1.0 if self.data_norm is None else check_data_norm(self.data_norm)

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm with what else the model releases, such as a threshold."""
        return algorithm

    def _conditions(self) -> tuple[Condition, ...]:
        """Return conditions on the data in addition to those of the algorithm."""
        schema = self._schema()
        return () if schema is None else (SchemaRows(schema),)

    def _problem(self, algorithm: Algorithm, n: int, n_features: int) -> Problem:
        loss: Any = self._given_loss() or self._default_loss(algorithm)
        given = self.regularization
        problem = self._problem_kind(loss, self._constraint(), given or 0.0, data_norm=self._norm())
        if given is None and problem.is_smooth and Need.STRONGLY_CONVEX in algorithm.needs:
            columns = self._columns(n_features)
            chosen = choice.balanced_regularization(
                problem, n, columns, self._budget(n), records_of(self._unit())
            )
            return replace(problem, regularization=chosen)
        return problem

    def privacy_statement(self) -> str:
        """Return the privacy statement of the fitted model, for a privacy officer."""
        check_is_fitted(self, "certificate_")
        return self.certificate_.statement()

    def weights_frame(self) -> Any:
        """Return the released weights by name, with the noise of each, as a pandas DataFrame.

        The column ``noise_std`` is the standard deviation of the noise, which is public; it is NaN
        if it is not known. ``attrs["noise"]`` says in words what it is. A metric has the diagonal
        of its matrix as ``weight``, and a column of loadings for each direction that it learned.
        """
        from pairdp.estimators.card import card_of, frame_of

        return frame_of(card_of(self))

    def _repr_html_inner(self) -> str:
        """Return HTML for notebooks: for a fitted model, its privacy and weights come first."""
        diagram: str = super()._repr_html_inner()
        if not hasattr(self, "certificate_"):
            return diagram
        from pairdp.estimators.card import card_of
        from pairdp.estimators.card_html import card_html

        return card_html(card_of(self)) + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # not with set_config(display="text")
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file atomically; `pairdp.load` reads it."""
        model_file.save(self, path)

    def _budget(self, n: int) -> Budget | None:
        """Return the budget for n records; δ follows from n if it is not given."""
        if self.epsilon is None:
            return None
        return Budget(self.epsilon, default_delta(n) if self.delta is None else self.delta)

    def _unit(self) -> Unit | None:
        """Return the unit that is protected; None for a single record."""
        if self.max_records is None:
            if self.unit is not None:
                raise ValueError(
                    f"unit={self.unit!r} needs max_records: how many records of each unit are used"
                )
            return None
        return Unit("unit" if self.unit is None else self.unit, self.max_records)

    def _checked_groups(self, groups: ArrayLike | None) -> tuple[ArrayLike, ...]:
        """Return the groups, or nothing without a unit; an error if only one of them is given."""
        unit, schema = self._unit(), self._known_schema()
        if groups is None:
            if unit is not None:
                raise ValueError(
                    "max_records limits the records of each unit: pass groups, the unit of each "
                    "row, or set unit to a column that the schema declares as an id"
                    + did_you_mean(unit.name, () if schema is None else schema.identifiers)
                )
            return ()
        if unit is None and "max_records" not in self.get_params(deep=False):
            raise ValueError(
                f"{type(self).__name__} protects single records, and takes no groups: it would "
                "have to remember the units that it has seen; use PrivateRanker or PrivateMetric"
            )
        if unit is None:
            raise ValueError(
                "groups need max_records: how many records of each unit are used, which is public"
            )
        return (groups,)

    def _reasons_for_defaults(self, plan: Plan) -> tuple[str, ...]:
        """Return sentences on the defaults that a plan uses for parameters that are not given."""
        reasons = []
        if self.delta is None and plan.task.budget is not None:
            reasons.append(
                f"delta is not given: δ = {plan.task.budget.delta:g} is min(1e-6, 1/(100n)), so "
                "that nδ is at most 1 %"
            )
        if not self._norm_is_given:
            reasons.append(NO_DATA_NORM)
        return tuple(reasons)

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the model and release it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records. Rows are clipped to ``data_norm``. With a schema, a table with named columns:
            a DataFrame of pandas or polars, a table of pyarrow, or a dict of columns.
        y : array-like of shape (n_samples,)
            Their labels, or their targets for regression. By default, the column that the schema
            declares as the label.
        groups : array-like of shape (n_samples,), optional
            The unit (person) of each record, with the parameter ``max_records``: the first so many
            rows of each unit are used, and the guarantee covers all records of a unit. Rows
            without a unit (None, NaN, empty text) are not used. Groups are not stored.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), self._pinned_schema() as schema:
            if schema is None:
                self._fit_rows(X, y, groups)
            else:
                self._fit_table(X, y, groups, schema)
        self._warn_of_release()
        return self

    def fit_batches(
        self,
        batches: Iterable[Batch],
        n: int,
        n_features: int | None = None,
        *,
        labels: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to records that come in batches, for tables larger than memory.

        If the algorithm needs only sums over the records (moments), one batch is in memory at a
        time; otherwise the clipped records are collected in one array.

        Parameters
        ----------
        batches : iterable of (X, y), or of (X, y, groups) with ``max_records``
            Records and labels, n records in total, and the unit of each record. For records that
            cannot be read, see the parameter ``invalid``. With a schema, X is a table with named
            columns, and y may be None.
        n, n_features : int
            The public size of the data. A schema says how many features there are.
        labels : array-like, optional
            The labels that occur, if they are not a parameter of the estimator. A ranker needs
            them in advance.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), self._pinned_schema() as schema:
            n_features = self._width(n_features)
            if schema is None:
                self.__dict__.pop("feature_names_in_", None)
                plan = self._affordable_plan(n, n_features)
                known = self._labels(None, labels)
                coded: Iterator[Any] = (
                    (x, self._coded(y, known), *self._checked_groups(groups[0] if groups else None))
                    for x, y, *groups in batches
                )
                self._fit_plan(plan, coded, n_features, known)
            else:
                self._fit_tables(batches, n, schema, self._labels(None, labels))
        self._warn_of_release()
        return self

    def _fit_rows(self, X: Any, y: Any, groups: Any) -> None:
        """Fit the model to a table of numbers."""
        of_units = self._checked_groups(groups)
        shape = public_shape(X)
        plan = None if shape is None else self._affordable_plan(*shape)
        rows, targets = validated(
            self,
            X,
            y,
            invalid=self.invalid,
            ensure_min_samples=2,
            y_numeric=self._numeric_targets,
        )
        if plan is None:
            plan = self._affordable_plan(*rows.shape)
        labels = self._labels(targets, None)
        batch: Any = (rows, self._coded(targets, labels), *of_units)
        self._fit_plan(plan, [batch], self.n_features_in_, labels)

    def _fit_table(self, X: Any, y: Any, groups: Any, schema: Schema) -> None:
        """Fit the model to a table with named columns."""
        occurring = None
        if schema.response is None:
            numeric = self._numeric_targets
            occurring = table_labels(schema, X, y, invalid=self.invalid, numeric=numeric)
        known = self._labels(occurring, None)
        self._fit_tables([(X, y, groups)], table_length(X), schema, known)

    def _fit_tables(
        self, batches: Iterable[Any], n: int, schema: Schema, labels: NDArray[Any] | None
    ) -> None:
        """Fit the model to tables with named columns, which come in batches."""
        if n < 2:
            raise ValueError(f"{type(self).__name__} needs at least two records, got {n}")
        plan = self._affordable_plan(n, schema.width)
        read = (self._table_batch(schema, piece, labels) for piece in pieces(batches))
        self._fit_plan(plan, read, schema.width, labels)

    def _table_batch(self, schema: Schema, piece: tuple[int, Any, Any, Any], labels: Any) -> Any:
        """Return encoded rows, coded labels and units of a part of a table."""
        start, table, y, groups = piece
        by_column = self.max_records is not None and groups is None
        unit = self.unit if by_column and self.unit in schema.identifiers else None
        records = table_records(
            schema,
            table,
            y,
            unit,
            invalid=self.invalid,
            numeric=self._numeric_targets,
            start=start,
        )
        of_units = self._checked_groups(groups if records.groups is None else records.groups)
        return (records.rows, self._coded(records.labels, labels), *of_units)

    def _affordable_plan(self, n: int, n_features: int) -> Plan:
        """Return the plan for data of this size; an error if the ledger has no room for it."""
        plan = self.plan(n, n_features)
        if self.ledger is not None:
            self._ledger().check(plan.certificate, plan.algorithm.name)
        return plan

    def _fit_plan(
        self,
        plan: Plan,
        batches: Iterable[Batch],
        n_features: int,
        labels: NDArray[Any] | None = None,
    ) -> None:
        """Read batches with coded labels, spend the budget of a plan, and run it."""
        prepared: Iterator[Any] = ((self._rows(x, n_features), *rest) for x, *rest in batches)
        records = plan.read(prepared, invalid=self._invalid_rows)
        warn_before(plan, norm_is_given=self._norm_is_given)
        source = self._source(plan)
        spent = None if self.ledger is None else self._entry().spend(plan.certificate)
        try:
            fit = plan.run(records, source, progress=self.verbose)
        except BaseException as error:
            if spent is not None:
                error.add_note(f"{plan.task.budget} was spent from the ledger for {spent.label}")
            raise
        if self._schema() is None:
            self.n_features_in_ = n_features
        self.plan_, self.certificate_ = plan, fit.certificate
        if labels is not None:
            self.classes_ = labels
        self.parameter_noise_ = plan.algorithm.noise_of(plan, fit)
        self._set_fitted(fit)

    def _labels(self, y: NDArray[Any] | None, given: ArrayLike | None) -> NDArray[Any] | None:
        """Return the public labels: those given, or those that occur in y; None for any labels."""
        return None

    def _coded(self, y: ArrayLike, labels: Any) -> ArrayLike:
        """Return labels as the problem codes them."""
        schema = self._schema()
        if schema is None or schema.response is None:
            return y
        return schema.encode_label(y, invalid=self.invalid)

    def _rows(self, X: ArrayLike, n_features: int) -> ArrayLike:
        """Return the features of records, given those of the data."""
        return X

    @abstractmethod
    def _set_fitted(self, fit: Fit) -> None:
        """Set the attributes of a fitted model."""

    def _warn_of_release(self) -> None:
        """Warn about what the release shows."""

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restore the attributes of the estimator if an error is raised."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _ledger(self) -> privacy.BudgetLedger:
        if not isinstance(self.ledger, privacy.BudgetLedger):
            raise TypeError(f"ledger must be a BudgetLedger or None, got {self.ledger!r}")
        if self.random_state is not None:
            raise ValueError(
                "a ledger pays for independent noise, but a seed repeats it: leave out "
                "random_state or the ledger"
            )
        return self.ledger

    def _entry(self) -> privacy.BudgetLedger:
        """Return the ledger, with the public facts of this fit for its entry."""
        names = getattr(self, "feature_names_in_", None)
        return self._ledger().annotated(
            data_set=self.data_set, columns=None if names is None else names.tolist()
        )

    def _source(self, plan: Plan) -> NoiseSource:
        # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
        planned = plan.certificate.to_dict()
        releases = json.dumps([planned["algorithm"], planned["releases"]], sort_keys=True)
        digest = hashlib.sha256(releases.encode()).hexdigest()
        return NoiseSource.from_random_state(self.random_state).child("fit", digest)
