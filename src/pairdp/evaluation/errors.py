r"""The mean errors of a regressor, with a public range of the target.

Targets and predictions are clipped to the range [low, high], so an error is at most high - low.
What is released, and why a replaced record changes it by at most 1, is in
`pairdp.privacy.bounds.record_errors`; the intervals are in `pairdp.evaluation.noisy_errors`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import flag, integer, keep, real
from pairdp.evaluation.inversion import LEVEL, Interval
from pairdp.evaluation.noisy_errors import NoisyErrors
from pairdp.evaluation.noisy_r2 import NoisyR2
from pairdp.evaluation.plan import (
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
    ERROR_COUNT_WEIGHT,
    ERRORS_IN_L1,
    ERRORS_IN_L2,
    MOST_N,
    SQUARE_WEIGHT,
)

Array = NDArray[np.float64]

NAME = "Private evaluation of errors"
_TYPICAL = 0.1
"""A typical mean absolute error, as a share of the range."""
_RANGE = "The range of the target is public: targets and predictions are clipped to [{0:g}, {1:g}]."
_NULL = (
    "A record without a prediction or without a target is a null record: it counts in n, and has "
    "no error."
)


@dataclass(frozen=True)
class ErrorEvaluation(EvaluationStatistic):
    """The mean absolute and the mean squared error of a fixed regressor.

    Parameters
    ----------
    target : tuple of two float
        The public range of the target.
    null_records : bool, default=False
        Whether null records may occur. Then the number of others is released as well.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "auto" is Laplace noise or, if δ > 0 and this is less, Gaussian noise.
    holds_records : bool, default=False
        Whether the model holds reference records, as a k-nearest-neighbour model does.
    r2 : bool, default=False
        Whether sums of targets are released as well, for R². They cost half of the budget.
    """

    target: tuple[float, float]
    null_records: bool = False
    noise: Noise = "auto"
    holds_records: bool = False
    r2: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.target, tuple | list) or len(self.target) != 2:
            raise TypeError(f"target must be a range of two numbers, got {self.target!r}")
        low, high = (real("target", end) + 0.0 for end in self.target)
        if not (low < high and 1e-150 < high - low < 1e150):
            raise ValueError(f"target must be a range (low, high), got {self.target!r}")
        keep(self, "target", (low, high))
        flag("null_records", self.null_records)
        flag("holds_records", self.holds_records)
        flag("r2", self.r2)
        check_noise(self.noise)

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> ErrorPlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""
        n = integer("n", n, at_most=MOST_N)
        parts = [
            Part(
                f"{name}, their squares" + (", predictions" if self.null_records else ""),
                2 + self.null_records,
                Sensitivity.of(ERRORS_IN_L1, n=n),
                Sensitivity.of(ERRORS_IN_L2, n=n),
            )
            for name in ("errors", "targets")[: 1 + self.r2]
        ]
        about = [*about_model("prediction", self.holds_records), _RANGE.format(*self.target), _NULL]
        facts = {"null_records": self.null_records, "holds_records": self.holds_records}
        return ErrorPlan(self, self._certified(NAME, n, budget, unit, parts, facts, about))


class ReleasedErrors(NamedTuple):
    """The released numbers of errors and, if R² was paid for, of targets."""

    errors: NoisyErrors
    targets: NoisyErrors | None = None


@dataclass(frozen=True)
class ErrorPlan(EvaluationPlan):
    """The plan of an evaluation of errors."""

    evaluation: ErrorEvaluation
    streams = ("errors", "targets")

    @property
    def width(self) -> float:
        """The width of the range of the target, the largest error."""
        low, high = self.evaluation.target
        return high - low

    @property
    def typical(self) -> float:
        """A mean absolute error of a tenth of the range, for which intervals are expected."""
        return _TYPICAL * self.width

    def expected_interval(self) -> Interval:
        """Return the interval of `typical`, for normal errors, if the noise happened to be zero."""
        square = math.pi / 2 * _TYPICAL**2
        w, gamma = self._weights
        numbers = [self.n * (_TYPICAL - 0.5), self.n * w * (square - _TYPICAL), self.n * gamma]
        found = self.read(
            numbers[: self.certificate.releases[0].dimension]
        ).errors.absolute.interval
        return Interval(found.lower * self.width, found.upper * self.width)

    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""
        lower, upper = self.expected_interval()
        return (
            f"with {self.n} records and this budget, nothing can be said: a mean absolute error of "
            f"{self.typical:.4g} would typically have the interval {lower:.4g} to {upper:.4g}. "
            f"About {self.enough:.0f} records are needed"
        )

    def exact(self, *records: Array) -> list[Array]:
        """Return the sums of errors and of their squares.

        Parameters
        ----------
        predictions, targets : array of shape (n,)
            Numbers, which are clipped to the range; NaN makes a null record.
        """
        predictions, targets = records
        self._check(predictions, targets)
        low, high = self.evaluation.target
        with np.errstate(all="ignore"):
            apart = np.clip(predictions, low, high) - np.clip(targets, low, high)
            errors = np.minimum(np.abs(apart) / self.width, 1.0)
            places = np.clip((np.clip(targets, low, high) - low) / self.width, 0.0, 1.0)
        known = ~np.isnan(errors)
        values = (errors, places)[: len(self.certificate.releases)]
        return [self._sums(each[known]) for each in values]

    def _sums(self, values: Array) -> Array:
        """Return the sums of numbers from 0 to 1, and of their squares."""
        w, gamma = self._weights
        vector = [
            math.fsum((values - 0.5).tolist()),
            w * math.fsum((values * values - values).tolist()),
            gamma * values.size,
        ]
        return np.array(vector[: self.certificate.releases[0].dimension])

    def read(self, *numbers: Sequence[float]) -> ReleasedErrors:
        """Return what released numbers say; nothing else is known of the records."""
        noise = noise_of(self.certificate.releases[0])
        found = []
        for centred, product, *known in numbers:
            count = known[0] if known else None
            weights = self._weights
            found.append(
                NoisyErrors(self.n, centred, product, count, *weights, noise, self.together)
            )
        return ReleasedErrors(*found)

    def result(self, released: ReleasedErrors, certificate: Certificate) -> ErrorResult:
        """Return what users see of released numbers."""
        return ErrorResult(released, self, certificate)

    def expected(self) -> list[dict[str, Any]]:
        """Return the expected interval of a typical error, as JSON values."""
        return [
            {
                "mean_absolute_error": self.typical,
                "interval": list(self.expected_interval()),
                "hopeless": self.is_hopeless(),
            }
        ]

    @property
    def _weights(self) -> tuple[float, float]:
        return SQUARE_WEIGHT[self.norm], ERROR_COUNT_WEIGHT[self.norm]

    def __str__(self) -> str:
        lower, upper = self.expected_interval()
        says = "  nothing can be said" if self.is_hopeless() else ""
        return (
            f"{self._head()}\nexpected 95 % interval of a mean absolute error of "
            f"{self.typical:.4g}: {lower:.4g} to {upper:.4g}{says}"
        )


@dataclass(frozen=True)
class ErrorResult(Evaluation):
    """Released mean errors; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    mean_absolute_error, mean_squared_error, root_mean_squared_error : Estimate
        A ``value`` with a 95 % ``interval`` for the population that the records are from, in units
        of the target. The interval includes the noise of privacy and that of sampling.
    r2 : Estimate
        R², at least 0, if it was paid for.
    """

    released: ReleasedErrors
    plan: ErrorPlan

    @cached_property
    def mean_absolute_error(self) -> Estimate:
        """The mean of |prediction - target|."""
        return _scaled(self.released.errors.absolute, self.plan.width)

    @cached_property
    def mean_squared_error(self) -> Estimate:
        """The mean of (prediction - target)²."""
        return _scaled(self.released.errors.squared, self.plan.width**2)

    @property
    def root_mean_squared_error(self) -> Estimate:
        """The root of the mean squared error."""
        value, (lower, upper) = self.mean_squared_error
        return Estimate(math.sqrt(value), Interval(math.sqrt(lower), math.sqrt(upper)))

    @cached_property
    def r2(self) -> Estimate:
        """R², the explained share of the variance of the target, at least 0.

        Raises
        ------
        AttributeError
            If it was not paid for.
        """
        if self.released.targets is None:
            raise AttributeError("R² was not paid for: evaluate with r2=True")
        return NoisyR2(self.released.errors, self.released.targets).estimate

    @property
    def null_records(self) -> float:
        """The estimated number of null records."""
        return self.certificate.n - self.released.errors.predicted

    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        names = ["mean_absolute_error", "mean_squared_error", "root_mean_squared_error"]
        names += [] if self.released.targets is None else ["r2"]
        found: dict[str, Estimate] = {name: getattr(self, name) for name in names}
        return {
            **{
                name: {"value": estimate.value, "interval": list(estimate.interval)}
                for name, estimate in found.items()
            },
            "level": LEVEL,
            "null_records": self.null_records,
            "target": list(self.plan.evaluation.target),
        }

    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""
        return tuple(
            (one.centred, one.product, *(() if one.known is None else (one.known,)))
            for one in self.released
            if one is not None
        )

    def _figure_lines(self) -> list[tuple[str, str]]:
        low, high = self.plan.evaluation.target
        lines = [
            ("mean absolute error", _in_words(self.mean_absolute_error)),
            ("root mean squared error", _in_words(self.root_mean_squared_error)),
            *([] if self.released.targets is None else [("R²", str(self.r2))]),
            ("records", f"n = {self.certificate.n}, targets from {low:g} to {high:g}"),
        ]
        return [*lines, *not_covered(self.plan.evaluation.holds_records)]


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    lower, upper = estimate.interval
    return Estimate(estimate.value * factor, Interval(lower * factor, upper * factor))


def _in_words(estimate: Estimate) -> str:
    lower, upper = estimate.interval
    return f"{estimate.value:.4g}, 95 % interval {lower:.4g} to {upper:.4g}"
