"""A ledger on the command line: its data set, its entries, and what is left."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pairdp import BudgetLedger, load
from pairdp._files import drafts_of
from tests.cli.helpers import SECRET, refused, run, run_json

NEW = ["ledger", "new", "study.ledger", "--epsilon", "5", "--delta", "1e-5"]
PAID = [*SECRET, "--ledger", "study.ledger"]


def test_an_entry_has_cost_data_set_columns_file_and_note() -> None:
    run(*NEW, "--data-set", "admissions")
    run(*PAID, "--data-set", "admissions", "--note", "for the\nboard")
    found = run_json("ledger", "show", "study.ledger")
    (entry,) = found["spends"]
    assert entry.pop("epsilon") == pytest.approx(found["spent_epsilon"])
    assert entry.pop("time").endswith("+00:00")
    assert entry == {
        "label": "DPGDSC (Xue 2021, Algorithm 1)",
        "data_set": "admissions",
        "columns": ["age", "bmi"],
        "model_file": "model.pairdp",
        "note": "for the\nboard",
        "unit": None,
    }
    shown = run("ledger", "show", "study.ledger").stdout
    assert "for the data set 'admissions'" in shown
    header, row = shown.splitlines()[1:3]
    assert header.split()[:3] == ["time", "ε", "release"]
    assert "age, bmi" in row
    assert r"for the\nboard" in row  # on one line
    assert load("model.pairdp")[-1].data_set == "admissions"


@pytest.mark.filterwarnings("default::pairdp.DataSetWarning")
def test_without_a_name_the_ledger_is_tied_to_the_first_file() -> None:
    run(*NEW)
    assert run(*PAID).stderr == ""
    assert run_json("ledger", "show", "study.ledger")["data_set"] == "data.csv"
    shutil.copy("data.csv", "other.csv")
    other = ["other.csv" if word == "data.csv" else word for word in PAID]
    warned = run(*other, "--force").stderr
    assert warned.startswith("Warning: the ledger")
    assert "for the data set 'data.csv', but this release is of 'other.csv'" in warned
    assert warned.count("\n") == 1
    assert run(*other, "--force", "--data-set", "data.csv").stderr == ""
    assert len(run_json("ledger", "show", "study.ledger")["spends"]) == 3


def test_many_columns_are_counted_and_a_note_needs_a_ledger() -> None:
    from pairdp import Budget, BudgetLedger

    ledger = BudgetLedger(Budget(1.0), Path("wide.ledger"))
    ledger.annotated(columns=[f"column {i}" for i in range(9)]).spend(Budget(0.5), "wide")
    assert "column 3 and 5 more" in run("ledger", "show", "wide.ledger").stdout
    assert "give --ledger too" in run(*SECRET, "--note", "x", code=1).stderr


KILLED = """
import os, signal
from pairdp._files import Draft
from pairdp.cli.main import main
publish = Draft.publish
def kill(*of):
    if isinstance(of[0], Draft) and of[0].path.name.endswith(".ledger"):
        return publish(of[0])
    os.kill(os.getpid(), signal.SIGKILL)
{where} = kill
main({arguments!r})
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_fit_that_is_killed_says_on_restart_what_it_has_spent() -> None:
    run(*NEW)

    def kill(where: str) -> None:
        code = KILLED.format(where=where, arguments=PAID)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL

    kill("import pairdp.privacy as p; p.BudgetLedger._add")  # the file is complete, and unpaid
    assert run_json("ledger", "show", "study.ledger")["spends"] == []
    (unpaid,) = drafts_of(Path("model.pairdp"))

    kill("Draft.publish")  # after the ledger was charged
    (spend,) = run_json("ledger", "show", "study.ledger")["spends"]
    assert not Path("model.pairdp").exists()
    before = Path("study.ledger").read_bytes()
    error = refused(*PAID)
    assert "interrupted after" in error
    assert f"ε = {spend['epsilon']:.4g}, δ = 1e-05 was spent from the ledger" in error
    assert spend["time"] in error
    assert Path("study.ledger").read_bytes() == before

    (entry,) = BudgetLedger.load("study.ledger").spends
    paid = drafts_of(Path("model.pairdp"))[entry.id]
    assert str(paid) in error
    assert unpaid not in error
    paid.rename("model.pairdp")
    assert "holds" in run("verify", "model.pairdp").stdout
    assert load("model.pairdp")[-1].certificate_.event == entry.event


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_fit_that_is_killed_before_it_is_paid_for_costs_nothing() -> None:
    run(*NEW)
    code = KILLED.format(where="import pairdp.algorithms as a; a.Plan.run", arguments=PAID)
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert run_json("ledger", "show", "study.ledger")["spends"] == []
    run(*PAID)
    assert len(run_json("ledger", "show", "study.ledger")["spends"]) == 1


EVALUATION = ["evaluate", "model.pairdp", "data.csv", "--label", "outcome", "--epsilon", "0.5",
              "--hopeless", "warn", "--ledger", "study.ledger",
              "-o", "evaluation.json"]  # fmt: skip
RANGES = ["schema", "data.csv", "--private", "--columns", "age", "--epsilon", "2.4",
          "--ledger", "study.ledger", "-o", "ranges.json"]  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("arguments", [EVALUATION, RANGES], ids=lambda arguments: arguments[0])
def test_every_release_that_is_killed_says_on_restart_what_it_has_spent(
    arguments: list[str],
) -> None:
    run(*NEW)
    run(*SECRET)
    code = KILLED.format(where="Draft.publish", arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    output = Path(arguments[-1])
    assert not output.exists()
    (entry,) = BudgetLedger.load("study.ledger").spends
    paid, before = drafts_of(output)[entry.id], Path("study.ledger").read_bytes()
    error = refused(*arguments)
    assert "interrupted after" in error
    assert str(paid) in error
    assert Path("study.ledger").read_bytes() == before
    paid.unlink()  # as the error says, to spend again
    run(*arguments)
    assert output.exists()
    assert len(BudgetLedger.load("study.ledger").spends) == 2
