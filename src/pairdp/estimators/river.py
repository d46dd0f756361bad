"""An adapter to river: records are dictionaries, one at a time. Needs the extra ``river``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import read_table, uses_null_records
from pairdp.estimators.online_ranker import OnlinePrivateRanker

try:
    from river.base import Classifier
except ImportError:
    raise ModuleNotFoundError(
        "pairdp.estimators.river needs river: pip install 'pairdp[river]'", name="river"
    ) from None

_SPREAD = 4.0


class RiverRanker(Classifier):  # type: ignore[misc]
    """An `OnlinePrivateRanker` with river's ``learn_one`` and ``predict_one``.

    Parameters
    ----------
    model : OnlinePrivateRanker
        The model that learns. Its horizon must cover the stream.
    features : sequence of str
        The names of the features, in order. They are public.
    classes : array-like of two labels
        The labels; the larger one is ranked higher.

    Notes
    -----
    A record that lacks a feature, or has one that is not a number, is an error or, if the model has
    ``invalid="null"``, a null record, for which nothing is predicted.

    Predictions use released models only. ``predict_proba_one`` is an increasing function of the
    score, for metrics such as AUC; it is not calibrated.

    Examples
    --------
    >>> from pairdp import OnlinePrivateRanker
    >>> from pairdp.estimators.river import RiverRanker
    >>> model = OnlinePrivateRanker(horizon=100, data_norm=1.0)
    >>> ranker = RiverRanker(model, ["age", "dose"], [False, True])
    >>> ranker.learn_one({"age": 0.5, "dose": -0.1}, True)
    >>> sorted(ranker.predict_proba_one({"age": 0.3, "dose": 0.0}))
    [False, True]
    """

    def __init__(
        self, model: OnlinePrivateRanker, features: Sequence[str], classes: ArrayLike
    ) -> None:
        self.model = model
        self.features = features
        self.classes = classes

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn the next record."""
        self.model.partial_fit(self._row(x), [y], classes=self.classes)

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return a number for each label, increasing with the score; empty before any record."""
        row = self._row(x)
        if not hasattr(self.model, "coef_") or np.isnan(row).any():
            return {}
        score = float(self.model.decision_function(row)[0])
        above = (1 + math.tanh(self._steepness() * score)) / 2
        low, high = self.model.classes_.tolist()
        return {low: 1 - above, high: above}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the predicted label; None before the first record, or if x cannot be read."""
        row = self._row(x)
        if not hasattr(self.model, "coef_") or np.isnan(row).any():
            return None
        return self.model.predict(row).tolist()[0]

    def _steepness(self) -> float:
        """Return a factor that spreads scores, up to ±BR, over the bins of river's metrics."""
        largest = self.model.radius * (self.model.data_norm or 1.0)
        return _SPREAD / largest if math.isfinite(largest) else 1.0

    def _row(self, x: dict[Any, Any]) -> NDArray[np.float64]:
        if uses_null_records(self.model.invalid):
            return read_table([[x.get(name) for name in self.features]])
        missing = [name for name in self.features if name not in x]
        if missing:
            raise ValueError(
                f"a record lacks the feature {missing[0]!r}: it needs all of {list(self.features)}"
            )
        try:
            return np.array([[float(x[name]) for name in self.features]])
        except (TypeError, ValueError, OverflowError):
            # The conversion's own message would quote a value of the data.
            raise ValueError("the features of a record must be numbers") from None
