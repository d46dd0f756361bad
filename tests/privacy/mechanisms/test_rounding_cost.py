"""Rounding to the grid costs less than a millionth of the noise, in every plan."""

from __future__ import annotations

import pytest

from pairdp.privacy import Budget, GaussianMechanism, KNormMechanism, NoMechanism, noise_multiplier
from pairdp.privacy.mechanisms import additive_noise
from tests.attacks.honest_plans import PLANS

MORE = 1e-6


def scales(name: str) -> list[float]:
    """Return the scales of the noise of a plan."""
    releases = PLANS[name]().certificate.releases
    return [r.mechanism.scale for r in releases if not isinstance(r.mechanism, NoMechanism)]


@pytest.mark.parametrize("name", PLANS)
def test_plans_have_hardly_more_noise_than_without_rounding(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scales(name)
    monkeypatch.setattr(additive_noise, "rounding", lambda grid, dimension: 0.0)
    monkeypatch.setattr(additive_noise, "with_rounding", lambda moved, multiplier, dimension: moved)
    ideal = scales(name)
    assert len(found) == len(ideal)
    for scale, least in zip(found, ideal, strict=True):
        assert least <= scale < least * (1 + MORE)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("dimension", [1, 21, 441, 10**5, 10**8])
def test_calibration_adds_rounding_whatever_the_dimension(epsilon: float, dimension: int) -> None:
    budget = Budget(epsilon, 1e-7)
    normal = GaussianMechanism.calibrate(budget, 0.3, dimension=dimension)
    pure = KNormMechanism.calibrate(Budget(epsilon), 0.3, dimension=dimension)
    for scale, least in ((normal.scale, noise_multiplier(budget)), (pure.scale, 1 / epsilon)):
        assert 0 < scale / least / 0.3 - 1 < MORE
