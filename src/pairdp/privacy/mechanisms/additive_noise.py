"""Additive-noise mechanisms for vectors with an ℓ2 sensitivity Δ.

A mechanism is a frozen pair of sensitivity and scale, which determine its privacy event. Values
and random numbers are passed only when it is used.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer, keep, positive
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.budget import Budget, check_budget
from pairdp.privacy.accounting.calibration import noise_multiplier, require_delta
from pairdp.privacy.accounting.composition import PrivacyCurve
from pairdp.privacy.accounting.events import (
    Event,
    GaussianEvent,
    NonPrivateEvent,
    PureEvent,
    SampledEvent,
)
from pairdp.privacy.accounting.sampling import Sampling
from pairdp.privacy.mechanisms.packing import pack, unpack

Array = NDArray[np.float64]
Calibration = Literal["certified", "printed"]


def _check_calibration(calibration: str) -> None:
    if calibration not in ("certified", "printed"):
        raise ValueError(f'calibration must be "certified" or "printed", got {calibration!r}')


class _Additive(ABC):
    """Base class: adds noise to vectors and symmetric matrices."""

    @abstractmethod
    def noise(self, dimension: int, generator: np.random.Generator) -> Array:
        """Draw one noise vector."""

    def release(self, value: ArrayLike, generator: np.random.Generator) -> Array:
        """Return ``value`` with noise. No private value is released in any other way.

        Parameters
        ----------
        value : array of shape (d,)
            A vector with the sensitivity of the mechanism.
        generator : numpy.random.Generator
            A stream of a `NoiseSource` that nothing else draws from.

        Raises
        ------
        ValueError
            If the value is not a finite vector. Values computed from clipped records are always
            finite, so this error indicates a bug and does not depend on the data.
        """
        if np.iscomplexobj(value):
            raise TypeError("the value to release must be real")
        if not isinstance(generator, np.random.Generator):
            raise TypeError(
                "generator must be a stream of a NoiseSource, such as source.stream('noise'), "
                f"got {type(generator).__name__}"
            )
        vector = np.asarray(value, dtype=np.float64)
        if vector.ndim != 1 or vector.size == 0:
            raise ValueError(f"the value must be a non-empty vector, got shape {vector.shape}")
        if not np.all(np.isfinite(vector)):
            raise ValueError("the value to release must be finite")
        return vector + self.noise(vector.size, generator)

    def release_symmetric(self, matrix: ArrayLike, generator: np.random.Generator) -> Array:
        """Return a symmetric matrix with symmetric noise; Δ is in Frobenius norm."""
        return unpack(self.release(pack(matrix), generator))


@dataclass(frozen=True)
class _Scaled(_Additive):
    """Base class of mechanisms with a sensitivity and a scale."""

    sensitivity: float
    scale: float

    def __post_init__(self) -> None:
        keep(self, "sensitivity", positive("sensitivity", self.sensitivity))
        keep(self, "scale", positive("scale", self.scale))


@dataclass(frozen=True)
class GaussianMechanism(_Scaled):
    """Independent normal noise of standard deviation ``scale`` in every coordinate.

    Examples
    --------
    >>> from pairdp.privacy import Budget
    >>> mechanism = GaussianMechanism.calibrate(Budget(1.0, 1e-5), sensitivity=1.0)
    >>> round(mechanism.scale, 6)
    3.730632
    """

    @classmethod
    def calibrate(
        cls,
        budget: Budget,
        sensitivity: float,
        *,
        steps: int = 1,
        sampling: Sampling | None = None,
        calibration: Calibration = "certified",
    ) -> GaussianMechanism:
        """Return the mechanism with the smallest noise for a budget.

        Parameters
        ----------
        budget : Budget
            The budget of all steps together; δ must be positive.
        sensitivity : float
            Replace-one ℓ2 sensitivity of one step's value.
        steps : int, default=1
            Number of times the mechanism will be used.
        sampling : FixedSizeSampling or PoissonSampling, optional
            How the records of each step are drawn.
        calibration : {"certified", "printed"}, default="certified"
            "certified" is exact. "printed" is the textbook formula of the papers, for one step
            on all records; its event still states the true cost.
        """
        _check_calibration(calibration)
        sensitivity = positive("sensitivity", sensitivity)
        if calibration == "certified":
            scale = sensitivity * noise_multiplier(budget, steps, sampling)
            return _within(budget, scale, lambda s: cls(sensitivity, s), steps, sampling)
        if integer("steps", steps) != 1 or sampling is not None:
            raise ValueError('calibration="printed" supports one step on all records only')
        require_delta(budget)
        multiplier = gaussian.classical_multiplier(budget.epsilon, budget.delta)
        return cls(sensitivity, sensitivity * multiplier)

    def event(self, steps: int = 1, sampling: Sampling | None = None) -> Event:
        """Return the privacy event of ``steps`` uses."""
        mu = self.sensitivity / self.scale
        total = mu * math.sqrt(integer("steps", steps))
        if math.isinf(total):
            return NonPrivateEvent()
        if sampling is None or sampling.rate == 1:
            return GaussianEvent(total)
        return SampledEvent(mu, sampling, steps)

    def noise(self, dimension: int, generator: np.random.Generator) -> Array:
        """Draw one noise vector."""
        return generator.normal(0.0, self.scale, size=integer("dimension", dimension))


@dataclass(frozen=True)
class KNormMechanism(_Scaled):
    r"""Noise with density proportional to :math:`e^{-\|z\|_2/s}`, for pure ε-DP.

    With s = Δ/ε the densities at two centres of distance Δ differ by a factor of at most
    :math:`e^{\varepsilon}` everywhere. The direction is uniform and the radius is Gamma(d, s)
    (Hardt and Talwar 2010): up to √2 less noise than coordinate-wise Laplace.
    """

    @classmethod
    def calibrate(cls, budget: Budget, sensitivity: float, *, steps: int = 1) -> KNormMechanism:
        """Return the mechanism whose ``steps`` uses together cost ε; δ is not spent."""
        sensitivity = positive("sensitivity", sensitivity)
        check_budget(budget)
        scale = sensitivity * integer("steps", steps) / budget.epsilon
        return _within(budget, scale, lambda s: cls(sensitivity, s), steps)

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        return _pure(self.sensitivity / self.scale, steps)

    def noise(self, dimension: int, generator: np.random.Generator) -> Array:
        """Draw one noise vector."""
        direction = generator.standard_normal(integer("dimension", dimension))
        radius = generator.gamma(dimension, self.scale)
        norm = float(np.linalg.norm(direction))
        while norm == 0:
            direction = generator.standard_normal(dimension)
            norm = float(np.linalg.norm(direction))
        return direction * (radius / norm)


@dataclass(frozen=True)
class LaplaceMechanism(_Additive):
    r"""Independent Laplace noise of scale b in each of d coordinates, as the papers print.

    An ℓ2 sensitivity of Δ is an ℓ1 sensitivity of at most :math:`\sqrt d\,\Delta`, so
    :math:`b = \sqrt d\,\Delta/\varepsilon` is ε-DP. `KNormMechanism` gives the same
    guarantee with less noise for d > 1.
    """

    sensitivity: float
    dimension: int
    scale: float

    def __post_init__(self) -> None:
        keep(self, "sensitivity", positive("sensitivity", self.sensitivity))
        keep(self, "dimension", integer("dimension", self.dimension))
        keep(self, "scale", positive("scale", self.scale))

    @classmethod
    def calibrate(
        cls, budget: Budget, sensitivity: float, *, dimension: int, steps: int = 1
    ) -> LaplaceMechanism:
        """Return the mechanism whose ``steps`` uses together cost ε; δ is not spent.

        For symmetric matrices ``dimension`` is d(d+1)/2: see `packed_dimension`.
        """
        sensitivity = positive("sensitivity", sensitivity)
        dimension = integer("dimension", dimension)
        check_budget(budget)
        scale = math.sqrt(dimension) * sensitivity * integer("steps", steps) / budget.epsilon
        return _within(budget, scale, lambda s: cls(sensitivity, dimension, s), steps)

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        return _pure(math.sqrt(self.dimension) * self.sensitivity / self.scale, steps)

    def noise(self, dimension: int, generator: np.random.Generator) -> Array:
        """Draw one noise vector."""
        if dimension != self.dimension:
            raise ValueError(
                f"this mechanism was calibrated for dimension {self.dimension}, got {dimension}"
            )
        return generator.laplace(0.0, self.scale, size=dimension)


@dataclass(frozen=True)
class NoMechanism(_Additive):
    """No noise: the non-private baseline."""

    def event(self, steps: int = 1) -> Event:
        """Return the event of a release without a guarantee."""
        integer("steps", steps)
        return NonPrivateEvent()

    def noise(self, dimension: int, generator: np.random.Generator) -> Array:
        """Draw one noise vector."""
        return np.zeros(integer("dimension", dimension))


def _pure(epsilon: float, steps: int) -> Event:
    """Return the event of pure releases; without a guarantee if their ε overflows."""
    return NonPrivateEvent() if math.isinf(epsilon) else PureEvent(epsilon, steps)


_M = TypeVar("_M", GaussianMechanism, KNormMechanism, LaplaceMechanism)


def _within(
    budget: Budget,
    scale: float,
    make: Callable[[float], _M],
    steps: int,
    sampling: Sampling | None = None,
) -> _M:
    """Return the mechanism whose event, rounding included, stays within the budget."""
    grow = 1e-16
    while True:
        mechanism = make(scale)
        event = (
            mechanism.event(steps, sampling)
            if isinstance(mechanism, GaussianMechanism)
            else mechanism.event(steps)
        )
        curve = PrivacyCurve(event)
        if isinstance(event, PureEvent):
            if curve.epsilon(0.0) <= budget.epsilon:
                return mechanism
        elif curve.within(budget):
            return mechanism
        scale, grow = scale * (1 + grow), 2 * grow


Mechanism = GaussianMechanism | KNormMechanism | LaplaceMechanism | NoMechanism
"""Any mechanism."""
