"""All methods that are compared, by name; the private ones with what their guarantee is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.utility import peers
from benchmarks.utility.tables import DELTA, Split
from pairdp import PrivateRanker, PrivateScorecard

Array = NDArray[np.float64]
BEFORE = "linear, before"
"""The name of the linear ranker without the candidates of the class ``CONDITIONED``."""
CHOSEN = "auto"
"""The name of the ranker whose model is chosen from public facts."""
CONDITIONED = "ConditionedDescent"


@dataclass(frozen=True)
class Method:
    """A method, and what is said about it in the tables.

    Attributes
    ----------
    scores : callable
        From a split, ε and a seed (private) or from a split (not private) to scores.
    ours : bool
        Whether it is of this library.
    relation : str
        The neighbours that its guarantee is for; empty if there is none.
    """

    scores: Callable[..., Array]
    ours: bool = False
    relation: str = "replace one"


def _fitted(kind: Any, split: Split, epsilon: float, seed: int, **options: Any) -> Array:
    model = kind(epsilon, DELTA, schema=split.schema, random_state=seed, **options)
    return np.asarray(model.fit(split.train).decision_function(split.test))


def _before(split: Split, epsilon: float, seed: int) -> Array:
    """Return scores of the best linear candidate without conditioning, by the same prediction."""
    model = PrivateRanker(epsilon, DELTA, schema=split.schema, model="linear")
    kept = [
        candidate
        for candidate in model.choices(split.n).candidates
        if type(candidate.algorithm).__name__ != CONDITIONED
    ]
    problem, algorithm = kept[0].problem, kept[0].algorithm
    return _fitted(
        PrivateRanker,
        split,
        epsilon,
        seed,
        loss=problem.loss,
        regularization=problem.regularization,
        algorithm=algorithm,
        model="linear",
    )


METHODS = {
    CHOSEN: Method(partial(_fitted, PrivateRanker), True),
    BEFORE: Method(_before, True),
    "linear": Method(partial(_fitted, PrivateRanker, model="linear"), True),
    "scorecard": Method(partial(_fitted, PrivateScorecard), True),
    "scorecard, products": Method(partial(_fitted, PrivateScorecard, interactions=True), True),
    "DPEBM": Method(peers.dpebm, relation="add/remove"),
    "DP-GD logistic": Method(peers.gradient_descent),
    "AdaSSP": Method(peers.adassp),
    "logistic regression": Method(peers.logistic, relation=""),
    "gradient boosting": Method(peers.boosting, relation=""),
}
"""All methods by name, in the order of the tables."""


def available(names: Iterable[str] | None = None) -> dict[str, Method]:
    """Return the methods that can be run here, or those of some names."""
    found = {name: method for name, method in METHODS.items() if peers.HAS_DPEBM or name != "DPEBM"}
    return found if names is None else {name: found[name] for name in found if name in set(names)}
