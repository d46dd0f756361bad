r"""Dominating pairs: the worst pair of output distributions of one step.

A pair (P, Q) *dominates* a mechanism when, for every α ≥ 0 and all neighbouring
data sets D, D', the hockey-stick divergence :math:`H_\alpha(M(D)\|M(D'))` is at
most :math:`H_\alpha(P\|Q)`. Dominating pairs compose by taking products, also for
adaptive sequences (Zhu, Dong and Wang 2022, Theorem 10), so a mechanism is
accounted for by the distribution of its privacy loss :math:`\log(dP/dQ)` under P.

Replace-one neighbours are symmetric, and every pair here is too: swapping P and
Q negates the loss. Such a pair is determined by its upper tails

.. math:: p(l) = P(\mathrm{loss} > l), \qquad q(l) = Q(\mathrm{loss} > l), \qquad l \ge 0,

with the mass :math:`1 - p(0) - q(0)` left at loss zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri_exp

Array = NDArray[np.float64]


class DominatingPair(Protocol):
    """A symmetric pair of distributions, given by the upper tails of its privacy loss."""

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l) for every ``l >= 0``."""

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""


@dataclass(frozen=True)
class GaussianPair:
    r"""N(μ, 1) against N(0, 1): one Gaussian release, or several composed.

    The loss is :math:`z = \mu x - \mu^2/2`, normal with mean ±μ²/2 and variance μ².
    """

    mu: float

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l)."""
        x = loss / self.mu
        return ndtr(self.mu / 2 - x), ndtr(-self.mu / 2 - x)

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""
        return max(0.0, self.mu * (self.mu / 2 - float(ndtri_exp(log_mass))))


@dataclass(frozen=True)
class FixedSizeSamplingPair:
    r"""A Gaussian release of m records drawn without replacement out of n.

    Let γ = m/n and let μ = Δ/σ, where Δ bounds the change of the value when one record *of the
    batch* is replaced.

    *Claim.* For all replace-one neighbours and α ≥ 1,

    .. math:: H_\alpha \le h(\alpha) = \gamma\,\delta_\mu\!\left(\log(1 + (\alpha-1)/\gamma)\right),

    and for α < 1, :math:`H_\alpha \le h(\alpha) = 1 - \alpha + \alpha h(1/\alpha)`.

    *Proof.* Let D and D' differ in record i. Draw the other m - 1 records S of
    the batch and one further record j outside S; then with probability γ the
    batch is S + i, else S + j. Given (S, j) the output distribution is
    :math:`P_0 = (1-\gamma)R + \gamma A` on D and
    :math:`Q_0 = (1-\gamma)R + \gamma A'` on D', where R, A, A' are Gaussians whose
    centres are pairwise within Δ, since the three batches differ in one record.
    H is jointly convex, so conditioning on (S, j) only raises it. For
    :math:`\alpha = 1 + \gamma(\beta-1)` with β ≥ 1,

    .. math::
        P_0 - \alpha Q_0 = \gamma\left[A - \beta B\right], \qquad
        B = (1-\alpha/\beta)R + (\alpha/\beta)A',

    hence :math:`H_\alpha(P_0\|Q_0) \le \gamma\max(H_\beta(A\|R), H_\beta(A\|A')) \le
    \gamma\,\delta_\mu(\log\beta)` (advanced joint convexity; Balle, Barthe and
    Gaboardi 2018). For α < 1 use :math:`H_\alpha(P\|Q) = 1-\alpha+\alpha H_{1/\alpha}(Q\|P)`
    and the symmetry of the relation. The bound is attained for each α, by all
    other records equal to i' (or to i), so no smaller curve is valid.

    *The pair.* h is convex: each branch is, and at α = 1 its slope jumps up by
    :math:`(1-\gamma)(1-2\Phi(-\mu/2)) \ge 0`. So h is the curve of a pair
    (Zhu, Dong and Wang 2022, Proposition 9), here explicitly: with z the Gaussian
    loss, the loss is :math:`l = \log(1-\gamma+\gamma e^z)` where z > 0, with
    masses :math:`(1-\gamma)Q_\mu + \gamma P_\mu` under P and :math:`Q_\mu` under Q; its
    mirror image; and the mass :math:`(1-\gamma)(1-2\Phi(-\mu/2))` at loss 0.
    """

    mu: float
    rate: float

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l)."""
        z = _unsampled_loss(loss, self.rate)
        lower = ndtr(-self.mu / 2 - z / self.mu)
        upper = ndtr(self.mu / 2 - z / self.mu)
        return (1 - self.rate) * lower + self.rate * upper, lower

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""
        # P(loss > l) <= P_mu(z > z(l)), and z(l) grows with l.
        z = GaussianPair(self.mu).loss_bound(log_mass)
        return _sampled_loss(z, self.rate)


