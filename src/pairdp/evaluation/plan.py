"""What all private evaluations have in common: plans, from public facts alone, and their noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import one_of
from pairdp.evaluation.ratios import CountNoise
from pairdp.privacy import (
    Budget,
    Certificate,
    GaussianMechanism,
    L1LaplaceMechanism,
    NoiseSource,
    Release,
    Sensitivity,
    Unit,
)
from pairdp.privacy.accounting.budget import check_budget
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.certificates.on_trust import LIBRARY
from pairdp.privacy.certificates.statistic import Statistic

if TYPE_CHECKING:
    from pairdp.evaluation.result import Evaluation

Array = NDArray[np.float64]
Noise = Literal["auto", "laplace", "gaussian"]

HOPELESS = 10.0
"""Below this many records times ε (of the smaller class, for an AUC), no method says anything."""
PUBLIC_MODEL = (
    "The {0} of a record depends on this record and on the model alone, and the model is public: "
    "it was released with differential privacy, or was made without these records."
)
REFERENCE = (
    "The model holds raw reference records, from which it predicts. This certificate covers the "
    "records that were evaluated. It does NOT cover the reference records: what is released "
    "depends on them, and one of them may change many predictions. They must be public, or be "
    "others than those that were evaluated, of people to whom nothing is promised here."
)
_SLACK = 1 - 2e-9


def about_model(output: str, holds_records: bool) -> tuple[str, ...]:
    """Return what is assumed of a model, and what is not covered if it holds raw records."""
    if not holds_records:
        return (PUBLIC_MODEL.format(output),)
    alone = f"The {output} for a record depends on this record and on the model alone."
    return REFERENCE, alone


def not_covered(holds_records: bool) -> list[tuple[str, str]]:
    """Return what is printed of reference records."""
    words = "the reference records that the model predicts from"
    return [("not covered", words)] if holds_records else []


class Part(NamedTuple):
    """One release: its name, how many numbers it has, and its sensitivities in ℓ1 and ℓ2 norm."""

    name: str
    size: int
    in_l1: Sensitivity
    in_l2: Sensitivity


class EvaluationStatistic(Statistic):
    """What is evaluated: all public facts but n, the budget and the unit."""

    noise: Noise

    @abstractmethod
    def plan(self, n: int, budget: Budget, unit: Unit | None = None) -> EvaluationPlan:
        """Return the plan for n records; a unit of k records multiplies the noise by k."""

    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of the evaluation of n records."""
        return self.plan(n, budget, unit).certificate

    def _certified(
        self,
        name: str,
        n: int,
        budget: Budget,
        unit: Unit | None,
        parts: Sequence[Part],
        problem: Mapping[str, Any],
        assumptions: Sequence[str],
    ) -> Certificate:
        """Return the certificate of some releases, each with an equal share of the budget."""
        check_budget(budget)
        return Certificate(
            algorithm=name,
            budget=budget,
            n=n,
            releases=noisy_releases(parts, budget, records_of(unit), self.noise),
            problem={**problem, "algorithm_proof": LIBRARY},
            assumptions=tuple(assumptions),
            plan=self.plan_facts,
            unit=unit,
        )


def check_noise(noise: Noise) -> None:
    """Raise an error for noise of an unknown kind."""
    one_of("noise", noise, "auto", "laplace", "gaussian")


def noisy_releases(
    parts: Sequence[Part], budget: Budget, records: int, noise: Noise
) -> tuple[Release, ...]:
    """Return the releases with the smaller noise, all of the same kind."""
    if noise == "gaussian" and budget.is_pure:
        raise ValueError('noise="gaussian" needs δ > 0')
    if budget.is_pure or noise == "laplace":
        return _with_laplace(parts, budget, records)
    gaussian = _with_gaussian(parts, budget, records)
    if noise == "gaussian":
        return gaussian
    laplace = _with_laplace(parts, budget, records)
    return laplace if deviation(laplace[0]) <= deviation(gaussian[0]) else gaussian


def _with_laplace(parts: Sequence[Part], budget: Budget, records: int) -> tuple[Release, ...]:
    epsilon = budget.epsilon * _SLACK / len(parts)

    def release(part: Part) -> Release:
        bound = part.in_l1.for_records(records)
        mechanism = L1LaplaceMechanism.for_epsilon(epsilon, bound.value, part.size)
        return Release(part.name, mechanism, bound, part.size)

    return tuple(map(release, parts))


