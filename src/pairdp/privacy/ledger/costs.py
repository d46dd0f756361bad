"""What a release costs: a certificate, a budget or a privacy event."""

from __future__ import annotations

from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.events import ApproximateEvent, Event, PureEvent
from pairdp.privacy.certificates.certificate import Certificate
from pairdp.privacy.errors import LedgerError

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


def unit_of(cost: Cost) -> str | None:
    """Return the name of the unit that a certificate protects, None for single records."""
    return cost.unit.name if isinstance(cost, Certificate) and cost.unit is not None else None


def protected(unit: str | None) -> str:
    """Return in words what is protected."""
    return "single records" if unit is None else f"all records of one {unit}"


def check_unit_of(cost: Cost, unit: str | None, label: str) -> None:
    """Raise LedgerError if a certificate does not protect what a ledger does.

    A guarantee for all records of a unit covers each of its records: two data sets that differ in
    one row are neighbours in the sense of units, too. The converse does not hold. How many records
    of a unit are used does not matter, since both data sets have the same assignment of rows to
    units, and the guarantee covers all of its rows.
    """
    if not isinstance(cost, Certificate) or unit is None or unit_of(cost) == unit:
        return
    raise LedgerError(
        f"{label} protects {protected(unit_of(cost))}, but the ledger protects {protected(unit)}: "
        f"fit with unit={unit!r}, max_records and groups, or use another ledger. Nothing was spent"
    )
