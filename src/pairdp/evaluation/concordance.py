r"""The concordance of a ranker of graded responses, over a matching of the records.

It is the share of pairs with different responses in which the record with the larger response has
the larger score; pairs with equal scores count ½. The pairs are those of
`pairdp.evaluation.pair_distances`, so a replaced record changes one of them. What is released, and
why this changes by at most 1, is in `pairdp.privacy.bounds.concordant_pairs`.

Responses may be equal whatever else is known of the records, so there may always be null pairs, and
the number of others is always released. The interval is that of an accuracy
(`pairdp.evaluation.noisy_accuracy`), with pairs in place of predictions. It takes pairs as right or
wrong: of all values in [0, 1] with a given mean, 0 and 1 have the largest variance, so tied scores
make it wider than it need be. Each of the k records of a unit may be in a pair with a record of
another one, so a pair depends on at most 2k - 1 pairs, itself included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, probability
from pairdp.evaluation.inversion import LEVEL, Interval
from pairdp.evaluation.noisy_accuracy import NoisyAccuracy
from pairdp.evaluation.plan import (
    HOPELESS,
    PUBLIC_MODEL,
    EvaluationPlan,
    EvaluationStatistic,
    Noise,
    Part,
    check_noise,
    noise_of,
)
from pairdp.evaluation.ratios import Estimate
from pairdp.evaluation.result import Evaluation
from pairdp.privacy import Budget, Certificate, Sensitivity, Unit
from pairdp.privacy.bounds.concordant_pairs import (
    CONCORDANT_IN_L1,
    CONCORDANT_IN_L2,
    number_of_pairs,
)
from pairdp.privacy.bounds.record_errors import MOST_N, RIGHT_COUNT_WEIGHT

Array = NDArray[np.float64]

NAME = "Private evaluation of concordance"
_TYPICAL = 0.8
_MATCHED = (
    "Each record is in at most one pair, with a record at a place that is a function of n and of "
    "its own place. A pair with equal responses, or with a record that has no response or no "
    "score, is null."
)


@dataclass(frozen=True)
class ConcordanceEvaluation(EvaluationStatistic):
    """The share of pairs that fixed scores put in the order of their responses.

    Parameters
    ----------
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "auto" is Laplace noise or, if δ > 0 and this is less, Gaussian noise.
    """

    noise: Noise = "auto"

    def __post_init__(self) -> None:
        check_noise(self.noise)

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> ConcordancePlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""
        n = integer("n", n, at_least=2, at_most=MOST_N)
        part = Part(
            "concordant pairs, pairs with different responses",
            2,
            Sensitivity.of(CONCORDANT_IN_L1, n=n),
            Sensitivity.of(CONCORDANT_IN_L2, n=n),
        )
        facts = {"null_records": True, "pairs": number_of_pairs(n)}
        about = [PUBLIC_MODEL.format("score"), _MATCHED]
        return ConcordancePlan(self, self._certified(NAME, n, budget, unit, [part], facts, about))


@dataclass(frozen=True)
class ConcordancePlan(EvaluationPlan):
    """The plan of an evaluation of concordance."""

    evaluation: ConcordanceEvaluation
    streams = ("concordance",)

    @property
    def items(self) -> int:
        """The number of pairs."""
        return number_of_pairs(self.n)

    @property
    def together(self) -> int:
        """How many pairs may depend on each other: those with records of the units of one pair."""
        return 2 * super().together - 1

    def expected_interval(self, concordance: float = _TYPICAL) -> Interval:
        """Return the interval for an assumed concordance if the noise happened to be zero.

        All pairs are assumed to have different responses.
        """
        centred = self.items * (probability("concordance", concordance) - 0.5)
        return self.read([centred, self.items * self._weight]).accuracy.interval

    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""
        lower, upper = self.expected_interval()
        return (
            f"with {self.items} pairs and this budget, nothing can be said: a concordance of "
            f"{_TYPICAL} would typically have the interval {lower:.2f} to {upper:.2f}. About "
            f"{HOPELESS:g}/ε pairs are needed, and each record is in one of them"
        )

    def exact(self, *records: Array) -> list[Array]:
        """Return the number of concordant pairs, less half of all, and a multiple of all.

        Parameters
        ----------
        right : array of shape (⌊n/2⌋,)
            1, 0 or ½ for pairs in the right order, in the wrong one or with equal scores; anything
            else makes a null pair.
        """
        (right,) = records
        self._check(right, size=self.items)
        hits, misses, ties = (int(np.sum(right == value)) for value in (1.0, 0.0, 0.5))
        return [np.array([(hits - misses) / 2, self._weight * (hits + misses + ties)])]

    def read(self, *numbers: Sequence[float]) -> NoisyAccuracy:
        """Return what released numbers say; nothing else is known of the records."""
        ((centred, known),) = numbers
        noise = noise_of(self.certificate.releases[0])
        return NoisyAccuracy(self.items, centred, known, self._weight, noise, self.together)

    def result(self, released: NoisyAccuracy, certificate: Certificate) -> ConcordanceResult:
        """Return what users see of released numbers."""
        return ConcordanceResult(released, self, certificate)

    def expected(self) -> list[dict[str, Any]]:
        """Return the expected interval of a typical concordance, as JSON values."""
        interval = list(self.expected_interval())
        return [{"concordance": _TYPICAL, "interval": interval, "hopeless": self.is_hopeless()}]

    @property
    def _weight(self) -> float:
        return RIGHT_COUNT_WEIGHT[self.norm]

    def __str__(self) -> str:
        lower, upper = self.expected_interval()
        says = "  nothing can be said" if self.is_hopeless() else ""
        return (
            f"{self._head()}\nexpected 95 % interval of a concordance of {_TYPICAL}, if all "
            f"{self.items} pairs have different responses: {lower:.3f} to {upper:.3f}{says}"
        )


@dataclass(frozen=True)
class ConcordanceResult(Evaluation):
    """The released concordance; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    """

    released: NoisyAccuracy
    plan: ConcordancePlan

    @property
    def concordance(self) -> float:
        """The estimated share of pairs with different responses that are in the right order."""
        return self._estimate.value

    @property
    def concordance_interval(self) -> Interval:
        """The ends of a 95 % interval for the concordance in the population of the records.

        It includes the noise of privacy and that of sampling. From 0 to 1 it says nothing.
        """
        return self._estimate.interval

    @property
    def null_pairs(self) -> float:
        """The estimated number of pairs with equal responses, or with a null record."""
        return self.plan.items - self.released.predicted

    @cached_property
    def _estimate(self) -> Estimate:
        return self.released.accuracy

    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "concordance": self.concordance,
            "concordance_interval": list(self.concordance_interval),
            "level": LEVEL,
            "null_pairs": self.null_pairs,
        }

    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""
        return ((self.released.centred, float(self.released.known or 0.0)),)

    def _figure_lines(self) -> list[tuple[str, str]]:
        different = f"about {self.released.predicted:.0f} of {self.plan.items} with different"
        return [
            ("concordance", str(self._estimate)),
            ("pairs", f"{different} responses, of n = {self.certificate.n} records"),
        ]
