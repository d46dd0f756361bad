r"""Shapes of columns, the smoothed weight of evidence of each bin, from noisy counts.

For bin b of a column, the labelled counts are D_b = Σ(y - ½) and T_b/2 = Σ½ over its records, with
y = 0 or 1. With π the share of positives, S_b = D_b - (π - ½)T_b is T_b·π(1-π)·f_b plus noise,
where f_b is the relative excess of positives. f has Gaussian-process priors of several kernels and
sizes, and the posterior means are averaged by their marginal likelihoods. The shape is
logit(π + π(1-π)f) - logit(π), centred under the counts. Everything is a function of released
counts and public numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from pairdp.algorithms.scorecard.partition import onto_simplex
from pairdp.algorithms.scorecard.refinement import Refined
from pairdp.algorithms.scorecard.spectrum import Spectrum

Array = NDArray[np.float64]
_SIZES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Prior variances of f."""
_LARGE = 0.3
"""Prior variances above this are less likely, by the root of their ratio to it."""
_ROUGH, _SMOOTH = 0.08, (0.25, 1.0)
"""Length scales, on the scale of cumulative counts."""
_LEAST_SHARE, _LEAST_CHANCE = 0.01, 0.002


@dataclass(frozen=True)
class Column:
    """What is known of the bins of one column from released counts.

    Attributes
    ----------
    counts, variances : arrays
        Estimated counts of the bins, which add up to n, and the variances of their noise.
    shape : array
        The weight of evidence of each bin.
    deviations : array
        The standard deviation of the noise in the shape, to first order.
    is_number : bool
        Whether the bins are ordered; a bin of missing numbers is then the last one.
    missing : int
        Whether there is a bin of missing numbers: 0 or 1.
    """

    counts: Array
    variances: Array
    shape: Array
    deviations: Array
    is_number: bool
    missing: int

    @property
    def shares(self) -> Array:
        """The share of each bin."""
        return np.asarray(self.counts / max(float(self.counts.sum()), 1e-9))

    @property
    def variance(self) -> float:
        """The variance of the shape."""
        return float(self.shares @ self.shape**2)


def combined(
    counts: Array, variances: Array | None, noisy: Array, variance: float, n: int
) -> tuple[Array, Array]:
    """Return counts averaged with those of a partition, if there is one, and their variances."""
    if variance == 0:
        return noisy, np.zeros_like(noisy)
    if variances is None:
        return onto_simplex(noisy, n), np.full(noisy.size, variance)
    together = 1 / (1 / variances + 1 / variance)
    mean = together * (counts / variances + noisy / variance)
    return onto_simplex(mean, n), together


def share_of_positives(excess: Sequence[Array], n: int) -> float:
    """Return π from the labelled counts of all columns; those with fewer bins count more."""
    weights = np.array([1 / len(one) for one in excess])
    sums = np.array([one.sum() for one in excess])
    share = 0.5 + float(weights @ sums) / float(weights.sum()) / n
    return float(np.clip(share, _LEAST_SHARE, 1 - _LEAST_SHARE))


def column_of(
    excess: Array,
    counts: Array,
    variances: Array,
    positives: float,
    deviation: float,
    *,
    is_number: bool,
    missing: int,
    refined: Refined | None = None,
) -> Column:
    """Return the shape of one column.

    Parameters
    ----------
    excess : array
        Noisy Σ(y - ½) of each bin.
    counts, variances : arrays
        The estimated counts, and the variances of their noise.
    positives : float
        π.
    deviation : float
        The standard deviation of the noise on ``excess``.
    is_number : bool
        Whether the bins are ordered.
    missing : int
        Whether the last bin is that of missing numbers.
    refined : Refined, optional
        Parts of the bins of a number; the shape is then evaluated on these.
    """
    spread = positives * (1 - positives)
    signal = excess - (positives - 0.5) * counts
    gain = np.maximum(counts, max(0.25 * deviation, 1e-9)) * spread
    noise = deviation**2 + (positives - 0.5) ** 2 * variances
    total = noise + np.maximum(counts, 1.0) * spread
    if refined is None:
        kernels = [(kernel, kernel) for kernel in _kernels(counts, is_number, missing)]
    else:
        kernels = list(_refined_kernels(refined, counts, missing))
        counts, variances = refined.counts(counts), variances[refined.parents] * refined.shares**2
    smoother = _smoother(signal, gain, total, kernels)
    chance = positives + spread * (smoother @ signal)
    uncertain = spread * np.sqrt((smoother**2) @ noise)
    shape = _log_odds(chance) - logit(positives)
    deviations = (_log_odds(chance + uncertain) - _log_odds(chance - uncertain)) / 2
    return Column(
        counts,
        variances,
        shape - counts @ shape / max(float(counts.sum()), 1e-9),
        deviations,
        is_number,
        missing,
    )


