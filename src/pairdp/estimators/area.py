"""The score of rankers: the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score


class AreaScore:
    """A ranker that is judged by the AUC."""

    classes_: NDArray[Any]
    decision_function: Callable[[ArrayLike], NDArray[np.float64]]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC on some data: how often a record of the second class scores higher.

        It is not private: do not publish scores on sensitive data.
        """
        scores = self.decision_function(X)
        positive = np.asarray(y) == self.classes_[1]
        return float(roc_auc_score(positive, scores, sample_weight=sample_weight))
