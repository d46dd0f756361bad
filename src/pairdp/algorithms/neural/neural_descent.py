"""Descent on the parameters of a network, by clipped gradients of scores with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, one_of, positive
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.conditioned.location import COUNTS as RADIUS_COUNTS
from pairdp.algorithms.conditioned.run import MEANS, RADIUS, SCALES
from pairdp.algorithms.neural.network import Network, checked_hidden
from pairdp.algorithms.neural.reference_slopes import BINS
from pairdp.algorithms.neural.run import (
    GRADIENTS,
    LINEAR_GRADIENTS,
    SCORES,
    STEPS_PER_COUNT,
    Run,
)
from pairdp.algorithms.neural.scores import NetworkScores
from pairdp.algorithms.neural.settings import NeuralSettings
from pairdp.algorithms.noise import noise_to_signal, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.score_models import ModelName, ScoreModel
from pairdp.algorithms.task import Task
from pairdp.losses.ranking import RankingLoss
from pairdp.privacy import NoiseSource, Release
from pairdp.privacy.bounds.score_gradients import BOTH_SIGNS
from pairdp.records import Records

Array = NDArray[np.float64]
_SHARES = {MEANS: 0.06, RADIUS: 0.03, SCALES: 0.06}
_SCORES, _LINEAR = 0.08, 0.12
_LINEAR_STEPS = 12
_CLIP = 0.3
"""Gradients are clipped to this share of their typical norm."""
_ROW = math.sqrt(2)
"""The typical norm of a gradient in the linear part, for rows of norm 1."""


@dataclass(frozen=True)
class NeuralDescent(ScoreModel, Algorithm[NeuralSettings]):
    r"""Noisy gradient descent on a network, for the logistic loss of all pairs.

    1. A noisy mean, noisy counts and noisy mean squares standardise the rows, as for
       `ConditionedDescent`. Sensitivities 2√2·R/n, 1 and √2/n.
    2. A few noisy gradients in the linear part of the network, which skips its layers.
    3. Noisy gradients in all parameters, by Adam.

    With ``gradient="reference"``, noisy histograms of the scores of both classes, every few steps,
    stand for the other records of all pairs, and each record's gradient is clipped alone
    (`reference_slopes`). Sensitivities √2 and 2C/n. With "pairwise" it is the sum over all
    pairs of the loss of the problem, as in Kang 2021, with gradients of scores clipped
    (`clipped_sums`). Sensitivity 2C/n for losses that decrease, 4C/n for others.

    Only norms of gradients matter: the guarantee needs neither convexity nor smoothness.

    Parameters
    ----------
    hidden : tuple of int
        The widths of the layers.
    steps : int
        Number of noisy gradients in all parameters.
    gradient : {"reference", "pairwise"}
        Which slopes; see above.
    learning_rate : float
        The step size of Adam.
    seed : int
        The public seed of the initial weights.
    name : str
        Name in certificates.
    """

    hidden: tuple[int, ...] = (32, 16)
    steps: int = 120
    gradient: Literal["reference", "pairwise"] = "reference"
    learning_rate: float = 0.05
    seed: int = 0
    name: str = "Neural descent"

    settings_type = NeuralSettings
    needs_delta: ClassVar[bool] = True
    without_delta: ClassVar[str] = "use PrivateRanker"
    only_pairs: ClassVar[bool] = True
    offers_units: ClassVar[bool] = True
    score_statistics: ClassVar[Mapping[str, int]] = {"centre": 1, "scales": 1}

    def __post_init__(self) -> None:
        keep(self, "hidden", checked_hidden(self.hidden))
        keep(self, "steps", integer("steps", self.steps, at_most=100_000))
        one_of("gradient", self.gradient, "reference", "pairwise")
        keep(self, "learning_rate", positive("learning_rate", self.learning_rate))
        keep(self, "seed", integer("seed", self.seed, at_least=0))

    @property
    def needs(self) -> tuple[Need, ...]:
        """Nothing of the loss: gradients are clipped."""
        return ()

    def check(self, task: Task) -> None:
        """Raise ValueError if the loss is not one of score differences of two classes."""
        super().check(task)
        loss = task.problem.loss
        if not isinstance(loss, RankingLoss) or not loss.binary:
            raise ValueError(
                f"{self.name} ranks two classes: use a ranking loss, not {type(loss).__name__}"
            )
        if task.problem.regularization > 0:
            raise ValueError(f"{self.name} has no penalty: leave out regularization")

    def network(self, features: int) -> Network:
        """Return the network for rows of so many features."""
        return Network(features, self.hidden)

    def model_of(self, plan: Plan) -> ModelName:
        """Return "network"."""
        return "network"

    def score_function(
        self, plan: Plan, parameters: Array, statistics: Mapping[str, Array]
    ) -> NetworkScores:
        """Return the scores of the network."""
        network = self.network(plan.task.features)
        return NetworkScores(network, statistics["centre"], statistics["scales"], parameters)

    def draft(self, task: Task) -> PlanDraft[NeuralSettings]:
        """Decide clipping, shares and noise."""
        n, d = task.n, task.features
        network = self.network(d)
        clip = _CLIP * network.typical_norm(self.seed)
        linear_clip = _CLIP * _ROW
        means = task.sensitivity("means of clipped rows", largest=task.problem.data_norm, used=n)
        counts = task.sensitivity("number of records in a set", sets=1)
        squares = task.sensitivity("mean squares of clipped rows", largest=1.0, used=n)
        radius = shared_release(RADIUS, task, counts, 1, _SHARES[RADIUS] / RADIUS_COUNTS)
        releases = [
            shared_release(MEANS, task, means, 2 * d + 1, _SHARES[MEANS]),
            replace(radius, count=RADIUS_COUNTS),
            shared_release(SCALES, task, squares, d, _SHARES[SCALES]),
        ]
        rest = 1 - math.fsum(_SHARES.values()) - _LINEAR
        times = None
        if self.gradient == "reference":
            times = -(-(self.steps + _LINEAR_STEPS) // STEPS_PER_COUNT)
            table = task.sensitivity("histograms of columns", columns=1)
            release = shared_release(SCORES, task, table, 2 * BINS, _SCORES / times)
            releases.append(replace(release, count=times))
            rest -= _SCORES
        releases += [
            self._gradients(task, LINEAR_GRADIENTS, linear_clip, d + 1, _LINEAR, _LINEAR_STEPS),
            self._gradients(task, GRADIENTS, clip, network.size, rest, self.steps),
        ]
        settings = NeuralSettings(
            network.size, self.steps, _LINEAR_STEPS, clip, linear_clip, self.learning_rate, times
        )
        return PlanDraft(tuple(releases), settings)

    def _gradients(
        self, task: Task, name: str, clip: float, size: int, share: float, steps: int
    ) -> Release:
        loss: RankingLoss = task.problem.loss  # type: ignore[assignment]
        if self.gradient == "pairwise" and not loss.decreasing:
            sensitivity = task.sensitivity(BOTH_SIGNS, clip=clip, n=task.n)
        else:
            pairs = self.gradient == "pairwise"
            bound = "clipped gradients of pairs" if pairs else "clipped gradients of rows"
            sensitivity = task.sensitivity(
                bound, clip=clip, used=task.n, width=size, amplification=0.0
            )
        return replace(shared_release(name, task, sensitivity, size, share / steps), count=steps)

    def noise_to_signal(self, plan: Plan[NeuralSettings]) -> float:
        """Return the noise-to-signal ratio of the gradients of the linear part."""
        linear = next(r for r in plan.certificate.releases if r.name == LINEAR_GRADIENTS)
        return noise_to_signal(linear, plan.task.n)

    def _parameter_noise(self, plan: Plan[NeuralSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise("the parameters are those of a network")

    def execute(
        self, plan: Plan[NeuralSettings], records: Records, noise: NoiseSource, progress: Progress
    ) -> RunResult:
        """Return the parameters of the network, and what standardises rows."""
        run = Run(self.network(plan.task.features), plan, records, noise)
        return run.learn(self.network(plan.task.features).initial(self.seed), progress)


register_algorithm("neural", NeuralDescent())
