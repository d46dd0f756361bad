"""The error of nearest neighbours under a metric, predicted from means and one covariance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]
_NEIGHBOURS = 3
_HALVINGS = 50
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


class Contrasts(NamedTuple):
    """What is known of all pairs of classes, one pair a row.

    Attributes
    ----------
    differences, variances : array of shape (pairs, d)
        The differences of class means, and the variances of their errors.
    shares : array of shape (pairs, 2)
        The shares of both classes in all records.
    """

    differences: Array
    variances: Array
    shares: Array


def neighbour_error(metric: Array, within: Array, contrasts: Contrasts, n: int) -> float:
    r"""Return the predicted share of records that their three nearest neighbours get wrong.

    Classes are taken to be normal with means m_c and the covariance W. With a_i the eigenvalues of
    :math:`A = M^{1/2} W M^{1/2}`, the neighbours of a record among n others are those that a normal
    kernel of variance h² around it would choose:

    .. math::
        \sum_i \left(\log(1+u_i) - v_i\right) + \log\Big(π\sum_i v_i²\Big) = 2\log\frac n3,
        \qquad u_i = \frac{2a_i}{h²}, \; v_i = \frac{u_i}{1+u_i},

    the estimate of Bahadur and Rao of the distance within which 3 of n records lie. Around a record
    x, the log odds of class c against c' among its neighbours are
    :math:`δ^⊤(A+h²I)^{-1}(x - (m_c + m_{c'})/2) + \log p_c/p_{c'}` in the coordinates of A, with δ
    the difference of means: a normal number, over which the probability of a majority of three is
    averaged. The errors of all pairs of classes are added, as in a union bound, so the result may
    exceed 1 for many classes.

    Parameters
    ----------
    metric, within : array of shape (d, d)
        M and W, both positive definite.
    contrasts : Contrasts
        The differences of class means. Errors of these count as differences: a direction in which
        classes may differ is as good for any metric that does not suppress it.
    n : int
        The number of records.
    """
    values, vectors = np.linalg.eigh(metric)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    spread, axes = np.linalg.eigh(half @ within @ half)
    largest = float(spread[-1])
    spread, onto = np.maximum(spread / largest, 1e-12), axes.T @ half / math.sqrt(largest)
    wide = spread + _kernel_variance(spread, n)
    squares = (contrasts.differences @ onto.T) ** 2 + contrasts.variances @ (onto**2).T
    apart = np.sum(squares / wide, axis=1) / 2
    deviation = np.sqrt(np.sum(squares * spread / wide**2, axis=1))
    prior = np.log(contrasts.shares[:, 0] / contrasts.shares[:, 1])
    error = 0.0
    for share, sign in zip(contrasts.shares.T, (1.0, -1.0), strict=True):
        odds = apart[:, None] + deviation[:, None] * _NODES + sign * prior[:, None]
        own = expit(odds)
        error += float(share @ (1 - own**2 * (3 - 2 * own)) @ _WEIGHTS)
    return error


def _kernel_variance(spread: Array, n: int) -> float:
    """Return h², by bisection."""
    target = 2 * math.log(max(n / _NEIGHBOURS, 1.5))
    low, high = -60.0, 60.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        u = 2 * spread * math.exp(-middle)
        near = u / (1 + u)
        factor = max(math.pi * float(near @ near), 1.0)
        if float(np.sum(np.log1p(u) - near)) + math.log(factor) > target:
            low = middle
        else:
            high = middle
    return math.exp(high)