def _with_gaussian(parts: Sequence[Part], budget: Budget, records: int) -> tuple[Release, ...]:
    mu = gdp_mu(budget.epsilon, budget.delta) * math.sqrt(_SLACK / len(parts))

    def release(part: Part) -> Release:
        bound = part.in_l2.for_records(records)
        mechanism = GaussianMechanism.for_mu(mu, bound.value, part.size)
        return Release(part.name, mechanism, bound, part.size)

    return tuple(map(release, parts))


def deviation(release: Release) -> float:
    """Return the standard deviation of the noise on each number."""
    return noise_of(release).deviation


def noise_of(release: Release) -> CountNoise:
    """Return the noise on each number of a release."""
    mechanism = release.mechanism
    if not isinstance(mechanism, L1LaplaceMechanism | GaussianMechanism):
        raise TypeError("an evaluation has Laplace or Gaussian noise only")
    return CountNoise(mechanism.scale, isinstance(mechanism, GaussianMechanism))


@dataclass(frozen=True)
class EvaluationPlan(ABC):
    """An evaluation with all of its noise, before any data is read.

    Attributes
    ----------
    evaluation : EvaluationStatistic
        What is evaluated.
    certificate : Certificate
        What is released, and why it is private.
    """

    evaluation: Any
    certificate: Certificate

    @property
    def n(self) -> int:
        """The public number of records."""
        return self.certificate.n

    @property
    def items(self) -> int:
        """The number of what is evaluated: of records or, for some measures, of pairs."""
        return self.n

    @property
    def together(self) -> int:
        """How many records a unit has at most: these may depend on each other."""
        return records_of(self.certificate.unit)

    @property
    def norm(self) -> Literal[1, 2]:
        """The norm of the sensitivities: 1 for Laplace noise, 2 for Gaussian noise."""
        return 2 if noise_of(self.certificate.releases[0]).gaussian else 1

    @property
    def enough(self) -> float:
        """How many records (of the smaller class, for an AUC) are needed to say anything."""
        return HOPELESS * deviation(self.certificate.releases[0]) / math.sqrt(2)

    def is_hopeless(self, share: float = 0.5) -> bool:
        """Return whether the intervals will hardly ever say anything.

        Parameters
        ----------
        share : float, default=0.5
            An assumed share of positive records, for an AUC; other measures do not depend on it.
        """
        return self.items < self.enough

    @abstractmethod
    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""

    streams: ClassVar[tuple[str, ...]]
    """A name for the noise of each release."""

    @abstractmethod
    def exact(self, *records: Array) -> list[Array]:
        """Return the numbers of each release without noise, which must stay secret."""

    def run(self, source: NoiseSource, *records: Array) -> Any:
        """Release the numbers for the records, with noise, and return what they say."""
        return self.read(*(numbers.tolist() for numbers in self.noisy(source, *records)))

    def noisy(self, source: NoiseSource, *records: Array) -> list[Array]:
        """Return the numbers of each release with noise."""
        releases = self.certificate.releases
        return [
            release.mechanism.release(exact, source.stream(name))
            for release, exact, name in zip(
                releases, self.exact(*records), self.streams[: len(releases)], strict=True
            )
        ]

    @abstractmethod
    def read(self, *numbers: Sequence[float]) -> Any:
        """Return what released numbers say; nothing else is known of the records."""

    @abstractmethod
    def result(self, released: Any, certificate: Certificate) -> Evaluation:
        """Return what users see of released numbers."""

    @abstractmethod
    def expected(self) -> list[dict[str, Any]]:
        """Return what to expect for typical models, as JSON values."""

    def to_dict(self) -> dict[str, Any]:
        """Return what to expect, and the certificate, as JSON values."""
        return {
            "n": self.n,
            "expected": self.expected(),
            "certificate": self.certificate.to_dict(),
        }

    def _head(self) -> str:
        return f"{self.certificate.algorithm}: n = {self.n} records, {budget_in_words(self)}"

    def _check(self, *records: Array, size: int | None = None) -> None:
        """Raise an error if there is not one number for each record."""
        size = self.n if size is None else size
        if any(np.shape(given) != (size,) for given in records):
            raise ValueError(f"each array must have {size} numbers")


def budget_in_words(plan: EvaluationPlan) -> str:
    """Return the budget of a plan, such as ε = 0.5."""
    budget = plan.certificate.budget
    if budget is None:
        return "no privacy"
    return f"ε = {budget.epsilon:g}" + (f", δ = {budget.delta:g}" if budget.delta else "")
