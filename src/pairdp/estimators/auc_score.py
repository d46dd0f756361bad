"""The score of rankers: the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from pairdp.estimators.validation import check_known_labels


class AUCScoreMixin:
    """A mixin whose score is the AUC."""

    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], NDArray[np.float64]]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC on the given data: how often a record of the second class scores higher.

        It is not private: do not publish scores on sensitive data.

        Raises
        ------
        ValueError
            If y has labels other than the two in ``classes_``, or only one of them.
        """
        scores = self.decision_function(X)
        positive = check_known_labels(y, self.classes_) == self.classes_[1]
        counted = positive
        if sample_weight is not None and np.shape(sample_weight) == positive.shape:
            counted = positive[np.asarray(sample_weight) > 0]
        if counted.all() or not counted.any():
            low, high = self.classes_.tolist()
            raise ValueError(
                f"the AUC needs records of both classes, {low!r} and {high!r}, with positive "
                "weights, but y has at most one of them"
            )
        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))
