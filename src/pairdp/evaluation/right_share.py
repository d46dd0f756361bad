"""What an accuracy and a concordance have in common: the share of items that are right.

An item is a record or a pair. It is right or wrong, or it is null and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from pairdp._checks import probability
from pairdp.evaluation.inversion import LEVEL, Interval
from pairdp.evaluation.noisy_accuracy import NoisyAccuracy
from pairdp.evaluation.plan import EvaluationPlan, noise_of
from pairdp.evaluation.ratios import Estimate
from pairdp.evaluation.result import Evaluation
from pairdp.privacy.bounds.record_errors import RIGHT_COUNT_WEIGHT

_TYPICAL = 0.8


@dataclass(frozen=True)
class RightSharePlan(EvaluationPlan):
    """The plan of an evaluation of the share of items that are right."""

    figure: ClassVar[str]
    """The name of the share, such as "accuracy"."""
    article: ClassVar[str] = "a"
    counted: ClassVar[str]
    """What the items are, such as "records"."""

    def expected_interval(self, share: float = _TYPICAL) -> Interval:
        """Return the interval for an assumed share if there are no null items and no noise."""
        centred = self.items * (probability(self.figure, share) - 0.5)
        known = self.items * self._weight
        numbers = [centred, known][: self.certificate.releases[0].dimension]
        return self.read(numbers).accuracy.interval

    def hopeless_words(self, share: float = 0.5) -> str:
        """Return why nothing can be said, with the expected interval."""
        lower, upper = self.expected_interval()
        return (
            f"with {self.items} {self.counted} and this budget, nothing can be said: "
            f"{self._typical} would typically have the interval {lower:.2f} to {upper:.2f}. About "
            f"{self.enough:.0f} {self.counted} are needed"
        )

    def read(self, *numbers: Sequence[float]) -> NoisyAccuracy:
        """Return what released numbers say; nothing else is known of the records."""
        ((centred, *known),) = numbers
        noise = noise_of(self.certificate.releases[0])
        count = known[0] if known else None
        return NoisyAccuracy(self.items, centred, count, self._weight, noise, self.together)

    def expected(self) -> list[dict[str, Any]]:
        """Return the expected interval of a typical share, as JSON values."""
        interval = list(self.expected_interval())
        return [{self.figure: _TYPICAL, "interval": interval, "hopeless": self.is_hopeless()}]

    @property
    def _typical(self) -> str:
        return f"{self.article} {self.figure} of {_TYPICAL}"

    @property
    def _weight(self) -> float:
        return RIGHT_COUNT_WEIGHT[self.norm]

    def __str__(self) -> str:
        lower, upper = self.expected_interval()
        says = "  nothing can be said" if self.is_hopeless() else ""
        interval = f"{lower:.3f} to {upper:.3f}{says}"
        return f"{self._head()}\nexpected 95 % interval of {self._typical}: {interval}"


@dataclass(frozen=True)
class RightShareResult(Evaluation):
    """A released share of items that are right."""

    released: NoisyAccuracy
    plan: RightSharePlan

    @cached_property
    def _estimate(self) -> Estimate:
        return self.released.accuracy

    @property
    def _null(self) -> float:
        """The estimated number of null items."""
        return self.plan.items - self.released.predicted

    def figures(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        name = self.plan.figure
        return {
            name: self._estimate.value,
            f"{name}_interval": list(self._estimate.interval),
            "level": LEVEL,
            f"null_{self.plan.counted}": self._null,
        }

    def numbers(self) -> tuple[tuple[float, ...], ...]:
        """Return the noisy numbers of each release."""
        known = () if self.released.known is None else (self.released.known,)
        return ((self.released.centred, *known),)
