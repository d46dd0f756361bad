"""Attacks on the sensitivities of torch modules, and audits of whole runs.

The audits are wrong with probability 1e-8 at most.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, TorchModule, verify
from pairdp.algorithms import Plan
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.neural.torch_network import TorchNetwork
from pairdp.audit import audit_plan, worst_neighbours
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticRanking
from pairdp.problem import Problem
from tests.algorithms.neural.test_sensitivity import FAR, WORST, change, shares
from tests.audit.broken import QuietNoise
from tests.audit.cases import BUDGET, NETWORK, SURE, D, N
from tests.neural_torch import modules

LINE = TorchNetwork(TorchModule(modules.Line, linear=False), 2)


@pytest.mark.parametrize("name", WORST)
def test_gradients_move_as_far_as_certified(name: str) -> None:
    loss, record, other, weight, bound = WORST[name]
    assert 0.99 * bound < change(loss, record, other, weight, LINE) <= bound


@given(
    st.sampled_from(sorted(WORST)),
    *(st.tuples(*[st.floats(-3, 3)] * 2, st.sampled_from([-1.0, 0.0, 1.0])) for _ in range(2)),
    st.floats(-20, 20),
    st.sampled_from([1e-3, 1.0, FAR]),
)
@settings(deadline=None)
def test_no_replacement_moves_a_gradient_further(
    name: str,
    record: tuple[float, float, float],
    other: tuple[float, float, float],
    weight: float,
    scale: float,
) -> None:
    loss, *_, bound = WORST[name]
    first, second = ((scale * x, z, label) for x, z, label in (record, other))
    assert change(loss, first, second, weight, LINE) <= bound


PLANNED = {
    "reference": NeuralDescent(steps=2, module=TorchModule(modules.Net)),
    "pairwise": NeuralDescent(steps=2, gradient="pairwise", module=TorchModule(modules.Net)),
    "not finite": NeuralDescent(steps=2, module=TorchModule(modules.NotFinite, linear=False)),
    "mini-batches": NeuralDescent(steps=2, batch_size=9, module=TorchModule(modules.Net)),
}


def planned(name: str, n: int = 30) -> Plan:
    problem = Problem(LogisticRanking(), Unconstrained())
    return PLANNED[name].plan(problem, n, 2, Budget(50.0, 1e-3))


@pytest.mark.parametrize("name", PLANNED)
def test_no_replacement_moves_a_release_further_than_certified(name: str) -> None:
    worst = shares(planned(name))
    assert max(worst.values()) <= 1
    assert worst["means of classes"] > 0.999
    assert worst["clipped gradients of scores"] > 0.1


def test_mini_batches_are_certified_by_the_accountant() -> None:
    made, whole = planned("mini-batches", 2000), planned("reference", 2000)
    assert made.claim_is_proved
    assert verify(made.certificate, trusted=[modules.Net]).holds
    sampled, full = made.certificate.releases[-1], whole.certificate.releases[-1]
    assert sampled.sampling.size == 9
    ratio = sampled.sensitivity.value / full.sensitivity.value
    assert ratio == pytest.approx(2000 / 9, rel=1e-6)
    multipliers = [one.mechanism.scale / one.sensitivity.value for one in (sampled, full)]
    assert multipliers[0] < multipliers[1]


@pytest.mark.parametrize("change", [{}, {"gradient": "pairwise"}, {"batch_size": 3}])
def test_audits_of_whole_runs(change: dict[str, object]) -> None:
    algorithm = NeuralDescent(steps=2, module=TorchModule(modules.Line), **change)  # type: ignore[arg-type]
    made = algorithm.plan(NETWORK, N, D, BUDGET)
    pair = worst_neighbours(made, climbs=0)
    report = audit_plan(made, pair, full=True, runs=140, confidence=SURE)
    assert report.verdict == "consistent", str(report)
    assert report.lower_bound <= BUDGET.epsilon
    quiet = QuietNoise(algorithm, 1e-6).plan(NETWORK, N, D, BUDGET)
    broken = audit_plan(quiet, pair, full=True, runs=140, confidence=SURE)
    assert broken.is_violated, str(broken)


def test_scores_of_one_record_are_the_same_beside_any_others_to_the_last_bit() -> None:
    network = TorchNetwork(TorchModule(modules.Net, {"width": 16}), 6)
    rows = np.random.default_rng(1).normal(size=(50, 6))
    other = rows.copy()
    other[17] = [1e300, -1e300, np.nan, np.inf, 0.0, 1e-300]
    kept = np.arange(50) != 17
    at = network.initial(0)
    one, two = (network.gradients(at, each) for each in (rows, other))
    for a, b in zip((one.scores, *one.parts), (two.scores, *two.parts), strict=True):
        assert np.array_equal(a[kept], b[kept])
