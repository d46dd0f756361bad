r"""From the noise of released moments to the noise of a least-squares model, to first order.

The model w solves :math:`Aw = fv` with :math:`A = fkS + rI`, where v and S are functions of noisy
moments (see `pairdp.algorithms.moments`); if its norm is the radius, r includes the multiplier of
the constraint. Differentiating,

.. math::
    dw = A^{-1}(f\,dv - fk\,dS\,w), \qquad
    2v/c = a - bμ, \qquad 2S/c = (1-b)T_+ + (1+b)T_- - μμᵀ + aaᵀ,

with a, μ, b the noisy means of yx, x and y, and c = n/(n-1); on the sphere the part of dw along
:math:`A^{-1}w` is removed so that wᵀdw = 0. Noise z of uncorrelated entries with standard deviation
σ in a packed symmetric matrix Z has the covariance

.. math::
    E[Zw(Zw)ᵀ] = \tfrac{σ^2}{2}(|w|^2 I + wwᵀ),

because entries on the diagonal have variance σ² and those beside it σ²/2, each occurring twice.
Everything is evaluated at released values, so the result is post-processing. It neglects products
of noises, and treats the shrinkage of μ and the eigenvalues that were set to zero as constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.noise import deviation
from pairdp.algorithms.parameter_noise import ParameterNoise, unknown_noise
from pairdp.losses import LeastSquaresRanking
from pairdp.privacy import unpack

if TYPE_CHECKING:
    from pairdp.algorithms.plan import Plan

Array = NDArray[np.float64]
_ON_SPHERE = 1 - 1e-9


def moment_noise(
    plan: Plan[Any],
    model: Array,
    statistics: Mapping[str, Array],
    v: Array,
    s: Array | None,
) -> ParameterNoise:
    """Return the noise of a model from noisy moments, for each weight.

    Parameters
    ----------
    plan : Plan
        Of `MomentRelease`.
    model : array
        The weights.
    statistics : mapping of str to array
        The released moments.
    v, s : arrays
        The v and S that follow from them; S is None if it was not released.
    """
    if not np.any(model):
        return unknown_noise("all weights are zero, where the model has no derivative")
    by_class = plan.settings.statistics == "class"
    covariance = _of_classes(plan, model, statistics) if by_class else _of_pairs(plan, model)
    slope = _direction_slope(plan, v) if s is None else _inverse(plan, model, v, s)
    covariance = slope @ covariance @ slope
    found = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    words = (
        "the planned noise of the moments, propagated to first order at their released values: "
        f"{found.min():.3g} to {found.max():.3g}"
    )
    return ParameterNoise("first order", words, found)


def _factors(plan: Plan[Any]) -> tuple[float, float]:
    """Return f and k; f is 1 and k is 0 without second moments."""
    loss = plan.problem.loss
    if not plan.settings.second_moments or not isinstance(loss, LeastSquaresRanking):
        return 1.0, 0.0
    return 2 * loss.orders * loss.scale, loss.scale


def _of_pairs(plan: Plan[Any], w: Array) -> Array:
    """Return the covariance of f·dv - fk·dS·w for noise on v and S themselves."""
    f, k = _factors(plan)
    first, *second = (deviation(release) for release in plan.certificate.releases)
    found = (f * first) ** 2 * np.eye(w.size)
    return found + (f * k) ** 2 * _matrix_noise(second[0], w) if second else found


def _of_classes(plan: Plan[Any], w: Array, statistics: Mapping[str, Array]) -> Array:
    """Return the same for noise on (a, βμ, βRb) and (T₊, T₋)."""
    f, k = _factors(plan)
    first, *second = (deviation(release) for release in plan.certificate.releases)
    half = plan.task.n / (plan.task.n - 1) / 2  # c/2
    weight, d = plan.settings.weight, w.size
    packed = statistics[plan.certificate.releases[0].name]
    signed, mean = statistics["signed"], statistics["mean"]
    balance = float(np.clip(statistics["balance"][0], -1.0, 1.0))
    raw = float(np.linalg.norm(packed[d : 2 * d])) / weight
    shrinkage = float(np.linalg.norm(mean)) / raw if raw > 0 else 0.0
    identity = np.eye(d)
    by_signed = f * half * (identity - k * (signed @ w * identity + np.outer(signed, w)))
    by_mean = f * half * (k * (mean @ w * identity + np.outer(mean, w)) - balance * identity)
    by_balance = -f * half * mean
    if second:
        ups, downs = (
            unpack(half_of)
            for half_of in np.split(statistics[plan.certificate.releases[1].name], 2)
        )
        by_balance = by_balance - f * k * half * ((downs - ups) @ w)
    norm = plan.problem.data_norm
    found = by_signed @ by_signed.T + (shrinkage / weight) ** 2 * by_mean @ by_mean.T
    found = first**2 * (found + np.outer(by_balance, by_balance) / (weight * norm) ** 2)
    if second:
        both = math.hypot(1 - balance, 1 + balance)
        found = found + (f * k * half * both) ** 2 * _matrix_noise(second[0], w)
    return np.asarray(found)


def _matrix_noise(sigma: float, w: Array) -> Array:
    """Return the covariance of Zw for a symmetric matrix Z of packed noise."""
    return np.asarray(sigma**2 / 2 * (w @ w * np.eye(w.size) + np.outer(w, w)))


def _inverse(plan: Plan[Any], w: Array, v: Array, s: Array) -> Array:
    """Return A⁻¹, restricted to wᵀdw = 0 if w is on the sphere."""
    f, k = _factors(plan)
    ridge = plan.problem.regularization + f * k * (plan.settings.ridge or 0.0)
    values, vectors = np.linalg.eigh(f * k * s)
    values = np.maximum(values, 0.0) + ridge
    size = float(np.linalg.norm(w))
    on_sphere = size >= plan.problem.constraint.radius * _ON_SPHERE
    if on_sphere:
        # The multiplier of the constraint, from wᵀ(A w) = wᵀ(f v).
        linear = f * v + plan.problem.regularization * (plan.problem.center + np.zeros_like(v))
        along = vectors.T @ w
        values = values + max(0.0, float(w @ linear - along @ (values * along)) / size**2)
    inverse = (vectors / values) @ vectors.T
    if on_sphere:
        bent = inverse @ w
        inverse = inverse - np.outer(bent, bent) / float(w @ bent)
    return np.asarray(inverse)


def _direction_slope(plan: Plan[Any], v: Array) -> Array:
    """Return the derivative of B·v/|v|, or of v itself on an unbounded set."""
    radius, size = plan.problem.constraint.radius, float(np.linalg.norm(v))
    identity = np.eye(v.size)
    if not math.isfinite(radius):
        return identity
    return np.asarray((identity - np.outer(v, v) / size**2) * (radius / size))
