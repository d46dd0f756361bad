"""Estimators that fit Dask arrays and DataFrames, with the sums computed by the workers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import integer
from pairdp.algorithms.choice import Choice
from pairdp.dask.collections import Blocks, client_of, is_collection, warn_without_workers
from pairdp.dask.loading import BlockReader, counted, loaded, occurring
from pairdp.engines.dask_engine import DaskEngine, pickled
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.linear import PrivateLinearClassifier
from pairdp.estimators.metric import PrivateMetric
from pairdp.estimators.ranker import PrivateRanker
from pairdp.estimators.scorecard import PrivateScorecard
from pairdp.estimators.validation import unchanged_on_error

_ON_DRIVER = ("ledger", "random_state", "loss", "algorithm", "verbose", "data_set")
"""Parameters that loading does not need, and that do not leave the driver."""


class DaskEstimator(PrivateEstimator):
    """The part that the estimators of this package have in common.

    A derived class also derives from the estimator that it is named after, ``_local``.
    """

    _local: ClassVar[type[PrivateEstimator]]
    client: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_local" not in vars(cls):
            return
        given = inspect.signature(cls._local.__init__)
        added = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        cls.__signature__ = given.replace(parameters=[*list(given.parameters.values())[1:], added])

    def __init__(self, *positional: Any, client: Any = None, **parameters: Any) -> None:
        self._local.__init__(self, *positional, **parameters)
        self.client = client

    @classmethod
    def _get_param_names(cls) -> list[str]:
        names: list[str] = cls._local._get_param_names()
        return sorted([*names, "client"])

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")
        return type(self)(
            **{name: clone(value, safe=False) for name, value in parameters.items()}, client=client
        )

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        state["client"] = None  # a client belongs to one process
        return state

    def choices(self, n: int, n_features: int | None = None) -> Choice:
        """Return the candidates of ``algorithm="auto"`` that need only sums, best first.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.
        """
        choice = super().choices(n, n_features)
        kept = tuple(one for one in choice.candidates if self._is_of_sums(choice, one))
        if not kept:
            raise ValueError("no candidate needs only sums over the records: name an algorithm")
        return Choice(choice.n, choice.features, choice.budget, kept, choice.unit)

    def _is_of_sums(self, choice: Choice, candidate: Any) -> bool:
        plan = choice.plan(candidate=candidate)
        try:
            plan.algorithm.check_parts(plan)
        except ValueError:
            return False
        return True

    def fit(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
        *,
        n: int | None = None,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the model to a Dask array or DataFrame, and release it.

        Parameters
        ----------
        X : Dask array of shape (n_samples, n_features) or DataFrame
            Records. Each block is loaded by one task, which clips its rows; it must fit into the
            memory of a worker. With a schema, a DataFrame.
        y : Dask array or Series
            Their labels, in the same blocks. By default, the column that the schema declares.
        groups : None
            Not supported: the records of a unit would have to be counted over all parts.
        n : int, optional
            The number of records, which is public. A fit to data with another number fails. By
            default it is the length of X, if Dask knows it; otherwise records are counted, which
            reads X once more, and the certificate says that n was counted.
        evaluation_share, evaluation_options : None
            Not supported: evaluate ``to_local()`` on records of another collection.

        Returns
        -------
        self
        """
        if groups is not None or self.max_records is not None:
            raise ValueError(
                "units of several records are not offered for records in parts: use "
                f"{self._local.__name__}.fit_batches, which counts the records of each unit"
            )
        if evaluation_share is not None or evaluation_options is not None:
            raise ValueError(
                "records in parts are not held out: keep some records apart, and pass them to "
                "pairdp.evaluate with to_local()"
            )
        blocks = Blocks.of(X, y)
        engine = DaskEngine(client_of(self.client))
        warn_without_workers(engine.client)
        with unchanged_on_error(self), self._pinned_schema() as schema:
            if n is None and blocks.n is None:
                n, self.n_is_counted_ = counted(engine, blocks), True
            size = integer("n", blocks.n if n is None else n)
            width = self._width(None if schema is not None else blocks.width)
            plan = self._affordable_plan(size, width)
            plan.algorithm.check_parts(plan)
            occur = None if self._knows_labels else occurring(engine, blocks, schema)
            labels = self._labels(occur, None)
            reader = BlockReader(
                self._template(),
                schema,
                labels,
                width,
                plan.problem.record_facts(plan.task.n, plan.task.features),
                (plan.problem, plan.settings),
            )
            records = loaded(engine, reader, blocks)
            if schema is None:
                self.__dict__.pop("feature_names_in_", None)
                if blocks.names is not None:
                    self.feature_names_in_ = blocks.names
            self._run_plan(plan, records, width, labels)
        self._warn_of_release()
        return self

    @property
    def _knows_labels(self) -> bool:
        """Whether the classes are public parameters, or do not matter."""
        schema = self._schema()
        if schema is not None and schema.response is not None:
            return True
        names = self._get_param_names()
        graded = "response_bounds" in names and self.response_bounds is not None
        return graded or "classes" not in names or self.classes is not None

    def _template(self) -> PrivateEstimator:
        """Return an estimator that was not fitted, to read records with on the workers."""
        parameters = self.get_params(deep=False)
        for name in ("client", *_ON_DRIVER):
            parameters.pop(name, None)
        parameters["schema"] = self._schema()
        return self._local(**parameters)

    def to_local(self) -> Any:
        """Return the fitted model as an estimator without Dask, which needs no cluster."""
        parameters = self.get_params(deep=False)
        parameters.pop("client")
        local = self._local(**parameters)
        fitted = {name: value for name, value in vars(self).items() if name not in parameters}
        fitted.pop("client")
        local.__dict__.update(fitted)
        return local

    def save(self, path: Any) -> None:
        """Write the fitted model to a file atomically: the same as without Dask."""
        self.to_local().save(path)

    def _in_blocks(self, method: str, X: Any, dtype: Any, *width: int) -> Any:
        """Return a method of the local model of each block of a collection, as a Dask array."""
        delayed, array = import_module("dask").delayed, import_module("dask.array")
        model = delayed(pickled(self.to_local()))
        blocks = Blocks.of(X, None)
        chunks = getattr(X, "chunks", None)
        lengths = [math.nan] * len(blocks.rows) if chunks is None else chunks[0]
        call = delayed(_called)
        return array.concatenate(
            [
                array.from_delayed(
                    call(block, model, method, width, dtype), (length, *width), dtype
                )
                for block, length in zip(blocks.rows, lengths, strict=True)
            ]
        )


