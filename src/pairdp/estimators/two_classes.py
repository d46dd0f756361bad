"""The base class of binary linear models: coding of labels, scores and predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from pairdp._arrow_tables import as_labels, as_table
from pairdp._reading import (
    check_names_of_classes,
    label_array,
    occurring_labels,
    read_signs,
    uses_null_records,
)
from pairdp.algorithms import Fit, Plan
from pairdp.algorithms.facts import Condition, PublicLabels
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.calibrated import CalibratedMixin
from pairdp.estimators.held_out import Measured
from pairdp.estimators.schema_tables import flat_labels, known_records, response_of
from pairdp.estimators.validation import (
    check_known_labels,
    check_labels,
    known_labels,
    products,
)
from pairdp.schema import Schema

_CALIBRATED = (
    "The probabilities of this model are NOT covered by the statement above: they follow from a\n"
    "private evaluation, which is a release of its own. For a record that was used for both, the\n"
    "costs add up. The statement of the evaluation:"
)


class AUCScoreMixin:
    """A mixin whose score is the AUC."""

    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], NDArray[np.float64]]
    _known_signs: Callable[[ArrayLike, ArrayLike | None], NDArray[np.float64]]

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the AUC on the given data: how often a record of the second class scores higher.

        It is not private: do not publish scores on sensitive data. With a schema, y is by default
        the column of the label, and null records are left out. With ``invalid="null"``, so are
        records with a label that is not in ``classes_``.

        Raises
        ------
        ValueError
            If y has labels other than the two in ``classes_``, or only one of them.
        """
        table, labels = as_table(X), as_labels(y)
        scores, signs, sample_weight = known_records(
            self.decision_function(table), self._known_signs(table, labels), sample_weight
        )
        counted = positive = signs > 0
        if sample_weight is not None and np.shape(sample_weight) == positive.shape:
            counted = positive[np.asarray(sample_weight) > 0]
        if counted.all() or not counted.any():
            low, high = self.classes_.tolist()
            raise ValueError(
                f"the AUC needs records of both classes, {low!r} and {high!r}, with positive "
                "weights, but y has at most one of them"
            )
        from sklearn.metrics import roc_auc_score  # which takes long to import

        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))


Array = NDArray[np.float64]


