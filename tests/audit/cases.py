"""Every algorithm at small n, with problems that audits are quick on."""

from __future__ import annotations

from dataclasses import replace

from pairdp import Budget
from pairdp.algorithms import (
    Algorithm,
    FisherMetric,
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    PairScatter,
    PairwiseSGD,
    Plan,
    ScatterMetric,
    WithPairDesign,
    WithThreshold,
)
from pairdp.algorithms.conditioned import ConditionedDescent
from pairdp.algorithms.neural import NeuralDescent
from pairdp.algorithms.registry import algorithms
from pairdp.algorithms.scorecard import Scorecard
from pairdp.audit import TightLoss
from pairdp.constraints import L2Ball, PSDFrobeniusBall, Unconstrained
from pairdp.losses import (
    LeastSquaresRanking,
    LogisticMetric,
    LogisticPointwise,
    LogisticRanking,
    PairMetricLoss,
)
from pairdp.online import ONPAIRGRADIENT, CenteredMoments, OnlineDescent, OnlineMoments
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem

# Each audit of the suite may be wrong with this probability, and there are fewer than a hundred.
SURE = 1 - 1e-8
BUDGET, PURE = Budget(4.0, 1e-5), Budget(0.5)
N, D = 4, 2

TIGHT = Problem(TightLoss(), L2Ball(10.0), 0.5)
RANKING = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
PLAIN = Problem(LogisticRanking(), L2Ball(1.0))
NETWORK = Problem(LogisticRanking(), Unconstrained())
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
GIVEN_PAIRS = PointwiseProblem(PairMetricLoss(), PSDFrobeniusBall(1.0))
PLAIN_POINTS = PointwiseProblem(LogisticPointwise(), L2Ball(1.0))
POINTS = PointwiseProblem(LogisticPointwise(), L2Ball(1.0), 0.1)

# Few steps, as every audited sample is a run.
_SHORT = {
    "DPGDSC": {"steps": 2},
    "DPGDC": {"steps": 2, "step_size": 0.2},
    "DPGDC2": {"steps": 2, "step_size": 0.2},
    "Kang2021": {"steps": 2, "step_size": 0.2},
    "Wang2024Pairwise": {"steps": 2, "step_size": 0.2},
    "Wang2024Pointwise": {"steps": 2, "step_size": 0.2},
}

ALL: dict[str, tuple[Algorithm, Problem]] = {
    **{
        name: (replace(algorithm, **_SHORT.get(name, {})), TIGHT)  # type: ignore[type-var]
        for name, algorithm in algorithms("pairs", published=True).items()
    },
    **{
        name: (replace(algorithm, **_SHORT.get(name, {})), POINTS)  # type: ignore[type-var]
        for name, algorithm in algorithms("records", published=True).items()
    },
    **{
        name: (algorithm, RANKING)
        for name, algorithm in algorithms("stream", published=True).items()
    },
    "OnPairGradient": (ONPAIRGRADIENT, RANKING),
    "mini-batches": (NoisyGradientDescent(steps=2, step_size=0.2, batch_size=3), TIGHT),
    "permutations": (PairwiseSGD(), TIGHT),
    "moments": (MomentRelease(), SQUARES),
    "moments of pairs": (MomentRelease("pair"), SQUARES),
    "scatter": (ScatterMetric(), METRIC),
    "scatter of pairs": (ScatterMetric("pairs"), METRIC),
    "fisher": (FisherMetric(buckets=3), METRIC),
    "fisher, full": (FisherMetric("full", buckets=3), METRIC),
    "given pairs": (PairScatter(), GIVEN_PAIRS),
    "metric": (GradientDescent("average", steps=2, step_size=0.05), METRIC),
    "minimiser": (MinimizerRelease(), TIGHT),
    "pair design": (WithPairDesign(NoisyGradientDescent(steps=2, step_size=0.2), 2), TIGHT),
    "threshold": (WithThreshold(GradientDescent(steps=2)), RANKING),
    "losses of one record": (GradientDescent(steps=2), POINTS),
    "scorecard": (Scorecard(), POINTS),
    "conditioned": (ConditionedDescent(steps=2), PLAIN),
    "neural": (NeuralDescent((3, 2), steps=2), NETWORK),
    "neural, pairs": (NeuralDescent((3, 2), steps=2, gradient="pairwise"), NETWORK),
    "online, noise on models": (OnlineDescent(noise="models"), TIGHT),
    "online moments": (OnlineMoments(), SQUARES),
    "online centred moments": (CenteredMoments(center_records=1, radius_records=1), SQUARES),
}


def plan(name: str, budget: Budget = BUDGET) -> Plan:
    algorithm, problem = ALL[name]
    return algorithm.plan(problem, N, D, budget)


def pure_ones() -> list[str]:
    """Return the algorithms that can be planned for pure ε."""
    found = []
    for name, (algorithm, problem) in ALL.items():
        try:
            algorithm.plan(problem, N, D, PURE)
        except ValueError:
            continue
        found.append(name)
    return found
