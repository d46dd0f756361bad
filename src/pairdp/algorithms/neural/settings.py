"""The settings of a neural descent."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp.algorithms.task import Settings


@dataclass(frozen=True)
class NeuralSettings(Settings):
    """The numbers of parameters and steps, the norms that gradients are clipped to, and the step.

    ``counts`` is the number of histograms of scores, None for sums over pairs. ``batch_size`` is
    the number of records of a mini-batch, None for all records.
    """

    parameters: int
    steps: int
    linear_steps: int
    clip: float
    linear_clip: float
    learning_rate: float
    counts: int | None = None
    batch_size: int | None = None
