r"""What a loss declares, and the base class of pairwise losses.

A loss declares its constants as functions of a `Domain`. Privacy and step sizes depend on them, so
each must hold for *every* pair of records and every parameter in the domain;
`pairdp.testing.check_pairwise_loss` searches for counterexamples.
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
    """The public facts that determine the constants of a loss.

    Parameters
    ----------
    data_norm : float
        R, the largest norm of a record.
    radius : float
        B, the largest (Frobenius) norm of a parameter; infinite if unbounded, and 0 if only the
        starting point matters.
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
        """Largest distance between two records, 2R."""
        return 2 * self.data_norm

    def within(self, radius: float) -> Domain:
        """Return the domain restricted to parameters of norm at most ``radius``.

        A radius that is known in advance, such as the sum of all step sizes times the Lipschitz
        constant, gives smaller constants than the radius of the constraint set.
        """
        return replace(self, radius=min(self.radius, real("radius", radius)))


_SMALLEST_WIDTH, _LARGEST_WIDTH = 1e-12, 1e30


def check_temperature(temperature: object) -> float:
    """Return a temperature between 1e-30 and 1e30."""
    return between("temperature", temperature, *RECORDS)


def check_width(width: object) -> float:
    """Return the smoothing width of a hinge: 0 for none, or between 1e-12 and 1e30."""
    value = non_negative("width", width)
    if value and not _SMALLEST_WIDTH <= value <= _LARGEST_WIDTH:
        raise ValueError(f"width must be 0 or between 1e-12 and 1e30, got {value!r}")
    return value


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Holder:
    r"""Hölder continuity of the gradient: :math:`|∇ℓ(w)-∇ℓ(v)| ≤ c|w-v|^a`.

    Exponent 1 is smoothness. With exponent 0, c bounds the jumps of the (sub)gradient of one pair.
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
    """The base class of losses of pairs and of single records.

    Attributes
    ----------
    convex : bool
        Whether ℓ is convex in w for all records. There is no default, and every class must declare
        it: algorithms whose privacy proof needs convexity accept only losses that are declared
        convex.
    matrix : bool
        Whether the parameter is a symmetric d × d matrix instead of a vector.
    binary : bool
        Whether labels must be -1 and +1.
    label_bound : float or None
        Y, if labels are numbers that are clipped to ±Y: targets of regression, or graded responses
        of ranking. None if labels are classes.
    """

    convex: ClassVar[bool]
    matrix: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    label_bound: float | None = None

    @abstractmethod
    def lipschitz(self, domain: Domain) -> float:
        """Return G, an upper bound on the norm of gradients; infinite if they are unbounded."""

    def smoothness(self, domain: Domain) -> float:
        """Return L, the Lipschitz constant of the gradient; infinite if it is not smooth.

        For a loss that is not convex it bounds the curvature of either sign.
        """
        return math.inf

    def holder(self, domain: Domain) -> Holder:
        """Return the Hölder continuity of the gradient."""
        smoothness = self.smoothness(domain)
        if math.isfinite(smoothness):
            return Holder(1.0, smoothness)
        return Holder(0.0, 2 * self.lipschitz(domain))


class PairwiseLoss(Loss):
    r"""A loss ℓ(w; z, z') of an ordered pair of records z = (x, y), z' = (x', y').

    A subclass must define `value`, `gradient` and `lipschitz`, and declare whether it is convex in
    w; every other constant has a valid default, which may be overridden by a tighter one. It should
    depend on labels only through the values it documents, and be a frozen dataclass, so that a plan
    can store it. Losses of a score difference or of a Mahalanobis distance need less: see
    `RankingLoss` and `MetricLoss`.

    Attributes
    ----------
    binary : bool
        Whether labels must be -1 and +1; otherwise they are class names, or numbers up to
        ``label_bound``.
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
        r"""Return D_o, the largest change of a pair's gradient when one record is replaced.

        :math:`\sup |∇ℓ(w;z,p)-∇ℓ(w;z',p)|`, in either position; never more than 2G.
        """
        return 2 * self.lipschitz(domain)

    def record_diameter(self, domain: Domain) -> float:
        r"""Return D_h, the same for both orders of the pair together.

        :math:`\sup |h(w;z,p)-h(w;z',p)|` with h(w;z,p) = ∇ℓ(w;z,p) + ∇ℓ(w;p,z); never
        more than 2 D_o, and equal to it for a symmetric loss.
        """
        return 2 * self.pair_diameter(domain)

    def null_diameter(self, domain: Domain) -> float:
        """Return the largest |h(w;z,p)|, for both orders of a pair; at most 2G.

        A null record contributes zero, so this is the largest change of the pair when one of its
        records is replaced by a null record.
        """
        return 2 * self.lipschitz(domain)

    def risk_smoothness(self, domain: Domain, n: int) -> float:
        """Return the smoothness of the average over all pairs of n records; at most L."""
        integer("n", n, at_least=2)
        return self.smoothness(domain)

    def why_slow(self) -> str:
        """Return why sums over all pairs take O(n²) time; "" if they do not, or for metrics."""
        return ""

    def sensitivity(self, domain: Domain, n: int) -> float:
        """Return D_h / n, the sensitivity of the average gradient over all pairs.

        A record is in 2(n-1) of the n(n-1) ordered pairs. The bound is attained if all other
        records equal the worst partner. It also holds for a design of pairs in which all records
        occur equally often.
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


def slow_sums(loss: Loss) -> tuple[str, ...]:
    """Return a sentence if a loss is summed pair by pair, otherwise nothing."""
    why = loss.why_slow() if isinstance(loss, PairwiseLoss) else ""
    return (
        (f"a sum over all pairs takes O(n²) time for {type(loss).__name__}: {why}",) if why else ()
    )


def check_label_bound(label_bound: object) -> float:
    """Return a bound on the absolute value of labels between 1e-30 and 1e30."""
    return between("label_bound", label_bound, *RECORDS)
