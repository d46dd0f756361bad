"""A stream that has begun."""

from __future__ import annotations

import numpy as np

from pairdp import OnlinePrivateRanker


def stream() -> OnlinePrivateRanker:
    model = OnlinePrivateRanker(
        1.0, 1e-6, horizon=20, classes=[0, 1], data_norm=1.0, random_state=0
    )
    return model.partial_fit(np.ones((2, 2)) / 2, [0, 1])
