r"""The accuracy of a classifier: the share of records whose class it predicts.

What is released, and why a replaced record changes it by at most 1, is in
`pairdp.privacy.bounds.record_errors`; the interval is in `pairdp.evaluation.noisy_accuracy`.

A k-nearest-neighbour model predicts from raw reference records, which it holds. What is proved here
is about the records that are evaluated: whether a prediction is right is then a function of one
record. It is not a function of one reference record: one of these may change many predictions. So
the certificate says that reference records are not covered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer
from pairdp.evaluation.inversion import Interval
from pairdp.evaluation.noisy_accuracy import NoisyAccuracy
from pairdp.evaluation.plan import (
    EvaluationStatistic,
    Noise,
    Part,
    about_model,
    check_noise,
    not_covered,
)
from pairdp.evaluation.right_share import RightSharePlan, RightShareResult
from pairdp.privacy import Budget, Certificate, Sensitivity, Unit
from pairdp.privacy.bounds.record_errors import (
    MOST_N,
    RIGHT_IN_L1,
    RIGHT_IN_L2,
)

Array = NDArray[np.float64]

NAME = "Private evaluation of accuracy"
_NULL = (
    "A record without a prediction, or without a class that the model knows, is a null record: it "
    "counts in n, and is neither right nor wrong."
)


@dataclass(frozen=True)
class AccuracyEvaluation(EvaluationStatistic):
    """The share of right predictions of a fixed classifier.

    Parameters
    ----------
    null_records : bool, default=False
        Whether null records may occur. Then the number of others is released as well.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "auto" is Laplace noise or, if δ > 0 and this is less, Gaussian noise.
    holds_records : bool, default=False
        Whether the model holds reference records, as a k-nearest-neighbour model does.
    """

    null_records: bool = False
    noise: Noise = "auto"
    holds_records: bool = False

    def __post_init__(self) -> None:
        flag("null_records", self.null_records)
        flag("holds_records", self.holds_records)
        check_noise(self.noise)

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> AccuracyPlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""
        n = integer("n", n, at_most=MOST_N)
        part = Part(
            "right predictions" + (", predictions" if self.null_records else ""),
            1 + self.null_records,
            Sensitivity.of(RIGHT_IN_L1, n=n),
            Sensitivity.of(RIGHT_IN_L2, n=n),
        )
        about = [*about_model("prediction", self.holds_records), _NULL]
        facts = {"null_records": self.null_records, "holds_records": self.holds_records}
        certified = self._certified(NAME, n, budget, unit, [part], facts, about)
        return AccuracyPlan(self, certified)


@dataclass(frozen=True)
class AccuracyPlan(RightSharePlan):
    """The plan of an evaluation of accuracy."""

    evaluation: AccuracyEvaluation
    streams = ("accuracy",)
    figure, article, counted = "accuracy", "an", "records"

    def exact(self, *records: Array) -> list[Array]:
        """Return the number of right predictions, less half of all.

        Parameters
        ----------
        right : array of shape (n,)
            1 for right and 0 for wrong predictions; anything else makes a null record.
        """
        (right,) = records
        self._check(right)
        hits, misses = int(np.sum(right == 1)), int(np.sum(right == 0))
        vector = np.array([(hits - misses) / 2, self._weight * (hits + misses)])
        return [vector[: self.certificate.releases[0].dimension]]

    def result(self, released: NoisyAccuracy, certificate: Certificate) -> AccuracyResult:
        """Return what users see of released numbers."""
        return AccuracyResult(released, self, certificate)


@dataclass(frozen=True)
class AccuracyResult(RightShareResult):
    """The released accuracy; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    """

    plan: AccuracyPlan

    @property
    def accuracy(self) -> float:
        """The estimated share of right predictions."""
        return self._estimate.value

    @property
    def accuracy_interval(self) -> Interval:
        """The ends of a 95 % interval for the accuracy in the population of the records.

        It includes the noise of privacy and that of sampling. From 0 to 1 it says nothing.
        """
        return self._estimate.interval

    @property
    def null_records(self) -> float:
        """The estimated number of null records."""
        return self._null

    def _figure_lines(self) -> list[tuple[str, str]]:
        about = f"about {self.released.predicted:.0f} of n = {self.certificate.n}"
        known = self.released.known is not None
        lines = [
            ("accuracy", str(self._estimate)),
            ("records", about if known else f"n = {self.certificate.n}"),
        ]
        return [*lines, *not_covered(self.plan.evaluation.holds_records)]
