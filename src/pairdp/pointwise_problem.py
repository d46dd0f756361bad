r"""Problems whose loss is a function of one record at a time.

.. math:: F(w) = \frac{1}{n} Σ_i ℓ(w; z_i) + \frac{λ}{2}|w - w_0|^2, \quad w ∈ C, \quad |x_i| ≤ R.

A record is one of n terms, so replacing it moves the gradient of the average by at most D/n, where
D is the largest change of one record's gradient: to that of another record, or to zero, the
gradient of a null record, which is at most G away. Everything else is as for pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import Total, sum_in_pairs
from pairdp.losses import Domain, PointwiseLoss
from pairdp.pairs import PairDesign
from pairdp.partitioned_records import PartitionedRecords
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class PointwiseProblem(Problem):
    """A loss of one record, a constraint, a regulariser and a bound on the data.

    `GradientDescent`, `MinimizerRelease` and `NoisyGradientDescent` accept it like a `Problem` of
    pairs.

    Parameters
    ----------
    loss : PointwiseLoss
        The loss of a record. Targets are clipped to its ``label_bound``, which must be public,
        unless its labels are two classes.
    constraint : Constraint
        The set C, of vectors; of matrices for `PairMetricLoss`.
    regularization, center, data_norm
        As for `Problem`.

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
    _loss_type: ClassVar[tuple[type, str]] = (PointwiseLoss, "LogisticPointwise()")
    _smallest_n: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.loss.binary and self._target_bound is None:
            raise ValueError(
                f"{type(self.loss).__name__} needs a label_bound, which targets are clipped to"
            )

    def __hash__(self) -> int:
        return super().__hash__()

    def _risk_smoothness(self, domain: Domain, n: int, design: PairDesign | None) -> float:
        _no_design(design)
        return self.loss.smoothness(domain)  # all records may be the worst one

    def _pair_diameter(self, domain: Domain) -> float:
        return self.exact_record_diameter(domain)

    def check_records(self, records: Records | PartitionedRecords) -> None:
        """Raise an error for records that were not clipped to the bounds of this problem."""
        super().check_records(records)
        if self.loss.binary and not records.binary:
            raise ValueError(
                f"{type(self.loss).__name__} needs labels -1 and +1: make the records with "
                "problem.records(x, y)"
            )

    def check_parts(self) -> None:
        """Do nothing: an average over records is a sum over parts."""

    def risk(
        self, records: Records | PartitionedRecords, design: PairDesign | None = None
    ) -> RecordRisk:
        """Return the average loss over all records, without the regulariser."""
        _no_design(design)
        self.check_records(records)
        return RecordRisk(self.loss, records)


@dataclass(frozen=True)
class RecordRisk:
    """The average loss over records, in blocks."""

    loss: PointwiseLoss
    records: Records | PartitionedRecords

    def value(self, parameters: Array) -> float:
        """Return the average loss."""
        self._check(parameters)
        total: Total = self.records.map_sum(_value, self.loss, parameters)
        return float(total.high) / self.records.n

    def gradient(self, parameters: Array) -> Array:
        """Return its (sub)gradient."""
        self._check(parameters)
        records = self.records
        if isinstance(records, Records) and records.n == 1 and not records.has_null:
            return np.asarray(self.loss.gradient(parameters, records.x, records.y)[0])
        total: Total = records.map_sum(_gradient, self.loss, parameters)
        return np.asarray(total.high / records.n)

    def value_and_gradient(self, parameters: Array) -> tuple[float, Array]:
        """Return both."""
        return self.value(parameters), self.gradient(parameters)

    def _check(self, parameters: Array) -> None:
        shape = (self.records.features,) * (2 if self.loss.matrix else 1)
        if parameters.shape != shape:
            raise ValueError(
                f"the parameter must have shape {shape} for these records, got {parameters.shape}"
            )
        # A finite sum has finite terms; this is the faster check, which matters for small steps.
        if not math.isfinite(parameters.sum()) and not np.all(np.isfinite(parameters)):
            raise ValueError("the parameter must be finite")


def _blocks(records: Records) -> Iterator[tuple[Array, Array, Array]]:
    """Yield blocks of rows, their labels, and weights: 0 for null records, else 1."""
    counted = np.where(records.null, 0.0, 1.0) if records.has_null else np.ones(records.n)
    for start in range(0, records.n, _BLOCK):
        some = slice(start, start + _BLOCK)
        yield records.x[some], records.evaluable[some], counted[some]


def _value(records: Records, loss: PointwiseLoss, parameters: Array) -> Total:
    sums = [np.sum(c * loss.value(parameters, x, y)) for x, y, c in _blocks(records)]
    return Total.of(np.asarray(np.sum(sums)))


def _gradient(records: Records, loss: PointwiseLoss, parameters: Array) -> Total:
    sums = [loss.gradient_sum(parameters, x, y, c) for x, y, c in _blocks(records)]
    return Total.of(sum_in_pairs(sums) if sums else np.zeros(parameters.shape))


def _no_design(design: PairDesign | None) -> None:
    if design is not None:
        raise ValueError("design must be None for a loss of single records")
