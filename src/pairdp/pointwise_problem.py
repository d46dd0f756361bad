r"""What to minimise when the loss is of one record at a time.

.. math:: F(w) = \frac{1}{n} Σ_i ℓ(w; z_i) + \frac{λ}{2}|w - w_0|^2, \quad w ∈ C, \quad |x_i| ≤ R.

A record is one of n terms, so replacing it moves the gradient of the average by at most D/n, where
D is how far one record's own gradient can move: to that of another record, or to zero, which is
that of a null record and at most G away. All else is as for pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._reading import Invalid
from pairdp._sums import sum_in_pairs
from pairdp.losses import PointwiseLoss
from pairdp.pairs import PairDesign
from pairdp.problem import Problem, ProblemConstants
from pairdp.records import Records, check_target_bound

Array = NDArray[np.float64]
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class PointwiseProblem(Problem):
    """A loss of one record, a constraint, a regulariser and a bound on the data.

    `GradientDescent`, `MinimizerRelease` and `NoisyGradientDescent` plan and run with it as they
    do with a `Problem` of pairs.

    Parameters
    ----------
    loss : PointwiseLoss
        The loss of a record. Targets of a loss that is not of two classes are clipped to its
        ``label_bound``, which must be public.
    constraint : Constraint
        The set C, of vectors.
    regularization : float
        λ, at least 0.
    center : float or array
        w₀: 0, or an array of the parameter's shape. It must be public.
    data_norm : float
        R, which records are clipped to.

    Examples
    --------
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticPointwise
    >>> problem = PointwiseProblem(LogisticPointwise(), L2Ball(1.0), regularization=0.1)
    >>> constants = problem.constants(n=1000)
    >>> round(constants.lipschitz, 3), round(constants.smoothness, 3)
    (0.731, 0.35)
    >>> round(constants.sensitivity, 6)         # 2G/n = 0.001462 is the generic bound
    0.0011
    """

    loss: PointwiseLoss  # type: ignore[assignment]

    average: ClassVar[str] = "average over records"
    smoothness_of: ClassVar[str] = "record_smoothness"
    _kind: ClassVar[tuple[type, str]] = (PointwiseLoss, "LogisticPointwise()")
    _fewest: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.loss.binary and self._target_bound is None:
            raise ValueError(
                f"{type(self.loss).__name__} is of targets and has no label_bound that they "
                "could be clipped to: give it one"
            )

    def __hash__(self) -> int:
        return super().__hash__()

    @cached_property
    def _target_bound(self) -> float | None:
        """What targets are clipped to; None for a loss of two classes."""
        if self.loss.binary:
            return None
        return check_target_bound(getattr(self.loss, "label_bound", None))

    @property
    def labels_in_words(self) -> str:
        """What labels are, for certificates."""
        bound = self._target_bound
        if bound is None:
            return "Labels are two classes."
        return f"Every target is clipped to at most {bound:g} in size, which is public."

    def constants(
        self, n: int, radius: float | None = None, design: PairDesign | None = None
    ) -> ProblemConstants:
        """Return all constants for n records, on parameters within a radius if it is known.

        One record has one slot, and the risk may bend as much as its worst record does.

        Parameters
        ----------
        n : int
            Number of records, at least 1.
        radius : float, optional
            A bound on |w| that is known before data is read.
        design : PairDesign, optional
            Refused: there are no pairs.
        """
        _no_design(design)
        domain, added = self.domain(radius), self.regularization
        smoothness = self.loss.smoothness(domain) + added
        return ProblemConstants(
            lipschitz=self.loss.lipschitz(domain),
            pair_smoothness=smoothness,
            smoothness=smoothness,
            strong_convexity=self.strong_convexity,
            holder=self.loss.holder(domain),
            pair_diameter=self.exact_record_diameter(domain),
            record_diameter=self.record_diameter(n, radius),
            sensitivity=self.sensitivity(n, radius),
        )

    def records(self, x: ArrayLike, y: ArrayLike, *, invalid: Invalid = "error") -> Records:
        """Return the data as this problem needs it: rows clipped to R, targets to their bound.

        Records that cannot be read are an error, or null records; see `Records`.
        """
        return Records(
            x,
            y,
            data_norm=self.data_norm,
            binary=self.loss.binary,
            target_bound=self._target_bound,
            invalid=invalid,
        )

    def gather(
        self,
        batches: Iterable[tuple[ArrayLike, ArrayLike]],
        n: int,
        features: int,
        *,
        invalid: Invalid = "error",
    ) -> Records:
        """Return n records that come in batches, without holding them twice."""
        return Records.gather(
            batches,
            n,
            features,
            data_norm=self.data_norm,
            binary=self.loss.binary,
            target_bound=self._target_bound,
            invalid=invalid,
        )

    def check_records(self, records: Records) -> None:
        """Refuse records that were not clipped as this problem's constants need them."""
        super().check_records(records)
        bound = self._target_bound
        if bound is None:
            if not records.binary:
                raise ValueError(
                    f"{type(self.loss).__name__} needs labels -1 and +1: make the records with "
                    "problem.records(x, y)"
                )
        elif not _within(records, bound):
            raise ValueError(
                f"{type(self.loss).__name__} needs targets clipped to {bound:g}: make the records "
                "with problem.records(x, y)"
            )

    def risk(self, records: Records, design: PairDesign | None = None) -> RecordRisk:
        """Return the average loss over all records, without the regulariser."""
        _no_design(design)
        self.check_records(records)
        return RecordRisk(self.loss, records)


@dataclass(frozen=True)
class RecordRisk:
    """The average loss over records, in blocks."""

    loss: PointwiseLoss
    records: Records

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        self._check(parameters)
        sums = [float(np.sum(c * self.loss.value(parameters, x, y))) for x, y, c in self._blocks()]
        return float(np.sum(sums)) / self.records.n

    def gradient(self, parameters: Array) -> Array:
        """Return its (sub)gradient."""
        self._check(parameters)
        if self.records.n == 1 and not self.records.has_null:
            return np.asarray(self.loss.gradient(parameters, self.records.x, self.records.y)[0])
        sums = [counted @ self.loss.gradient(parameters, x, y) for x, y, counted in self._blocks()]
        return np.asarray(sum_in_pairs(sums) / self.records.n)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both, one after the other."""
        return self.value(parameters), self.gradient(parameters)

    def _blocks(self) -> Iterable[tuple[Array, Array, Array]]:
        """Iterate over some rows, their labels, and 1 for those that count: null ones do not."""
        records = self.records
        counted = np.where(records.null, 0.0, 1.0) if records.has_null else np.ones(records.n)
        for start in range(0, records.n, _BLOCK):
            some = slice(start, start + _BLOCK)
            yield records.x[some], records.evaluable[some], counted[some]

    def _check(self, parameters: Array) -> None:
        shape = (self.records.features,)
        if parameters.shape != shape:
            raise ValueError(
                f"the parameter must have shape {shape} for these records, got {parameters.shape}"
            )
        # A finite sum has finite terms; it is the faster look, which many small steps need.
        if not math.isfinite(parameters.sum()) and not np.all(np.isfinite(parameters)):
            raise ValueError("the parameter must be finite")


def _within(records: Records, bound: float) -> bool:
    """Return whether targets are known to be within a bound, whatever the data."""
    if records.target_bound is None:
        return records.binary and bound >= 1
    return records.target_bound <= bound


def _no_design(design: PairDesign | None) -> None:
    if design is not None:
        raise ValueError("a design is of pairs, and the loss is of one record: leave it out")
