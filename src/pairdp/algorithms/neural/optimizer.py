"""Steps from noisy gradients: functions of released values, so they cost nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_LARGEST = 1e3
_FIRST, _SECOND = 0.9, 0.99


class Adam:
    """Adam with a step size that falls over the second half, and an average of the last third.

    Parameters
    ----------
    parameters : array
        The initial parameters.
    steps : int
        The number of steps.
    learning_rate : float
        The step size of the first half.
    """

    def __init__(self, parameters: Array, steps: int, learning_rate: float) -> None:
        self.parameters = parameters
        self._steps, self._rate = steps, learning_rate
        self._done = 0
        self._first, self._second = np.zeros_like(parameters), np.zeros_like(parameters)
        self._sum, self._summed = np.zeros_like(parameters), 0

    def step(self, gradient: Array) -> None:
        """Take a step against a noisy gradient. Parameters stay within ±1000."""
        self._done += 1
        self._first += (1 - _FIRST) * (gradient - self._first)
        self._second += (1 - _SECOND) * (gradient**2 - self._second)
        mean = self._first / (1 - _FIRST**self._done)
        square = self._second / (1 - _SECOND**self._done)
        share = self._done / self._steps
        rate = self._rate * (1 - 0.9 * max(0.0, 2 * share - 1))
        moved = self.parameters - rate * mean / (np.sqrt(square) + 1e-12)
        self.parameters = np.clip(moved, -_LARGEST, _LARGEST)
        if share > 2 / 3:
            self._sum += self.parameters
            self._summed += 1

    @property
    def average(self) -> Array:
        """The average of the parameters over the last third of the steps."""
        return self._sum / self._summed if self._summed else self.parameters
