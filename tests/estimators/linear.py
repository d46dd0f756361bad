"""Linear models and their data."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from pairdp import (
    PrivateLinearClassifier,
    PrivateLinearRegressor,
)
from pairdp.algorithms import MinimizerRelease, NoisyGradientDescent
from tests.estimators.data import two_classes


def targets(n: int = 400, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) / 4
    return x, x @ np.linspace(0.5, -0.5, d) + 0.2 + rng.normal(size=n) / 20


MODELS: dict[str, BaseEstimator] = {
    "classifier": PrivateLinearClassifier(random_state=0, data_norm=1.0),
    "pure": PrivateLinearClassifier(2.0, 0.0, random_state=0, data_norm=1.0),
    "hinge": PrivateLinearClassifier(loss="hinge", random_state=0, data_norm=1.0),
    "single records": PrivateLinearClassifier(
        algorithm=NoisyGradientDescent(steps=50, step_size=0.1, batch_size=1),
        random_state=0,
        data_norm=1.0,
    ),
    "regressor": PrivateLinearRegressor(random_state=0, data_norm=1.0),
    "regressor's minimiser": PrivateLinearRegressor(
        algorithm=MinimizerRelease(), fit_intercept=False, random_state=0, data_norm=1.0
    ),
}
KINDS = ("classifier", "regressor")


def data(model: BaseEstimator, n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    make = targets if isinstance(model, PrivateLinearRegressor) else two_classes
    return make(n, seed=seed)
