r"""The best of several models on sensitive records: planned from public facts, run on scores.

**What is released.** The place of one model, and nothing else. The score of a model is T, the sum
over pairs that its AUC is made of times a weight: without null records, T = V·(AUC - ½), where V
depends on the numbers of records of the classes alone, and is the same for all models
(`pairdp.privacy.bounds.centred_auc`). A replaced record changes each T by at most 1, and
permute-and-flip chooses the largest (`pairdp.privacy.mechanisms.permute_and_flip`): ε-DP.

**What it loses.** Of m models, the chosen one has a T that is below the largest by more than t with
a probability of at most (m-1)e^{-tε/2}/2: two independent exponential numbers of mean 2/ε differ by
more than t, in one direction, with probability e^{-tε/2}/2, and m - 1 models may overtake the best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import integer, keep, probability
from pairdp.evaluation.pair_sum import pair_sum
from pairdp.privacy import (
    Budget,
    Certificate,
    NoiseSource,
    PermuteAndFlip,
    Release,
    RepeatAndSelect,
    Sensitivity,
    Unit,
)
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.bounds.centred_auc import ALONE, LEAST_N, MOST_N, CentredAUC
from pairdp.privacy.certificates.on_trust import LIBRARY
from pairdp.privacy.certificates.statistic import Statistic

Array = NDArray[np.float64]

NAME = "Private choice of a model"
CHOICE = "place of the best model"
_SLACK = 1 - 2e-9
_CANDIDATES = (
    "The {0} models are public, or were released with differential privacy from other records or "
    "from other parts of the records; the score of a record depends on this record and on the "
    "model alone."
)
_NULL = (
    "A record that a model gives no score, or that has neither class, is a null record for this "
    "model: it counts in n, and is in no pair."
)


@dataclass(frozen=True)
class ModelSelection(Statistic):
    """The place of the model with the largest AUC, of several.

    Parameters
    ----------
    models : int
        m, the number of models.
    """

    models: int

    def __post_init__(self) -> None:
        keep(self, "models", integer("models", self.models, at_least=2))

    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> SelectionPlan:
        """Return the plan for n records; a unit of k records multiplies the loss by k."""
        check_budget(budget)
        n = integer("n", n, at_least=LEAST_N, at_most=MOST_N)
        sensitivity = Sensitivity.of(ALONE, n=n).for_records(records_of(unit))
        epsilon = budget.epsilon * _SLACK
        mechanism = PermuteAndFlip.for_epsilon(epsilon, sensitivity.value, self.models)
        certificate = Certificate(
            algorithm=NAME,
            budget=Budget(budget.epsilon),
            n=n,
            releases=(Release(CHOICE, mechanism, sensitivity, self.models),),
            problem={"models": self.models, "algorithm_proof": LIBRARY},
            assumptions=(
                "The two classes are public.",
                _CANDIDATES.format(self.models),
                _NULL,
            ),
            plan=self.plan_facts,
            unit=unit,
        )
        return SelectionPlan(self, certificate, mechanism)

    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of a choice on n records."""
        return self.plan(n, budget, unit).certificate


@dataclass(frozen=True)
class SelectionPlan:
    """A choice among models with all of its noise, before any data is read.

    Attributes
    ----------
    selection : ModelSelection
        What is chosen.
    certificate : Certificate
        What is released, and why it is private.
    mechanism : PermuteAndFlip
        What chooses.
    """

    selection: ModelSelection
    certificate: Certificate
    mechanism: PermuteAndFlip

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.certificate.n

    def expected_loss(self, share: float = 0.5) -> float:
        """Return a bound on the expected AUC lost by the choice, for a share of positives.

        It is the largest AUC on these records less that of the chosen model: at most
        2(½ + … + 1/m)/(εV), which is below 2·ln(m)/(εV).
        """
        return self.mechanism.expected_loss() / _size(self.n, share)

    def likely_loss(self, share: float = 0.5, chance: float = 0.9) -> float:
        """Return an AUC such that the choice loses no more with this probability, at least."""
        models, chance = self.selection.models, probability("chance", chance)
        odds = (models - 1) / (2 * (1 - chance)) if chance < 1 else math.inf
        return self.mechanism.scale * max(0.0, math.log(odds)) / _size(self.n, share)

    def run(self, scores: Sequence[Array], signs: Sequence[Array], source: NoiseSource) -> int:
        """Return the place of the chosen model.

        Parameters
        ----------
        scores : sequence of m arrays of shape (n,)
            The scores of each model; NaN for null records.
        signs : sequence of m arrays of shape (n,)
            1 for positive and -1 for negative records; anything else makes a null record.
        source : NoiseSource
            The source of the noise.
        """
        if len(scores) != self.selection.models or len(signs) != self.selection.models:
            raise ValueError(f"scores and signs of {self.selection.models} models are needed")
        if any(np.shape(values) != (self.n,) for values in (*scores, *signs)):
            raise ValueError(f"scores and signs must be {self.n} numbers for each model")
        sums = [centred_sum(*each) for each in zip(scores, signs, strict=True)]
        return int(self.mechanism.release(sums, source.stream("choice"))[0])


@dataclass(frozen=True)
class RepeatedChoice:
    """The choice among a random number of fits by noisy scores, before any data is read.

    Attributes
    ----------
    n : int
        The number of records that fits are scored on.
    mechanism : RepeatAndSelect
        What draws candidates, and adds noise to their scores.
    """

    n: int
    mechanism: RepeatAndSelect

    def expected_loss(self, share: float = 0.5) -> float:
        """Return a bound on the expected AUC lost by noisy scores, among what is fitted.

        The largest of K Laplace numbers of scale b is at most b(1 + ln K) on average, and ln K at
        most the logarithm of the mean number of fits.
        """
        return (
            self.mechanism.scale * (1 + math.log(self.mechanism.runs.mean)) / _size(self.n, share)
        )

    def likely_loss(self, share: float = 0.5, chance: float = 0.9) -> float:
        """Return an AUC such that noisy scores lose no more with this probability, at least.

        The difference of two Laplace numbers of scale b exceeds bt with probability
        (2 + t)e^{-t}/4, and as many fits as there are may overtake the best.
        """
        allowed = 4 * (1 - probability("chance", chance)) / self.mechanism.runs.mean
        low, high = 0.0, 1e3
        for _ in range(100):
            middle = (low + high) / 2
            above = (2 + middle) * math.exp(-middle) > allowed
            low, high = (middle, high) if above else (low, middle)
        return self.mechanism.scale * high / _size(self.n, share)


def centred_sum(scores: Array, signs: Array) -> float:
    """Return T of a model, from its scores and the signs of the records."""
    return CentredAUC(scores.size, math.inf).vector(*pair_sum(scores, signs))[0]


def _size(n: int, share: float) -> float:
    """Return V for a share of positives."""
    share = probability("share", share)
    if not 0 < share < 1:
        raise ValueError(f"share must be above 0 and below 1, got {share!r}")
    at = min(max(share * n, 1.0), n - 1.0)
    return float(CentredAUC(n, math.inf).values(np.array([at]))[0])
