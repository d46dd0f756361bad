"""PrivatePairMetric: a private Mahalanobis metric from similar and dissimilar pairs of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pairdp._checks import non_negative
from pairdp._reading import Invalid, read_labels, read_signs, uses_null_records
from pairdp.algorithms import Algorithm, Fit, PairScatter, Plan
from pairdp.algorithms.choice import Choice, choose_pair_metric
from pairdp.algorithms.facts import Condition, GivenPairs
from pairdp.algorithms.threshold import THRESHOLD
from pairdp.constraints import PSDFrobeniusBall
from pairdp.estimators.axes import check_n_components
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.fit_warnings import warn_of_search
from pairdp.estimators.mahalanobis import MahalanobisMixin, check_axes
from pairdp.estimators.pair_input import (
    differences,
    encoded_pairs,
    looked_up_persons,
    pairs_of,
    persons,
    public_pair_shape,
    row_numbers,
)
from pairdp.estimators.schema_tables import column_of, known_records
from pairdp.estimators.table_input import GivenSchema
from pairdp.estimators.validation import unchanged_on_error
from pairdp.losses import MetricLoss, PairMetricLoss
from pairdp.model_file.registry import stored_in_model_files
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.privacy import Budget, BudgetLedger
from pairdp.schema import Schema

Array = NDArray[np.float64]
_CLASSES = np.array([-1, 1])


def _check(model: Any) -> None:
    check_axes(model)
    non_negative("threshold_", model.threshold_)


@stored_in_model_files(
    {"components_": ("k", "d"), "eigenvalues_": ("d",), "threshold_": ()}, check=_check
)
class PrivatePairMetric(ClassifierMixin, MahalanobisMixin, PrivateEstimator):  # type: ignore[misc]
    """A Mahalanobis metric from pairs of records that are similar or dissimilar.

    Parameters
    ----------
    loss : {"logistic", "hinge"}, MetricLoss or PairMetricLoss, default=None
        The loss of a pair, which is minimised. By default none is: see ``algorithm``.
    algorithm : "auto", str or Algorithm, default="auto"
        "auto" is `PairScatter`, which releases the scatters of similar and of dissimilar pairs
        once, or minimises a loss if one is given. Otherwise the name of an algorithm, or an object
        of `pairdp.algorithms`, for losses of single records.
    radius : float, default=1.0
        Largest Frobenius norm of M. If a loss is minimised, squared distances are compared with 1,
        so the radius should be several times 1/data_norm².
    regularization : float, default=None
        λ of the penalty. None chooses it from public facts where one is needed.
    n_components : int, default=None
        The number of axes to keep, as for `PrivateMetric`.
    threshold : float, default=None
        The largest distance at which `predict` calls a pair similar, if it is public. None spends a
        tenth of the budget on one, which makes the fewest errors; if a loss is minimised, it is 1.
    data_norm : float, default=None
        The *difference* of the records of a pair is clipped to this norm; twice the norm of records
        clips nothing. It must not be computed from the data. With a schema it is 2 by default.
    schema : Schema, dict or path, default=None
        A public description of the columns, as for `PrivateRanker`, without a label: pairs have
        their own. `fit` then takes row numbers and a table as ``preprocessor``.
    unit : str, default=None
        What identifies a person, such as "patient_id"; a name for certificates, or a column that
        the schema declares as an id.
    max_pairs : int, default=None
        How many pairs of each person are used at most, which is public. The guarantee then covers
        all pairs of a person. By default, it covers each single pair.
    epsilon, delta, calibration, schedule, ledger, data_set, random_state, verbose, invalid
        As for `PrivateRanker`; a null record is here a null pair.

    Attributes
    ----------
    components_, eigenvalues_, n_directions_
        As for `PrivateMetric`.
    threshold_ : float
        The largest distance at which `predict` calls a pair similar.
    classes_ : array of shape (2,)
        -1 (dissimilar) and +1 (similar).
    certificate_, plan_, parameter_noise_, n_features_in_, feature_names_in_
        As for `PrivateRanker`.

    See Also
    --------
    PrivateMetric : learns from records with labels, over all of their pairs.

    Notes
    -----
    The methods are those of metric-learn's learners on pairs, such as MMC and ITML. There are two
    guarantees, for two kinds of neighbouring data sets of n pairs:

    - *One pair*, by default: they differ in one pair and its label. A person in several pairs is
      not protected as a whole.
    - *One person*, with ``max_pairs`` = k: they have the same persons in the same pairs, and differ
      in the rows and labels of all pairs of one person. A pair is used if both of its persons have
      fewer than k used pairs before it, and becomes a null pair otherwise. This choice depends on
      identifiers alone, so it is the same for both, and at most k of the used pairs differ: noise
      is made for k times the sensitivity of one pair. Who is in a pair with whom is not protected.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import PrivatePairMetric
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice([-1, 1], 4000)
    >>> pairs = rng.normal(size=(4000, 2, 4)) / 8
    >>> pairs[:, 0, 0] += (y < 0) * rng.choice([-1, 1], 4000) / 2    # far apart in one feature
    >>> metric = PrivatePairMetric(1.0, data_norm=1.0, random_state=0).fit(pairs, y)
    >>> metric.score(pairs, y) > 0.9                                 # AUC
    True
    >>> metric.predict(pairs[:4]).tolist() == y[:4].tolist()
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        loss: str | MetricLoss | PairMetricLoss | None = None,
        algorithm: str | Algorithm = "auto",
        radius: float = 1.0,
        regularization: float | None = None,
        n_components: int | None = None,
        threshold: float | None = None,
        data_norm: float | None = None,
        schema: GivenSchema | None = None,
        calibration: str = "certified",
        schedule: str | None = None,
        ledger: BudgetLedger | None = None,
        data_set: str | None = None,
        unit: str | None = None,
        max_pairs: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
        invalid: Invalid = "error",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.algorithm = algorithm
        self.radius = radius
        self.regularization = regularization
        self.n_components = n_components
        self.threshold = threshold
        self.data_norm = data_norm
        self.schema = schema
        self.calibration = calibration
        self.schedule = schedule
        self.ledger = ledger
        self.data_set = data_set
        self.unit = unit
        self.max_pairs = max_pairs
        self.random_state = random_state
        self.verbose = verbose
        self.invalid = invalid

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags

    _loss_kind = PairMetricLoss
    _problem_kind = PointwiseProblem
    _encoded_norm = 2.0

    def _clipped_to(self) -> float:
        if self.data_norm is None and self.schema is not None:
            return self._encoded_norm
        return super()._clipped_to()

    def _check_schema(self, schema: Schema) -> None:
        if schema.response is not None:
            raise ValueError(
                f'pairs have their own labels, +1 and -1: declare {schema.label!r} as "ignore"'
            )

    def _given_loss(self) -> PairMetricLoss | None:
        if isinstance(self.loss, MetricLoss):
            return PairMetricLoss(self.loss)
        found: Any = super()._given_loss()
        return found  # type: ignore[no-any-return]

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_pair_metric(n, features, budget, **facts)

    def _constraint(self) -> PSDFrobeniusBall:
        return PSDFrobeniusBall(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> PairMetricLoss:
        return PairMetricLoss()

    def completed(self, algorithm: Algorithm) -> Algorithm:
        """Return the algorithm, with a threshold if it can release one and none is given."""
        if isinstance(algorithm, PairScatter):
            return replace(algorithm, threshold=self.threshold is None)
        return algorithm

    def plan(self, n: int, n_features: int | None = None) -> Plan:
        """Return what `fit` would do with pairs of this number and size, without any data.

        Parameters
        ----------
        n, n_features : int
            The public numbers of pairs and of features.

        Returns
        -------
        Plan
            Printable, with noise, steps and reasons.
        """
        check_n_components(self.n_components, self._width(n_features))
        if self.threshold is not None:
            non_negative("threshold", self.threshold)
        return super().plan(n, n_features)

    @property
    def max_records(self) -> int | None:  # type: ignore[override]
        """``max_pairs``: a record of the problem is a pair."""
        return self.max_pairs

    def _conditions(self) -> tuple[Condition, ...]:
        return (*super()._conditions(), GivenPairs(self.max_pairs is not None))

    def _checked_groups(self, groups: ArrayLike | None) -> tuple[ArrayLike, ...]:
        if (groups is None) != (self._unit() is None):
            raise ValueError(
                "max_pairs limits the pairs of each person, and needs groups, the persons of each "
                "pair; groups need max_pairs, which is public"
            )
        return () if groups is None else (persons(groups),)

    def fit(
        self,
        pairs: ArrayLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        preprocessor: ArrayLike | None = None,
        evaluation_share: float | None = None,
        evaluation_options: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit the metric and release it.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of records, or of row numbers of ``preprocessor``.
        y : array-like of shape (n_pairs,)
            +1 for similar pairs and -1 for dissimilar ones.
        groups : array-like of shape (n_pairs, 2), optional
            The persons of each pair, with the parameter ``max_pairs``. By default they are the row
            numbers of ``preprocessor``, or what the column ``unit`` of the schema has in these
            rows. Pairs without a person (None, NaN, empty text) are not used. Groups are not
            stored.
        preprocessor : array-like of shape (n_records, n_features), optional
            The records that ``pairs`` refers to; with a schema, a table with named columns. Unlike
            in metric-learn it is not a parameter of the estimator, because a fitted model contains
            no records.
        evaluation_share, evaluation_options
            Must be None: pairs cannot be held out. Use `pairdp.evaluate` with other pairs.

        Returns
        -------
        self
        """
        if evaluation_share is not None or evaluation_options is not None:
            raise ValueError(
                "evaluation_share: given pairs cannot be held out. Leave it out, fit the metric to "
                "some of the pairs, and pass others to pairdp.evaluate"
            )
        if self.epsilon is not None:
            warn_of_search()
        with unchanged_on_error(self), self._pinned_schema() as schema:
            if groups is None and preprocessor is not None and self.max_pairs is not None:
                groups = pairs
                if schema is not None and self.unit in schema.identifiers:
                    groups = looked_up_persons(pairs, column_of(preprocessor, self.unit))
            of_units = self._checked_groups(groups)
            if schema is not None:
                plan = self._affordable_plan(len(row_numbers(pairs)), schema.width)
                found = encoded_pairs(schema, pairs, preprocessor, self.invalid)
            else:
                shape = public_pair_shape(pairs, preprocessor)
                known = None if shape is None else self._affordable_plan(*shape)
                found = pairs_of(self, pairs, preprocessor, self.invalid)
                plan = known or self._affordable_plan(len(found), found.shape[2])
            batch: Any = (found, _signs(y, self.invalid), *of_units)
            self._fit_plan(plan, [batch], found.shape[2], self._labels(None, None))
        self._warn_of_release()
        return self

    def _labels(self, y: NDArray[Any] | None, given: ArrayLike | None) -> NDArray[Any]:
        return _CLASSES.copy()

    def _coded(self, y: ArrayLike, labels: Any) -> ArrayLike:
        return _signs(y, self.invalid)

    def _rows(self, X: ArrayLike, n_features: int) -> ArrayLike:
        return differences(X, n_features, self._clipped_to(), self._invalid_rows)

    def _set_fitted(self, fit: Fit) -> None:
        self._set_axes(fit.parameters)
        self.threshold_ = 1.0
        if self.threshold is not None:
            self.threshold_ = float(self.threshold)
        elif THRESHOLD in fit.statistics:
            self.threshold_ = float(fit.statistics[THRESHOLD][0])

    def set_threshold(self, threshold: float) -> Self:
        """Set the largest distance of similar pairs; it must be public, or computed from releases.

        There is no ``calibrate_threshold``: calibrating on sensitive pairs is a release of them.
        """
        check_is_fitted(self, "components_")
        self.threshold_ = non_negative("threshold", threshold)
        return self

    def decision_function(self, pairs: ArrayLike) -> Array:
        """Return the similarity of each pair, `pair_score`: minus its distance."""
        return self.pair_score(pairs)

    def predict(self, pairs: ArrayLike) -> NDArray[np.int64]:
        """Return +1 for pairs at a distance of at most ``threshold_``, otherwise -1."""
        near = self.pair_distance(pairs) <= self.threshold_
        return np.where(near, 1, -1).astype(np.int64)

    def score(self, pairs: ArrayLike, y: ArrayLike) -> float:
        """Return the AUC: how often a similar pair is closer than a dissimilar one.

        It is not private: do not publish scores on sensitive pairs. With ``invalid="null"``, pairs
        with labels other than +1 and -1 are left out.
        """
        signs = _signs(y, self.invalid)
        signs = np.where(signs == 0, np.nan, signs)
        scores, signs, _ = known_records(self.decision_function(pairs), signs)
        if np.all(signs > 0) or np.all(signs < 0):
            raise ValueError("the AUC needs similar and dissimilar pairs, but y has only one kind")
        from sklearn.metrics import roc_auc_score  # which takes long to import

        return float(roc_auc_score(signs > 0, scores))


def _signs(y: ArrayLike | None, invalid: Invalid) -> Array:
    """Return labels as -1 and +1; others are an error, or 0 (null pairs)."""
    if y is None:
        raise ValueError("This PrivatePairMetric estimator requires y to be passed, got None")
    signs = read_signs(read_labels(y))
    if not uses_null_records(invalid) and not np.all(signs):
        raise ValueError("y must be +1 for similar pairs and -1 for dissimilar ones")
    return signs
