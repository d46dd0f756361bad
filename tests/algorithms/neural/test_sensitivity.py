"""Attacks on the sensitivities of a neural descent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp import Budget, Unit
from pairdp.algorithms import Plan
from pairdp.algorithms.neural import Network, NeuralDescent
from pairdp.algorithms.neural.clipped_sums import NetworkRecords
from pairdp.algorithms.neural.score_network import ScoreNetwork
from pairdp.audit.transcripts import record_run
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticRanking, SigmoidRanking
from pairdp.losses.ranking import RankingLoss
from pairdp.privacy import Sensitivity
from pairdp.privacy.bounds.score_gradients import BOTH_SIGNS
from pairdp.problem import Problem
from pairdp.score_sums import AllPairs
from tests.algorithms.attacks import Neighbours, drawn, staged, tampered, with_null

N, BUDGET = 30, Budget(50.0, 1e-3)
SMALL = {"hidden": (3, 2), "steps": 2}
PLANNED: dict[str, tuple[NeuralDescent, RankingLoss]] = {
    "reference": (NeuralDescent(**SMALL), LogisticRanking()),  # type: ignore[arg-type]
    "pairwise": (NeuralDescent(**SMALL, gradient="pairwise"), LogisticRanking()),  # type: ignore[arg-type]
    "both signs": (NeuralDescent(**SMALL, gradient="pairwise"), LeastSquaresRanking()),  # type: ignore[arg-type]
    "mini-batches": (NeuralDescent(**SMALL, batch_size=9), LogisticRanking()),  # type: ignore[arg-type]
    "mini-batches of pairs": (
        NeuralDescent(**SMALL, gradient="pairwise", batch_size=9),  # type: ignore[arg-type]
        LogisticRanking(),
    ),
}


def planned(name: str, unit: Unit | None = None) -> Plan:
    algorithm, loss = PLANNED[name]
    return algorithm.plan(Problem(loss, Unconstrained()), N, 2, BUDGET, unit=unit)


def neighbours(seed: int) -> Iterable[tuple[Neighbours, float]]:
    rng = np.random.default_rng(seed)
    yield from ((pair, 0.0) for pair in staged(N, 1.0, 0))
    yield from ((drawn(N, 1.0, 3, rng), kick) for kick in (0.0, 0.1, 10.0) for _ in range(2))
    yield from ((pair, 0.0) for pair in with_null(N, 1.0, 5, rng, count=1))


def moved(plan: Plan, pair: Neighbours, kick: float) -> Iterable[tuple[str, float]]:
    """Yield the name of each release and the share of its sensitivity that it moves by.

    The second run is answered with what the first one released: values plus some noise.
    """
    names = {id(release.mechanism): release.name for release in plan.certificate.releases}
    rng = np.random.default_rng(0)
    first, second = pair.both()
    answers = [
        call.value + kick * rng.normal(size=call.value.shape)
        for call in record_run(plan, first, 0, noiseless=True).calls
    ]
    runs = (record_run(plan, data, 0, answers).calls for data in (first, second))
    for one, other in zip(*runs, strict=True):
        change = float(np.linalg.norm(one.value - other.value))
        yield names[id(one.mechanism)], change / one.mechanism.sensitivity


def shares(plan: Plan, seed: int = 0) -> dict[str, float]:
    """Return the largest share of its sensitivity that each release moved by."""
    worst: dict[str, float] = {}
    for pair, kick in neighbours(seed):
        for name, share in moved(plan, pair, kick):
            worst[name] = max(worst.get(name, 0.0), share)
    return worst


@pytest.mark.parametrize("name", PLANNED)
def test_no_replacement_moves_a_release_further_than_certified(name: str) -> None:
    worst = shares(planned(name))
    assert max(worst.values()) <= 1
    assert worst["means of classes"] > 0.999
    assert worst["counts of rows"] > 0.999
    if name in ("reference", "mini-batches"):
        assert worst["counts of scores"] > 0.999


def test_smaller_bounds_are_found_out() -> None:
    worst = shares(tampered(planned("reference"), 0.98))
    assert worst["counts of scores"] > 1
    assert worst["means of classes"] > 1


@dataclass(frozen=True)
class AbsoluteRanking(RankingLoss):
    """|u|, whose slopes are -1 and 1."""

    convex: ClassVar[bool] = True
    decreasing: ClassVar[bool] = False

    def phi(self, u: np.ndarray) -> np.ndarray:
        return np.abs(u)

    def slope(self, u: np.ndarray) -> np.ndarray:
        return np.sign(u)

    def derivative_bound(self, margin_bound: float) -> float:
        return 1.0

    def structure(self) -> AllPairs:
        return AllPairs()


CLIP, FAR = 0.5, 1e6


def gradient(
    network: ScoreNetwork, loss: RankingLoss | None, rows: np.ndarray, y: np.ndarray, weight: float
) -> np.ndarray:
    """Return the mean gradient of a network whose score is the second feature times a weight.

    Its last parameters are the weights of both features and a constant. Gradients are along the
    first feature, which is far larger than the other parts of them. Without a loss, slopes are -y.
    """
    at = np.zeros(network.size)
    at[-3:] = 0.0, weight, 0.0
    records = NetworkRecords(network, rows, y)
    if loss is None:
        return records.mean_of_clipped(at, lambda _, y: -y, CLIP)
    return records.mean_over_pairs(at, loss, CLIP)


def change(
    loss: RankingLoss | None,
    record: tuple[float, float, float],
    other: tuple[float, float, float],
    weight: float,
    network: ScoreNetwork | None = None,
) -> float:
    """Return how far a gradient moves if one record (first and second feature, label) is replaced.

    All others are negative and at (-FAR, 0).
    """
    found = []
    for first, second, label in (record, other):
        rows, y = np.tile([-FAR, 0.0], (N, 1)), np.full(N, -1.0)
        rows[4], y[4] = (first, second), label
        found.append(gradient(network or Network(2, (2,)), loss, rows, y, weight))
    return float(np.linalg.norm(found[0] - found[1]))


ONE_SIGN = Sensitivity.of(
    "clipped gradients of pairs", clip=CLIP, used=N, width=13, amplification=0.0
).value
ALONE = Sensitivity.of(
    "clipped gradients of rows", clip=CLIP, used=N, width=13, amplification=0.0
).value
EITHER_SIGN = Sensitivity.of(BOTH_SIGNS, clip=CLIP, n=N).value
WORST = {
    "reference": (None, (FAR, 0.0, 1.0), (FAR, 0.0, -1.0), 0.0, ALONE),
    # A positive below all negatives, whose gradient is opposite to theirs, and its pairs vanish.
    "logistic": (LogisticRanking(), (FAR, -1.0, 1.0), (FAR, 0.0, -1.0), 30.0, ONE_SIGN),
    "logistic, same label": (
        LogisticRanking(),
        (FAR, -1.0, 1.0),
        (-FAR, -1.0, 1.0),
        30.0,
        ONE_SIGN,
    ),
    "sigmoid": (SigmoidRanking(), (FAR, 0.0, 1.0), (FAR, 0.0, -1.0), 1.0, ONE_SIGN),
    # A positive above all negatives that falls below them.
    "absolute": (AbsoluteRanking(), (FAR, 1.0, 1.0), (FAR, -1.0, 1.0), 1.0, EITHER_SIGN),
}


@pytest.mark.parametrize("name", WORST)
def test_gradients_move_as_far_as_certified(name: str) -> None:
    loss, record, other, weight, bound = WORST[name]
    assert 0.99 * bound < change(loss, record, other, weight) <= bound


@given(
    st.sampled_from(sorted(WORST)),
    *(st.tuples(*[st.floats(-3, 3)] * 2, st.sampled_from([-1.0, 0.0, 1.0])) for _ in range(2)),
    st.floats(-20, 20),
    st.sampled_from([1e-3, 1.0, FAR]),
)
def test_no_replacement_moves_a_gradient_further(
    name: str,
    record: tuple[float, float, float],
    other: tuple[float, float, float],
    weight: float,
    scale: float,
) -> None:
    loss, *_, bound = WORST[name]
    first, second = ((scale * x, z, label) for x, z, label in (record, other))
    assert change(loss, first, second, weight) <= bound


def test_a_unit_costs_as_many_records() -> None:
    one, three = planned("reference"), planned("reference", Unit("patient", 3))
    for single, unit in zip(one.certificate.releases, three.certificate.releases, strict=True):
        assert unit.sensitivity.value == pytest.approx(3 * single.sensitivity.value)


def test_what_a_network_cannot_learn_is_refused() -> None:
    with pytest.raises(ValueError, match="PrivateRanker"):
        NeuralDescent().plan(Problem(LogisticRanking(), Unconstrained()), N, 2, Budget(1.0))
    with pytest.raises(ValueError, match="penalty"):
        NeuralDescent().plan(Problem(LogisticRanking(), L2Ball(1.0), 0.5), N, 2, BUDGET)
    with pytest.raises(ValueError, match="ranks two classes"):
        NeuralDescent().plan(Problem(LogisticMetric(), PSDFrobeniusBall(1.0)), N, 2, BUDGET)
    with pytest.raises(ValueError, match="1 to 8 layers"):
        NeuralDescent(hidden=())
    with pytest.raises(TypeError, match="sequence of widths"):
        NeuralDescent(hidden="32")  # type: ignore[arg-type]