class _DaskScores(DaskEstimator):
    """Scores and predictions of collections, for models with two classes."""

    def decision_function(self, X: Any) -> Any:
        """Return scores; of a Dask collection, as a Dask array."""
        if is_collection(X):
            return self._in_blocks("decision_function", X, np.float64)
        return self.to_local().decision_function(X)

    def predict(self, X: Any) -> Any:
        """Return predictions; of a Dask collection, as a Dask array."""
        if is_collection(X):
            kind = vars(self).get("classes_", np.zeros(0)).dtype  # a graded response has scores
            return self._in_blocks("predict", X, kind)
        return self.to_local().predict(X)


class DaskPrivateRanker(_DaskScores, PrivateRanker):
    """`PrivateRanker` for Dask arrays and DataFrames.

    Parameters are those of `PrivateRanker`, and:

    Parameters
    ----------
    client : distributed.Client, default=None
        The client of the cluster; None uses the one that was started last. It is not stored in
        model files, and not pickled.

    Notes
    -----
    ``algorithm="auto"`` chooses among algorithms that need only sums over the records. `save` and
    `to_local` give a `PrivateRanker`; `decision_function` and `predict` of a Dask collection return
    Dask arrays.
    """

    _local = PrivateRanker


class DaskPrivateLinearClassifier(_DaskScores, PrivateLinearClassifier):
    """`PrivateLinearClassifier` for Dask arrays and DataFrames; see `DaskPrivateRanker`."""

    _local = PrivateLinearClassifier


class DaskPrivateScorecard(_DaskScores, PrivateScorecard):
    """`PrivateScorecard` for Dask arrays and DataFrames; see `DaskPrivateRanker`.

    Its tables, figures and programs are those of ``to_local()``.
    """

    _local = PrivateScorecard


class DaskPrivateMetric(DaskEstimator, PrivateMetric):
    """`PrivateMetric` for Dask arrays and DataFrames; see `DaskPrivateRanker`.

    `transform` of a Dask collection returns a Dask array.
    """

    _local = PrivateMetric

    def transform(self, X: Any) -> Any:
        """Return records in coordinates whose Euclidean distance is the metric."""
        if is_collection(X):
            check_is_fitted(self, "components_")
            return self._in_blocks("transform", X, np.float64, len(self.components_))
        return super().transform(X)


def _called(block: Any, model: bytes, method: str, width: tuple[int, ...], dtype: Any) -> Any:
    if not len(block):
        return np.empty((0, *width), dtype)
    return getattr(import_module("cloudpickle").loads(model), method)(block)
