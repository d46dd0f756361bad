"""Algorithms: plan from public facts, then run."""

from pairdp.algorithms.algorithm import Algorithm
from pairdp.algorithms.epoch_descent import EpochGradientDescent
from pairdp.algorithms.gradient_descent import GradientDescent
from pairdp.algorithms.minimizer import MinimizerRelease
from pairdp.algorithms.moments import MomentRelease
from pairdp.algorithms.noisy_descent import NoisyGradientDescent
from pairdp.algorithms.pairwise_sgd import PairwiseSGD
from pairdp.algorithms.phased_sgd import PhasedSGD
from pairdp.algorithms.plan import Fit, Plan
from pairdp.algorithms.registry import algorithms, find_algorithm, register_algorithm
from pairdp.algorithms.scatter import ScatterMetric
from pairdp.algorithms.stream_descent import StreamGradientDescent
from pairdp.algorithms.task import Task
from pairdp.algorithms.threshold import WithThreshold

__all__ = [
    "Algorithm",
    "EpochGradientDescent",
    "Fit",
    "GradientDescent",
    "MinimizerRelease",
    "MomentRelease",
    "NoisyGradientDescent",
    "PairwiseSGD",
    "PhasedSGD",
    "Plan",
    "ScatterMetric",
    "StreamGradientDescent",
    "Task",
    "WithThreshold",
    "algorithms",
    "find_algorithm",
    "register_algorithm",
]
