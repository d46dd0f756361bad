"""The certificate of a search that fits a random number of randomly drawn candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pairdp._checks import integer, keep
from pairdp.algorithms.comparison import differences
from pairdp.algorithms.stored_plans import plan_again
from pairdp.privacy import Budget, Certificate, GaussianEvent, Release, Sensitivity, Unit
from pairdp.privacy.accounting.composition import elementary_alternatives
from pairdp.privacy.accounting.unit import records_of
from pairdp.privacy.bounds.centred_auc import ALONE
from pairdp.privacy.certificates.held_out import HeldOutForSelection
from pairdp.privacy.certificates.on_trust import weakest_foundations
from pairdp.privacy.certificates.statistic import Statistic
from pairdp.privacy.mechanisms.repeat_and_select import RepeatAndSelect

NAME = "Private search by repeat-and-select"
CHOSEN = "the best model"
_NOT_RELEASED = (
    "How many fits there were, which candidates they were of, and their scores are not released. "
    "Time and memory would reveal something about it."
)


@dataclass(frozen=True)
class RepeatedSearch(Statistic):
    """The best of a geometric number of fits, by noisy scores on records that are held out.

    Parameters
    ----------
    candidates : tuple of str
        The certificates of the plans of all candidates, as JSON.
    mean : int
        The mean number of fits.
    held_out : HeldOutForSelection
        Which records are held out.
    """

    candidates: tuple[str, ...]
    mean: int
    held_out: HeldOutForSelection

    def __post_init__(self) -> None:
        keep(self, "candidates", tuple(self.candidates))
        keep(self, "mean", integer("mean", self.mean))
        if not isinstance(self.held_out, HeldOutForSelection):
            raise TypeError("held_out must be a HeldOutForSelection")

    def mechanism(self, n: int, budget: Budget, unit: Unit | None) -> RepeatAndSelect:
        """Return the mechanism for n records, with the noise of scores and µ of one fit."""
        return _mechanism(self.held_out, n, budget, unit, len(self.candidates), self.mean)

    def certify(self, n: int, budget: Budget, unit: Unit | None = None) -> Certificate:
        """Return the certificate of the search; an error if a candidate costs more than planned."""
        trained, tested = self.held_out.sizes(n)
        mechanism = self.mechanism(n, budget, unit)
        planned = [plan_again(Certificate.from_json(text)).certificate for text in self.candidates]
        for text, own in zip(self.candidates, planned, strict=True):
            if any(True for _ in differences(Certificate.from_json(text), own)):
                raise ValueError(f"a candidate, {own.algorithm}, is planned differently")
            if (own.n, own.unit) != (trained, unit):
                raise ValueError("a candidate is planned for other records")
            if not gaussian_mu(own) <= mechanism.runs.mu:
                raise ValueError(f"a candidate, {own.algorithm}, costs more than is planned")
        sensitivity = _sensitivity(tested, unit)
        return Certificate(
            algorithm=NAME,
            budget=budget,
            n=n,
            releases=(Release(CHOSEN, mechanism, sensitivity, len(planned)),),
            problem={
                "candidates": len(planned),
                **weakest_foundations([own.problem for own in planned]),
            },
            assumptions=(
                self.held_out.rule(n, unit),
                _NOT_RELEASED,
                *dict.fromkeys(sentence for own in planned for sentence in own.assumptions),
            ),
            plan=self.plan_facts,
            unit=unit,
        )


def budget_of_a_fit(
    held_out: HeldOutForSelection, n: int, budget: Budget, unit: Unit | None, mean: int
) -> Budget:
    """Return the budget of one fit, of which a geometric number is within a budget."""
    from pairdp.privacy.accounting.gaussian import epsilon

    mu = _mechanism(held_out, n, budget, unit, 2, mean).runs.mu * (1 - 1e-9)
    return Budget(epsilon(mu, budget.delta), budget.delta)


def gaussian_mu(certificate: Certificate) -> float:
    """Return µ of a certificate whose noise is all Gaussian; infinite for others."""
    flats = elementary_alternatives(certificate.event)
    if not all(isinstance(event, GaussianEvent) for flat in flats for event in flat):
        return math.inf
    return max(
        math.hypot(*(event.mu for event in flat if isinstance(event, GaussianEvent)))
        for flat in flats
    )


def _mechanism(
    held_out: HeldOutForSelection,
    n: int,
    budget: Budget,
    unit: Unit | None,
    candidates: int,
    mean: int,
) -> RepeatAndSelect:
    sensitivity = _sensitivity(held_out.sizes(n)[1], unit)
    return RepeatAndSelect.for_budget(budget, sensitivity.value, candidates, mean)


def _sensitivity(tested: int, unit: Unit | None) -> Sensitivity:
    return Sensitivity.of(ALONE, n=tested).for_records(records_of(unit))
