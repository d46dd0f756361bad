"""PrivateSearch: the best of several candidates, for one budget and with one certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import one_of
from pairdp.algorithms.plan import Progress
from pairdp.estimators import PrivateEstimator
from pairdp.estimators.fit_warnings import warn_caller, warn_of_search
from pairdp.estimators.schema_tables import table_length
from pairdp.estimators.validation import public_shape, unchanged_on_error, validated
from pairdp.evaluation.evaluate import check_ledger
from pairdp.evaluation.scoring import bare
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource
from pairdp.privacy.certificates.held_out import HeldOutForSelection
from pairdp.privacy.payment import paid_by
from pairdp.selection.candidates import Candidate, read_candidates
from pairdp.selection.plan import SearchPlan, SearchWarning
from pairdp.selection.planning import Method, plan_search
from pairdp.selection.rows import units_of
from pairdp.selection.run import SearchRecords, run_search, source_of

if TYPE_CHECKING:
    from pairdp.report import ModelReport

Array = NDArray[np.float64]


class PrivateSearch(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose the best of several candidates on held-out records, with differential privacy.

    Like ``GridSearchCV``, with one budget for everything: candidates are fitted to a part of the
    records, one is chosen by its AUC on the others, and one certificate covers the whole.

    Parameters
    ----------
    estimator : PrivateEstimator
        What parameters of candidates are set on: a `PrivateRanker`, `PrivateScorecard` or
        `PrivateLinearClassifier`. None if all candidates are estimators.
    candidates : dict, or list of dicts or of (name, estimator) pairs
        A dict is a grid: all combinations of its lists. In a list, a dict has the parameters of one
        candidate. The entry "features" is a list of columns, names or places, that the candidate
        uses instead of all. Nothing of it must be chosen by looking at the records.
    budget : Budget, default=None
        The budget of the whole search; by default, that of the estimator.
    held_out : float, default=0.2
        The share of the records that candidates are compared on.
    held_out_seed : int, default=0
        A public number that says which records these are.
    share : float, default=0.5
        A public guess of the share of the second class, to predict what the choice loses.
    method : {"auto", "split", "repeat"}, default="auto"
        How candidates that do not share a release are paid for. "split" divides the budget among
        them. "repeat" fits a random number of candidates that are drawn at random, and chooses the
        best by noisy scores; it needs δ > 0 and Gaussian noise. "auto" splits for up to four.
    unpromising : {"warn", "error", "ignore"}, default="warn"
        What to do, before anything is spent, if searching is expected to lose more AUC than it
        gains, by public facts.
    ledger : BudgetLedger, default=None
        The ledger that pays for the search.
    data_set : str, default=None
        The name of the data set, for the entry in the ledger.
    random_state : int, RandomState or Generator, default=None
        A seed, for studies and tests; leave it out for sensitive data.
    verbose : bool, default=None
        Whether to show progress; None shows it on a terminal for long searches.

    Attributes
    ----------
    best_estimator_ : PrivateEstimator
        The chosen candidate, fitted. Its ``certificate_`` is that of the search.
    best_index_ : int
        Its place among the candidates.
    best_params_ : dict
        Its parameters, as given.
    certificate_ : Certificate
        What was released and why it is private, for the whole search.
    plan_ : SearchPlan
        Every number of the search, fixed before data was read.
    classes_, n_features_in_, feature_names_in_
        As for the estimator.

    Notes
    -----
    Candidates that are computed from the same released statistics are *free*: with
    ``algorithm="moments"``, all values of ``regularization``, ``radius`` and of the ridge; for a
    scorecard, ``smoothing``, ``shrinkage`` and ``monotone``. Others share the budget, also those
    that differ in how a fit divides it. `plan` says which is which, what the search costs, and
    whether it is expected to lose against one fit by ``algorithm="auto"``.

    No score is released, only the choice: use `pairdp.evaluate` on other records, or with a budget
    of its own, to state how good the model is.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivateRanker, PrivateSearch
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 20000)
    >>> X = (rng.normal(size=(20000, 5)) + y[:, None]) / 5
    >>> ranker = PrivateRanker(1.0, model="linear", algorithm="moments", data_norm=1.0)
    >>> search = PrivateSearch(ranker, {"regularization": [0.0, 0.1, 1.0]}, random_state=0)
    >>> search.plan(20000, 5).method
    'free'
    >>> search.fit(X, y).certificate_.budget
    Budget(epsilon=1.0, delta=5e-07)
    """

    def __init__(
        self,
        estimator: PrivateEstimator | None,
        candidates: Any,
        budget: Budget | None = None,
        *,
        held_out: float = 0.2,
        held_out_seed: int = 0,
        share: float = 0.5,
        method: Method = "auto",
        unpromising: Literal["warn", "error", "ignore"] = "warn",
        ledger: BudgetLedger | None = None,
        data_set: str | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.budget = budget
        self.held_out = held_out
        self.held_out_seed = held_out_seed
        self.share = share
        self.method = method
        self.unpromising = unpromising
        self.ledger = ledger
        self.data_set = data_set
        self.random_state = random_state
        self.verbose = verbose

    best_estimator_: PrivateEstimator
    certificate_: Certificate
    plan_: SearchPlan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def plan(self, n: int, n_features: int | None = None) -> SearchPlan:
        """Return what `fit` would do with data of this size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public size of the data. A schema says how many features there are.

        Returns
        -------
        SearchPlan
            Printable, with what each candidate costs, what to expect, and warnings.
        """
        candidates = read_candidates(self.estimator, self.candidates)
        held_out = HeldOutForSelection(self.held_out, self.held_out_seed)
        budget = self._budget(n, candidates)
        one_of("method", self.method, "auto", "split", "repeat")
        return plan_search(candidates, n, n_features, budget, held_out, self.share, self.method)

    def _budget(self, n: int, candidates: tuple[Candidate, ...]) -> Budget:
        if self.budget is not None:
            if not isinstance(self.budget, Budget):
                raise TypeError(f"budget must be a Budget or None, got {self.budget!r}")
            return self.budget
        given = candidates[0].estimator if self.estimator is None else self.estimator
        found = given._budget(n)
        if found is None:
            raise ValueError(
                "a search needs a budget: without privacy, use GridSearchCV of scikit-learn"
            )
        return found

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the candidates, choose one, and release it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table with a schema
            Records.
        y : array-like of shape (n_samples,)
            Their labels; with a schema, by default the column of the label.
        groups : array-like of shape (n_samples,), optional
            The unit of each record, if the estimators have ``max_records``. All records of a unit
            are used to fit, or all are held out.

        Returns
        -------
        self
        """
        one_of("unpromising", self.unpromising, "warn", "error", "ignore")
        warn_of_search()
        with unchanged_on_error(self):
            self._search(X, y, groups)
        return self

    def _search(self, X: Any, y: Any, groups: Any) -> None:
        plan, records = self._read(X, y, groups)
        ledger = self._paying(plan)
        self._warn(plan)
        source = source_of(plan, self.random_state)
        with paid_by(ledger, plan.certificate):
            place, model = run_search(plan, records, source, self._names, Progress(self.verbose))
            self._set_chosen(plan, place, model, source)

    @property
    def _names(self) -> Any:
        """The names of the columns of X, if it has some and there is no schema."""
        return self.__dict__.get("_names_of_columns")

    def _read(self, X: Any, y: Any, groups: Any) -> tuple[SearchPlan, SearchRecords]:
        """Return the plan for some records, and the records, after checking what is public."""
        first = read_candidates(self.estimator, self.candidates)[0].estimator
        if first.schema is not None:
            return self.plan(table_length(X)), SearchRecords(X, y, units_of(first, X, groups))
        first._checked_groups(groups)
        shape = public_shape(X)
        known = None if shape is None else self.plan(*shape)
        if known is not None:
            self._paying(known)
        rows, labels = validated(self, X, y, invalid=first.invalid, ensure_min_samples=2)
        self._names_of_columns = getattr(self, "feature_names_in_", None)
        return known or self.plan(*rows.shape), SearchRecords(rows, labels, groups)

    def _paying(self, plan: SearchPlan) -> BudgetLedger | None:
        """Return the ledger for the entry of a plan; an error if it has no room."""
        return check_ledger(plan.certificate, self.ledger, self.data_set, self.random_state)

    def _warn(self, plan: SearchPlan) -> None:
        if self.unpromising == "ignore" or not plan.warnings:
            return
        if self.unpromising == "error":
            raise ValueError(f"{plan.warnings[-1]}; nothing was spent")
        for sentence in plan.warnings:
            warn_caller(sentence, SearchWarning)

    def _set_chosen(
        self, plan: SearchPlan, place: int, model: PrivateEstimator, source: NoiseSource
    ) -> None:
        chosen = plan.candidates[place].candidate
        self.plan_, self.best_index_, self.best_params_ = plan, place, dict(chosen.params)
        self.certificate_ = plan.certificate_of(place).with_noise_source(source)
        model.certificate_ = self.certificate_
        model.set_params(data_set=self.data_set)  # for its report
        self.best_estimator_, self.classes_ = model, model.classes_
        if model.schema is not None:
            self.n_features_in_ = model.n_features_in_
            self.feature_names_in_ = model.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = chosen.names(self.feature_names_in_)

    def _scored(self, X: Any) -> Any:
        """Return the columns of records that the chosen model uses, without names."""
        check_is_fitted(self, "best_estimator_")
        if self.best_estimator_.schema is not None:
            return X
        rows = validated(self, X, reset=False)
        chosen = self.plan_.candidates[self.best_index_].candidate
        return chosen.columns(rows, self._names)

    @property
    def _model(self) -> PrivateEstimator:
        """The chosen model, for rows without names."""
        check_is_fitted(self, "best_estimator_")
        named = self.best_estimator_
        return named if named.schema is not None else bare(named)

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the scores of the chosen model, larger for the second class."""
        return np.asarray(self._model.decision_function(self._scored(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the classes that the chosen model predicts."""
        return np.asarray(self._model.predict(self._scored(X)))

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the score of the chosen model on the given data; it is not private."""
        return float(self._model.score(self._scored(X), y, sample_weight))

    def privacy_statement(self) -> str:
        """Return the privacy statement of the search, for a privacy officer."""
        check_is_fitted(self, "certificate_")
        return self.certificate_.statement()

    def report(self, path: str | Path | None = None, **options: Any) -> ModelReport:
        """Return the report on the chosen model, as an HTML page; see `PrivateRanker.report`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.report(path, **{"ledger": self.ledger, **options})

    def save(self, path: str | Path) -> None:
        """Write the chosen model, with the certificate of the search, to a file.

        `pairdp.load` returns it as ``best_estimator_``.
        """
        check_is_fitted(self, "best_estimator_")
        self.best_estimator_.save(path)
