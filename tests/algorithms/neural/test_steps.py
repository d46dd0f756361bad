"""The number of steps that is planned where none is given."""

from __future__ import annotations

import math

import pytest

from pairdp import Budget, Unit, verify
from pairdp.algorithms.neural import NeuralDescent
from pairdp.constraints import Unconstrained
from pairdp.losses import LogisticRanking
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem

PROBLEM = Problem(LogisticRanking(), Unconstrained())
BUDGET = Budget(1.0, 1e-6)


def steps(n: int, budget: Budget | None = BUDGET, unit: Unit | None = None) -> int:
    return NeuralDescent((3, 2)).plan(PROBLEM, n, 3, budget, unit=unit).settings.steps


def test_steps_grow_with_records_and_budget() -> None:
    assert steps(10_000) == int(2.5 * math.sqrt(10_000 * gdp_mu(1.0, 1e-6)))
    assert steps(10_000, unit=Unit("patient", 4)) == pytest.approx(steps(10_000) / 2, abs=1)
    assert steps(100) == 40 < steps(10_000) < steps(10_000, Budget(4.0, 1e-6)) < steps(10**8)
    assert steps(10**8) == steps(100, None) == 400


def test_a_plan_without_a_given_number_is_verified() -> None:
    assert verify(NeuralDescent((3, 2)).plan(PROBLEM, 5000, 3, BUDGET).certificate).holds
