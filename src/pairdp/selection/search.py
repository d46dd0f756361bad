"""PrivateSearch: the best of several candidates, for one budget and with one certificate."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import one_of
from pairdp.algorithms import Fit
from pairdp.algorithms.plan import Progress
from pairdp.estimators import PrivateEstimator
from pairdp.estimators.fit_warnings import warn_caller, warn_of_search
from pairdp.estimators.schema_tables import table_length
from pairdp.estimators.validation import public_shape, unchanged_on_error, validated
from pairdp.evaluation.evaluate import check_ledger
from pairdp.evaluation.scoring import bare, model_parts
from pairdp.evaluation.selection import RepeatedChoice, centred_sum
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource
from pairdp.privacy.certificates.held_out import HeldOutForSelection, Placed
from pairdp.selection.candidates import Candidate, read_candidates
from pairdp.selection.plan import PlannedCandidate, SearchPlan, SearchWarning
from pairdp.selection.planning import Method, plan_search
from pairdp.selection.rows import rows_at, units_of
from pairdp.unit_limit import UnitLimit

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
    scorecard, ``monotone``. Others share the budget. `plan` says which is which, what the search
    costs, and whether it is expected to lose against one fit by ``algorithm="auto"``.

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
        warn_of_search(self)
        with unchanged_on_error(self):
            self._search(X, y, groups)
        return self

    def _search(self, X: Any, y: Any, groups: Any) -> None:
        plan, records = self._read(X, y, groups)
        ledger = self._paying(plan)
        self._warn(plan)
        source = _source(plan, self.random_state)
        spent = None if ledger is None else ledger.spend(plan.certificate)
        try:
            place, model = self._run(plan, records, source)
        except BaseException as error:
            if spent is not None:
                budget = plan.certificate.budget
                error.add_note(f"{budget} was spent from the ledger for {spent.label}")
            raise
        self._set_chosen(plan, place, model, source)

    def _run(
        self, plan: SearchPlan, records: _Records, source: NoiseSource
    ) -> tuple[int, PrivateEstimator]:
        """Return the place of the chosen candidate, and its model."""
        placed = plan.held_out.rows(plan.n).of_batch(plan.n, records.groups)
        training, held_out = (
            records.at(placed, places) for places in (placed.training, placed.evaluation)
        )
        if isinstance(plan.selection, RepeatedChoice):
            return self._best_of_runs(plan, plan.selection, training, held_out, source)
        models = self._fitted(plan, training, source)
        scored = [
            _scored(plan, each, model, held_out, self._names)
            for each, model in zip(plan.candidates, models, strict=True)
        ]
        scores, signs = zip(*scored, strict=True)
        place = plan.selection.run(scores, signs, source.child("selection"))
        return place, models[place]

    def _best_of_runs(
        self,
        plan: SearchPlan,
        choice: RepeatedChoice,
        training: _Records,
        held_out: _Records,
        source: NoiseSource,
    ) -> tuple[int, PrivateEstimator]:
        """Return the candidate of the best of a random number of runs, and its model."""
        mechanism, draws = choice.mechanism, source.stream("runs")
        best: tuple[float, int, int, PrivateEstimator] | None = None
        count = mechanism.number_of_runs(draws)
        # Neither a bar nor the number of warnings may tell how many runs there are.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for run in Progress(self.verbose).steps(count, "fits", counted=False):
                place, tie_break = mechanism.draw(draws), int(draws.integers(2**63))
                each = plan.candidates[place]
                model: PrivateEstimator = clone(each.candidate.estimator)
                model.set_params(
                    verbose=False,
                    random_state=None if source.is_secure else source.stream("fit", run),
                )
                model._release(
                    each.candidate.columns(training.rows, self._names),
                    training.labels,
                    training.groups,
                )
                model.set_params(verbose=each.candidate.estimator.verbose, random_state=None)
                total = centred_sum(*_scored(plan, each, model, held_out, self._names))
                noisy = float(mechanism.release([total], source.stream("score", run))[0])
                if best is None or (noisy, tie_break) > best[:2]:
                    best = noisy, tie_break, place, model
        if best is None:
            raise RuntimeError("there is always one run")
        return best[2:]

    @property
    def _names(self) -> Any:
        """The names of the columns of X, if it has some and there is no schema."""
        return self.__dict__.get("_names_of_columns")

    def _read(self, X: Any, y: Any, groups: Any) -> tuple[SearchPlan, _Records]:
        """Return the plan for some records, and the records, after checking what is public."""
        first = read_candidates(self.estimator, self.candidates)[0].estimator
        if first.schema is not None:
            return self.plan(table_length(X)), _Records(X, y, units_of(first, X, groups))
        first._checked_groups(groups)
        shape = public_shape(X)
        known = None if shape is None else self.plan(*shape)
        if known is not None:
            self._paying(known)
        rows, labels = validated(self, X, y, invalid=first.invalid, ensure_min_samples=2)
        self._names_of_columns = getattr(self, "feature_names_in_", None)
        return known or self.plan(*rows.shape), _Records(rows, labels, groups)

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

    def _fitted(
        self, plan: SearchPlan, records: _Records, source: NoiseSource
    ) -> list[PrivateEstimator]:
        """Return all candidates: one of each group fitted to records, others to its release."""
        leaders: dict[int, tuple[PrivateEstimator, Fit]] = {}
        fitted = []
        steps = Progress(self.verbose).steps(len(plan.candidates), "candidates")
        for _, each in zip(steps, plan.candidates, strict=True):
            model: PrivateEstimator = clone(each.candidate.estimator)
            if each.group in leaders:
                _fit_to_release(model, each, *leaders[each.group])
            else:
                if not source.is_secure:
                    model.set_params(random_state=source.stream("fit", each.group))
                rows = each.candidate.columns(records.rows, self._names)
                fit = model._release(rows, records.labels, records.groups)
                leaders[each.group] = model.set_params(random_state=None), fit
            fitted.append(model)
        return fitted

    def _set_chosen(
        self, plan: SearchPlan, place: int, model: PrivateEstimator, source: NoiseSource
    ) -> None:
        chosen = plan.candidates[place].candidate
        self.plan_, self.best_index_, self.best_params_ = plan, place, dict(chosen.params)
        self.certificate_ = plan.certificate_of(place).with_noise_source(source)
        model.certificate_ = self.certificate_
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

    def save(self, path: str | Path) -> None:
        """Write the chosen model, with the certificate of the search, to a file.

        `pairdp.load` returns it as ``best_estimator_``.
        """
        check_is_fitted(self, "best_estimator_")
        self.best_estimator_.save(path)


class _Records(NamedTuple):
    """Records: rows, labels and units, the latter two None if there are none."""

    rows: Any
    labels: Any
    groups: Any

    def at(self, placed: Placed, places: NDArray[np.intp]) -> _Records:
        """Return the records of a part."""
        labels = None if self.labels is None else rows_at(self.labels, places)
        groups = None if placed.groups is None else placed.groups_of(places)[0]
        return _Records(rows_at(self.rows, places), labels, groups)


def _scored(
    plan: SearchPlan,
    planned: PlannedCandidate,
    model: PrivateEstimator,
    records: _Records,
    names: Any,
) -> tuple[Array, Array]:
    """Return the scores and signs of held-out records, for one model."""
    n, unit = plan.selection.n, plan.certificate.unit
    unused = np.zeros(n, dtype=np.bool_)
    if unit is not None:
        unused = UnitLimit(unit.max_records).unused(records.groups, n)
    scored, rows = model_parts(model), planned.candidate.columns(records.rows, names)
    labels = scored.given_labels(rows, records.labels)
    signs = np.where(unused, 0.0, scored.coded_signs(labels, model.invalid))
    return scored.scores(rows, model.invalid), signs


def _fit_to_release(
    model: PrivateEstimator, planned: PlannedCandidate, leader: PrivateEstimator, fit: Fit
) -> None:
    if not model._set_from(leader, planned.plan, fit):
        raise RuntimeError("a candidate that shares a release could not be computed from it")


def _source(plan: SearchPlan, random_state: Any) -> NoiseSource:
    # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
    planned = json.dumps(plan.certificate.to_dict(), sort_keys=True)
    digest = hashlib.sha256(planned.encode()).hexdigest()
    return NoiseSource.from_random_state(random_state).child("search", digest)
