"""Ledgers for units: what they pay for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pairdp import Budget, BudgetLedger, Certificate, LedgerError, NoiseSource, Unit
from pairdp.algorithms import GradientDescent
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.privacy import PureEvent
from pairdp.problem import Problem
from tests.privacy.ledger.ledger_helpers import rewrite

BUDGET = Budget(2.0, 1e-6)
PROBLEM = Problem(LogisticRanking(), L2Ball(1.0), 0.5)


def certificate(unit: Unit | None) -> Certificate:
    budget = Budget(0.5, 1e-7)
    return GradientDescent(steps=3).plan(PROBLEM, 50, 2, budget, unit=unit).certificate


def test_a_ledger_for_units_pays_for_its_unit_only(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path, unit="patient_id")
    for unit, protects in ((None, "single records"), (Unit("ward", 3), "all records of one ward")):
        reason = f"protects {protects}, but the ledger protects all records of one patient_id"
        for pay in (ledger.check, ledger.spend):
            with pytest.raises(LedgerError, match=reason):
                pay(certificate(unit))
    assert ledger.spends == ()
    # How many records of a unit are used does not matter: its guarantee covers all of them.
    for k in (1, 3):
        assert ledger.spend(certificate(Unit("patient_id", k))).facts.unit == "patient_id"
    ledger.spend(PureEvent(0.1), "stated by hand")
    again = BudgetLedger.load(path)
    assert again.unit == "patient_id"
    assert [spend.facts.unit for spend in again.spends] == ["patient_id", "patient_id", None]


def test_a_stream_of_single_records_is_refused_by_a_ledger_for_units() -> None:
    plan = OnlineDescent().plan(PROBLEM, 20, 2, Budget(0.5, 1e-7))
    ledger = BudgetLedger(BUDGET, unit="patient_id")
    with pytest.raises(LedgerError, match="protects single records"):
        OnlineSession(plan, NoiseSource(), ledger=ledger)
    assert ledger.spends == ()


def test_a_guarantee_for_units_covers_single_records(tmp_path: Path) -> None:
    ledger = BudgetLedger(BUDGET, tmp_path / "ledger.json")
    assert ledger.unit is None
    spent = ledger.spend(certificate(Unit("patient_id", 3)))
    assert spent.facts.unit == "patient_id"
    assert ledger.spend(certificate(None)).facts.unit is None


def test_a_ledger_keeps_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(BUDGET, path, unit="patient_id")
    with pytest.raises(LedgerError, match="protects all records of one patient_id, not single"):
        BudgetLedger(BUDGET, path)
    with pytest.raises(ValueError, match="unit must not be empty"):
        BudgetLedger(BUDGET, unit=" ")
    rewrite(path, lambda document: document.pop("unit"))
    with pytest.raises(LedgerError, match="unknown neighbouring relation"):
        BudgetLedger.load(path)
