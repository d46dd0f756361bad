"""Slopes of losses are those of their definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.special import expit

from pairdp.algorithms.conditioned.slopes import Slopes
from pairdp.losses import LogisticPointwise


@pytest.mark.parametrize("label", [-1.0, 0.0, 1.0])
def test_slopes_of_the_logistic_loss(label: float) -> None:
    scores = np.array([0.0, -0.0, 1e-300, -0.3, 2.0, 40.0, -40.0, 800.0, -800.0, 1e308])
    y = np.full(len(scores), label)
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        found = Slopes(LogisticPointwise()).of(scores, y)
    np.testing.assert_allclose(found, -y * expit(-y * scores), rtol=1e-15, atol=1e-307)
