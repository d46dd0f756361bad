"""The expected norm of noise, compared with noise that is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.algorithms.noise import noise_length, noise_to_signal
from pairdp.privacy import (
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    NoiseSource,
    NoMechanism,
    Release,
    Sensitivity,
)

P = 30
UNIT = Sensitivity.stated(1.0)


@pytest.mark.parametrize(
    "mechanism",
    [
        GaussianMechanism(UNIT.value, 2.0, P),
        KNormMechanism(UNIT.value, 2.0, P),
        LaplaceMechanism(UNIT.value, 2.0, P),
    ],
    ids=lambda mechanism: type(mechanism).__name__,
)
def test_noise_is_about_as_long_as_stated(mechanism) -> None:
    stream = NoiseSource(0).stream("test")
    drawn = [np.linalg.norm(mechanism.release(np.zeros(P), stream)) for _ in range(400)]
    assert noise_length(Release("weights", mechanism, UNIT, P)) == pytest.approx(
        np.mean(drawn), rel=0.05
    )


def test_without_a_mechanism_there_is_no_noise() -> None:
    release = Release("weights", NoMechanism(), None, P)
    assert noise_length(release) == 0
    assert noise_to_signal(release, 100) == 0
