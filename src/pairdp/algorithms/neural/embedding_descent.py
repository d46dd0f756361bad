"""Descent on a network that embeds records, by clipped gradients with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, one_of, positive
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.centering import AGAIN, SQUARES, Statistic, centering_statistics
from pairdp.algorithms.neural.embedding_function import LARGEST
from pairdp.algorithms.neural.embedding_network import EmbeddingNetwork
from pairdp.algorithms.neural.embedding_run import COUNTS, GRADIENTS, EmbeddingRun
from pairdp.algorithms.neural.embedding_settings import EmbeddingSettings
from pairdp.algorithms.neural.network import checked_hidden
from pairdp.algorithms.noise import noise_to_signal, shared_release
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.algorithms.plan import Fit, Plan, Progress, RunResult
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Task
from pairdp.losses import MetricLoss
from pairdp.privacy import NoiseSource, Sensitivity
from pairdp.privacy.bounds.embeddings import CONTRAST
from pairdp.records import Records

Array = NDArray[np.float64]
_SQUARES, _AGAIN, _COUNTS = 0.03, 0.03, 0.02
_CLIP = 0.3
"""Gradients are clipped to this share of their typical norm."""
_BUCKETS, _MOST_COMPONENTS = 256, 64


@dataclass(frozen=True)
class EmbeddingDescent(Algorithm[EmbeddingSettings]):
    r"""Noisy gradient descent on a network whose outputs are close for records of one class.

    1. Noisy means and mean squares standardise the rows, as for `FisherMetric`.
    2. Noisy counts say which classes there are: buckets of labels, as for `FisherMetric`, so that
       neither the names nor the number of classes need to be public. Sensitivity √2.
    3. Noisy gradients in all parameters, by Adam.

    With ``gradient="reference"``, each class has a public point, the corners of a regular
    simplex, and each record has the loss of a softmax of its squared distances to them
    (`reference_points`). Its gradient is clipped alone. Sensitivity 2C/n. With "pairwise" it is a
    contrastive loss over all pairs, in linear time (`pair_contrast`), with embeddings clipped to
    norm R = 2 and Jacobians to C: sensitivity 8(1 + 2/(3√3))CR/n
    (`pairdp.privacy.bounds.embeddings`), with a signal that is far smaller for its noise.

    An embedding of K classes has K - 1 dimensions, at most ``components``.

    Parameters
    ----------
    hidden : tuple of int
        The widths of the layers.
    components : int
        The largest number of dimensions of an embedding.
    steps : int
        Number of noisy gradients.
    gradient : {"reference", "pairwise"}
        Which gradients; see above.
    learning_rate : float
        The step size of Adam.
    seed : int
        The public seed of the initial weights.
    name : str
        Name in certificates.
    """

    hidden: tuple[int, ...] = (48, 16)
    components: int = 4
    steps: int = 150
    gradient: Literal["reference", "pairwise"] = "reference"
    learning_rate: float = 0.05
    seed: int = 0
    name: str = "Embedding descent"

    settings_type = EmbeddingSettings
    needs_delta: ClassVar[bool] = True
    without_delta: ClassVar[str] = "use PrivateMetric"
    only_pairs: ClassVar[bool] = True
    offers_units: ClassVar[bool] = True

    def __post_init__(self) -> None:
        keep(self, "hidden", checked_hidden(self.hidden))
        keep(self, "components", integer("components", self.components, at_most=_MOST_COMPONENTS))
        keep(self, "steps", integer("steps", self.steps, at_most=100_000))
        one_of("gradient", self.gradient, "reference", "pairwise")
        keep(self, "learning_rate", positive("learning_rate", self.learning_rate))
        keep(self, "seed", integer("seed", self.seed, at_least=0))

    @property
    def needs(self) -> tuple[Need, ...]:
        """Nothing of the loss, which is not used."""
        return ()

    def check(self, task: Task) -> None:
        """Raise ValueError if the problem is not one of classes."""
        super().check(task)
        if not isinstance(task.problem.loss, MetricLoss):
            raise ValueError(
                f"{self.name} learns distances, and the problem's loss is "
                f"{type(task.problem.loss).__name__}: use a metric loss such as LogisticMetric()"
            )

    def network(self, features: int, components: int | None = None) -> EmbeddingNetwork:
        """Return the network for rows of so many features."""
        return EmbeddingNetwork(features, self.hidden, components or self.components)

    def draft(self, task: Task) -> PlanDraft[EmbeddingSettings]:
        """Decide clipping, shares and noise."""
        n, d = task.n, task.features
        network = self.network(d)
        squares = task.sensitivity(
            "mean squares of features", data_norm=task.problem.data_norm, n=n
        )
        counts = task.sensitivity("histograms of columns", columns=1)
        statistics = (
            *centering_statistics(task),
            Statistic(SQUARES, squares, d, _SQUARES),
            Statistic(AGAIN, squares, d, _AGAIN),
            Statistic(COUNTS, counts, _BUCKETS, _COUNTS),
        )
        rest = 1 - math.fsum(statistic.share for statistic in statistics)
        clip = _CLIP * network.typical_norm(self.seed)
        if self.gradient == "pairwise":
            clip *= math.sqrt(self.components)
        gradients = shared_release(
            GRADIENTS, task, self._sensitivity(task, clip), network.size, rest / self.steps
        )
        settings = EmbeddingSettings(
            network.size, self.steps, _BUCKETS, self.gradient, clip, self.learning_rate
        )
        releases = (statistic.release(task) for statistic in statistics)
        return PlanDraft((*releases, replace(gradients, count=self.steps)), settings)

    def _sensitivity(self, task: Task, clip: float) -> Sensitivity:
        if self.gradient == "pairwise":
            return task.sensitivity(CONTRAST, clip=clip, radius=LARGEST, n=task.n)
        size = self.network(task.features).size
        bound = "clipped gradients of rows"
        return task.sensitivity(bound, clip=clip, used=task.n, width=size, amplification=0.0)

    def noise_to_signal(self, plan: Plan[EmbeddingSettings]) -> float:
        """Return the noise-to-signal ratio of the gradients."""
        return noise_to_signal(plan.certificate.releases[-1], plan.task.n)

    def _parameter_noise(self, plan: Plan[EmbeddingSettings], fit: Fit) -> ParameterNoise:
        return unknown_noise("the parameters are those of a network")

    def execute(
        self,
        plan: Plan[EmbeddingSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> RunResult:
        """Return the parameters of the network, what standardises rows, and the classes' points."""
        run = EmbeddingRun(self.network(plan.task.features), plan, records, noise)
        return run.learn(self.seed, progress)


register_algorithm("embedding", EmbeddingDescent(), "metric")
