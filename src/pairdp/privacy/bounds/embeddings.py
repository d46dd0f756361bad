r"""The bound for averages over pairs of a contrastive loss of clipped embeddings.

With embeddings e of norm at most R, Jacobians J of Frobenius norm at most C, and each pair once,

.. math:: g = \frac{2}{n(n-1)} Σ_{i<j} a_{ij}(J_i - J_j)^⊤(e_i - e_j), \qquad
    a = 1 \text{ (same class)}, \quad a = -\left(1 - \frac{|e_i-e_j|²}{4R²}\right)
    \text{ (different classes)}.

Only the n-1 pairs of a replaced record change, and their weights add up to 2/n: g changes by at
most 1/n times the change of twice a term. By what, for one partner j:

**From one class to different ones**, or back. Twice a term of one class has norm at most
2·2C·2R = 8CR. With r = \|e_i - e_j\|/2R, one of different classes has at most
2·2C·2R·r(1-r²), and r(1-r²) ≤ 2/(3√3), at r = 1/√3. Together 8(1 + 2/(3√3))CR ≈ 11.08·CR,
attained by partners at one point with e_i = -e_j and J_i = -J_j, replaced by
e' = (1 - 2/√3)e_j with the same Jacobian.

**Within one class.** With s, t half the sum and difference of J and J', and p, q those of e and e',
the change is :math:`4[(s - J_j)^⊤q + t^⊤(p - e_j)]`, where \|s\|² + \|t\|² ≤ C² and
\|p\|² + \|q\|² ≤ R². At angles α and β it is at most
4CR[(cos α + 1) sin β + sin α (cos β + 1)] = 4CR[sin(α+β) + sin α + sin β] ≤ 6√3·CR ≈ 10.39·CR.

**Different classes before and after**: at most 2·8·2/(3√3)·CR ≈ 6.16·CR. A null record only removes
pairs, at most 8CR.

So g changes by at most 8(1 + 2/(3√3))CR/n.

**Rounding.** The sum over the partners of a record is a polynomial in its embedding, with sums over
classes as coefficients: 1, e, \|e\|², \|e\|²e and eeᵀ. Those over the other classes are differences
of two sums. Their errors of `SUMMING` change the average over its partners by at most 32R·SUMMING,
and so g by 32CR·SUMMING; the last sum, of terms of norm at most 4CR, adds 4CR·SUMMING; on both data
sets.
"""

from __future__ import annotations

import math

import numpy as np

from pairdp._checks import integer, positive
from pairdp.privacy.bounds.sensitivity import SUMMING, Bound, register_bound

CONTRAST = "contrast of clipped embeddings over pairs"
_ROUNDING = 2 * (32 + 4) * SUMMING


def _contrast(clip: float, radius: float, n: int) -> float:
    size = positive("clip", clip) * positive("radius", radius)
    change = 8 * (1 + 2 / (3 * math.sqrt(3)))
    return size * (change / integer("n", n, at_least=2) + _ROUNDING)


def _contrast_by_cases(clip: float, radius: float, n: int) -> float:
    # Half the distance of a pair in units of R, and angles of half sums and differences.
    r = np.linspace(0.0, 1.0, 100_001)
    pull, push = 8 * float(r.max()), 8 * float((r * (1 - r**2)).max())
    a = np.linspace(0.0, math.pi / 2, 2001)
    same = 4 * float((np.sin(a[:, None] + a) + np.sin(a[:, None]) + np.sin(a)).max())
    change = max(pull + push, same, 2 * push)
    return clip * radius * (change / n + _ROUNDING)


register_bound(
    Bound(
        CONTRAST,
        "the average over pairs of a(J - J')ᵀ(e - e'), for embeddings of norm at most R and "
        "Jacobians of norm at most C, with a = 1 for one class and a = |e - e'|²/4R² - 1 for two, "
        "changes by at most 8(1 + 2/(3√3))CR/n: 2/n times the norm of a pair of one class, at most "
        "4CR, and of one of two classes, at most 8/(3√3)·CR",
        _contrast,
        _contrast_by_cases,
    )
)
