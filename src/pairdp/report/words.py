"""Numbers, budgets and units in plain words."""

from __future__ import annotations

import math

from pairdp.drawing.text import number
from pairdp.privacy import Budget, Certificate, Unit

_SPACE = "\N{NARROW NO-BREAK SPACE}"


def count(value: int) -> str:
    """Return a count with spaces between thousands, such as "32 561"."""
    return f"{value:,}".replace(",", _SPACE)


def percent(share: float, *, up: bool = False) -> str:
    """Return a share in percent; with ``up``, an upper bound that is rounded up.

    Examples
    --------
    >>> percent(0.5), percent(0.01001, up=True), percent(0.9999999)
    ('50\u202f%', '1.01\u202f%', '> 99.9\u202f%')
    """
    hundredths = 100 * share
    if share < 1 and hundredths > 99.9:
        return f"> 99.9{_SPACE}%"
    decimals = 2 if hundredths < 10 else 1
    step = 10.0**-decimals
    if up:
        hundredths = min(math.ceil(hundredths / step - 1e-9) * step, 100.0)
    shown = f"{hundredths:.{decimals}f}"
    return f"{shown.rstrip('0').rstrip('.')}{_SPACE}%"


def budget_words(budget: Budget | None) -> str:
    """Return a budget, such as "ε = 1, δ = 10⁻⁶"."""
    if budget is None:
        return "none"
    delta = f", δ = {number(budget.delta)}" if budget.delta else " (pure: δ = 0)"
    return f"ε = {number(budget.epsilon)}{delta}"


def one_in(probability: float) -> str:
    """Return a small probability as "1 in 1 000 000"."""
    return f"1 in {count(round(1 / probability))}" if probability > 1e-15 else number(probability)


def whose(unit: Unit | None) -> str:
    """Return what is protected, such as "the record of any one person"."""
    return "any one record" if unit is None else f"all records of any one {unit.name}"


def protects(certificate: Certificate) -> str:
    """Return what a certificate protects."""
    if certificate.budget is None:
        return "nothing"
    unit = certificate.unit
    if unit is None:
        return "each record"
    of = "1 record" if unit.max_records == 1 else f"{unit.max_records} records"
    return f"all records of each unit ({unit.name}), of which at most {of} are used"
