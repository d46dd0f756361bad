r"""Shapes of columns, the smoothed weight of evidence of each bin, from noisy counts.

For bin b of a column, the labelled counts are D_b = Σ(y - ½) and T_b/2 = Σ½ over its records, with
y = 0 or 1. With π the share of positives, S_b = D_b - (π - ½)T_b is T_b·π(1-π)·f_b plus noise,
where f_b is the relative excess of positives. f has Gaussian-process priors of several kernels and
sizes, and the posterior means are averaged by their marginal likelihoods and by the probabilities
of the priors, which all numbers share (`pooling`). The shape is
logit(π + π(1-π)f) - logit(π), centred under the counts. Everything is a function of released
counts and public numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from pairdp.algorithms.scorecard.partition import onto_simplex
from pairdp.algorithms.scorecard.pooling import pooled
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


@dataclass(frozen=True, eq=False)
class Smoothing:
    r"""The labelled counts of one column, and the prior distributions of its shape.

    With G and V the diagonal matrices of ``gain`` and ``total``, a prior covariance tK of f gives
    the signal S the covariance tGKG + V, and f the posterior mean tKG(tGKG + V)⁻¹S. All t share the
    eigenvectors of V^{-1/2}GKGV^{-1/2}.

    Attributes
    ----------
    signal, gain, total, noise : arrays
        S, the diagonals of G and V, and the variances of what is not due to sampling.
    counts, variances : arrays
        Those of `Column`.
    positives : float
        π.
    is_number, missing : bool, int
        Those of `Column`.
    kernels : tuple of pairs of arrays
        K for the bins, and the covariance of the values that are wanted with those of the bins,
        which takes the place of the first K in the mean.
    spectra : tuple of Spectrum
        Those of V^{-1/2}GKGV^{-1/2} for each kernel.
    """

    signal: Array
    gain: Array
    total: Array
    noise: Array
    counts: Array
    variances: Array
    positives: float
    is_number: bool
    missing: int
    kernels: tuple[tuple[Array, Array], ...]
    spectra: tuple[Spectrum, ...]

    @staticmethod
    def of(
        excess: Array,
        counts: Array,
        variances: Array,
        positives: float,
        deviation: float,
        *,
        is_number: bool,
        missing: int,
        refined: Refined | None = None,
    ) -> Smoothing:
        """Return what is known of the shape of a column.

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
            variances = variances[refined.parents] * refined.shares**2
            counts = refined.counts(counts)
        scale = gain / np.sqrt(total)
        spectra = [Spectrum.of(scale[:, None] * kernel * scale) for kernel, _ in kernels]
        return Smoothing(
            signal, gain, total, noise, counts, variances, positives, is_number, missing,
            tuple(kernels), tuple(spectra),
        )  # fmt: skip

    @property
    def priors(self) -> Array:
        """The probabilities of kernels and sizes before any count is seen; they add up to 1."""
        sizes = np.maximum(np.array(_SIZES), 1e-300)
        of_sizes = np.sqrt(np.minimum(1.0, _LARGE / sizes))
        whole = float(of_sizes.sum()) * len(self.kernels)
        return np.tile(of_sizes / whole, (len(self.kernels), 1))

    @cached_property
    def likelihoods(self) -> Array:
        """The logarithms of the densities of S for kernels and sizes, up to a constant."""
        scaled = self.signal / np.sqrt(self.total)
        found = []
        for spectrum in self.spectra:
            growth = 1 + np.array(_SIZES)[:, None] * spectrum.values
            squares = spectrum.coordinates(scaled) ** 2
            found.append(-0.5 * (np.log(growth).sum(axis=1) + (squares / growth).sum(axis=1)))
        return np.array(found)

    def smoother(self, priors: Array) -> Array:
        """Return the matrix that maps S to the average of its posterior means."""
        likelihoods = self.likelihoods
        weights = priors * np.exp(likelihoods - likelihoods.max())
        weights /= weights.sum()
        sizes = np.array(_SIZES)[:, None]
        roots = np.sqrt(self.total)
        found = np.zeros((len(self.counts), len(self.signal)))
        for (_, wanted), spectrum, weight in zip(self.kernels, self.spectra, weights, strict=True):
            shrinkage = weight @ (sizes / (1 + sizes * spectrum.values))
            found += spectrum.product(wanted * (self.gain / roots), shrinkage)
        return np.asarray(found / roots)

    def column(self, priors: Array | None = None) -> Column:
        """Return the column with its shape, for some probabilities of kernels and sizes."""
        smoother = self.smoother(self.priors if priors is None else priors)
        spread = self.positives * (1 - self.positives)
        chance = self.positives + spread * (smoother @ self.signal)
        uncertain = spread * np.sqrt((smoother**2) @ self.noise)
        shape = _log_odds(chance) - logit(self.positives)
        deviations = (_log_odds(chance + uncertain) - _log_odds(chance - uncertain)) / 2
        return Column(
            self.counts,
            self.variances,
            shape - self.counts @ shape / max(float(self.counts.sum()), 1e-9),
            deviations,
            self.is_number,
            self.missing,
        )


def columns_of(found: Sequence[Smoothing]) -> list[Column]:
    """Return columns with their shapes; those of numbers share the probabilities of their priors.

    Categories differ more in the size of their effects, and do not share theirs.
    """
    numbers = [one for one in found if one.is_number]
    shared = pooled([one.likelihoods for one in numbers], numbers[0].priors) if numbers else None
    return [one.column(shared if one.is_number else None) for one in found]


def _log_odds(chance: Array) -> Array:
    return np.asarray(logit(np.clip(chance, _LEAST_CHANCE, 1 - _LEAST_CHANCE)))


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
