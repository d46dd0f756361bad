"""The q-norm loss of a target (Wang 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import between
from pairdp.losses.base import Domain, Holder, check_label_bound
from pairdp.losses.pointwise import PointwiseLoss
from pairdp.losses.registry import register_loss

Array = NDArray[np.float64]


def power_diameter(power: float, norm: float, margin_bound: float, offset: float) -> float:
    r"""Return 2qR·max_σ cos σ·(Y + RB·sin σ)^{q-1}, the record diameter of a power q of margins.

    Let ψ(t) = q·t^{q-1} for t > 0, and let ψ be odd, or 0 for t ≤ 0. The gradient is ψ(wᵀx - y)·x
    with |y| ≤ Y for the q-norm loss, and -ψ(1 - wᵀv)·v with v = ±x for the q-norm hinge, where
    Y = 1. Take a unit vector u. For the q-norm loss choose the signs of x and x' (the gradient at
    (-x, -y) is the same) so that s = u·x ≥ 0 and s' = u·x' ≥ 0; for the hinge a change along u is
    largest if v = -x and v' = x' with such s and s', since otherwise one gradient alone has a
    larger component. In both cases the component along u of the change is at most
    sψ(Y + w·x) + s'ψ(Y - w·x').

    Both arguments may be taken as positive: ψ(t) ≤ 0 otherwise, and one term alone is at most
    Rψ(Y + RB) = G ≤ 2R·cos σ·ψ(Y + RB·sin σ) at σ = 45°, because q ≤ 2. ψ is concave there, so the
    sum is at most (s + s')ψ(Y + (s·w·x - s'·w·x')/(s + s')). In the plane of u and w let
    s = R·cos p, s' = R·cos p', and let w have the angle θ with u. Then
    s·w·x - s'·w·x' ≤ R²B(cos p·cos(p - θ) - cos p'·cos(p' + θ)) = R²B·sin(p + p')·sin(p' - p + θ)
    ≤ R²B·sin(p + p'). With σ = (p + p')/2 and C = cos p + cos p' ≤ 2cos σ the bound is
    qR·C^{2-q}(CY + RB·sin 2σ)^{q-1}, which increases in C: 2R·cos σ·ψ(Y + RB·sin σ). It is
    attained at p = p' and θ = 90°. The maximum is at sin σ = 2(q-1)ρ/(1 + √(1 + 4q(q-1)ρ²)) with
    ρ = RB/Y.

    Parameters
    ----------
    power : float
        q, between 1 and 2.
    norm, margin_bound, offset : float
        R, RB and Y.
    """
    if math.isinf(margin_bound):
        return 2 * norm if power == 1 else math.inf
    ratio = margin_bound / offset
    sine = 2 * (power - 1) * ratio / (1 + math.sqrt(1 + 4 * power * (power - 1) * ratio**2))
    largest = offset + margin_bound * sine
    return float(2 * power * norm * math.sqrt(1 - sine**2) * largest ** (power - 1))


def check_power(power: object) -> float:
    """Return a power between 1 and 2."""
    return between("power", power, 1.0, 2.0)


@dataclass(frozen=True)
class PowerPointwise(PointwiseLoss):
    r"""\|wᵀx - y\|^q for targets \|y\| ≤ Y and 1 ≤ q ≤ 2 (Wang 2024: Hölder smooth).

    G = qR(RB + Y)^{q-1}, and D is that of `power_diameter`. The gradient is Hölder continuous with
    exponent q - 1 and constant q·2^{2-q}R^q: the derivative q·sign(t)\|t\|^{q-1} changes most from
    -t to t, by 2q·t^{q-1} = q·2^{2-q}(2t)^{q-1}. L = 2R² for q = 2.

    Parameters
    ----------
    power : float
        q: 1 for the absolute error, 2 for least squares.
    label_bound : float
        Y, the bound that targets are clipped to.
    """

    convex: ClassVar[bool] = True
    power: float = 1.5
    label_bound: float = 1.0

    binary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", check_power(self.power))
        object.__setattr__(self, "label_bound", check_label_bound(self.label_bound))

    def value(self, parameters: Array, x: Array, y: Array) -> Array:
        r"""Return \|wᵀx - y\|^q."""
        return np.asarray(np.abs(x @ parameters - y) ** self.power)

    def gradient(self, parameters: Array, x: Array, y: Array) -> Array:
        r"""Return q·sign(t)\|t\|^{q-1}·x with t = wᵀx - y."""
        errors = x @ parameters - y
        slopes = self.power * np.sign(errors) * np.abs(errors) ** (self.power - 1)
        return np.asarray(slopes[:, None] * x)

    @staticmethod
    def scalar_slope(score: float, y: float, power: float) -> float:
        r"""Return q·sign(t)\|t\|^{q-1}."""
        error = score - y
        if error == 0:
            return 0.0
        return math.copysign(power * math.pow(abs(error), power - 1), error)

    def lipschitz(self, domain: Domain) -> float:
        """Return qR(RB + Y)^{q-1}."""
        largest = domain.data_norm * domain.radius + self.label_bound
        return float(self.power * domain.data_norm * largest ** (self.power - 1))

    def smoothness(self, domain: Domain) -> float:
        """Return 2R² for q = 2; for a smaller power the curvature is unbounded at zero."""
        return 2 * domain.data_norm**2 if self.power == 2 else math.inf

    def holder(self, domain: Domain) -> Holder:
        """Return exponent q - 1 with constant q·2^{2-q}R^q."""
        q = self.power
        return Holder(q - 1, float(q * 2 ** (2 - q) * domain.data_norm**q))

    def record_diameter(self, domain: Domain) -> float:
        """Return 2qR·max_σ cos σ·(Y + RB·sin σ)^{q-1}."""
        margin_bound = domain.data_norm * domain.radius
        return power_diameter(self.power, domain.data_norm, margin_bound, self.label_bound)


register_loss("q_norm", PowerPointwise())
