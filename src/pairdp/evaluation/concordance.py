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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer
from pairdp.evaluation.inversion import Interval
from pairdp.evaluation.noisy_accuracy import NoisyAccuracy
from pairdp.evaluation.plan import (
    PUBLIC_MODEL,
    EvaluationStatistic,
    Noise,
    Part,
    check_noise,
)
from pairdp.evaluation.right_share import RightSharePlan, RightShareResult
from pairdp.privacy import Budget, Certificate, Sensitivity, Unit
from pairdp.privacy.bounds.concordant_pairs import (
    CONCORDANT_IN_L1,
    CONCORDANT_IN_L2,
    number_of_pairs,
)
from pairdp.privacy.bounds.record_errors import MOST_N

Array = NDArray[np.float64]

NAME = "Private evaluation of concordance"
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
class ConcordancePlan(RightSharePlan):
    """The plan of an evaluation of concordance."""

    evaluation: ConcordanceEvaluation
    streams = ("concordance",)
    figure, counted = "concordance", "pairs"

    @property
    def items(self) -> int:
        """The number of pairs."""
        return number_of_pairs(self.n)

    @property
    def together(self) -> int:
        """How many pairs may depend on each other: those with records of the units of one pair."""
        return 2 * super().together - 1

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

    def result(self, released: NoisyAccuracy, certificate: Certificate) -> ConcordanceResult:
        """Return what users see of released numbers."""
        return ConcordanceResult(released, self, certificate)


@dataclass(frozen=True)
class ConcordanceResult(RightShareResult):
    """The released concordance; everything in it is a function of noisy numbers.

    Attributes
    ----------
    released, plan, certificate
        As for `Evaluation`.
    """

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
        return self._null

    def _figure_lines(self) -> list[tuple[str, str]]:
        different = f"about {self.released.predicted:.0f} of {self.plan.items} with different"
        return [
            ("concordance", str(self._estimate)),
            ("pairs", f"{different} responses, of n = {self.certificate.n} records"),
        ]
