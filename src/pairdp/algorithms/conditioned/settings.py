"""The settings of a conditioned descent."""

from __future__ import annotations

from dataclasses import dataclass

from pairdp.algorithms.task import Settings


@dataclass(frozen=True)
class ConditionedSettings(Settings):
    """What is released, from how many records, and the ridge of the whitening."""

    expansion: str
    scaling: str
    gradient: str
    steps: int
    features: int
    used: int
    ridge: float
