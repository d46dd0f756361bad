"""Printed noise: to the letter, and never silently."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from pairdp import Budget, CertificateError, verify
from pairdp.algorithms import (
    EpochGradientDescent,
    GradientDescent,
    NoisyGradientDescent,
    StreamGradientDescent,
    find_algorithm,
)
from pairdp.algorithms.registry import algorithms
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import (
    LogisticMetric,
    LogisticRanking,
    PairwiseLoss,
)
from pairdp.problem import Problem
from tests.algorithms.cases import (
    BUDGET,
    CONVEX,
    PURE,
    RIDGE,
    D,
    N,
    printed,
    scales,
)

# Printed noise, to the letter


@pytest.mark.parametrize("n", [64, 1000])
@pytest.mark.parametrize(("eps", "delta"), [(0.5, 1e-6), (2.0, 1e-3)])
def test_printed_scales_are_the_papers(n: int, eps: float, delta: float) -> None:
    budget, pure = Budget(eps, delta), Budget(eps)
    alpha, eta, steps = 0.1, 0.3, 12
    lip = 4 / (1 + math.exp(-4))  # 4R·s(4RB)
    of_ridge = lip + alpha  # the regulariser is part of the papers' loss: G + α·B
    log = math.log

    dpgdsc = GradientDescent(steps=steps, step_size=eta)
    sigma = 8 * math.sqrt(2 * log(1.25 / delta)) * of_ridge / (alpha * n * eps)
    assert scales(printed(dpgdsc, RIDGE, n, budget)) == pytest.approx([sigma])
    laplace = 8 * of_ridge * math.sqrt(D) / (alpha * n * eps)
    assert scales(printed(dpgdsc, RIDGE, n, pure)) == pytest.approx([laplace])

    dpgdc = GradientDescent("average", steps, eta)
    sigma = 4 * math.sqrt(2 * log(1.25 / delta)) * lip * steps * eta / (n * eps)
    assert scales(printed(dpgdc, CONVEX, n, budget)) == pytest.approx([sigma])
    laplace = 4 * lip * eta * steps * math.sqrt(D) / (n * eps)
    assert scales(printed(dpgdc, CONVEX, n, pure)) == pytest.approx([laplace])

    dpgdc2 = NoisyGradientDescent(steps=steps, step_size=eta)
    sigma = 4 * lip * math.sqrt(1.25 * steps * log(1 / delta)) / (n * eps)
    assert scales(printed(dpgdc2, CONVEX, n, budget)) == pytest.approx([sigma])

    dpegd = EpochGradientDescent(step_size=eta)
    made = printed(dpegd, CONVEX, n, budget)
    etas = [eta / 4**i for i in range(1, int(math.log2(n)) + 1)]
    sigmas = [4 * math.sqrt(2 * log(1.25 / delta)) * lip * eta_i / eps for eta_i in etas]
    assert scales(made) == pytest.approx(sigmas)
    laplaces = [4 * lip * eta_i * math.sqrt(D) / eps for eta_i in etas]
    assert scales(printed(dpegd, CONVEX, n, pure)) == pytest.approx(laplaces)

    variance = 128 * of_ridge**2 * log(n) ** 2 * log(1.25 / delta) / (alpha * n * eps) ** 2
    made = printed(StreamGradientDescent(), RIDGE, n, budget)
    assert scales(made) == pytest.approx([math.sqrt(variance)])
    # ‖C‖ is read as the diameter, 2B, as Xue 2021 define it.
    variance *= ((lip + 2 * alpha) / of_ridge) ** 2
    made = printed(StreamGradientDescent(alpha), CONVEX, n, budget)
    assert scales(made) == pytest.approx([math.sqrt(variance)])

    kang = NoisyGradientDescent("last", steps, eta, printed_rule="kang", printed_lipschitz=2.0)
    sigma = 8 * 2.0 * math.sqrt(steps * log(1 / delta)) / (n * eps)
    assert scales(printed(kang, CONVEX, n, budget)) == pytest.approx([sigma])


@dataclass(frozen=True)
class Linear(PairwiseLoss):
    """G·yy'·w₁, the loss for which the papers' 4G/n is tight."""

    convex = True

    steepness: float = 1.5

    def value(self, parameters, x, y, other_x, other_y):
        return self.steepness * y * other_y * parameters[0]

    def gradient(self, parameters, x, y, other_x, other_y):
        return np.outer(self.steepness * y * other_y, np.eye(len(parameters))[0])

    def lipschitz(self, domain):
        return self.steepness

    def smoothness(self, domain):
        return 1.0  # it is 0; any bound is a valid one


@pytest.mark.parametrize("steps", [1, 10])
def test_dpgdc2_fails_where_its_noise_is_attained(steps: int) -> None:
    # errata, X3: its μ is ε/√(1.25·ln(1/δ)), whatever n, T and G are.
    algorithm = NoisyGradientDescent(steps=steps, step_size=0.1)
    for n in (10, 1000):
        problem = Problem(Linear(), L2Ball(1.0))
        good, bad = (printed(algorithm, problem, n, Budget(e, 1e-5)) for e in (1.0, 2.0))
        assert good.claim_is_proved
        assert good.true_epsilon <= 1
        assert verify(good.certificate)
        assert not bad.claim_is_proved
        assert bad.true_epsilon == pytest.approx(2.115, abs=5e-4)
        assert bad.certificate.delta() == pytest.approx(2.43e-5, rel=5e-3)
        assert "NOT PROVED: this noise is certified for ε = 2.115" in str(bad)
        assert "FALSE CLAIM" in bad.certificate.statement()
        with pytest.raises(CertificateError, match="claimed δ at ε = 2"):
            verify(bad.certificate)


def test_dpgdc2_holds_for_ranking() -> None:
    # There D_h is 2G, not 4G, so the printed noise is about twice what it must be.
    for eps, delta in ((2.0, 1e-5), (8.0, 1e-8)):
        made = printed(NoisyGradientDescent(steps=9, step_size=0.1), CONVEX, N, Budget(eps, delta))
        assert made.claim_is_proved


def test_kang_fails_for_metrics_by_its_own_constant() -> None:
    # errata, K2: it states G = 1 where the truth is about 4. By luck, its G = 2 for
    # ranking, where the truth is 4 too, is enough: D_h is 2G there.
    budget = Budget(1.0, 1e-5)
    for projected in (True, False):
        algorithm = NoisyGradientDescent(
            "average",
            20,
            0.1,
            projected=projected,
            printed_rule="kang",
            printed_lipschitz=1.0,
        )
        metric = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
        made = printed(algorithm, metric, N, budget)
        assert not made.claim_is_proved
        assert made.true_epsilon > 1.11  # what a flipped label alone shows at every point
        ranking = NoisyGradientDescent(
            "average", 20, 0.1, projected=projected, printed_rule="kang", printed_lipschitz=2.0
        )
        assert printed(ranking, CONVEX, N, budget).claim_is_proved


@pytest.mark.parametrize("loss", [LogisticRanking(), Linear()], ids=str)
@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC", "DPEGD", "OffPairStrC", "OffPairC"])
def test_these_printed_claims_hold(name: str, loss: PairwiseLoss) -> None:
    problem = Problem(loss, L2Ball(1.0), 0.1 if name in ("DPGDSC", "OffPairStrC") else 0.0)
    for budget in (Budget(0.1, 1e-8), Budget(1.0, 1e-5), Budget(5.0, 1e-3), PURE):
        made = printed(find_algorithm(name), problem, 1000, budget)
        assert made.claim_is_proved
        assert made.true_epsilon <= budget.epsilon * (1 + 1e-9)
        assert verify(made.certificate)


def test_the_left_out_burn_in_is_told() -> None:
    made = printed(find_algorithm("OffPairStrC"), RIDGE, N, BUDGET)
    assert any("burn-in is omitted" in reason for reason in made.reasons)


def test_printed_noise_is_never_the_default() -> None:
    for name, algorithm in algorithms("pairs", published=True).items():
        made = algorithm.plan(RIDGE, N, D, BUDGET)
        assert made.certificate.calibration == "certified"
        assert made.claim_is_proved
        assert re.split(r"20\d\d", name)[0] in made.certificate.algorithm
