r"""Rademacher complexities of balls of linear scores (Yang 2021, Section 4).

.. math:: R_t(H) = \frac1n Σ_i E\Big[\sup_w \frac1t Σ_k σ_k h_w(z_i, z_{i_k})\Big]

with h_w = ⟨w, A⟩, where A = x - x' for ranking and A = (x-x')(x-x')ᵀ for metrics. A loss that is
G/a-Lipschitz in the score, |A| ≤ a, has at most G/a times the complexity of the scores: the
definition has no absolute values, so the contraction lemma has no factor 2.
"""

from __future__ import annotations

import math

from pairdp._checks import integer, non_negative, positive


def ball_complexity(t: float, radius: float, score_norm: float) -> float:
    r"""Return B·a/√t, for parameters of Euclidean or Frobenius norm up to B and |A| ≤ a.

    The supremum is B·\|Σσ_kA_k\|/t, and E\|Σσ_kA_k\|² = Σ\|A_k\|² ≤ t·a². For ranking a = 2R, which
    is Lemma 4 of Yang 2021; for metrics a = 4R².

    Parameters
    ----------
    t : float
        Number of terms.
    radius : float
        B.
    score_norm : float
        a.

    Examples
    --------
    >>> ball_complexity(100, radius=1.0, score_norm=2.0)
    0.2
    """
    return (
        positive("radius", radius)
        * positive("score_norm", score_norm)
        / math.sqrt(positive("t", t))
    )


def nuclear_ball_complexity(
    t: float,
    features: int,
    radius: float,
    data_norm: float = 1.0,
    fourth_moment: float | None = None,
) -> float:
    r"""Return the bound (A.22) of Yang 2021 for metrics of nuclear norm up to B.

    .. math:: 2^{1/4}\sqrt{π\ln d}·B·\Big(\frac{4R²\sqrt{\ln 2d}}{t} + 2\sqrt{χ/t}\Big)

    with χ the largest eigenvalue of E[|X|²XXᵀ] for X = x - x'; d ≥ 3.

    Parameters
    ----------
    t : float
        Number of terms.
    features : int
        d.
    radius : float
        B.
    data_norm : float
        R.
    fourth_moment : float, optional
        χ, if it is publicly known; otherwise its largest possible value 16R⁴. With that, the bound
        is larger than that of the Frobenius ball, which contains the nuclear ball; a nuclear
        norm helps only if χ is smaller by a factor of about 8·ln d.

    Examples
    --------
    >>> worst = nuclear_ball_complexity(10_000, features=100, radius=1.0)
    >>> spread = nuclear_ball_complexity(10_000, features=100, radius=1.0, fourth_moment=0.01)
    >>> worst > ball_complexity(10_000, radius=1.0, score_norm=4.0) > spread
    True
    """
    d = integer("features", features, at_least=3)
    widest = (2 * positive("data_norm", data_norm)) ** 2
    chi = widest**2 if fourth_moment is None else non_negative("fourth_moment", fourth_moment)
    terms = widest * math.sqrt(math.log(2 * d)) / positive("t", t) + 2 * math.sqrt(chi / t)
    return 2**0.25 * math.sqrt(math.pi * math.log(d)) * positive("radius", radius) * terms
