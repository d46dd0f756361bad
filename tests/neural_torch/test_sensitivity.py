"""Attacks on the sensitivities of torch modules, and audits of whole runs.

The audits are wrong with probability 1e-8 at most.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, TorchModule, verify
from pairdp.algorithms import Plan
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.neural.torch_network import TorchNetwork
from pairdp.audit import audit_plan, worst_cases
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
@settings(deadline=None, max_examples=50)
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
    "reference": NeuralDescent(steps=2, module=TorchModule(modules.Net, linear=False)),
    "mini-batches": NeuralDescent(
        steps=2, batch_size=9, module=TorchModule(modules.Net, linear=False), gradient="pairwise"
    ),
}


def planned(name: str, n: int = 30) -> Plan:
    problem = Problem(LogisticRanking(), Unconstrained())
    return PLANNED[name].plan(problem, n, 2, Budget(50.0, 1e-3))


@pytest.mark.parametrize("name", PLANNED)
def test_no_replacement_moves_a_release_further_than_certified(name: str) -> None:
    worst = shares(planned(name))
    assert max(worst.values()) <= 1
    assert worst["means of classes"] > 0.999


def test_mini_batches_are_certified_by_the_accountant() -> None:
    made = planned("mini-batches", 2000)
    whole = replace(PLANNED["mini-batches"], batch_size=None).plan(made.problem, 2000, 2, BUDGET)
    assert made.claim_is_proved
    assert verify(made.certificate, trusted=[modules.Net]).holds
    sampled, full = made.certificate.releases[-1], whole.certificate.releases[-1]
    assert sampled.sampling.size == 9
    ratio = sampled.sensitivity.value / full.sensitivity.value
    assert ratio == pytest.approx(2000 / 9, rel=1e-6)
    assert made.certificate.epsilon(1e-3) <= 50


def test_an_audit_of_whole_runs() -> None:
    algorithm = NeuralDescent(steps=1, module=TorchModule(modules.Line, linear=False))
    pair = next(iter(worst_cases(NETWORK, N, D)))
    sound, broken = (
        audit_plan(one.plan(NETWORK, N, D, BUDGET), pair, full=True, runs=140, confidence=SURE)
        for one in (algorithm, QuietNoise(algorithm, 1e-6))
    )
    assert sound.verdict == "consistent", str(sound)
    assert sound.lower_bound <= BUDGET.epsilon
    assert broken.is_violated, str(broken)


def test_a_white_box_audit_of_gradient_perturbation_sees_much_of_epsilon() -> None:
    module = TorchModule(modules.Line, linear=False)
    algorithm = NeuralDescent(steps=1, module=module, gradient="pairwise")
    made = algorithm.plan(NETWORK, N, D, BUDGET, schedule="theorem")
    pair = next(iter(worst_cases(NETWORK, N, D)))
    report = audit_plan(made, pair, runs=200_000, confidence=SURE)
    assert "saw every noisy value" in report.notes[1]
    assert 1.0 < report.lower_bound <= BUDGET.epsilon, str(report)


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
