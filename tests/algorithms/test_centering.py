"""Standardised records: how large they are before they are clipped."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import PrivateEmbedding
from tests.estimators.data import FEW_RECORDS


@pytest.mark.filterwarnings(FEW_RECORDS)
@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_the_typical_norm_gives_the_scales_of_features(spread: float) -> None:
    """Rows of an embedding, which are clipped to norm 2, have a norm of about 1."""
    rng = np.random.default_rng(0)
    sizes = spread * np.array([1.0, 0.5, 2.0, 1.0, 1.0, 1.0])
    x = rng.normal(size=(3000, 6)) * sizes / np.sqrt(6) + 0.1
    model = PrivateEmbedding(None, hidden=(2,), n_steps=1, data_norm=1.0)
    model.fit(x, rng.integers(0, 2, 3000))
    np.testing.assert_allclose(model.scales_, x.std(axis=0), rtol=0.25)
