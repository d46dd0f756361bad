"""One mechanism of each kind."""

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp.privacy import (
    Budget,
    GaussianMechanism,
    KNormMechanism,
    L1LaplaceMechanism,
    LaplaceMechanism,
    NoiseSource,
    NoMechanism,
)

Array = NDArray[np.float64]
BUDGET = Budget(0.8, 1e-6)


def generator(*path: int | str) -> np.random.Generator:
    return NoiseSource(seed=20240229).stream("test", *path)


ALL = [
    GaussianMechanism(1.0, 2.0, 3),
    KNormMechanism(1.0, 2.0, 3),
    LaplaceMechanism(1.0, 2.0, 3),
    L1LaplaceMechanism(1.0, 2.0, 3),
    NoMechanism(),
]
each_mechanism = pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
