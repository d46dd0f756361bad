"""What a release costs: a certificate, a budget or a privacy event."""

from __future__ import annotations

from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent
from pairdp.privacy.certificates.certificate import Certificate

Cost = Certificate | Budget | Event


def cost_in_words(cost: Cost) -> str:
    """Return a cost for a message."""
    budget = cost.budget if isinstance(cost, Certificate) else cost
    if isinstance(budget, Budget):
        return f"ε = {budget.epsilon:g}, δ = {budget.delta:g}"
    return str(budget)


def event_of(cost: Cost) -> Event:
    """Return the privacy event of a cost; that of a Budget is known by (ε, δ) only."""
    if isinstance(cost, Certificate):
        return cost.event
    if isinstance(cost, Budget):
        pure = cost.is_pure
        return PureEvent(cost.epsilon) if pure else ApproximateEvent(cost.epsilon, cost.delta)
    if isinstance(cost, Event):
        return cost
    raise TypeError(
        f"cost must be a Certificate, a Budget or a privacy event, got {type(cost).__name__}"
    )
