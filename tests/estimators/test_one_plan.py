"""A fit plans once: what is checked against the ledger, paid for and run is the same plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from pairdp import (
    Budget,
    BudgetLedger,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
)
from pairdp.algorithms import Algorithm
from pairdp.cli.main import main
from tests.estimators.data import FEW_RECORDS, two_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)

KINDS = (
    PrivateRanker,
    PrivateMetric,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    OnlinePrivateRanker,
    OnlinePrivateMetric,
)
X, Y = two_classes(200)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the algorithms that were planned."""
    names: list[str] = []
    original = Algorithm.plan

    def plan(self: Algorithm, *args: Any, **options: Any) -> Any:
        names.append(self.name)
        return original(self, *args, **options)

    monkeypatch.setattr(Algorithm, "plan", plan)
    return names


@pytest.mark.parametrize("with_ledger", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_fit_plans_once(kind: type, with_ledger: bool, planned: list[str]) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-3)) if with_ledger else None
    model = kind(1.0, 1e-6, data_norm=1.0, ledger=ledger)
    model.fit(X, Y)
    assert planned == [model.plan_.algorithm.name]
    planned.clear()
    model.fit_batches([(X[:50], Y[:50]), (X[50:], Y[50:])], 200, 4, labels=[0, 1])
    assert planned == [model.plan_.algorithm.name]


@pytest.mark.parametrize("kind", [OnlinePrivateRanker, OnlinePrivateMetric])
def test_a_stream_is_planned_once(kind: type, planned: list[str]) -> None:
    model = kind(1.0, 1e-6, data_norm=1.0, horizon=200)
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50], Y[start : start + 50], classes=[0, 1])
    assert planned == [model.plan_.algorithm.name]


def test_the_command_line_plans_once(tmp_path: Path, planned: list[str]) -> None:
    data = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(label=Y)
    data.to_csv(tmp_path / "data.csv", index=False)
    BudgetLedger(Budget(2.0, 1e-3), tmp_path / "ledger")
    line = ["fit", str(tmp_path / "data.csv"), "--label", "label", "--unscaled", "--data-norm", "1"]
    done = CliRunner().invoke(
        main, [*line, "--ledger", str(tmp_path / "ledger"), "-o", str(tmp_path / "model")]
    )
    assert done.exit_code == 0, done.output
    assert len(planned) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_planned_is_what_was_paid_for(kind: type) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-3))
    model = kind(1.0, 1e-6, data_norm=1.0, ledger=ledger).fit(X, Y)
    (spend,) = ledger.spends
    assert spend.label == model.certificate_.algorithm
    assert model.plan_.certificate.releases == model.certificate_.releases
