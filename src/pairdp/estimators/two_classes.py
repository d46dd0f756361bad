"""What linear models of two classes share: coding of labels, scores and predictions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from pairdp._reading import null_is_asked, occurring_labels, read_labels, read_signs
from pairdp.algorithms.conditions import Condition, PublicLabels
from pairdp.estimators.base import PrivateEstimator
from pairdp.estimators.validation import check_labels, validated

Array = NDArray[np.float64]


class TwoClassEstimator(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear model whose score is larger for the second of two classes."""

    classes: ArrayLike | None
    classes_: NDArray[Any]
    coef_: Array
    intercept_: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _conditions(self) -> tuple[Condition, ...]:
        return (PublicLabels(),) if self.classes is None else ()

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model and release it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records. Rows are clipped to ``data_norm``.
        y : array-like of shape (n_samples,)
            Labels of two classes; the larger one, in sorted order, gets higher scores.

        Returns
        -------
        self
        """
        self._check_ledger(X)
        with self._all_or_nothing():
            rows, labels = validated(self, X, y, ensure_min_samples=2, invalid=self.invalid)
            classes = self._labels(labels)
            plan = self.plan(*rows.shape)
            coded = self._signs(labels, classes)
            records = plan.problem.records(self._rows(rows), coded, invalid=self.invalid)
            self._keep(self._run(plan, records), classes)
        return self

    def _coded(self, y: ArrayLike, labels: ArrayLike | None) -> ArrayLike:
        if self.classes is None and labels is None:
            raise ValueError("records in batches need their labels in advance: give labels")
        found = read_labels(y) if null_is_asked(self.invalid) else np.asarray(y)
        return self._signs(found, self._labels(found, labels))

    def _signs(self, y: NDArray[Any], classes: NDArray[Any]) -> Array:
        """Return -1 and +1 for labels of two classes; NaN for others, which make null records."""
        if null_is_asked(self.invalid):
            signs = read_signs(y, classes.tolist())
            return np.where(signs == 0, np.nan, signs)  # 0 would be a target of least squares
        return np.where(y == classes[1], 1.0, -1.0)

    def _labels(self, y: NDArray[Any], known: ArrayLike | None = None) -> NDArray[Any]:
        """Return the two labels, sorted: those given, or those that occur."""
        null = null_is_asked(self.invalid)
        given = known if self.classes is None else self.classes
        if not null:
            check_labels(y)
        if given is None:
            classes = occurring_labels(y) if null else np.unique(y)
            if classes.size > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is "
                    f"{type_of_target(y)}."
                )
            if classes.size < 2:
                raise ValueError(
                    f"{type(self).__name__} needs records of two classes, and y has only one "
                    "class: give classes=(low, high) if that is how it is"
                )
            return classes
        classes = np.unique(np.asarray(given))
        if np.shape(given) != (2,) or classes.size != 2:
            raise ValueError(f"classes must be two different labels, got {given!r}")
        if not null and not np.all(np.isin(y, classes)):
            raise ValueError("y has labels that are not in classes")
        return classes

    def _sorted(self, labels: ArrayLike | None) -> NDArray[Any]:
        """Return the labels as scikit-learn keeps them: the second has the higher scores."""
        return np.unique(np.asarray(labels if self.classes is None else self.classes))

    def decision_function(self, X: ArrayLike) -> Array:
        """Return scores: ⟨coef_, x⟩ + intercept_, larger for the second class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Records, scaled as in `fit`. They are not clipped.
        """
        check_is_fitted(self, "coef_")
        rows = validated(self, X, reset=False)
        return np.asarray(rows @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the second class where the score is above zero, else the first."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(np.intp)])
