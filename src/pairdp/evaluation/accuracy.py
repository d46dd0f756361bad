r"""The accuracy of a classifier: the share of records whose class it predicts.

What is released, and why a replaced record changes it by at most 1, is in
`pairdp.privacy.bounds.record_errors`; the interval is in `pairdp.evaluation.noisy_accuracy`.

A k-nearest-neighbour model predicts from raw reference records, which it holds. What is proved here
is about the records that are evaluated: whether a prediction is right is then a function of one
record. It is not a function of one reference record: one of these may change many predictions. So
the certificate says that reference records are not covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, probability
from pairdp.evaluation.inversion import LEVEL, Interval
from pairdp.evaluation.noisy_accuracy import NoisyAccuracy
from pairdp.evaluation.plan import (
    HOPELESS,
    EvaluationPlan,
    EvaluationStatistic,
    Noise,
    Part,
    about_model,
    check_noise,
    noise_of,
    not_covered,
)
from pairdp.evaluation.ratios import Estimate
from pairdp.evaluation.result import Evaluation
from pairdp.privacy import Budget, Certificate, Sensitivity, Unit
from pairdp.privacy.bounds.record_errors import (
    MOST_N,
    RIGHT_COUNT_WEIGHT,
    RIGHT_IN_L1,
    RIGHT_IN_L2,
)

Array = NDArray[np.float64]

NAME = "Private evaluation of accuracy"
_TYPICAL = 0.8
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
class AccuracyPlan(EvaluationPlan):
    """The plan of an evaluation of accuracy."""

    evaluation: AccuracyEvaluation
    streams = ("accuracy",)

    def expected_interval(self, accuracy: float = _TYPICAL) -> Interval:
        """Return the interval for an assumed accuracy if the noise happened to be zero."""
        centred = self.n * (probability("accuracy", accuracy) - 0.5)
        known = [self.n * self._weight] if self.evaluation.null_records else []
        return self.read([centred, *known]).accuracy.interval

    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""
        lower, upper = self.expected_interval()
        return (
            f"with {self.n} records and this budget, nothing can be said: an accuracy of "
            f"{_TYPICAL} would typically have the interval {lower:.2f} to {upper:.2f}. About "
            f"{HOPELESS:g}/ε records are needed"
        )

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

    def read(self, *numbers: Sequence[float]) -> NoisyAccuracy:
        """Return what released numbers say; nothing else is known of the records."""
        ((centred, *known),) = numbers
        noise = noise_of(self.certificate.releases[0])
        count = known[0] if known else None
        return NoisyAccuracy(self.n, centred, count, self._weight, noise, self.together)

    def result(self, released: NoisyAccuracy, certificate: Certificate) -> AccuracyResult:
        """Return what users see of released numbers."""
        return AccuracyResult(released, self, certificate)

    def expected(self) -> list[dict[str, Any]]:
        """Return the expected interval of a typical accuracy, as JSON values."""
        interval = list(self.expected_interval())
        return [{"accuracy": _TYPICAL, "interval": interval, "hopeless": self.is_hopeless()}]

    @property
    def _weight(self) -> float:
        return RIGHT_COUNT_WEIGHT[self.norm]

    def __str__(self) -> str:
        lower, upper = self.expected_interval()
        says = "  nothing can be said" if self.is_hopeless() else ""
        return (
            f"{self._head()}\nexpected 95 % interval of an accuracy of {_TYPICAL}: "
            f"{lower:.3f} to {upper:.3f}{says}"
        )


@dataclass(frozen=True)
class AccuracyResult(Evaluation):
    """The released accuracy; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    """

    released: NoisyAccuracy
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
        return self.certificate.n - self.released.predicted

    @cached_property
    def _estimate(self) -> Estimate:
        return self.released.accuracy

    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "accuracy": self.accuracy,
            "accuracy_interval": list(self.accuracy_interval),
            "level": LEVEL,
            "null_records": self.null_records,
        }

    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""
        known = () if self.released.known is None else (self.released.known,)
        return ((self.released.centred, *known),)

    def _figure_lines(self) -> list[tuple[str, str]]:
        about = f"about {self.released.predicted:.0f} of n = {self.certificate.n}"
        known = self.released.known is not None
        lines = [
            ("accuracy", str(self._estimate)),
            ("records", about if known else f"n = {self.certificate.n}"),
        ]
        return [*lines, *not_covered(self.plan.evaluation.holds_records)]