def _log_odds(chance: Array) -> Array:
    return np.asarray(logit(np.clip(chance, _LEAST_CHANCE, 1 - _LEAST_CHANCE)))


def _smoother(
    signal: Array, gain: Array, total: Array, kernels: list[tuple[Array, Array]]
) -> Array:
    r"""Return the matrix that maps the signal to the average of its posterior means.

    With G and V the diagonal matrices of ``gain`` and ``total``, a prior covariance tK of f gives
    the signal the covariance tGKG + V, and f the posterior mean tKG(tGKG + V)⁻¹S. All t share the
    eigenvectors of V^{-1/2}GKGV^{-1/2}. A kernel is K, and the covariance of the values that are
    wanted with those of the bins, which takes the place of the first K in the mean.
    """
    sizes = np.array(_SIZES)
    scale = gain / np.sqrt(total)
    scaled = signal / np.sqrt(total)
    priors = 0.5 * np.log(np.minimum(1.0, _LARGE / np.maximum(sizes, 1e-300)))
    likelihoods, spectra = [], []
    for kernel, _ in kernels:
        spectrum = Spectrum.of(scale[:, None] * kernel * scale)
        growth = 1 + sizes[:, None] * spectrum.values
        squares = spectrum.coordinates(scaled) ** 2
        likelihoods.append(priors - 0.5 * (np.log(growth).sum(axis=1) + (squares / growth).sum(1)))
        spectra.append((spectrum, sizes[:, None] / growth))
    weights = np.exp(np.array(likelihoods) - np.max(likelihoods))
    weights /= weights.sum()
    found = np.zeros((len(kernels[0][1]), len(signal)))
    for (_, wanted), (spectrum, shrinkage), weight in zip(kernels, spectra, weights, strict=True):
        found += spectrum.product(wanted * scale, weight @ shrinkage)
    return np.asarray(found / np.sqrt(total))


def _kernels(counts: Array, is_number: bool, missing: int) -> Iterator[Array]:
    """Yield prior covariances of the bins: independent for categories, smooth for numbers."""
    if not is_number:
        yield np.eye(len(counts))
        return
    ordered = counts[: len(counts) - missing]
    middle = (np.cumsum(ordered) - ordered / 2) / max(float(ordered.sum()), 1e-9)
    apart = np.abs(middle[:, None] - middle)
    rough = np.exp(-apart / _ROUGH)
    yield _with_missing(12 * np.outer(middle - 0.5, middle - 0.5), missing)
    yield _with_missing(rough, missing)
    for length in _SMOOTH:
        smooth = np.exp(-(apart**2) / (2 * length**2))
        yield _with_missing(0.95 * smooth + 0.05 * rough, missing)


def _refined_kernels(
    refined: Refined, counts: Array, missing: int
) -> Iterator[tuple[Array, Array]]:
    """Yield prior covariances of the means over bins, and of parts with these."""
    average = refined.averaging()
    for kernel in _kernels(refined.counts(counts), True, missing):
        wanted = kernel @ average.T
        yield average @ wanted, wanted


def _with_missing(kernel: Array, missing: int) -> Array:
    """Return a covariance in which missing numbers are independent of all others."""
    padded = np.pad(kernel, (0, missing))
    if missing:
        padded[-1, -1] = 1.0
    return padded
