"""The base class of private estimators: reading data, a ledger, a certificate."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pairdp import model_file, privacy
from pairdp._arrow_tables import as_labels, as_table
from pairdp._checks import did_you_mean
from pairdp.algorithms import Fit, Plan
from pairdp.estimators.fit_warnings import warn_before, warn_of_search
from pairdp.estimators.held_out import HoldsOut
from pairdp.estimators.schema_tables import (
    batches_of,
    pieces,
    table_labels,
    table_length,
    table_records,
)
from pairdp.estimators.validation import public_shape, unchanged_on_error, validated
from pairdp.gathering import Batch
from pairdp.model_file.digest import released_digest
from pairdp.privacy import NoiseSource
from pairdp.privacy.payment import paid_by
from pairdp.schema import Schema

if TYPE_CHECKING:
    from pairdp.report import ModelReport

Array = NDArray[np.float64]


class PrivateEstimator(HoldsOut, BaseEstimator):  # type: ignore[misc]
    """An estimator whose fit is a private release with a certificate."""

    plan_: Plan

    @property
    def _numeric_targets(self) -> bool:
        """Whether labels are numbers."""
        return False

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
        from pairdp.report.card import card_of, frame_of

        return frame_of(card_of(self))

    def report(self, path: str | Path | None = None, **options: Any) -> ModelReport:
        """Return the report for the person who decides on the release, as an HTML page.

        Parameters
        ----------
        path : path-like, optional
            A file to write it to.
        **options
            Those of `pairdp.write_report`, such as ``evaluation`` and ``ledger``.
        """
        from pairdp.report import write_report

        return write_report(self, path, **options)

    def plot(self, column: str | None = None, ax: Any = None) -> Any:
        """Draw the released weights, with two standard deviations of their noise.

        Parameters
        ----------
        column : str, optional
            The column of a scorecard, or the direction of a metric ("Direction 1"); by default all.
        ax : matplotlib.axes.Axes, optional
            By default those of a new figure.

        Returns
        -------
        Axes
            An array of them for several columns or directions.
        """
        from pairdp.report.card import card_of
        from pairdp.report.model_figures import plot_model

        return plot_model(self, card_of(self), column, ax)

    def _repr_html_inner(self) -> str:
        """Return HTML for notebooks: for a fitted model, its privacy and weights come first."""
        diagram: str = super()._repr_html_inner()
        if not hasattr(self, "certificate_"):
            return diagram
        from pairdp.report.card import card_of
        from pairdp.report.card_html import card_html

        return card_html(card_of(self)) + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:  # not with set_config(display="text")
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file atomically; `pairdp.load` reads it."""
        model_file.save(self, path)

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

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the model and release it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records. Rows are clipped to ``data_norm``. With a schema, a table with named columns:
            a DataFrame of pandas or polars, a table of pyarrow or another that exports Arrow
            (``__arrow_c_stream__``), or a dict of columns.
        y : array-like of shape (n_samples,)
            Their labels, or their targets for regression. By default, the column that the schema
            declares as the label.
        groups : array-like of shape (n_samples,), optional
            The unit (person) of each record, with the parameter ``max_records``: the first so many
            rows of each unit are used, and the guarantee covers all records of a unit. Rows
            without a unit (None, NaN, empty text) are not used. Groups are not stored.
        evaluation_share : float, optional
            The share of the records, such as 0.2, that are not used for training: the model is
            evaluated on them, privately, and the attribute ``evaluation_`` is what
            `pairdp.evaluate` would return. No record is in both, so that together they cost as much
            as the more expensive of the two. A public rule on row numbers chooses them, and with
            units, all rows of a unit are on one side. `plan_with_evaluation` says what to expect.
        evaluation_options : mapping, optional
            Further arguments of `pairdp.evaluate`: "epsilon" and "delta" (by default the budget of
            the model), "noise", "roc", "threshold", "score_range", "share" (a guess of the share of
            the second class) and "hopeless"; and "seed", a public number that chooses the rows.

        Returns
        -------
        self
        """
        with unchanged_on_error(self), self._holding_out(evaluation_share, evaluation_options):
            self._release(X, y, groups)
        return self

    def _release(self, X: Any, y: Any, groups: Any) -> Fit:
        """Fit the model, and return all that was released."""
        if self.epsilon is not None:
            warn_of_search()
        table, labels = as_table(X), as_labels(y)
        with unchanged_on_error(self), self._pinned_schema() as schema:
            if schema is None:
                fit = self._fit_rows(table, labels, groups)
            else:
                fit = self._fit_table(table, labels, groups, schema)
        self._warn_of_release()
        return fit

    def fit_batches(
        self,
        batches: Iterable[Batch],
        n: int,
        n_features: int | None = None,
        *,
        labels: ArrayLike | None = None,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the model to records that come in batches, for tables larger than memory.

        If the algorithm needs only sums over the records (moments), one batch is in memory at a
        time. A scorecard collects the cells of the records, in 2 bytes a column; other algorithms
        collect the clipped records in one array.

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
        evaluation_share, evaluation_options
            As for `fit`. Records that are held out are kept in memory until the model is there.

        Returns
        -------
        self
        """
        held_out = self._holding_out(evaluation_share, evaluation_options)
        with unchanged_on_error(self), held_out, self._pinned_schema() as schema:
            n_features = self._width(n_features)
            if schema is None:
                self.__dict__.pop("feature_names_in_", None)
                plan = self._affordable_plan(n, n_features)
                known = self._labels(None, labels)
                coded: Iterator[Any] = (
                    (
                        as_table(x),
                        self._coded(as_labels(y), known),
                        *self._checked_groups(groups[0] if groups else None),
                    )
                    for x, y, *groups in batches
                )
                self._fit_plan(plan, coded, n_features, known)
            else:
                self._fit_tables(batches, n, schema, self._labels(None, labels))
        self._warn_of_release()
        return self

    def _fit_rows(self, X: Any, y: Any, groups: Any) -> Fit:
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
        # Only the iterator refers to what may be copies, which are not needed once they are read.
        batch: Iterator[Any] = iter([(rows, self._coded(targets, labels), *of_units)])
        del rows, targets
        return self._fit_plan(plan, batch, self.n_features_in_, labels)

    def _fit_table(self, X: Any, y: Any, groups: Any, schema: Schema) -> Fit:
        """Fit the model to a table with named columns."""
        occurring = None
        if schema.response is None:
            numeric = self._numeric_targets
            found = table_labels(schema, X, y, invalid=self.invalid, numeric=numeric)
            occurring = np.asarray(found)
        known = self._labels(occurring, None)
        batches = batches_of(schema, X, y, groups, self._unit_column(schema, groups))
        return self._fit_tables(batches, table_length(X), schema, known)

    def _fit_tables(
        self, batches: Iterable[Any], n: int, schema: Schema, labels: NDArray[Any] | None
    ) -> Fit:
        """Fit the model to tables with named columns, which come in batches."""
        if n < 2:
            raise ValueError(f"{type(self).__name__} needs at least two records, got {n}")
        plan = self._affordable_plan(n, schema.width)
        read = (self._table_batch(schema, piece, labels) for piece in pieces(batches))
        return self._fit_plan(plan, read, schema.width, labels)

    def _table_batch(self, schema: Schema, piece: tuple[int, Any, Any, Any], labels: Any) -> Any:
        """Return encoded rows, coded labels and units of a part of a table."""
        start, table, y, groups = piece
        records = table_records(
            schema,
            table,
            y,
            self._unit_column(schema, groups),
            invalid=self.invalid,
            numeric=self._numeric_targets,
            start=start,
        )
        of_units = self._checked_groups(groups if records.groups is None else records.groups)
        return (records.rows, self._coded(records.labels, labels), *of_units)

    def _unit_column(self, schema: Schema, groups: Any) -> str | None:
        """Return the column of a table that has the units, None if there is none."""
        by_column = self.max_records is not None and groups is None
        return self.unit if by_column and self.unit in schema.identifiers else None

    def _affordable_plan(self, n: int, n_features: int) -> Plan:
        """Return the plan for data of this size; an error if the ledger has no room for it."""
        plan, released = self._plan_all(n, n_features)
        if self.ledger is not None:
            self._ledger().check(released, plan.algorithm.name)
        return plan

    def _fit_plan(
        self,
        plan: Plan,
        batches: Iterable[Batch],
        n_features: int,
        labels: NDArray[Any] | None = None,
    ) -> Fit:
        """Read batches with coded labels, spend the budget of a plan, and run it."""
        held_out = self._held_out
        trained = batches if held_out is None else held_out.without(batches, n_features)
        prepared: Iterator[Any] = ((self._rows(x, n_features), *rest) for x, *rest in trained)
        records = plan.read(prepared, invalid=self._invalid_rows)
        return self._run_plan(plan, records, n_features, labels)

    def _run_plan(
        self,
        plan: Plan,
        records: Any,
        n_features: int,
        labels: NDArray[Any] | None = None,
    ) -> Fit:
        """Spend the budget of a plan, run it on records that were read, and set what is fitted."""
        held_out = self._held_out
        warn_before(plan, norm_is_given=self._norm_is_given)
        source = self._source(plan)
        released = plan.certificate if held_out is None else held_out.plan.certificate
        with paid_by(None if self.ledger is None else self._entry(), released):
            fit = plan.run(records, source, progress=self.verbose)
            if self._schema() is None:
                self.n_features_in_ = n_features
            if labels is not None:
                self.classes_ = labels
            self._set_release(plan, fit)
            self.__dict__.pop("evaluation_", None)
            if held_out is not None:
                self.evaluation_ = held_out.evaluate(self)
                self.certificate_ = held_out.plan.combined(
                    fit.certificate, self.evaluation_.certificate
                )
        return fit

    def _released_digest(self) -> str | None:
        """Return the digest of what was released, which says which model an evaluation is of."""
        return released_digest(self)

    def _set_release(self, plan: Plan, fit: Fit) -> None:
        """Set the attributes of a fitted model from its plan and what it released."""
        self.plan_, self.certificate_ = plan, fit.certificate
        self.parameter_noise_ = plan.algorithm.noise_of(plan, fit)
        self._set_fitted(fit)

    def _set_from(self, other: PrivateEstimator, plan: Plan, fit: Fit) -> bool:
        """Fit the model to what another one released of the records; False if this cannot be done.

        It is post-processing: no record is read, and nothing is spent.
        """
        found = plan.from_release(fit) if type(other) is type(self) else None
        if found is None:
            return False
        for name in ("schema_", "n_features_in_", "feature_names_in_", "classes_"):
            if name in other.__dict__:
                setattr(self, name, other.__dict__[name])
        self._set_release(plan, found)
        return True

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
