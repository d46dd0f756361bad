"""A stream that is paused, with its secrets or without them, moves by no more than was planned."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from pairdp import Budget, NoiseSource
from pairdp.algorithms import Plan
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import HingeRanking, LogisticMetric
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem
from tests.algorithms.attacks import drawn, staged

N = 24
PROBLEMS = {
    "hinge": Problem(HingeRanking(temperature=1e-6), L2Ball(1e-9)),
    "metric": Problem(LogisticMetric(), PSDFrobeniusBall(1.0)),
}
SHAPES = [{}, {"buffer": 3}, {"batch_size": 5}, {"batch_size": 2, "buffer": 4}]


def released(
    plan: Plan, x: np.ndarray, y: np.ndarray, stops: tuple[int, ...], secrets: bool, where: Path
) -> list[np.ndarray]:
    """Return what was put into the noise, every answer being the same whatever it was."""
    values: list[np.ndarray] = []

    def add_to(mechanism: GaussianMechanism, value: np.ndarray, noise: object) -> np.ndarray:
        values.append(np.array(value))
        return np.random.default_rng(len(values)).normal(size=np.shape(value)) / 3

    with patch.object(GaussianMechanism, "add_to", add_to):
        session = OnlineSession(plan, NoiseSource(0))
        for start, stop in zip((0, *stops), (*stops, N), strict=True):
            session.learn(x[start:stop], y[start:stop])
            if stop < N:
                session.save(where / "stream", secrets=secrets)
                session = OnlineSession.resume(where / "stream", NoiseSource(0))
    return values


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("secrets", [True, False])
@pytest.mark.slow
def test_no_neighbour_moves_a_paused_stream_further(
    name: str, shape: dict[str, int], secrets: bool, tmp_path: Path
) -> None:
    plan = OnlineDescent(**shape).plan(PROBLEMS[name], N, 2, Budget(1.0, 1e-5))
    limit, best = plan.certificate.releases[0].mechanism.sensitivity, 0.0
    rng = np.random.default_rng(0)
    for place in (1, 23):
        for pair in (*staged(N, 1.0, place), *(drawn(N, 1.0, place, rng) for _ in range(1))):
            stops = tuple(np.sort(rng.choice(np.arange(1, N), 2, replace=False)).tolist())
            one, other = (released(plan, x, y, stops, secrets, tmp_path) for x, y in pair.both())
            apart = [np.linalg.norm(a - b) for a, b in zip(one, other, strict=True)]
            best = max(best, float(np.linalg.norm(apart)) / limit)
    assert best <= 1
    assert best > (0.9 if name == "hinge" else 0.3)
