"""How much of a budget is spent, and how much is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.composition import PrivacyCurve
from pairdp.privacy.accounting.events import Event, GaussianEvent, PureEvent, SequentialEvent
from pairdp.privacy.accounting.renyi_filter import RenyiFilter
from pairdp.privacy.errors import BudgetExceededError


@dataclass(frozen=True)
class Remaining:
    """The largest cost of one more release, for each kind of release separately.

    Attributes
    ----------
    pure_epsilon : float
        Largest ε of one more pure release.
    gaussian_mu : float
        Largest ratio Δ/σ of one more Gaussian release; zero for a pure budget.
    gaussian_epsilon : float
        The ε of that Gaussian release alone, at the ledger's δ.
    """

    pure_epsilon: float
    gaussian_mu: float
    gaussian_epsilon: float

    def __str__(self) -> str:
        pure = f"one pure release of ε = {self.pure_epsilon:.6g}"
        if self.gaussian_mu == 0:
            return pure
        return (
            f"{pure}, or one Gaussian release of Δ/σ = {self.gaussian_mu:.6g} "
            f"(ε = {self.gaussian_epsilon:.6g} by itself)"
        )


@dataclass(frozen=True)
class Balance:
    """A budget and the events that were paid for from it.

    Attributes
    ----------
    budget : Budget
        What all releases together may spend.
    adaptive : bool
        Whether the noise of a release may be chosen after seeing the results of earlier ones.
    events : tuple of Event
        The costs of the releases so far.
    """

    budget: Budget
    adaptive: bool
    events: tuple[Event, ...]

    def epsilon(self) -> float:
        """Return the ε spent so far, at the δ of the budget."""
        if (rule := self._filter()) is not None:
            return rule.epsilon(rule.cost(SequentialEvent(self.events)))
        return PrivacyCurve(*self.events).epsilon(self.budget.delta)

    def fits(self, event: Event) -> bool:
        """Return whether one more event fits into the budget."""
        events = (*self.events, event)
        if (rule := self._filter()) is not None:
            return rule.admits(SequentialEvent(events))
        return PrivacyCurve(*events).within(self.budget)

    def remaining(self) -> Remaining:
        """Return how much one more release may cost."""
        pure = self._largest(PureEvent, self.budget.epsilon)
        if self.budget.is_pure:
            return Remaining(pure, 0.0, 0.0)
        mu = self._largest(GaussianEvent, gaussian.gdp_mu(self.budget.epsilon, self.budget.delta))
        return Remaining(pure, mu, gaussian.epsilon(mu, self.budget.delta))

    def exceeded(self, label: str) -> BudgetExceededError:
        """Return the error for a release that exceeds the budget."""
        before = len(self.events)
        stays = f" on it; {before} earlier entries stay spent, also those of interrupted fits"
        return BudgetExceededError(
            f"{label} exceeds what is left of the budget ε = {self.budget.epsilon:g}, "
            f"δ = {self.budget.delta:g}: there is room for {self.remaining()}. Nothing was spent"
            + (stays if before else "")
        )

    def _filter(self) -> RenyiFilter | None:
        return RenyiFilter.of(self.budget) if self.adaptive and not self.budget.is_pure else None

    def _largest(self, kind: type[PureEvent] | type[GaussianEvent], limit: float) -> float:
        """Return the largest event of a kind that still fits, from below.

        It is exact if events compose exactly. Otherwise it has three digits, and is zero if it is
        below a thousandth of the budget.
        """
        exact = self._difference(kind, limit)
        if exact > 0 and self.fits(kind(exact)):
            return exact
        if self.fits(kind(limit)):
            return limit
        low = limit * 1e-3
        if not self.fits(kind(low)):
            return 0.0
        # Bisect on the logarithm: fits at the lower end, does not at the upper.
        bottom, top = math.log(low), math.log(limit)
        while top - bottom > 1e-3:
            middle = (bottom + top) / 2
            bottom, top = (middle, top) if self.fits(kind(math.exp(middle))) else (bottom, middle)
        return math.exp(bottom)

    def _difference(self, kind: type[PureEvent] | type[GaussianEvent], limit: float) -> float:
        """Return the limit minus what was spent if events compose exactly, otherwise zero."""
        if kind is PureEvent and self.budget.is_pure:
            return limit - math.fsum(
                e.epsilon * e.count for e in self.events if isinstance(e, PureEvent)
            )
        gaussians = [e.mu for e in self.events if isinstance(e, GaussianEvent)]
        if kind is PureEvent or len(gaussians) < len(self.events) or self._filter() is not None:
            return 0.0
        used = math.hypot(*gaussians)
        return math.sqrt(max(0.0, (limit - used) * (limit + used))) * (1 - 1e-12)
