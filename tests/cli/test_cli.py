"""The command line: a session, help, and plans."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline

import pairdp
from pairdp import BoundsScaler, PrivateMetric, PrivateRanker, load
from pairdp.cli.main import main
from tests.cli.helpers import (
    BOUNDED,
    N,
    command,
    refused,
    run,
    run_json,
    table,
    there,
)

# A session


def test_the_session_of_a_new_user() -> None:
    fitted = command(*BOUNDED)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "differentially private" in fitted.stdout
    assert "pairdp verify model.pairdp" in fitted.stdout
    verified = command("verify", "model.pairdp")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert "holds" in verified.stdout
    scored = command("predict", "model.pairdp", "data.csv", "-o", "scores.csv")
    assert (scored.returncode, scored.stdout) == (0, "")
    scores = pd.read_csv("scores.csv")
    assert scores.columns.tolist() == ["score", "label"]
    assert len(scores) == N
    again = command(*BOUNDED)
    assert again.returncode == 1
    assert again.stderr.startswith("Error: model.pairdp already exists")


def test_what_the_command_fits_is_what_python_fits() -> None:
    run(*BOUNDED)
    frame = table()
    scaler = BoundsScaler.from_file("bounds.json")
    ranker = PrivateRanker(algorithm="DPGDSC", random_state=1, data_norm=1.0)
    model = make_pipeline(scaler, ranker).fit(frame[["age", "bmi"]], frame["outcome"])
    loaded = load("model.pairdp")
    np.testing.assert_array_equal(loaded[-1].coef_, ranker.coef_)
    np.testing.assert_array_equal(loaded[-1].intercept_, ranker.intercept_)
    assert loaded[-1].certificate_ == ranker.certificate_
    rows = frame[["age", "bmi"]]
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    # And the command predicts what Python does.
    printed = list(csv.DictReader(io.StringIO(run("predict", "model.pairdp", "data.csv").stdout)))
    scores = model.decision_function(rows)
    np.testing.assert_allclose([float(row["score"]) for row in printed], scores, rtol=1e-12)
    assert [int(row["label"]) for row in printed] == model.predict(rows).tolist()


# Help


def test_help_is_there_without_scientific_libraries() -> None:
    code = (
        "import sys\nfrom pairdp.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "slow = {'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'dp_accounting'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
    for name in ("plan", "compare", "fit", "predict", "show", "verify", "ledger", "demo"):
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "plan",
        "compare",
        "schema",
        "fit",
        "predict",
        "evaluate",
        "calibrate",
        "show",
        "verify",
        "ledger",
        "demo",
    ],
)
def test_commands_are_listed_with_their_own_short_help(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert f"  {name:9}  {found.short_help}\n" in run("-h").stdout
    assert "Usage:" in run(name, "--help").stdout


def test_the_version_is_the_library_s() -> None:
    assert run("--version").stdout.strip().endswith(pairdp.__version__)


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["fit", "data.csv"],
        ["fit", "data.csv", "--label", "outcome"],
        [*BOUNDED, "--epsilon", "one"],
        [*BOUNDED, "--nonsense"],
        [*BOUNDED, "--task", "clustering"],
        [*BOUNDED, "--calibration", "none"],
        ["plan"],
        ["plan", "--n", "1.5", "--features", "2"],
        ["predict", "model.pairdp"],
        ["verify", "."],
        ["ledger", "spend"],
    ],
    ids=" ".join,
)
def test_wrong_usage_has_its_own_exit_code(args: list[str]) -> None:
    result = run(*args, code=2)
    assert result.stdout == ""
    assert "Error" in result.stderr
    assert there() == {"data.csv", "bounds.json"}


def test_the_package_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pairdp", "plan", "--unknown"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Usage: pairdp plan" in done.stderr


def test_terminals_without_greek_letters_are_no_reason_to_fail() -> None:
    runner = CliRunner(charset="cp1252")
    for args in (["ledger", "new", "ledger.json"], ["ledger", "show", "ledger.json"], BOUNDED):
        result = runner.invoke(main, args)
        assert result.exit_code == 0, result.output
        assert "? = 1" in result.stdout


# Plan


@pytest.mark.parametrize("task", ["ranking", "metric"])
@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_plan_needs_no_data(task: str, delta: str) -> None:
    facts = ["--n", "1000", "--features", "5", "--epsilon", "0.5", "--delta", delta]
    args = ["plan", *facts, "--task", task, "--algorithm", "DPGDC"]
    found = run_json(*args)
    assert (found["n"], found["features"], found["epsilon"]) == (1000, 5, 0.5)
    chosen = found["chosen"]
    assert chosen["noise"] > chosen["sensitivity"] > 0
    kind = PrivateRanker if task == "ranking" else PrivateMetric
    plan = kind(0.5, float(delta), algorithm="DPGDC", data_norm=1.0).plan(1000, 5)
    assert chosen["noise"] == plan.certificate.releases[0].mechanism.scale
    assert str(plan) in run(*args).stdout


@pytest.mark.parametrize("task", ["ranking", "metric"])
def test_auto_lists_what_it_chooses_from_the_best_first(task: str) -> None:
    model = ["--model", "linear"] if task == "ranking" else []
    args = ["plan", "--n", "2000", "--features", "4", "--task", task, *model]
    found = run_json(*args)
    rows = found["candidates"]
    errors = [row["predicted_error"] for row in rows if row["predicted_error"] is not None]
    assert len(rows) > 2
    assert errors == sorted(errors)
    assert [row["chosen"] for row in rows] == [True] + [False] * (len(rows) - 1)
    assert rows[0]["algorithm"] == found["chosen"]["algorithm"]
    shown = run(*args).stdout
    assert shown.count("→") == 1
    assert f"auto chooses {rows[0]['algorithm']}" in shown
    for row in rows:
        assert row["algorithm"] in shown
    assert found["chosen"]["reasons"][0] in run(*args, "--details").stdout


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--n", "1", "--features", "5"], "n must be at least 2"),
        (["--n", "100", "--features", "0"], "features must be at least 1"),
        (["--n", "100", "--features", "5", "--epsilon", "-1"], "epsilon"),
        (["--n", "100", "--features", "5", "--epsilon", "nan"], "epsilon"),
        (["--n", "100", "--features", "5", "--delta", "1"], "delta"),
        (["--n", "100", "--features", "5", "--radius", "0"], "radius"),
        (["--n", "100", "--features", "5", "--data-norm", "-2"], "data_norm"),
        (["--n", "100", "--features", "5", "--regularization", "-1"], "regularization"),
        (["--n", "100", "--features", "5", "--loss", "zero-one"], "loss must be one of"),
        (["--n", "100", "--features", "5", "--algorithm", "SGD"], "a known name"),
    ],
    ids=str,
)
def test_impossible_plans_are_refused(args: list[str], reason: str) -> None:
    given = args if "--algorithm" in args else [*args, "--algorithm", "DPGDC"]
    assert reason in refused("plan", *given)
    assert reason in run_json("plan", *given, code=1)["error"]


def test_a_plan_with_the_schedule_of_a_theorem() -> None:
    printed = ["plan", "--n", "512", "--features", "8", "--algorithm", "DPGDC2"]
    printed += ["--delta", "1e-3", "--calibration", "printed"]
    shown = run(*printed).stdout
    assert "steps: Theorem 2 of Xue 2021 has T = min{n, n²ε²/(p·ln(1/δ))}" in shown
    assert "departs from the paper: Theorem 2 of Xue 2021 prints the step size inverted" in shown
    assert run_json(*printed)["chosen"]["settings"]["steps"] == 512
    chosen = run_json(*printed, "--schedule", "tuned")["chosen"]
    assert chosen["settings"]["steps"] < 512
    assert chosen["departures"] == []
    few = ["plan", "--n", "64", "--features", "8", "--schedule", "theorem"]
    assert "chooses among tuned plans" in refused(*few)
    assert "less than one step" in refused(
        *few, "--algorithm", "Kang2021", "--epsilon", "0.04", "--delta", "1e-3"
    )


# Did you mean


@pytest.mark.parametrize(
    ("args", "meant", "code"),
    [
        (["fti"], "fit", 2),
        (["Verfy"], "verify", 2),
        ([*BOUNDED, "--label", "outcom"], "outcome", 1),
        ([*BOUNDED, "--drop", "AGE"], "age", 1),
        ([*BOUNDED, "--algorithm", "kang2012"], "Kang2021", 1),
        ([*BOUNDED, "--loss", "logistc"], "logistic", 1),
        (["audit", "Kng2021"], "Kang2021", 1),
    ],
    ids=str,
)
def test_an_unknown_name_that_is_similar_to_a_known_one(
    args: list[str], meant: str, code: int
) -> None:
    assert f"did you mean '{meant}'?" in run(*args, code=code).stderr


def test_an_unknown_name_that_is_similar_to_nothing() -> None:
    assert "did you mean" not in run("xqzw", code=2).stderr.casefold()
    assert "did you mean" not in refused(*BOUNDED, "--label", "xqzw")


# Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_tab_completion_is_a_script_of_the_shell(shell: str) -> None:
    environment = {**os.environ, "_PAIRDP_COMPLETE": f"{shell}_source"}
    code = "from pairdp.cli.main import main; main(prog_name='pairdp')"
    script = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env=environment, timeout=60,
    ).stdout  # fmt: skip
    assert "_PAIRDP_COMPLETE" in script


def test_tab_completion_knows_commands_and_options() -> None:
    from click.shell_completion import BashComplete

    found = BashComplete(main, {}, "pairdp", "_PAIRDP_COMPLETE")
    assert [item.value for item in found.get_completions([], "ver")] == ["verify"]
    assert "--encoding" in {item.value for item in found.get_completions(["fit"], "--enc")}
