"""How far noisy class means are apart, and the metrics that stretch what separates them.

Everything here is a function of released values. Features are scaled so that their variance is
about 1, and M is in these units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_MOST = 0.9
"""The largest share of the variance of a feature that is taken to be between classes."""

_RIDGE = 0.05


@dataclass(frozen=True)
class ClassMeans:
    """The classes that stand out among noisy sums, and what noise does to their means.

    Attributes
    ----------
    shares : array of shape (k,)
        p_c, the share of each class.
    deviations : array of shape (k, d)
        m_c - m, the class means less their mean.
    variances : array of shape (k,)
        s_c² = σ²/p_c² + 1/(np_c): of noise and of sampling, on each entry of a class mean.
    """

    shares: Array
    deviations: Array
    variances: Array

    @classmethod
    def of(cls, sums: Array, counts: Array, noise: float, count_noise: float, n: int) -> ClassMeans:
        """Return the classes whose noisy share exceeds what noise alone would reach.

        Parameters
        ----------
        sums : array of shape (buckets, d)
            Noisy sums over the records of each bucket, divided by n.
        counts : array of shape (buckets,)
            Noisy shares of the buckets.
        noise, count_noise : float
            The standard deviation of the noise on each sum, and on each share.
        n : int
            The number of records.
        """
        cut = max(count_noise * math.sqrt(2 * math.log(2 * len(counts))), 2 / n)
        kept = counts > cut
        shares, sums = counts[kept], sums[kept]
        means = sums / shares[:, None]
        center = sums.sum(axis=0) / max(float(shares.sum()), cut)
        variances = (noise / shares) ** 2 + 1 / (n * shares)
        return cls(shares, means - center, variances)

    @property
    def bias(self) -> float:
        """Σp_c s_c²(1 - p_c), what noise adds to the variance of class means."""
        return float(np.sum(self.shares * self.variances * np.maximum(1 - self.shares, 0.0)))

    @property
    def error(self) -> float:
        """√(2Σp_c² s_c⁴), the standard deviation of that if class means do not differ."""
        return math.sqrt(2 * float(np.sum((self.shares * self.variances) ** 2)))

    @property
    def smallest_signal(self) -> float:
        """The smallest share of variance between classes that stands out from noise."""
        return significance(self.deviations.shape[1]) * self.error

    def explained(self) -> Array:
        """Return for each feature the share of its variance that is between classes, debiased.

        It is zero if it is not above what is expected of the largest of d features without any
        signal: 2√(2 ln 2d) standard deviations.
        """
        d = self.deviations.shape[1]
        if len(self.shares) < 2:
            return np.zeros(d)
        found = np.einsum("c,cj->j", self.shares, self.deviations**2) - self.bias
        stands_out = found > self.smallest_signal
        return np.where(stands_out, np.minimum(found, _MOST), 0.0)

    def scatter(self) -> Array:
        """Return Û = Σp_c (m_c - m)(m_c - m)ᵀ, with eigenvalues reduced by their bias.

        Those that noise alone would reach are zero: k - 1 vectors of noise of variance s² have a
        largest eigenvalue of about s²(√d + √(k-1))².
        """
        k, d = self.deviations.shape
        if k < 2:
            return np.zeros((d, d))
        weighted = self.deviations * np.sqrt(self.shares)[:, None]
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        noise = float(np.max(self.shares * self.variances))
        edge = noise * (math.sqrt(d) + math.sqrt(k - 1) + 1) ** 2
        values = np.where(values > edge, np.maximum(values - noise * d, 0.0), 0.0)
        return np.asarray((vectors * values) @ vectors.T)


def significance(d: int) -> float:
    """Return 2√(2 ln 2d), above which the largest of d debiased variances is not noise."""
    return 2 * math.sqrt(2 * math.log(2 * d))


def diagonal_metric(explained: Array, euclidean: float, least: float) -> tuple[Array, float]:
    """Return the diagonal λ_j = f_j/(1 - f_j), and the weight of the Euclidean metric.

    That is ``euclidean`` times the largest λ_j, and at least ``least``.
    """
    ratios = explained / (1 - explained)
    return ratios, max(euclidean * float(ratios.max()), least)


def full_metric(
    total: Array, between: Array, total_noise: float, euclidean: float, least: float
) -> tuple[Array, float]:
    """Return W⁻¹ÛW⁻¹ with W = T - Û + (ρ + 0.05c)I, and the weight of the Euclidean metric.

    c is the mean eigenvalue of T - Û, and ρ the size of the noise on T. The weight is
    ``euclidean`` times the largest eigenvalue of W⁻¹Û, and at least ``least``, divided by c.
    """
    d = len(total)
    spread, axes = np.linalg.eigh(total - between)
    level = max(float(spread.mean()), 1e-6)
    ridged = np.maximum(spread, 0.0) + total_noise * math.sqrt(2 * d) + _RIDGE * level
    inverse = (axes / ridged) @ axes.T
    root = (axes / np.sqrt(ridged)) @ axes.T
    largest = float(np.linalg.eigvalsh(root @ between @ root)[-1])
    return inverse @ between @ inverse, max(euclidean * largest, least) / level
