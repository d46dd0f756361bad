"""The settings of an embedding descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pairdp.algorithms.task import Settings


@dataclass(frozen=True)
class EmbeddingSettings(Settings):
    """The numbers of parameters, steps and buckets, the form and clipping of gradients, the step.

    ``clip`` is the norm of gradients for reference points, and of Jacobians for pairs.
    """

    parameters: int
    steps: int
    buckets: int
    gradient: Literal["reference", "pairwise"]
    clip: float
    learning_rate: float