class TwoClassEstimator(CalibratedMixin, ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear model that gives higher scores to the second of two classes."""

    classes: ArrayLike | None
    classes_: NDArray[Any]
    coef_: Array
    intercept_: Array

    def _measure(self) -> Measured:
        return "auc", None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _set_release(self, plan: Plan, fit: Fit) -> None:
        super()._set_release(plan, fit)
        self._forget_calibration()

    def _conditions(self) -> tuple[Condition, ...]:
        schema = self._schema()
        named = self.classes is not None or (schema is not None and schema.classes is not None)
        return (*super()._conditions(), *(() if named else (PublicLabels(),)))

    def _check_schema(self, schema: Schema) -> None:
        if schema.target is not None:
            raise ValueError(f"{type(self).__name__} needs a label of two classes, not a target")
        if schema.classes is not None and len(schema.classes) != 2:
            raise ValueError(
                f"{type(self).__name__} needs a label of two classes, and the schema has "
                f"{len(schema.classes)}"
            )
        if schema.classes is not None and self.classes is not None:
            raise ValueError("the schema names the classes: leave out classes")

    def _labels(self, y: NDArray[Any] | None, given: ArrayLike | None) -> NDArray[Any]:
        """Return the two labels: those of the schema; or, sorted, those given or that occur."""
        schema = self._schema()
        if schema is not None and schema.classes is not None:
            return np.array(schema.classes)
        given = given if self.classes is None else self.classes
        if given is not None:
            return _two_sorted(given)
        if y is None:
            raise ValueError("labels must be given for records that come in batches")
        if uses_null_records(self.invalid):
            classes = occurring_labels(y)
        else:
            # Whether numbers or texts are labels depends on the distinct ones.
            occurring = _distinct(y) if y.dtype.kind in "biufUS" else y
            check_labels(occurring)
            classes = np.unique(occurring)
        if classes.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs records of two classes, but y has only one "
                "class: pass classes=(low, high) if that is intended"
            )
        return classes

    def _coded(self, y: ArrayLike, labels: NDArray[Any]) -> Array:
        """Return -1 and +1 for the two classes, and NaN for other labels (null records)."""
        schema = self._schema()
        if schema is not None and schema.response is not None:
            return schema.encode_label(y, invalid=self.invalid)
        if uses_null_records(self.invalid):
            signs = read_signs(y, labels.tolist())
            return np.where(signs == 0, np.nan, signs)  # 0 is a valid target of least squares
        found = label_array(y)
        if not np.all(known_labels(found, labels)):
            raise ValueError("y has labels that are not in classes")
        return np.where(found == labels[1], 1.0, -1.0)

    def _known_signs(self, X: ArrayLike, y: ArrayLike | None) -> Array:
        """Return -1 and +1 for labels, by default those of the table, and NaN for null records."""
        schema: Schema | None = self.__dict__.get("schema_")
        found = response_of(schema, X, y)
        if schema is not None and schema.response is not None:
            return schema.encode_label(found, invalid=self.invalid)
        if uses_null_records(self.invalid):
            signs = read_signs(flat_labels(found), self.classes_.tolist())
            return np.where(signs == 0, np.nan, signs)
        return np.where(check_known_labels(found, self.classes_) == self.classes_[1], 1.0, -1.0)

    def score(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy on the given data.

        It is not private: do not publish scores on sensitive data. With a schema, y is by default
        the column of the label, and null records are left out. With ``invalid="null"``, so are
        records with a label that is not in ``classes_``.

        Raises
        ------
        ValueError
            If y has labels other than the two in ``classes_``.
        """
        table, labels = as_table(X), as_labels(y)
        scores, signs, sample_weight = known_records(
            self.decision_function(table), self._known_signs(table, labels), sample_weight
        )
        known, predicted = self.classes_[(signs > 0).astype(np.intp)], self._decided(scores)
        from sklearn.metrics import accuracy_score  # which takes long to import

        return float(accuracy_score(known, predicted, sample_weight=sample_weight))

    def privacy_statement(self) -> str:
        """Return the privacy statement of the fitted model, for a privacy officer."""
        statement = super().privacy_statement()
        low, high = self.classes_.tolist()
        statement = f"{statement}\n\nLabel {high!r} is ranked above label {low!r}."
        other = self._separate_calibration()
        if other is None:
            return statement
        return f"{statement}\n\n{_CALIBRATED}\n\n{other.privacy_statement()}"

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores: ``⟨coef_, x⟩ + intercept_``, larger for the second class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, scaled as in `fit`. They are not clipped. With a schema, a table with named
            columns; scores of null records are NaN.
        """
        check_is_fitted(self, "coef_")
        return self._scored(X, lambda rows: products(rows, self.coef_[0]) + self.intercept_[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the second class if the score is above zero, otherwise the first."""
        scores = self.decision_function(X)
        if np.isnan(scores).any():
            raise ValueError(
                "the schema makes some of the records null records, for which nothing is "
                "predicted: leave them out, or use decision_function"
            )
        return self._decided(scores)

    def _decided(self, scores: Array) -> NDArray[Any]:
        return np.asarray(self.classes_[self._places(scores)])

    def _places(self, scores: Array) -> NDArray[np.int8]:
        """Return the place of the label of each score among the classes."""
        return np.asarray(scores > 0, dtype=np.int8)


def _distinct(y: NDArray[Any]) -> NDArray[Any]:
    """Return ``np.unique(y)``, fast if there are two numbers."""
    if y.dtype.kind in "biuf" and y.ndim == 1 and y.size:
        ends = np.array([y.min(), y.max()], dtype=y.dtype)
        if np.all((y == ends[0]) | (y == ends[1])):
            return np.unique(ends)
    return np.unique(y)


def _two_sorted(given: Any) -> NDArray[Any]:
    """Return two given labels, sorted as in scikit-learn: the second gets the higher scores."""
    objects = np.asarray(given, dtype=object)
    of_text = {isinstance(label, str) for label in objects.ravel()}
    try:
        check_names_of_classes(objects.ravel())
        classes = np.unique(np.asarray(given))
    except TypeError:  # they cannot be sorted
        classes = np.empty(0)
    if objects.shape != (2,) or classes.size != 2 or len(of_text) > 1:
        raise ValueError(
            f"classes must be two different labels, both text or both numbers, got {given!r}"
        )
    return classes
