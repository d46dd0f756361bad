"""What a ledger knows of its entries and of its data set, and files of the version before."""

from __future__ import annotations

import pickle
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pairdp import OnlinePrivateRanker, PrivateMetric, PrivateRanker
from pairdp._sealed import unseal
from pairdp.privacy import Budget, BudgetLedger, DataSetWarning, Facts, LedgerError, PureEvent
from tests.privacy.ledger.ledger_helpers import rewrite

VERSION_2 = Path(__file__).parent / "files" / "version_2.json"
FACTS = {
    "data_set": "admissions 2025",
    "columns": ("age", "sex"),
    "model_file": "model.pairdp",
    "note": "for the board, <b>",
}


@pytest.mark.parametrize("kept", [True, False], ids=["file", "memory"])
def test_an_entry_states_its_facts(tmp_path: Path, kept: bool) -> None:
    path = tmp_path / "ledger.json" if kept else None
    ledger = BudgetLedger(Budget(1.0), path)
    ledger.annotated(**FACTS).spend(PureEvent(0.25), "with facts")  # type: ignore[arg-type]
    ledger.spend(PureEvent(0.25), "without")
    found = (BudgetLedger.load(path) if path else ledger).spends
    assert [spend.facts for spend in found] == [Facts(**FACTS), Facts()]  # type: ignore[arg-type]
    assert ledger.spent() == 0.5


def test_annotations_add_up_and_are_of_the_same_ledger(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    noted = ledger.annotated(note="first").annotated(data_set="a").annotated(note="second")
    assert noted.spend(PureEvent(1.0), "all").facts == Facts("a", note="second")
    assert ledger.identity == noted.identity
    assert ledger.remaining().pure_epsilon == 0
    copies: list[BudgetLedger] = [pickle.loads(pickle.dumps(noted)), clone(noted)]
    for copy in copies:
        assert copy.identity == ledger.identity
        assert copy._facts == noted._facts


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"data_set": ""}, ValueError),
        ({"data_set": 3}, TypeError),
        ({"note": " "}, ValueError),
        ({"model_file": Path("m")}, TypeError),
        ({"columns": [1]}, TypeError),
        ({"columns": ["a", ""]}, ValueError),
    ],
    ids=str,
)
def test_facts_are_texts(facts: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        BudgetLedger(Budget(1.0)).annotated(**facts)
    with pytest.raises(TypeError, match="sequence of names"):
        Facts(columns="age")  # type: ignore[arg-type]


def test_a_ledger_is_tied_to_the_data_set_it_was_created_for(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path, data_set="a")
    assert BudgetLedger.load(path).data_set == "a"
    with pytest.raises(LedgerError, match="is for the data set 'a', not for 'b'"):
        BudgetLedger(Budget(1.0), path, data_set="b")
    other, same = ledger.annotated(data_set="b"), ledger.annotated(data_set="a")
    with pytest.warns(DataSetWarning, match="for the data set 'a', but this release is of 'b'"):
        other.check(PureEvent(0.1))
    with pytest.warns(DataSetWarning):
        other.spend(PureEvent(0.1), "spent in spite of the warning")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same.check(PureEvent(0.1))
        same.spend(PureEvent(0.1), "as it should be")
        ledger.spend(PureEvent(0.1), "without a name")
        with pytest.raises(DataSetWarning):
            other.spend(PureEvent(0.1), "not spent")
    assert [spend.facts.data_set for spend in ledger.spends] == ["b", "a", None]


def test_a_ledger_without_a_name_is_tied_to_its_first_named_entry(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger, other = BudgetLedger(Budget(1.0), path), BudgetLedger.load(path)
    ledger.spend(PureEvent(0.1), "without a name")
    with pytest.raises(LedgerError, match="created without the name"):
        BudgetLedger(Budget(1.0), path, data_set="a")
    ledger.annotated(data_set="a").spend(PureEvent(0.1), "first name")
    assert other.data_set == "a"  # read from the file again
    with pytest.warns(DataSetWarning):
        other.annotated(data_set="b").check(PureEvent(0.1))


MODELS: list[Callable[..., Any]] = [
    lambda **more: PrivateRanker(1.0, 1e-6, data_norm=1.0, **more),
    lambda **more: PrivateMetric(1.0, 1e-6, data_norm=1.0, **more),
    lambda **more: OnlinePrivateRanker(1.0, 1e-6, horizon=60, data_norm=1.0, **more),
]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning", "ignore:The metric")
def test_fits_state_their_data_set_and_columns(make: Callable[..., Any]) -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame(rng.normal(size=(60, 2)), columns=["age", "bmi"]), [0, 1] * 30
    ledger = BudgetLedger(Budget(5.0, 1e-5), data_set="a")
    make(ledger=ledger, data_set="a").fit(X, y)
    with pytest.warns(DataSetWarning, match="of 'b'"):
        make(ledger=ledger.annotated(note="again"), data_set="b").fit(X, y)
    columns = ("age", "bmi")
    found = [spend.facts for spend in ledger.spends]
    assert found == [Facts("a", columns), Facts("b", columns, note="again")]


def test_a_file_of_version_2_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    shutil.copy(VERSION_2, path)
    ledger = BudgetLedger.load(path)
    before = ledger.spends
    assert [(s.label, s.facts) for s in before] == [("first", Facts()), ("second", Facts())]
    assert ledger.data_set is None
    ledger.annotated(data_set="a").spend(PureEvent(0.01), "third")
    assert BudgetLedger.load(path).spends[:2] == before
    old, new = (unseal(file.read_bytes()) for file in (VERSION_2, path))
    assert new["format_version"] == 3
    assert new["spends"][:2] == old["spends"]  # type: ignore[index]


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no name of the data set": lambda document: document.pop("data_set"),
    "a number for a name": lambda document: document.update(data_set=3),
    "an empty name": lambda document: document.update(data_set=""),
    "a note that is null": lambda document: document["spends"][0].update(note=None),
    "columns that are one text": lambda document: document["spends"][0].update(columns="age"),
    "an unknown fact": lambda document: document["spends"][0].update(weather="fine"),
    "version 2 with a name": lambda document: document.update(format_version=2),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_facts_are_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path, data_set="a")
    ledger.annotated(**FACTS | {"data_set": "a"}).spend(PureEvent(0.1), "x")  # type: ignore[arg-type]
    rewrite(path, DAMAGES[damage])
    with pytest.raises(LedgerError, match="damaged"):
        BudgetLedger.load(path)


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_a_ledger_pays_for_fits_with_gaussian_parts_of_its_budget() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), [0, 1] * 30
    budget = Budget(1.0, 1e-6)
    ledger = BudgetLedger(budget)
    for part in budget.split([2, 1, 1], composition="gaussian"):
        model = PrivateRanker(part.epsilon, part.delta, data_norm=1.0, ledger=ledger)
        model.fit(X, y)
    assert ledger.spent() == pytest.approx(1.0, rel=1e-6)
