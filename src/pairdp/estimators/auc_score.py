"""The score of rankers: the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score

from pairdp.estimators.validation import check_known_labels


class AreaScore:
    """A ranker that is judged by the AUC."""

    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], NDArray[np.float64]]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC on some data: how often a record of the second class scores higher.

        It is not private: do not publish scores on sensitive data.

        Raises
        ------
        ValueError
            If y has labels besides the two of ``classes_``, or only one of them.
        """
        scores = self.decision_function(X)
        positive = check_known_labels(y, self.classes_) == self.classes_[1]
        counted = positive
        if sample_weight is not None and np.shape(sample_weight) == positive.shape:
            counted = positive[np.asarray(sample_weight) > 0]
        if counted.all() or not counted.any():
            low, high = self.classes_.tolist()
            raise ValueError(
                f"the AUC needs records of both classes, {low!r} and {high!r}, with a weight "
                "above 0, and y has those of one at most"
            )
        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))
