"""Additive-noise mechanisms for vectors with an ℓ2 sensitivity Δ, or for one with an ℓ1 one.

A mechanism has a sensitivity, a scale, a dimension and a grid, which determine its privacy event.
Values and random numbers are passed only when it is used. Values are rounded to the grid and noise
is drawn exactly on it (`pairdp.privacy.mechanisms.lattice`), so the guarantee does not rest on
floating-point numbers behaving like real ones.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

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
from pairdp.privacy.accounting.sampling import PoissonSampling, RepeatedDraws, Sampling
from pairdp.privacy.mechanisms.lattice import (
    LARGEST_INTEGER,
    grid_for,
    is_grid,
    power_of_two_below,
    rounding,
    to_grid,
    with_rounding,
)
from pairdp.privacy.mechanisms.permute_and_flip import PermuteAndFlip
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect
from pairdp.privacy.mechanisms.rounded_k_norm import rounded_k_norm, rounded_laplace
from pairdp.privacy.mechanisms.rounded_normal import (
    LARGEST_RATIO,
    SMALLEST_RATIO,
    rounded_normals,
)
from pairdp.privacy.mechanisms.vector_mechanism import VectorMechanism

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Calibration = Literal["certified", "printed"]


def _check_calibration(calibration: str) -> None:
    if calibration not in ("certified", "printed"):
        raise ValueError(f'calibration must be "certified" or "printed", got {calibration!r}')


@dataclass(frozen=True)
class _Scaled(VectorMechanism):
    """Base class of mechanisms with noise.

    Parameters
    ----------
    sensitivity : float
        Δ, the replace-one ℓ2 sensitivity of the value.
    scale : float
        The scale of the noise.
    dimension : int, default=1
        Number of coordinates; d(d+1)/2 for symmetric matrices (`packed_dimension`). A vector may
        be released in parts with Gaussian noise; then it is that of all parts together.
    grid : float, optional
        g, a power of two. By default the rounding adds at most 2^-21 of Δ.
    """

    sensitivity: float
    scale: float
    dimension: int = 1
    grid: float = 0.0
    _in_parts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        keep(self, "sensitivity", positive("sensitivity", self.sensitivity))
        keep(self, "scale", positive("scale", self.scale))
        keep(self, "dimension", integer("dimension", self.dimension))
        if self.grid == 0:
            keep(self, "grid", grid_for(self.sensitivity, self.scale, self.rounded_dimension))
        keep(self, "grid", positive("grid", self.grid))
        if not is_grid(self.grid):
            raise ValueError(f"grid must be a power of two, got {self.grid!r}")
        if not SMALLEST_RATIO <= self.scale / self.grid <= LARGEST_RATIO:
            raise ValueError(
                f"the scale must be from 2^-64 to 2^52 grid steps, got {self.scale / self.grid:g}"
            )

    @property
    def rounded_dimension(self) -> int:
        """The p for which g√p is what rounding adds to the sensitivity."""
        return self.dimension

    @property
    def rounding(self) -> float:
        """g√d: what rounding to the grid adds to the sensitivity."""
        return rounding(self.grid, self.rounded_dimension)

    @property
    def rounded_sensitivity(self) -> float:
        """Δ + g√d, the sensitivity of the rounded value."""
        return self.sensitivity + self.rounding

    @abstractmethod
    def noise_integers(self, size: int, generator: np.random.Generator) -> Integers:
        """Draw noise, in units of the grid."""

    def noise(self, size: int, generator: np.random.Generator) -> Array:
        """Draw noise."""
        return np.asarray(self.noise_integers(integer("size", size), generator) * self.grid)

    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        if vector.size != self.dimension and not (self._in_parts and vector.size < self.dimension):
            raise ValueError(
                f"the mechanism has dimension {self.dimension}, got {vector.size} numbers"
            )
        return self.add_to(vector, self.noise_integers(vector.size, generator))

    def add_to(self, vector: Array, noise: Integers) -> Array:
        """Return a vector with noise that was drawn by `noise_integers` for this use alone."""
        total = to_grid(vector, self.grid) + noise  # less than 2^63
        return np.asarray(np.clip(total, -LARGEST_INTEGER, LARGEST_INTEGER) * self.grid)


@dataclass(frozen=True)
class GaussianMechanism(_Scaled):
    """Independent normal noise of standard deviation ``scale`` in every coordinate.

    Examples
    --------
    >>> from pairdp.privacy import Budget
    >>> mechanism = GaussianMechanism.calibrate(Budget(1.0, 1e-5), sensitivity=1.0)
    >>> round(mechanism.scale, 6)
    3.730633
    """

    _in_parts = True

    @classmethod
    def calibrate(
        cls,
        budget: Budget,
        sensitivity: float,
        *,
        dimension: int = 1,
        steps: int = 1,
        sampling: Sampling | None = None,
        calibration: Calibration = "certified",
        beside: float = 0.0,
    ) -> GaussianMechanism:
        """Return the mechanism with the smallest noise for a budget.

        Parameters
        ----------
        budget : Budget
            The budget of all steps together; δ must be positive.
        sensitivity : float
            Replace-one ℓ2 sensitivity of one step's value.
        dimension : int, default=1
            Number of coordinates of one step's value.
        steps : int, default=1
            Number of times the mechanism will be used.
        sampling : FixedSizeSampling or PoissonSampling, optional
            How the records of each step are drawn.
        calibration : {"certified", "printed"}, default="certified"
            "certified" is exact. "printed" is the textbook formula of the papers, for one step
            on all records; its event still states the true cost.
        beside : float, default=0.0
            The µ of other Gaussian releases on all records that the budget pays for as well.
        """
        _check_calibration(calibration)
        sensitivity = positive("sensitivity", sensitivity)
        dimension = integer("dimension", dimension)
        if calibration == "certified":
            multiplier = noise_multiplier(budget, steps, sampling, beside)
            scale = with_rounding(sensitivity, multiplier, dimension) * multiplier
            others = (GaussianEvent(beside),) if beside else ()
            return _within(
                budget, scale, lambda s: cls(sensitivity, s, dimension), steps, sampling, *others
            )
        if integer("steps", steps) != 1 or sampling is not None:
            raise ValueError('calibration="printed" supports one step on all records only')
        require_delta(budget)
        multiplier = gaussian.classical_multiplier(budget.epsilon, budget.delta)
        return cls(sensitivity, sensitivity * multiplier, dimension)

    @classmethod
    def for_mu(cls, mu: float, sensitivity: float, dimension: int = 1) -> GaussianMechanism:
        """Return the mechanism that is µ-GDP."""
        scale = with_rounding(sensitivity, 1 / mu, dimension) / mu
        return cls(sensitivity, _raised(scale), dimension)

    def in_units(self, unit: float) -> GaussianMechanism:
        """Return the mechanism for values in another unit, with a grid that is no coarser in it."""
        grid = self.grid * power_of_two_below(unit)
        return GaussianMechanism(self.sensitivity * unit, self.scale * unit, self.dimension, grid)

    def event(self, steps: int = 1, sampling: Sampling | None = None) -> Event:
        """Return the privacy event of ``steps`` uses."""
        if isinstance(sampling, RepeatedDraws):
            # Each draw moves the value by a multiple of Δ, and rounding by g√d at most once.
            more = self.rounding / self.sensitivity
            sampled = replace(sampling, base=sampling.base + more, most=sampling.most + more)
            return SampledEvent(_above(self.sensitivity / self.scale), sampled, steps)
        mu = _above(self.rounded_sensitivity / self.scale)
        if sampling is not None and sampling.rate < 1:
            if isinstance(sampling, PoissonSampling):
                # A record enters with half of Δ: the sum with it and that without it are rounded.
                mu = _above(mu + self.rounding / self.scale)
            return NonPrivateEvent() if math.isinf(mu) else SampledEvent(mu, sampling, steps)
        total = _above(mu * math.sqrt(integer("steps", steps)))
        return NonPrivateEvent() if math.isinf(total) else GaussianEvent(total)

    def noise_integers(self, size: int, generator: np.random.Generator) -> Integers:
        """Draw noise, in units of the grid."""
        return rounded_normals(generator, self.scale / self.grid, size)


@dataclass(frozen=True)
class KNormMechanism(_Scaled):
    r"""Noise with density proportional to :math:`e^{-\|z\|_2/s}`, for pure ε-DP.

    With s = Δ/ε the densities at two centres of distance Δ differ by a factor of at most
    :math:`e^{\varepsilon}` everywhere. The direction is uniform and the radius is Gamma(d, s)
    (Hardt and Talwar 2010): up to √2 less noise than coordinate-wise Laplace.
    """

    @classmethod
    def calibrate(
        cls, budget: Budget, sensitivity: float, *, dimension: int = 1, steps: int = 1
    ) -> KNormMechanism:
        """Return the mechanism whose ``steps`` uses together cost ε; δ is not spent."""
        sensitivity = positive("sensitivity", sensitivity)
        dimension = integer("dimension", dimension)
        check_budget(budget)
        inverse = integer("steps", steps) / budget.epsilon
        scale = with_rounding(sensitivity, inverse, dimension) * inverse
        return _within(budget, scale, lambda s: cls(sensitivity, s, dimension), steps)

    @classmethod
    def for_epsilon(cls, epsilon: float, sensitivity: float, dimension: int = 1) -> KNormMechanism:
        """Return the mechanism that is ε-DP."""
        scale = with_rounding(sensitivity, 1 / epsilon, dimension) / epsilon
        return cls(sensitivity, _raised(scale), dimension)

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        return _pure(_above(self.rounded_sensitivity / self.scale), steps)

    def noise_integers(self, size: int, generator: np.random.Generator) -> Integers:
        """Draw noise, in units of the grid."""
        return rounded_k_norm(generator, self.scale / self.grid, size)


@dataclass(frozen=True)
class LaplaceMechanism(_Scaled):
    r"""Independent Laplace noise of scale b in each of d coordinates, as the papers print.

    An ℓ2 sensitivity of Δ is an ℓ1 sensitivity of at most :math:`\sqrt d\,\Delta`, so
    :math:`b = \sqrt d\,\Delta/\varepsilon` is ε-DP. `KNormMechanism` gives the same
    guarantee with less noise for d > 1.
    """

    @classmethod
    def calibrate(
        cls, budget: Budget, sensitivity: float, *, dimension: int = 1, steps: int = 1
    ) -> LaplaceMechanism:
        """Return the mechanism whose ``steps`` uses together cost ε; δ is not spent."""
        sensitivity = positive("sensitivity", sensitivity)
        dimension = integer("dimension", dimension)
        check_budget(budget)
        inverse = math.sqrt(dimension) * integer("steps", steps) / budget.epsilon
        scale = with_rounding(sensitivity, inverse, dimension) * inverse
        return _within(budget, scale, lambda s: cls(sensitivity, s, dimension), steps)

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        in_l1 = math.sqrt(self.dimension) * self.rounded_sensitivity
        return _pure(_above(in_l1 / self.scale), steps)

    def noise_integers(self, size: int, generator: np.random.Generator) -> Integers:
        """Draw noise, in units of the grid."""
        return rounded_laplace(generator, self.scale / self.grid, size)


@dataclass(frozen=True)
class L1LaplaceMechanism(_Scaled):
    r"""Independent Laplace noise of scale b for vectors with an *ℓ1* sensitivity Δ₁.

    The densities at two centres of ℓ1 distance Δ₁ differ by a factor of at most
    :math:`e^{Δ_1/b}`, so b = Δ₁/ε is ε-DP in any dimension. For histograms, of which a record
    changes two counts, this is far less noise than that of the other mechanisms for pure ε, whose
    noise on each count grows with the number of counts.

    Parameters
    ----------
    sensitivity : float
        Δ₁, the replace-one ℓ1 sensitivity of the value.
    scale, dimension, grid
        As for the other mechanisms. Rounding to the grid moves each of d coordinates by at most
        g/2 on both data sets, and adds g·d to Δ₁.
    """

    @classmethod
    def for_epsilon(
        cls, epsilon: float, sensitivity: float, dimension: int = 1
    ) -> L1LaplaceMechanism:
        """Return the mechanism that is ε-DP."""
        scale = with_rounding(sensitivity, 1 / epsilon, dimension**2) / epsilon
        return cls(sensitivity, _raised(scale), dimension)

    @property
    def rounded_dimension(self) -> int:
        """d², as g·d is what rounding adds."""
        return self.dimension**2

    def event(self, steps: int = 1) -> Event:
        """Return the privacy event of ``steps`` uses."""
        return _pure(_above(self.rounded_sensitivity / self.scale), steps)

    def noise_integers(self, size: int, generator: np.random.Generator) -> Integers:
        """Draw noise, in units of the grid."""
        return rounded_laplace(generator, self.scale / self.grid, size)


@dataclass(frozen=True)
class NoMechanism(VectorMechanism):
    """No noise: the non-private baseline."""

    def event(self, steps: int = 1) -> Event:
        """Return the event of a release without a guarantee."""
        integer("steps", steps)
        return NonPrivateEvent()

    def noise(self, size: int, generator: np.random.Generator) -> Array:
        """Return zeros."""
        return np.zeros(integer("size", size))

    def _release(self, vector: Array, generator: np.random.Generator) -> Array:
        return self.add_to(vector)

    def add_to(self, vector: Array, noise: Integers | None = None) -> Array:
        """Return the vector."""
        return vector.copy()


def _above(value: float) -> float:
    """Return a number above what was computed with up to three roundings."""
    return value * (1 + 2.0**-50)


def _raised(scale: float) -> float:
    """Return a scale whose event, which is rounded up, does not exceed what it was computed for."""
    return scale * (1 + 2.0**-48)


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
    *others: Event,
) -> _M:
    """Return the mechanism whose event, rounding included, stays within the budget with others."""
    scale, grow = _raised(scale), 1e-15
    while True:
        mechanism = make(scale)
        event = (
            mechanism.event(steps, sampling)
            if isinstance(mechanism, GaussianMechanism)
            else mechanism.event(steps)
        )
        curve = PrivacyCurve(*others, event)
        if isinstance(event, PureEvent):
            if curve.epsilon(0.0) <= budget.epsilon:
                return mechanism
        elif curve.within(budget):
            return mechanism
        scale, grow = scale * (1 + grow), 2 * grow


Mechanism = (
    GaussianMechanism
    | KNormMechanism
    | LaplaceMechanism
    | L1LaplaceMechanism
    | PermuteAndFlip
    | RepeatAndSelect
    | NoMechanism
)
"""Any mechanism."""
