r"""Pairwise locally elastic stability (Kang 2021, definition 6), estimated by influence.

For a removed record z_i and a pair of records,

.. math:: β_n(z_i; z_j, z_k) = |ℓ(w; z_j, z_k) - ℓ(w_{-i}; z_j, z_k)|
    ≈ |⟨w_{-i} - w, ∇ℓ(w; z_j, z_k)⟩|,

with w the minimiser on all records and w_{-i} that without z_i. The definition asks for a bound
that holds for all data sets; this is the value on one. Uniform stability replaces it by the
largest value: for an α-strongly convex F, \|w_{-i} - w\| ≤ D_h/(αn) on every data set, and the loss
of any pair changes by at most G·D_h/(αn).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._checks import integer
from pairdp.algorithms.plan import Progress
from pairdp.diagnostics.curvature import packed
from pairdp.diagnostics.influence import influence
from pairdp.diagnostics.minimum import non_private_minimizer
from pairdp.diagnostics.not_private import NotPrivate
from pairdp.pointwise_problem import PointwiseProblem
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_ENTRIES = 2**21


@dataclass(frozen=True, eq=False, repr=False)
class NonPrivateElasticStability(NotPrivate):
    r"""Estimated stability of the minimiser on one data set. NOT private.

    Attributes
    ----------
    means : array of shape (n,)
        The average of β_n(z_i; z_j, z_k) over the pairs, for each removed record.
    largest : array of shape (n,)
        The largest over the pairs.
    changes : array of shape (n,)
        \|w_{-i} - w\|.
    pairs : int
        The number of pairs.
    all_pairs : bool
        Whether these are all pairs of the data; otherwise they were drawn at random, and
        ``largest`` may be too small.
    uniform_bound : float
        D_h/(αn), a bound on every change for all data sets; infinite without strong convexity.
    lipschitz : float
        G.
    """

    means: Array
    largest: Array
    changes: Array
    pairs: int
    all_pairs: bool
    uniform_bound: float
    lipschitz: float

    @property
    def ratio(self) -> float:
        """The largest change of the minimiser, over D_h/(αn); 0 if that is infinite."""
        return float(self.changes.max()) / self.uniform_bound

    @property
    def loss_ratio(self) -> float:
        """The largest change of a loss, over the uniform bound G·D_h/(αn)."""
        return float(self.largest.max()) / (self.lipschitz * self.uniform_bound)

    @property
    def expected_beta(self) -> float:
        r"""n·max_i of the mean of β_n(z_i; ·, ·): the estimate of sup_z E β(z; z', z'')."""
        return self.means.size * float(self.means.max())

    def lines(self) -> list[str]:
        """Return the result in words."""
        which = "all" if self.all_pairs else "random"
        moved, loss = self.changes, self.largest
        lines = [
            f"estimated when one of {moved.size} records is removed, on {self.pairs} {which} pairs",
            f"minimiser moves by at most {moved.max():.4g}, median {np.median(moved):.4g}",
            f"loss of a pair changes by at most {loss.max():.4g}",
            f"mean absolute change of a loss is at most {self.means.max():.4g}",
        ]
        if math.isinf(self.uniform_bound):
            return [*lines, "no uniform bound: the problem is not strongly convex"]
        return [
            *lines,
            f"uniform bound D_h/(αn) on moves: {self.uniform_bound:.4g}",
            f"largest move over that bound: {self.ratio:.3g}",
            f"largest change of a loss over G times that bound: {self.loss_ratio:.3g}",
        ]


def elastic_stability(
    problem: Problem,
    records: Records,
    w: ArrayLike | None = None,
    *,
    pairs: int = 2000,
    seed: int = 0,
    damping: float = 0.0,
    progress: bool | None = None,
) -> NonPrivateElasticStability:
    """Estimate the pairwise locally elastic stability of the minimiser. NOT private.

    Parameters
    ----------
    problem, records, w, damping, progress
        As for `influence`.
    pairs : int
        The number of ordered pairs to evaluate losses on: random ones, or all if there are no more.
        For losses of single records, the number of records.
    seed : int
        Seed of the draw of pairs.
    """
    integer("pairs", pairs)
    point = non_private_minimizer(problem, records, progress=progress) if w is None else w
    point = np.asarray(point, dtype=np.float64)
    found = influence(problem, records, point, damping=damping, progress=progress)
    gradients, complete = _gradients(problem, records, point, pairs, seed)
    means, largest = _over_pairs(found.packed_changes, gradients, Progress(progress))
    domain, convexity = problem.domain(), problem.strong_convexity
    diameter = problem.exact_record_diameter(domain)
    bound = diameter / (convexity * records.n) if convexity else math.inf
    return NonPrivateElasticStability(
        means, largest, found.sizes, len(gradients), complete, bound, problem.loss.lipschitz(domain)
    )


def _gradients(
    problem: Problem, records: Records, point: Array, count: int, seed: int
) -> tuple[Array, bool]:
    """Return the packed gradients of some pairs or records, and whether these are all."""
    n, x, y = records.n, records.x, records.evaluable
    rng = np.random.default_rng(seed)
    if isinstance(problem, PointwiseProblem):
        total = n
        first = np.arange(n) if n <= count else rng.integers(n, size=count)
        found = problem.loss.gradient(point, x[first], y[first])
        null = records.null[first]
    else:
        total = n * (n - 1)
        drawn = np.arange(total) if total <= count else rng.integers(total, size=count)
        first, second = np.divmod(drawn, n - 1)
        second += second >= first
        found = problem.loss.gradient(point, x[first], y[first], x[second], y[second])
        null = records.null[first] | records.null[second]
    rows = found if found.ndim == 2 else np.array([packed(one) for one in found])
    return np.where(null[:, None], 0.0, rows), total <= count


def _over_pairs(changes: Array, gradients: Array, progress: Progress) -> tuple[Array, Array]:
    """Return the mean and the largest |⟨change, gradient⟩| over all gradients, in blocks."""
    n, size = len(changes), max(1, _ENTRIES // len(gradients))
    means, largest = np.empty(n), np.empty(n)
    for block in progress.steps(-(-n // size), "stability"):
        some = slice(block * size, (block + 1) * size)
        products = np.abs(changes[some] @ gradients.T)
        means[some], largest[some] = products.mean(axis=1), products.max(axis=1)
    return means, largest
