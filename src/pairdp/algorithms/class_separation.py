"""What separates classes, from noisy sums over classes of standardised records.

Everything here is a function of released values, except `ClassCode.encoded`, which is to be
released. Features are scaled so that their variance is about 1, and M is in these units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from pairdp.algorithms.neighbour_error import Contrasts

Array = NDArray[np.float64]
MOST_CLASSES = 64
_WITHIN_UNIT = 1 - 2.0**-40  # keeps the computed norms of code vectors at or below 1
_MOST = 0.9
"""The largest share of the variance of a feature that is taken to be between classes."""

_RIDGE = 0.05
_SIGNALS = np.array([0.0, *2.0 ** np.arange(-2, 9)])
"""Variances of the signal that the prior mixes, in units of the noise."""

_WEIGHTS = np.array([1.5, *np.full(len(_SIGNALS) - 1, 0.3)])
"""How many further features each of them is assumed to have; it keeps few features from fitting."""

_ROUNDS = 60


@dataclass(frozen=True)
class ClassCode:
    r"""Classes that stand out among noisy counts, and a unit vector for each.

    The sum of e_c ⊗ x over all records, with unit vectors e_c, has sensitivity 2R/n for any such
    vectors. These are the best for K classes of centred records: the corners of a regular simplex
    in K-1 dimensions, which tell the classes apart, times √(1-b²), and b for the sum over all
    classes, which is only needed if classes are not of equal size. Then what is wanted,
    B_c = S_c - p_c·ΣS, has (K-1)/K of the noise variance that it has if each S_c is released.

    Attributes
    ----------
    places : array of shape (K,)
        The buckets that are classes.
    shares : array of shape (K,)
        p_c, the noisy share of each class.
    vectors : array of shape (K, K)
        e_c in column c.
    decoder : array of shape (K, K)
        L, with B = LZ for Z = Σ e_c ⊗ S_c.
    """

    places: NDArray[np.intp]
    shares: Array
    vectors: Array
    decoder: Array

    @classmethod
    def of(cls, counts: Array, noise: float, false_alarms: float = 0.01) -> ClassCode:
        """Return the code for the buckets whose noisy count exceeds what noise alone would reach.

        ``false_alarms`` is about the probability that one empty bucket in all does so. At most 64
        are taken.
        """
        cut = max(-noise * float(ndtri(false_alarms / len(counts))), 2.0)
        places = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
        places = np.sort(places[counts[places] > cut])
        k = len(places)
        if k < 2:
            return cls(places[:0], np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)))
        shares = counts[places] / counts[places].sum()
        # The corners of a simplex: an orthonormal basis of what is orthogonal to (1, ..., 1).
        basis = np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, : k - 1]]))[0][:, 1:].T
        corners = basis * math.sqrt(k / (k - 1))
        uneven = float(np.sqrt(np.mean((1 / k - shares) ** 2)))
        even = (k - 1) / k
        b = math.sqrt(max(uneven / (even + uneven), 1e-12))
        a = math.sqrt(1 - b * b)
        vectors = np.vstack([a * corners, np.full(k, b)])
        vectors *= _WITHIN_UNIT / np.linalg.norm(vectors, axis=0).max()
        decoder = np.column_stack([even / a * corners.T, (1 / k - shares) / b])
        return cls(places, shares, vectors, decoder)

    def encoded(self, sums: Array) -> Array:
        """Return Σ e_c ⊗ S_c from the sums over all buckets; zero if there are no two classes."""
        size = min(len(sums), MOST_CLASSES)
        found = np.zeros((size, sums.shape[1]))
        found[: len(self.places)] = self.vectors @ sums[self.places]
        return found

    def separation(self, noisy: Array, sigma: float, n: int) -> Separation:
        """Return what separates the classes, from encoded sums with noise.

        In whitened coordinates of classes, √p_c(m_c - m), the noise on each feature has the
        covariance σ²LLᵀ/√(p_c p_c') + (I - √p√pᵀ)/n, of noise and of sampling. It is zero along √p.
        """
        k = len(self.places)
        if k < 2:
            nothing = np.zeros((1, noisy.shape[1]))
            return Separation(nothing, 0.0, nothing, np.zeros((1, 1)), np.ones(1))
        roots = np.sqrt(self.shares)
        between = self.decoder @ noisy[:k] / roots[:, None]
        covariance = sigma**2 * self.decoder @ self.decoder.T / np.outer(roots, roots)
        covariance += (np.eye(k) - np.outer(roots, roots)) / n
        variances, axes = np.linalg.eigh(covariance)
        deviations = np.sqrt(np.maximum(variances[1:], 1e-300))[:, None]
        found, kept, variances = shrunk(axes[:, 1:].T @ between / deviations)
        signal = float(np.sum(found**2))
        left = (k - 1) * float(kept.sum())
        return Separation(
            deviations * found,
            signal / (signal + left) if signal else 0.0,
            deviations**2 * variances,
            axes[:, 1:] / roots[:, None],
            self.shares,
        )


@dataclass(frozen=True)
class Separation:
    """Estimates of the differences of class means.

    Attributes
    ----------
    directions : array of shape (K - 1, d)
        D, with DᵀD the scatter of class means.
    reliability : float
        The share of |D|² that is signal, rather than noise that is left in it.
    variances : array of shape (K - 1, d)
        The variances of the errors of D.
    places : array of shape (K, K - 1)
        P, with PD the class means less their mean.
    shares : array of shape (K,)
        The shares of the classes.
    """

    directions: Array
    reliability: float
    variances: Array
    places: Array
    shares: Array

    def contrasts(self) -> Contrasts:
        """Return the differences of the means of all pairs of classes, and their errors."""
        one, other = np.triu_indices(len(self.shares), 1)
        apart = self.places[one] - self.places[other]
        return Contrasts(
            apart @ self.directions,
            apart**2 @ self.variances,
            np.column_stack([self.shares[one], self.shares[other]]),
        )

    def within_features(self) -> Array:
        """Return diag(1-f_j), with f_j the share of variance of feature j between classes."""
        return np.diag(1 - np.minimum(np.sum(self.directions**2, axis=0), _MOST))

    def within(self, total: Array, noise: float, n: int) -> Array:
        """Return W = T̂ - DᵀD, without negative eigenvalues, + ridge.

        T̂ has the diagonal of the noisy second moments T, and its other entries times
        1 - (noise variance)/(mean square), the shrinkage of James and Stein. The ridge is 0.05 of
        the mean variance, and what is left of the size of the noise.
        """
        d = len(total)
        diagonal = np.diag(np.diag(total))
        others = total - diagonal
        energy = float(np.sum(others**2)) / max(d * (d - 1), 1)
        kept = max(0.0, 1 - (noise**2 / 2 + 1 / n) / energy) if energy else 0.0
        scatter = self.directions.T @ self.directions
        spread, axes = np.linalg.eigh(diagonal + kept * others - scatter)
        ridge = _RIDGE * max(float(spread.mean()), 1e-6) + kept * noise * math.sqrt(d)
        return np.asarray((axes * (np.maximum(spread, 0.0) + ridge)) @ axes.T)

    def stretch(self, within: Array) -> tuple[Array, float]:
        """Return W⁻¹DᵀDW⁻¹ and the largest eigenvalue of DW⁻¹Dᵀ."""
        stretched = np.linalg.solve(within, self.directions.T).T
        largest = float(np.linalg.eigvalsh(stretched @ self.directions.T)[-1])
        return stretched.T @ stretched, largest


def shrunk(values: Array) -> tuple[Array, Array, Array]:
    """Return the posterior mean of vectors in noise of unit variance, its factors and variances.

    Column j is the vector of feature j. The prior is a mixture of normal distributions of variance
    0, 1/4, 1/2, ..., 256, with weights that are estimated from all features by expectation and
    maximisation. So features that do not stand out are reduced by more than others.

    Parameters
    ----------
    values : array of shape (q, d)
        A vector for each of d features.
    """
    total = _SIGNALS + 1
    squares = np.sum(values**2, axis=0)
    logs = -0.5 * (len(values) * np.log(total) + squares[:, None] / total)
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = np.full(len(_SIGNALS), 1 / len(_SIGNALS))
    for _ in range(_ROUNDS):
        each = likelihood * weights
        each /= each.sum(axis=1, keepdims=True)
        weights = each.sum(axis=0) + _WEIGHTS
        weights /= weights.sum()
    each = likelihood * weights
    each /= each.sum(axis=1, keepdims=True)
    factors = each @ (_SIGNALS / total)
    spread = each @ (_SIGNALS / total) ** 2 - factors**2  # of the factors, over the mixture
    # The same along every axis, so that the choice of axes does not matter.
    return values * factors, factors, factors + spread * squares / len(values)
