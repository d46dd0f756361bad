"""Attacks: scores of outputs that tend to be larger on the other data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Score = Callable[[Array], Array]
_MOST_SQUARES = 30


class Attack(NamedTuple):
    """A named score of outputs, which are rows."""

    name: str
    score: Score


def projection(one: Array, other: Array, name: str = "projection") -> Attack:
    """Return the projection on the difference of two outputs without noise.

    For Gaussian noise of equal scale in every number, no attack is better.
    """
    direction = np.ravel(other) - np.ravel(one)
    size = float(np.linalg.norm(direction))
    if size > 0:
        direction = direction / size
    return Attack(name, lambda outputs: np.asarray(outputs @ direction))


def columns(width: int, names: Sequence[str] = ()) -> list[Attack]:
    """Return one attack for each number of an output."""

    def taking(i: int) -> Score:
        return lambda outputs: np.asarray(outputs[:, i])

    return [Attack(names[i] if names else f"number {i}", taking(i)) for i in range(width)]


def linear(one: Array, other: Array) -> Attack:
    """Return the projection on Fisher's discriminant, learnt from outputs on both data sets."""
    moved = other.mean(axis=0) - one.mean(axis=0)
    spread = np.atleast_2d(np.cov(one.T) + np.cov(other.T))
    ridge = 1e-9 * (np.trace(spread) / len(moved) + 1e-300)
    direction = np.linalg.lstsq(spread + ridge * np.eye(len(moved)), moved, rcond=None)[0]
    return projection(np.zeros_like(moved), direction, "linear distinguisher")


def trained(one: Array, other: Array) -> Attack:
    """Return a logistic regression on the numbers and their products, learnt from outputs.

    It needs no knowledge of the outputs. Outputs it was trained on must not be counted.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, RobustScaler, StandardScaler

    outputs = np.concatenate([one, other])
    labels = np.repeat([0, 1], [len(one), len(other)])
    squares = [PolynomialFeatures(2, include_bias=False)] if one.shape[1] <= _MOST_SQUARES else []
    model = make_pipeline(
        RobustScaler(), *squares, StandardScaler(), LogisticRegression(C=1.0, max_iter=300)
    )
    model.fit(outputs, labels)
    return Attack("trained distinguisher", lambda found: np.asarray(model.decision_function(found)))
