"""A thin adapter to river: one record at a time, as a dictionary. Needs the extra ``river``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import null_is_asked, read_table
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
        What learns. Its horizon covers the stream.
    features : sequence of str
        The names of the features, which are public, in their order.
    classes : array-like of two labels
        The labels; the larger one is ranked higher.

    Notes
    -----
    A record that lacks a feature or has one that is no number is an error, or, if the model has
    ``invalid="null"``, a null record; nothing is predicted for it then.

    Predictions are made of released models only. ``predict_proba_one`` is a growing function of
    the score, for measures such as AUC; it is not calibrated.

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
        """Return a number for each label that grows with the score; nothing before any record."""
        row = self._row(x)
        if not hasattr(self.model, "coef_") or np.isnan(row).any():
            return {}
        score = float(self.model.decision_function(row)[0])
        above = (1 + math.tanh(self._steepness() * score)) / 2
        low, high = self.model.classes_.tolist()
        return {low: 1 - above, high: above}

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the label that the score says; None before any record, or if x is unreadable."""
        row = self._row(x)
        if not hasattr(self.model, "coef_") or np.isnan(row).any():
            return None
        return self.model.predict(row).tolist()[0]

    def _steepness(self) -> float:
        """Spread scores, which are up to ±BR, over the probabilities that river counts in bins."""
        largest = self.model.radius * (self.model.data_norm or 1.0)
        return _SPREAD / largest if math.isfinite(largest) else 1.0

    def _row(self, x: dict[Any, Any]) -> NDArray[np.float64]:
        if null_is_asked(self.model.invalid):
            return read_table([[x.get(name) for name in self.features]])
        missing = [name for name in self.features if name not in x]
        if missing:
            raise ValueError(
                f"a record lacks the feature {missing[0]!r}: give all of {list(self.features)}"
            )
        try:
            return np.array([[float(x[name]) for name in self.features]])
        except (TypeError, ValueError, OverflowError):
            # The conversion's own message would quote a value of the data.
            raise ValueError("the features of a record must be numbers") from None
