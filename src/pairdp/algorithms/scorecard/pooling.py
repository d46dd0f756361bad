r"""One prior for the shapes of all numbers, estimated from their marginal likelihoods.

The shape of column j has one of K prior distributions (a kernel and a size, `evidence`), under
which its labelled counts have the density L_jk. Columns of a table are often alike: all shapes are
about linear, or all are rough. So the probabilities p of the K distributions are shared by J
columns, and are not fixed: their density is in proportion to Π p_k^{α p⁰_k}, and they
are estimated by iterations of

.. math:: r_{jk} = p_k L_{jk} / Σ_l p_l L_{jl}, \qquad
          p_k = (α p⁰_k + Σ_j r_{jk}) / (α + J),

which start at p⁰ and increase the posterior density (expectation maximisation). α = 3: three
columns weigh as much as p⁰ does. All of it is a function of released counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_STRENGTH, _ITERATIONS = 3.0, 30


def pooled(likelihoods: Sequence[Array], prior: Array) -> Array:
    """Return the probabilities of prior distributions that columns share.

    Parameters
    ----------
    likelihoods : sequence of arrays
        log L_jk for each column, all of one shape.
    prior : array
        p⁰, of the same shape, with a sum of 1.
    """
    logs = np.array(likelihoods)
    ratios = np.exp(logs - logs.max(axis=tuple(range(1, logs.ndim)), keepdims=True))
    found = prior
    for _ in range(_ITERATIONS):
        taken = sum(own * found / float((own * found).sum()) for own in ratios)
        found = (_STRENGTH * prior + taken) / (_STRENGTH + len(ratios))
    return np.asarray(found)
