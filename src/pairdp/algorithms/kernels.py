r"""Noisy steps on small batches: one pair, a few disjoint pairs or a few records.

Each step draws b of the n records uniformly without replacement, adds Gaussian noise to their
average gradient, and projects. There are two implementations of the same steps:

- `plain_steps`, in Python, for any loss and constraint set;
- `compiled_steps`, for losses that declare a ``scalar_slope``, on an ℓ2 ball or unconstrained:
  records and noise are drawn in blocks, and one call of compiled code takes a block of steps.

Both read the same random numbers in the same order, so they give the same parameters up to
rounding. Compiling needs numba, which is imported only when a long run starts.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.plan import Progress
from pairdp.constraints import L2Ball, Unconstrained
from pairdp.losses.ranking import RankingLoss
from pairdp.losses.scalar_slope import scalar_slope_of
from pairdp.privacy import (
    GaussianMechanism,
    Mechanism,
    NoiseSource,
    NoMechanism,
    pack,
    packed_dimension,
    unpack,
)
from pairdp.privacy.mechanisms.rounded_normal import rounded_normals
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Gradient = Callable[[Places, Array], Array]

_BLOCK = 8192
_NUMBERS = 2**19
_WORTHWHILE = 40_000
"""The number of draws above which a run takes longer than importing numba."""

WHAT = "noisy gradient descent"


@dataclass(frozen=True)
class Steps:
    """The parameters of a run; all but the records are public.

    Attributes
    ----------
    problem : Problem
        What is minimised.
    records : Records
        The data.
    mechanism : Mechanism
        The noise of one step.
    step_size : float
        η.
    steps : int
        T.
    batch_size : int
        b, the number of records that a step draws.
    paired : bool
        Whether the loss is pairwise; the pairs are then consecutive draws.
    ordered : bool
        Whether only the order of a pair counts in which it was drawn, instead of both.
    """

    problem: Problem
    records: Records
    mechanism: Mechanism
    step_size: float
    steps: int
    batch_size: int
    paired: bool
    ordered: bool = False

    @property
    def dimension(self) -> int:
        """The number of coordinates of a gradient."""
        d = self.records.features
        return packed_dimension(d) if self.problem.loss.matrix else d

    @property
    def block(self) -> int:
        """Number of steps whose records and noise are drawn at once."""
        return min(_BLOCK, max(1, _NUMBERS // (self.dimension + self.batch_size)))

    def can_be_compiled(self) -> bool:
        """Whether there is compiled code for the loss and the constraint set."""
        return (
            scalar_slope_of(self.problem.loss) is not None
            and isinstance(self.problem.loss, RankingLoss) == self.paired
            and type(self.problem.constraint) in (L2Ball, Unconstrained)
            and isinstance(self.mechanism, GaussianMechanism | NoMechanism)
        )

    def is_worth_compiling(self) -> bool:
        """Whether the steps can be compiled, the run is long, and numba is installed."""
        return (
            self.steps * self.batch_size >= _WORTHWHILE
            and self.can_be_compiled()
            and importlib.util.find_spec("numba") is not None
        )


def draw_places(
    generator: np.random.Generator, n: int, batch_size: int, steps: int, block: int
) -> Iterator[Places]:
    """Yield the record indices of each step, b of n without replacement, in blocks of steps.

    Every ordered choice is equally likely. For two records, the first is uniform on n and the
    second on the n - 1 others.
    """
    for start in range(0, steps, block):
        count = min(block, steps - start)
        if batch_size == 1:
            yield generator.integers(0, n, (count, 1))
        elif batch_size == 2:
            first = generator.integers(0, n, count)
            second = generator.integers(0, n - 1, count)
            second += second >= first
            yield np.stack([first, second], axis=1)
        else:
            yield np.stack([generator.choice(n, batch_size, replace=False) for _ in range(count)])


def take_steps(steps: Steps, noise: NoiseSource, progress: Progress) -> tuple[Array, Array]:
    """Return the last iterate and the sum of all iterates, including the first."""
    steps.problem.risk(steps.records)  # checks that the records fit the problem
    implementation = compiled_steps if steps.is_worth_compiling() else plain_steps
    return implementation(steps, noise, progress)


def plain_steps(steps: Steps, noise: NoiseSource, progress: Progress) -> tuple[Array, Array]:
    """Take the steps one by one in Python; see `take_steps`."""
    problem, records, gradient = steps.problem, steps.records, _gradient(steps)
    generator, draws = noise.stream("gradient noise"), noise.stream("batches")
    point = problem.constraint.initial(records.features)
    total = point.copy()
    drawn = draw_places(draws, records.n, steps.batch_size, steps.steps, steps.block)
    rows = (row for places in drawn for row in places)
    noise_rows = (row for rows in _noise_blocks(steps, generator) for row in rows)
    for _ in progress.steps(steps.steps, WHAT):
        noisy = _with_noise(steps.mechanism, gradient(next(rows), point), next(noise_rows))
        point = problem.projected_step(point, steps.step_size, noisy)
        total += point
    return point, total


def compiled_steps(steps: Steps, noise: NoiseSource, progress: Progress) -> tuple[Array, Array]:
    """Take the steps in compiled code, block by block; see `take_steps`."""
    problem, records, mechanism = steps.problem, steps.records, steps.mechanism
    advance = _compiled(steps)
    generator, draws = noise.stream("gradient noise"), noise.stream("batches")
    point = problem.constraint.initial(records.features)
    total = point.copy()
    grid = mechanism.grid if isinstance(mechanism, GaussianMechanism) else 0.0
    center = np.array(np.broadcast_to(problem.center, point.shape))
    drawn = draw_places(draws, records.n, steps.batch_size, steps.steps, steps.block)
    blocks = _noise_blocks(steps, generator, compiled=True)
    for _ in progress.steps(-(-steps.steps // steps.block), WHAT):
        advance(
            next(drawn), next(blocks), grid, steps.step_size, float(problem.regularization),
            center, float(problem.constraint.radius), point, total,
        )  # fmt: skip
        # The point is a noisy release already, so the error may depend on it.
        if not np.all(np.isfinite(point)):
            raise ValueError("the steps diverged to infinity or NaN: take smaller ones")
    return point, total


def _noise_blocks(
    steps: Steps, generator: np.random.Generator, *, compiled: bool = False
) -> Iterator[Places]:
    """Yield the noise of each step, in units of the grid, in blocks of steps."""
    mechanism, p = steps.mechanism, steps.dimension
    for start in range(0, steps.steps, steps.block):
        shape = min(steps.block, steps.steps - start), p
        if isinstance(mechanism, GaussianMechanism):
            ratio = mechanism.scale / mechanism.grid
            yield rounded_normals(generator, ratio, math.prod(shape), compiled=compiled).reshape(
                shape
            )
        else:
            yield np.zeros(shape, dtype=np.int64)


def _with_noise(mechanism: Mechanism, gradient: Array, noise: Places) -> Array:
    """Return a vector or symmetric matrix with noise in units of the grid."""
    if not isinstance(mechanism, GaussianMechanism | NoMechanism):
        raise TypeError("steps have Gaussian noise or none")
    if gradient.ndim == 2:
        return unpack(mechanism.add_to(pack(gradient), noise))
    return mechanism.add_to(gradient, noise)


def _compiled(steps: Steps) -> Callable[..., None]:
    """Return the compiled steps of a loss on its records."""
    from pairdp.algorithms._compiled_steps import compiled_slope, pair_steps, record_steps

    loss, records = steps.problem.loss, steps.records
    declared = scalar_slope_of(loss)
    if declared is None:
        raise TypeError(f"there is no compiled code for {type(loss).__name__}")
    formula, parameters = declared
    x = np.ascontiguousarray(records.x)
    if isinstance(loss, RankingLoss):
        slope = compiled_slope(formula, 1 + len(parameters))
        one_order = steps.ordered and not loss.symmetric
        # There are b/2 pairs. Of both orders each counts 1/2, if it has a loss.
        weight = (2 if one_order else loss.orders) / steps.batch_size
        y = np.ascontiguousarray(records.y)
        return partial(pair_steps, slope, parameters, float(loss.scale), weight, one_order, x, y)
    slope = compiled_slope(formula, 2 + len(parameters))
    y = np.ascontiguousarray(records.evaluable)
    return partial(record_steps, slope, parameters, 1 / steps.batch_size, x, y)


def _gradient(steps: Steps) -> Gradient:
    """Return the function that computes the average gradient of a step."""
    problem, records, loss = steps.problem, steps.records, steps.problem.loss
    if not steps.paired:
        return lambda rows, point: problem.risk(records.rows(rows)).gradient(point)
    x, y, null = records.x, records.evaluable, records.null

    def of_pairs(rows: Places, point: Array) -> Array:
        first, second = rows[0::2], rows[1::2]
        sides: Any = x[first], y[first], x[second], y[second]
        gradients = loss.gradient(point, *sides)
        if not (loss.symmetric or steps.ordered):
            gradients = (gradients + loss.gradient(point, *sides[2:], *sides[:2])) / 2
        if records.has_null:
            absent = null[first] | null[second]
            gradients = np.where(absent.reshape(-1, *(1,) * point.ndim), 0.0, gradients)
        return np.asarray(gradients.mean(axis=0))

    return of_pairs
