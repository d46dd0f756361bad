"""Descent on the parameters of a network, by clipped gradients of scores with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, keep_given, one_of, positive
from pairdp.algorithms.algorithm import WITH_DRAWS, Algorithm, PlanDraft
from pairdp.algorithms.neural.module_checks import check_module
from pairdp.algorithms.neural.network import Network, checked_hidden
from pairdp.algorithms.neural.releases import NeuralReleases
from pairdp.algorithms.neural.run import GRADIENTS, LINEAR_GRADIENTS, STEPS_PER_COUNT, Run
from pairdp.algorithms.neural.score_network import ScoreNetwork
from pairdp.algorithms.neural.scores import NetworkScores
from pairdp.algorithms.neural.settings import NeuralSettings
from pairdp.algorithms.neural.torch_module import TorchModule
from pairdp.algorithms.neural.torch_network import TorchNetwork
from pairdp.algorithms.noise import noise_to_signal
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.score_models import ModelName, ScoreModel
from pairdp.algorithms.task import Task
from pairdp.losses.ranking import RankingLoss
from pairdp.privacy import NoiseSource
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.unit import records_of
from pairdp.records import Records

Array = NDArray[np.float64]
_LINEAR_STEPS = 12
_STEPS, _FEWEST_STEPS, _MOST_STEPS = 2.5, 40, 400
_CLIP = 0.3
"""Gradients are clipped to this share of their typical norm."""
_ROW = math.sqrt(2)
"""The typical norm of a gradient in the linear part, for rows of norm 1."""
_ON_TRUST = (
    "The network is a module of the user's own. Each record's score and gradient are computed from "
    "that record alone and clipped, whatever the module computes; that its initial weights and its "
    "buffers are public, and that it neither stores rows nor raises errors that depend on them, is "
    "taken on trust."
)
_CLIPPED = (
    "gradients of scores are clipped, so the theorems on accuracy, which need smooth losses and "
    "the Polyak–Łojasiewicz condition, do not apply: T and η are those that are given"
)
_DEPARTURES = (_CLIPPED, "the first iterate is random by a public seed")


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

    With ``batch_size`` b, each gradient in all parameters is that of b records, drawn without
    replacement, with b for n in its sensitivity; the accountant composes these with all other
    releases. Means, counts, histograms and gradients in the linear part stay on all records: they
    need only sums of rows and of scores, and sampling would not lower their noise.

    With ``schedule="theorem"`` and sums over pairs of all records, steps are plain, from the
    initial weights, without projection and without preparation but a division of rows by the data
    norm, and the last iterate is released: Algorithm 1 of Kang 2021 for a score model.
    (Parameters beyond ±10⁶ are clipped: no sum may overflow for some records only.) Its privacy
    needs bounded gradients only, which clipping provides: a pair has a gradient of norm at
    most 2C, so the printed noise is σ = 8·2C√(T·ln(1/δ))/(nε), and the certified one 2C√T/(nμ).

    Only norms of gradients matter: the guarantee needs neither convexity nor smoothness.

    Parameters
    ----------
    hidden : tuple of int
        The widths of the layers.
    steps : int, optional
        Number of noisy gradients in all parameters; by default 2.5√(nμ/k), from 40 to 400, with μ
        the parameter of Gaussian DP of the budget and k the number of records of a unit.
    gradient : {"reference", "pairwise"}
        Which slopes; see above.
    learning_rate : float
        The step size of Adam.
    seed : int
        The public seed of the initial weights.
    name : str
        Name in certificates.
    module : TorchModule, optional
        A network of the user's own, instead of one with ``hidden`` layers.
    batch_size : int, optional
        b; all records by default.
    """

    hidden: tuple[int, ...] = (32, 16)
    steps: int | None = None
    gradient: Literal["reference", "pairwise"] = "reference"
    learning_rate: float = 0.05
    seed: int = 0
    name: str = "Neural descent"
    module: TorchModule | None = None
    batch_size: int | None = None

    settings_type = NeuralSettings
    needs_delta: ClassVar[bool] = True
    without_delta: ClassVar[str] = "use PrivateRanker"
    only_pairs: ClassVar[bool] = True
    why_no_units: ClassVar[str] = WITH_DRAWS

    def __post_init__(self) -> None:
        keep(self, "hidden", checked_hidden(self.hidden))
        if self.steps is not None:
            keep(self, "steps", integer("steps", self.steps, at_most=100_000))
        one_of("gradient", self.gradient, "reference", "pairwise")
        keep(self, "learning_rate", positive("learning_rate", self.learning_rate))
        keep(self, "seed", integer("seed", self.seed, at_least=0))
        keep_given(self, "batch_size", integer)
        if self.module is not None:
            keep(self, "module", TorchModule.of(self.module))

    @property
    def offers_units(self) -> bool:  # type: ignore[override]
        """Whether every step uses all records."""
        return self.batch_size is None

    @property
    def is_printed(self) -> bool:  # type: ignore[override]
        """Whether it is gradient perturbation on all pairs, as in Kang 2021."""
        return self.gradient == "pairwise" and self.batch_size is None

    @property
    def has_theorem(self) -> bool:  # type: ignore[override]
        """Whether it is an algorithm of a paper."""
        return self.is_printed

    @property
    def score_statistics(self) -> Mapping[str, int]:  # type: ignore[override]
        """The centre and the scales of rows, and the numbers of a module that are not trained."""
        fixed = {} if self.module is None else {"fixed": 1}
        return {"centre": 1, "scales": 1, **fixed}

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
        if task.is_printed and not task.follows_theorem:
            raise ValueError(
                f"the printed noise of {self.name} is for the steps of the paper: use "
                'schedule="theorem", or calibration="certified"'
            )
        if self.batch_size is not None and not 2 <= self.batch_size <= task.n:
            raise ValueError(f"batch_size must be from 2 to n = {task.n}, got {self.batch_size}")

    def network(self, features: int, fixed: Array | None = None) -> ScoreNetwork:
        """Return the network for rows of so many features.

        Parameters
        ----------
        features : int
            Their number.
        fixed : array, optional
            The numbers of a module that are not trained; by default those of a new module.
        """
        if self.module is None:
            return Network(features, self.hidden)
        return TorchNetwork(self.module, features, self.seed, fixed)

    def model_of(self, plan: Plan) -> ModelName:
        """Return "network"."""
        return "network"

    def score_function(
        self, plan: Plan, parameters: Array, statistics: Mapping[str, Array]
    ) -> NetworkScores:
        """Return the scores of the network."""
        network = self.network(plan.task.features, statistics.get("fixed"))
        return NetworkScores(network, statistics["centre"], statistics["scales"], parameters)

    def draft(self, task: Task) -> PlanDraft[NeuralSettings]:
        """Decide clipping, shares and noise."""
        network = self.network(task.features)
        if isinstance(network, TorchNetwork):
            check_module(network)
        steps = self._number_of_steps(task)
        clip = _CLIP * network.typical_norm(self.seed)
        assumptions = () if self.module is None else (_ON_TRUST,)
        planned = NeuralReleases(task, self.gradient == "pairwise", self.batch_size)
        if task.follows_theorem:
            release = planned.gradients_of_paper(clip, network.size, steps)
            settings = NeuralSettings(network.size, steps, 0, clip, clip, self.learning_rate)
            return PlanDraft((release,), settings, departures=_DEPARTURES, assumptions=assumptions)
        linear_steps = _LINEAR_STEPS if network.linear.start < network.linear.stop else 0
        linear_clip, times = _CLIP * _ROW, None
        if self.gradient == "reference":
            times = -(-(steps + linear_steps) // STEPS_PER_COUNT)
        releases, left = planned.before_gradients(times, linear_clip, linear_steps)
        releases.append(planned.gradients(clip, network.size, steps, left, releases))
        settings = NeuralSettings(
            network.size,
            steps,
            linear_steps,
            clip,
            linear_clip,
            self.learning_rate,
            times,
            planned.drawn,
        )
        return PlanDraft(tuple(releases), settings, assumptions=assumptions)

    def _number_of_steps(self, task: Task) -> int:
        """Return the given number, or one that grows with the signal, n·µ for each unit."""
        if self.steps is not None:
            return self.steps
        if task.budget is None:
            return _MOST_STEPS
        signal = task.n * gdp_mu(task.budget.epsilon, task.budget.delta) / records_of(task.unit)
        return int(min(max(_STEPS * math.sqrt(signal), _FEWEST_STEPS), _MOST_STEPS))

    def noise_to_signal(self, plan: Plan[NeuralSettings]) -> float:
        """Return the noise-to-signal ratio of the gradients of the linear part, or of all."""
        found = {release.name: release for release in plan.certificate.releases}
        return noise_to_signal(found.get(LINEAR_GRADIENTS, found[GRADIENTS]), plan.task.n)

    def _parameter_noise(self, plan: Plan[NeuralSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise("the parameters are those of a network")

    def execute(
        self, plan: Plan[NeuralSettings], records: Records, noise: NoiseSource, progress: Progress
    ) -> RunResult:
        """Return the parameters of the network, and what standardises rows."""
        network = self.network(plan.task.features)
        # Before the module is called with records.
        fixed = {"fixed": network.fixed_numbers} if isinstance(network, TorchNetwork) else {}
        run = Run(network, plan, records, noise)
        learn = run.perturb if plan.task.follows_theorem else run.learn
        found = learn(network.initial(self.seed), progress)
        return RunResult(found.parameters, {**found.statistics, **fixed})


register_algorithm("neural", NeuralDescent())
