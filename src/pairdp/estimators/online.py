"""The base class of online estimators: a declared horizon and one session."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import flag, integer
from pairdp.algorithms import Fit, Plan
from pairdp.algorithms.choice import Choice
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.fit_warnings import warn_before
from pairdp.estimators.held_out import HoldsOut, Measured
from pairdp.estimators.named_parts import algorithm_of
from pairdp.estimators.schema_tables import table_records
from pairdp.estimators.validation import unchanged_on_error, validated
from pairdp.model_file.states import state_of, with_state
from pairdp.online import (
    ONPAIRC,
    ONPAIRGRADIENT,
    ONPAIRSTRC,
    CenteredMoments,
    OnlineAlgorithm,
    OnlineDescent,
    OnlineMoments,
    OnlineSession,
)
from pairdp.online.state_file import take
from pairdp.privacy import Budget, BudgetLedger
from pairdp.storage import Trusted

Array = NDArray[np.float64]
_BUFFER = 1024
_NAMED: dict[str, OnlineDescent | OnlineMoments] = {
    "descent": OnlineDescent(),
    "moments": OnlineMoments(),
    "centered_moments": CenteredMoments(),
    "OnPairStrC": ONPAIRSTRC,
    "OnPairC": ONPAIRC,
    "OnPairGradient": ONPAIRGRADIENT,
}


class RunningAverage:
    """The average of models, the t-th with weight t, since later models saw more records."""

    def __init__(self) -> None:
        self.mean: Array | None = None
        self.count = 0

    def add(self, model: Array) -> None:
        """Add the next model."""
        self.count += 1
        before = np.zeros_like(model) if self.mean is None else self.mean
        self.mean = before + 2 / (self.count + 1) * (model - before)


class OnlineEstimator(PrivateEstimator):
    """An online estimator: all models of its stream together cost one budget."""

    horizon: int
    buffer: int | None
    batch_size: int | None
    average: bool | Literal["uniform"] | None

    def _measure(self) -> Measured:
        return HoldsOut._measure(self)  # the records of a stream are learned as they come

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Return the plan for a stream of this length, without any data.

        Parameters
        ----------
        n, n_features : int
            The horizon, and the number of features, which a schema gives.
        """
        plan = super().plan(integer("horizon", n, at_least=2), n_features)
        self._check_parameters(plan)
        return plan

    def _algorithm(self, n: int) -> OnlineAlgorithm:
        asked = self.algorithm
        if isinstance(asked, str) and asked not in ("auto", *_NAMED):
            asked = algorithm_of(asked)  # type: ignore[assignment]
        if isinstance(asked, OnlineAlgorithm):
            if self.buffer is not None or self.batch_size is not None:
                raise ValueError(
                    "the algorithm has its own buffer and batch_size: set them there, or name "
                    'the algorithm, such as "descent"'
                )
            return asked
        name = self._default_algorithm() if asked == "auto" else asked
        named = _NAMED.get(name) if isinstance(name, str) else None
        if named is None:
            raise ValueError(
                f'algorithm must be "auto", {", ".join(map(repr, _NAMED))} or an online '
                f"algorithm of pairdp.online, got {self.algorithm!r}"
            )
        buffer, size = self.buffer, self.batch_size
        if isinstance(named, OnlineMoments):
            if buffer is not None:
                raise ValueError("moments keep no records: leave out buffer")
            return named if size is None else replace(named, batch_size=size)
        if name == "descent":
            # A short buffer needs no more noise, and its time does not grow with n. Batches of b
            # divide both the noise of a step and the number of steps by b: √n balances them.
            buffer = _BUFFER if buffer is None else buffer
            size = max(1, round(n**0.5)) if size is None else size
        return replace(named, buffer=buffer, batch_size=1 if size is None else size)

    def _default_algorithm(self) -> str:
        # Noise in gradients is better; the papers' noise is on models.
        return "descent" if self.calibration == "certified" else "OnPairC"

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        raise ValueError("a stream has no candidates to choose from: use plan(n, n_features)")

    def _averages(self, plan: Plan) -> Literal["weighted", "uniform"] | None:
        """Return the average of models that predictions use; None for the last model."""
        if self.average == "uniform":
            return "uniform"
        if self.average is None:
            # Moments are averages already.
            return None if isinstance(plan.algorithm, OnlineMoments) else "weighted"
        return "weighted" if flag("average", self.average) else None

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike | None = None, classes: ArrayLike | None = None
    ) -> Self:
        """Learn the next records of the stream.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, in order. Rows are clipped to ``data_norm``. With a schema, a table with named
            columns.
        y : array-like of shape (n_samples,)
            Their labels; by default, the column that the schema declares as the label.
        classes : array-like, default=None
            All labels that may occur. A ranker needs them in the first call, unless they are a
            parameter. Records with other labels are an error or null records; see ``invalid``.

        Returns
        -------
        self
        """
        with unchanged_on_error(self), self._pinned_schema() as schema:
            begun = hasattr(self, "_session")
            if not begun and hasattr(self, "certificate_"):
                raise ValueError(
                    "the stream of this model is complete or was paused: a new stream needs a new "
                    "budget; use clone(model), or fit if all records are available"
                )
            if schema is None:
                rows, found = validated(self, X, y, reset=not begun, invalid=self.invalid)
            else:
                rows, found, _ = table_records(
                    schema, X, y, None, invalid=self.invalid, numeric=False
                )
            labels = self._stream_labels(found, classes)
            session = self._session if begun else self._begin(rows, labels)
        # Learning cannot be undone.
        self._learn(session, rows, labels)
        return self

    @abstractmethod
    def _stream_labels(self, y: NDArray[Any], classes: ArrayLike | None) -> ArrayLike:
        """Return the coded labels of the next records."""

    def _begin(self, rows: Array, labels: ArrayLike) -> OnlineSession:
        """Pay for a stream and begin it; invalid data and parameters raise errors before that."""
        plan = self.plan(self.horizon, rows.shape[1])
        plan.problem.records(rows, labels, invalid=self._invalid_rows)
        if len(rows) > plan.task.n:
            raise ValueError(
                f"the horizon is {plan.task.n} records, but there are {len(rows)}: declare a "
                "longer horizon before the stream begins"
            )
        warn_before(plan, norm_is_given=self._norm_is_given)
        ledger = None if self.ledger is None else self._entry()
        self._session = OnlineSession(plan, self._source(plan), ledger=ledger)
        self.plan_ = plan
        nothing = Fit(np.empty(0), plan.certificate)
        self.parameter_noise_ = plan.algorithm.noise_of(plan, nothing)
        self._running = RunningAverage()
        return self._session

    def _check_parameters(self, plan: Plan) -> None:
        """Raise an error for invalid parameters that only learning uses."""
        self._averages(plan)

    def _learn(self, session: OnlineSession, rows: Array, labels: ArrayLike) -> None:
        """Learn the next rows, and set the fitted attributes even if this fails."""
        self._check_parameters(session.plan)
        weighted = self._averages(session.plan) == "weighted"
        session.watch = self._running.add if weighted else None
        try:
            session.learn(rows, labels, invalid=self._invalid_rows)
        finally:
            self._show(session)

    def _show(self, session: OnlineSession) -> None:
        """Set the fitted attributes from the models so far."""
        self.certificate_ = session.certificate
        shown, average = session.parameters, self._averages(session.plan)
        if average == "uniform":
            shown = session.average
        elif average == "weighted" and self._running.mean is not None:
            shown = self._running.mean
        self._set_parameters(shown)
        if session.left == 0:
            self._last_spent = session.spent
            del self._session  # and with it the last raw records

    @property
    def spent_(self) -> Budget | None:
        """The cost of the models so far."""
        check_is_fitted(self, "certificate_")
        session: OnlineSession | None = self.__dict__.get("_session")
        if session is not None:
            return session.spent
        return self.__dict__.get("_last_spent", self.plan_.task.budget)

    @property
    def records_left_(self) -> int:
        """The number of records that the budget still covers."""
        check_is_fitted(self, "certificate_")
        session: OnlineSession | None = self.__dict__.get("_session")
        return 0 if session is None else session.left

    def _set_fitted(self, fit: Fit) -> None:
        for name in ("_session", "_last_spent"):
            self.__dict__.pop(name, None)
        shown, average = fit.parameters, self._averages(self.plan_)
        if average == "uniform":
            shown = fit.statistics["average"]
        elif average == "weighted":
            models = fit.statistics["models"]
            weights = np.arange(1, len(models) + 1, dtype=np.float64)
            shown = np.tensordot(weights / weights.sum(), models, axes=1)
        self._set_parameters(np.array(shown))

    @abstractmethod
    def _set_parameters(self, parameters: Array) -> None:
        """Set the fitted attributes from parameters."""

    def pause(self, path: str | Path, *, secrets: bool = True) -> None:
        """Write the stream to a file and end it here; `resume` continues it, once.

        Parameters
        ----------
        path : path-like
            A new file.
        secrets : bool
            Whether the file contains raw records, as it then says; see
            `pairdp.online.OnlineSession.save`.
        """
        session: OnlineSession | None = getattr(self, "_session", None)
        if session is None:
            check_is_fitted(self, "certificate_")
            raise ValueError("the stream of this model is complete or was paused: use save")
        arrays: dict[str, Array] = {}
        estimator = state_of(self, "", arrays)
        arrays["running_count"] = np.array([float(self._running.count)])
        if self._running.mean is not None:
            arrays["running_mean"] = self._running.mean
        self._check_parameters(session.plan)
        try:
            session.save(path, secrets=secrets, estimator=estimator, estimator_arrays=arrays)
        finally:
            if not session.is_open:
                del self._session

    @classmethod
    def resume(
        cls,
        path: str | Path,
        *,
        ledger: BudgetLedger | None = None,
        trusted: Iterable[type | str] = (),
    ) -> Self:
        """Return the estimator of a stream that was paused. The file is removed.

        Parameters
        ----------
        path : path-like
            What `pause` wrote. Copies of it must not be resumed.
        ledger : BudgetLedger, default=None
            The ledger that the stream began with, which refuses a file that was resumed before.
            None if it began without one; see `pairdp.online.OnlineSession.resume` for what cannot
            be detected then.
        trusted : iterable of class or str, default=()
            Classes outside pairdp that the stream may use; see `pairdp.load`.
        """
        known = Trusted(trusted)
        with take(Path(path)) as file:
            session = file.session(OnlineSession, None, ledger, known)
            estimator, arrays = file.estimator()
            running = RunningAverage()
            running.count = int(arrays.pop("running_count")[0])
            running.mean = arrays.pop("running_mean", None)
            model = with_state(estimator, "", arrays, known)
            if model.certificate_ != file.certificate:
                raise ValueError("the certificates of the estimator and of the stream differ")
            if not isinstance(model, cls):
                raise ValueError(f"it is the stream of a {type(model).__name__}")
            if arrays or running.count < 0:
                raise ValueError("it has unknown arrays")
            if running.mean is not None and running.mean.shape != session.parameters.shape:
                raise ValueError("the average of its models has a wrong shape")
            model._session, model._running, model.ledger = session, running, ledger
            model._show(session)
            file.use_up(ledger)
        return model