@dataclass(frozen=True)
class PoissonSamplingPair:
    r"""A Gaussian release of a sum whose terms each enter with probability q.

    Each record contributes a vector of norm at most C to the sum, so replacing one record changes
    the full sum by at most Δ = 2C; μ = Δ/σ = 2C/σ, and c = μ/2.

    *Claim.* :math:`P = (1-q)N(0,1) + qN(c,1)` against
    :math:`Q = (1-q)N(0,1) + qN(-c,1)` dominates under replace-one.

    *Proof.* Joint convexity lets the rest of the batch be fixed and subtracted.
    It remains to maximise, over :math:`\|g\|,\|g'\| \le c`, the divergence of
    :math:`(1-q)N(0)+qN(g)` from :math:`(1-q)N(0)+qN(g')`. Let α ≥ 1 (α < 1 follows
    by swapping). The optimal test is
    :math:`S = \{q e^{g\cdot x-|g|^2/2} > (1-q)(\alpha-1) + \alpha q e^{g'\cdot x-|g'|^2/2}\}`.
    Turn g' in the plane of g and g' away from -g by an angle φ in [0, π]. By the
    envelope theorem the derivative is :math:`-\alpha q\int_S (x\cdot\tau)N(g')dx` with τ
    the tangent, and :math:`g\cdot\tau \ge 0` while :math:`g'\cdot\tau = 0`: on each line
    along τ the set S is a half-line pointing along τ, so the integral is
    non-negative and g' = -g·(|g'|/|g|) is worst. On a line, S is a half-line
    {x > s}, and the derivatives in |g| and |g'| are :math:`q\phi(s-|g|)` and
    :math:`\alpha q\phi(s+|g'|)`, both positive; so the largest norms are worst. ∎

    The loss is odd and increasing in x; solving the quadratic in :math:`e^{cx}`,
    :math:`cx = l/2 + \operatorname{asinh}((1-q)q^{-1}e^{c^2/2}\sinh(l/2))`.
    Not for sums over the pairs of a batch: there one record touches a random
    number of terms.
    """

    mu: float
    rate: float

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l)."""
        c, q = self.mu / 2, self.rate
        half = loss / 2
        # log sinh keeps large losses finite; sinh(0) = 0 is the exact zero.
        with np.errstate(divide="ignore"):
            log_argument = (
                (math.log1p(-q) - math.log(q) + c * c / 2 + half + np.log(-np.expm1(-loss) / 2))
                if q < 1
                else np.full_like(loss, -np.inf)
            )
        x = (half + _asinh_exp(log_argument)) / c
        outside = (1 - q) * ndtr(-x)
        return outside + q * ndtr(c - x), outside + q * ndtr(-c - x)

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""
        # P(x > s) <= P(N(c,1) > s), and the loss grows with x.
        c, q = self.mu / 2, self.rate
        s = max(0.0, c - float(ndtri_exp(log_mass)))
        if q == 1:
            return 2 * c * s
        above, below = (math.log(q) + sign * c * s - c * c / 2 for sign in (1, -1))
        rest = math.log1p(-q)
        return max(0.0, float(np.logaddexp(rest, above) - np.logaddexp(rest, below)))


@dataclass(frozen=True, eq=False)
class MixturePair:
    r"""A Gaussian release whose μ is drawn from a distribution that does not depend on the data.

    Publishing the draw as well can only raise the divergence (joint convexity), to
    :math:`\sum_j p_j H_\alpha(N(\mu_j, 1)\|N(0, 1))`. The mass ``slack``, whose μ is unknown, is
    counted as an infinite loss.
    """

    mus: Array
    masses: Array
    slack: float

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l)."""
        p_tail, q_tail = np.full(loss.shape, self.slack), np.zeros(loss.shape)
        for mu, mass in zip(self.mus, self.masses, strict=True):
            if mu > 0:
                p, q = GaussianPair(float(mu)).tails(loss)
                p_tail += mass * p
                q_tail += mass * q
        return p_tail, q_tail

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""
        largest = float(self.mus.max())
        return GaussianPair(largest).loss_bound(log_mass) if largest > 0 else 0.0


@dataclass(frozen=True)
class ApproximatePair:
    r"""The worst (ε, δ)-DP mechanism: randomised response that leaks with probability δ.

    Every (ε, δ)-DP mechanism is dominated by it (Kairouz, Oh and Viswanath 2015).
    """

    epsilon: float
    delta: float = 0.0

    def tails(self, loss: Array) -> tuple[Array, Array]:
        """Return P(loss > l) and Q(loss > l)."""
        below = loss < self.epsilon
        high = (1 - self.delta) / (1 + math.exp(-self.epsilon))
        low = high * math.exp(-self.epsilon)
        return self.delta + np.where(below, high, 0.0), np.where(below, low, 0.0)

    def loss_bound(self, log_mass: float) -> float:
        """Return a loss beyond which P has at most ``exp(log_mass)`` finite-loss mass."""
        return self.epsilon


def _unsampled_loss(loss: Array, rate: float) -> Array:
    """Return z with ``loss = log(1 - rate + rate * exp(z))``, for loss >= 0."""
    if rate == 1:
        return loss
    # log(1 + expm1(l)/rate), in a form that is accurate for small and large losses.
    large = loss > 30
    safe = np.where(large, 0.0, loss)
    small = np.log1p(np.expm1(safe) / rate)
    return np.where(large, loss + np.log1p(-np.exp(-loss) * (1 - rate)) - math.log(rate), small)


def _sampled_loss(z: float, rate: float) -> float:
    """Return ``log(1 - rate + rate * exp(z))`` for z >= 0: the inverse of `_unsampled_loss`."""
    if z > 30:
        return z + math.log(rate) + math.log1p((1 - rate) / rate * math.exp(-z))
    return math.log1p(rate * math.expm1(z))


def _asinh_exp(log_argument: Array) -> Array:
    """Return asinh(exp(u)), for any u."""
    large = log_argument > 20
    return np.where(
        large,
        log_argument + math.log(2.0),
        np.arcsinh(np.exp(np.where(large, 0.0, log_argument))),
    )
