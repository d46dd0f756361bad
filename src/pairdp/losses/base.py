r"""What a loss is: what it declares, and its constants as functions of a `Domain`.

A loss declares its constants as functions of a `Domain`. They are what privacy and
step sizes rest on, so each must hold for *every* pair of records and every
parameter in the domain; `pairdp.testing.check_pairwise_loss` tries to break them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import RECORDS, between, integer, non_negative, positive, real
from pairdp.storage import Storable


@dataclass(frozen=True)
class Domain:
    """The public facts that decide a loss's constants.

    Parameters
    ----------
    data_norm : float
        R, which the norm of no record exceeds.
    radius : float
        B, which the (Frobenius) norm of no parameter exceeds; infinite when unbounded,
        and 0 when only the starting point is looked at.
    positive_semidefinite : bool
        Whether a matrix of parameters is positive semidefinite. Vectors ignore it.
    """

    data_norm: float = 1.0
    radius: float = math.inf
    positive_semidefinite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "data_norm", positive("data_norm", self.data_norm))
        radius = real("radius", self.radius)
        if radius < 0:
            raise ValueError(f"radius must be at least 0, got {radius!r}")
        object.__setattr__(self, "radius", radius)

    @property
    def widest(self) -> float:
        """Largest distance of two records, 2R."""
        return 2 * self.data_norm

    def within(self, radius: float) -> Domain:
        """Return the domain of parameters that are also within ``radius`` of zero.

        A radius that is known in advance, say the sum of all step sizes times the
        Lipschitz constant, gives smaller constants than the constraint's.
        """
        return replace(self, radius=min(self.radius, real("radius", radius)))


_SMALLEST_WIDTH, _LARGEST_WIDTH = 1e-12, 1e30


def check_temperature(temperature: object) -> float:
    """Return a temperature between 1e-30 and 1e30."""
    return between("temperature", temperature, *RECORDS)


def check_width(width: object) -> float:
    """Return the width of a rounded corner: 0 for none, or between 1e-12 and 1e30."""
    value = non_negative("width", width)
    if value and not _SMALLEST_WIDTH <= value <= _LARGEST_WIDTH:
        raise ValueError(f"width must be 0 or between 1e-12 and 1e30, got {value!r}")
    return value


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Holder:
    r"""Hölder continuity of the gradient: :math:`|∇ℓ(w)-∇ℓ(v)| ≤ c|w-v|^a`.

    Exponent 1 is smoothness. Exponent 0 says how far the (sub)gradient of one pair
    can jump.
    """

    exponent: float
    constant: float


@dataclass(frozen=True)
class Constants:
    """All certified constants of a loss on one domain; see `PairwiseLoss`."""

    lipschitz: float
    smoothness: float
    holder: Holder
    pair_diameter: float
    record_diameter: float


class Loss(Storable, ABC):
    """What losses of pairs and of one record share: what they declare, and their constants.

    Attributes
    ----------
    convex : bool
        Whether ℓ is convex in w for all records. Every class declares it for itself, as there is
        no default: bounds that need convexity are false without it, so only losses that declare it
        are given to algorithms whose proof needs it.
    matrix : bool
        Whether the parameter is a symmetric d × d matrix instead of a vector.
    binary : bool
        Whether labels must be -1 and +1.
    """

    convex: ClassVar[bool]
    matrix: ClassVar[bool] = False
    binary: ClassVar[bool] = True

    @abstractmethod
    def lipschitz(self, domain: Domain) -> float:
        """Return G, which the norm of no gradient exceeds; infinite if there is none."""

    def smoothness(self, domain: Domain) -> float:
        """Return L, the Lipschitz constant of one gradient; infinite if there is none.

        For a loss that is not convex it bounds curvature of either sign.
        """
        return math.inf

    def holder(self, domain: Domain) -> Holder:
        """Return the Hölder continuity of one gradient."""
        smoothness = self.smoothness(domain)
        if math.isfinite(smoothness):
            return Holder(1.0, smoothness)
        return Holder(0.0, 2 * self.lipschitz(domain))


class PairwiseLoss(Loss):
    r"""A loss ℓ(w; z, z') of an ordered pair of records z = (x, y), z' = (x', y').

    A loss of one's own needs `value`, `gradient` and `lipschitz`; every other constant
    has a default that is always valid, and that a tighter one may replace. It declares whether it
    is convex in w. It should depend on labels only through the values it documents, and be a
    frozen dataclass, so that a plan can hold it. Losses of a score difference or of a
    Mahalanobis distance need less: see `RankingLoss` and `MetricLoss`.

    Attributes
    ----------
    binary : bool
        Whether labels must be -1 and +1; otherwise they only tell classes apart.
    symmetric : bool
        Whether ℓ(w; z, z') = ℓ(w; z', z).
    """

    symmetric: bool = True

    @abstractmethod
    def value(self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array) -> Array:
        """Return the loss of each pair (x[k], y[k]), (other_x[k], other_y[k])."""

    @abstractmethod
    def gradient(
        self, parameters: Array, x: Array, y: Array, other_x: Array, other_y: Array
    ) -> Array:
        """Return a (sub)gradient for each pair, along the first axis."""

    def pair_diameter(self, domain: Domain) -> float:
        r"""Return D_o, how far the gradient of one ordered pair moves when one record is replaced.

        :math:`\sup |∇ℓ(w;z,p)-∇ℓ(w;z',p)|`, in either slot; never more than 2G.
        """
        return 2 * self.lipschitz(domain)

    def record_diameter(self, domain: Domain) -> float:
        r"""Return D_h, the same for both orders of the pair together.

        :math:`\sup |h(w;z,p)-h(w;z',p)|` with h(w;z,p) = ∇ℓ(w;z,p) + ∇ℓ(w;p,z); never
        more than 2 D_o, and equal to it for a symmetric loss.
        """
        return 2 * self.pair_diameter(domain)

    def null_diameter(self, domain: Domain) -> float:
        """Return how far both orders of a pair are from zero: |h(w;z,p)| ≤ 2G.

        A null record contributes zero, so this is how far the pair moves when one of its records
        is replaced by a null one.
        """
        return 2 * self.lipschitz(domain)

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return the smoothness of the average over all pairs of n records; at most L."""
        integer("n", n, at_least=2)
        return self.smoothness(domain)

    def sensitivity(self, domain: Domain, n: int) -> float:
        """Return D_h / n: how far one replaced record moves the average gradient over all pairs.

        A record is in 2(n-1) of the n(n-1) ordered pairs; attained when all other
        records equal the worst partner. The same holds over a design of pairs that has
        each record equally often.
        """
        return self.record_diameter(domain) / integer("n", n, at_least=2)

    def constants(self, domain: Domain) -> Constants:
        """Return all constants that do not depend on n."""
        return Constants(
            self.lipschitz(domain),
            self.smoothness(domain),
            self.holder(domain),
            self.pair_diameter(domain),
            self.record_diameter(domain),
        )
