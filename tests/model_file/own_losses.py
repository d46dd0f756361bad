"""Losses of a user's own: outside of pairdp, importable by their path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms import GradientDescent
from pairdp.constraints import L2Ball
from pairdp.losses import (
    Domain,
    LeastSquaresPointwise,
    LogisticPointwise,
    LogisticRanking,
    PointwiseLoss,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Softer(LogisticRanking):
    """A logistic loss with a field that the library knows nothing of."""

    softness: float = 1.0


class Plain(LogisticRanking):
    """No dataclass of its own, and no state of its own."""


class Bare(PointwiseLoss):
    """No dataclass at all: two objects of it are not equal."""

    convex: ClassVar[bool] = True
    _logistic = LogisticPointwise()

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        return self._logistic.value(parameters, x, y)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        return self._logistic.gradient(parameters, x, y)

    def lipschitz(self, domain: Domain) -> float:
        return self._logistic.lipschitz(domain)

    def smoothness(self, domain: Domain) -> float:
        return self._logistic.smoothness(domain)


class Outer:
    """A place for a class that is not at the top of its module."""

    @dataclass(frozen=True)
    class Inner(LogisticRanking):
        """A loss inside a class."""


@dataclass(frozen=True)
class OwnSquares(LeastSquaresPointwise):
    """A loss of one record."""


@dataclass(frozen=True)
class OwnBall(L2Ball):
    """A constraint."""


@dataclass(frozen=True)
class OwnDescent(GradientDescent):
    """An algorithm."""

    name: str = "Own descent"
