"""The command line, as people and machines use it."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline

import pairdp
from pairdp import BoundsScaler, PrivateMetric, PrivateRanker, load, save
from pairdp.algorithms.base import Plan
from pairdp.cli.main import main

N = 200
BOUNDS = {"age": [0, 100], "bmi": [10, 60]}
FIT = ["fit", "data.csv", "--label", "outcome", "--algorithm", "DPGDSC", "--seed", "1"]
BOUNDED = [*FIT, "--bounds", "bounds.json", "-o", "model.pairdp"]
# A ledger does not pay for seeded noise.
SECRET = [*FIT[:-2], *BOUNDED[len(FIT) :]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with a table and its bounds, as a new user is."""
    monkeypatch.chdir(tmp_path)
    write(table())
    Path("bounds.json").write_text(json.dumps(BOUNDS))


def table(outcome: tuple[Any, Any] = (0, 1), **more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, N)
    age = np.round(rng.normal(40 + 20 * y, 15), 3)
    bmi = np.round(rng.normal(30 - 5 * y, 6), 3)
    return pd.DataFrame({"age": age, "bmi": bmi, "outcome": np.array(outcome)[y], **more})


def write(frame: pd.DataFrame, path: str = "data.csv") -> None:
    if path.endswith(".csv"):
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


def run(*args: str, code: int = 0) -> Result:
    """Run a command, and check that it ends as it should, without a traceback."""
    result = CliRunner().invoke(main, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output
    return result


def refused(*args: str, code: int = 1) -> str:
    """Run a command that fails, and return its one sentence."""
    result = run(*args, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def run_json(*args: str, code: int = 0) -> Any:
    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    result = run(*args, "--json", code=code)
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=no_constant)


def there() -> set[str]:
    return {path.name for path in Path().iterdir() if not path.name.endswith(".lock")}


def coefficients(path: str = "model.pairdp") -> NDArray[np.float64]:
    model = load(path)
    found: NDArray[np.float64] = (model[-1] if isinstance(model, Pipeline) else model).coef_
    return found


def ranker_of(path: str = "model.pairdp") -> PrivateRanker:
    model = load(path)
    ranker = model[-1] if isinstance(model, Pipeline) else model
    assert isinstance(ranker, PrivateRanker)
    return ranker


def command(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the true command, in a process of its own."""
    found = Path(sys.executable).with_name("pairdp")
    start = [str(found)] if found.exists() else [sys.executable, "-m", "pairdp.cli.main"]
    return subprocess.run([*start, *args], capture_output=True, text=True, check=False, timeout=60)


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
    assert again.stderr.startswith("Error: model.pairdp exists already")


def test_what_the_command_fits_is_what_python_fits() -> None:
    run(*BOUNDED)
    frame = table()
    scaler = BoundsScaler.from_file("bounds.json")
    ranker = PrivateRanker(algorithm="DPGDSC", random_state=1)
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
    for name in ("plan", "fit", "predict", "verify", "ledger", "demo"):
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("name", ["plan", "fit", "predict", "verify", "ledger", "demo"])
def test_commands_are_listed_with_their_own_short_help(name: str) -> None:
    found = main.get_command(click.Context(main), name)
    assert found is not None
    assert f"  {name:7}  {found.short_help}\n" in run("-h").stdout
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
    plan = kind(0.5, float(delta), algorithm="DPGDC").plan(1000, 5)
    assert chosen["noise"] == plan.certificate.releases[0].mechanism.scale
    assert str(plan) in run(*args).stdout


@pytest.mark.parametrize("task", ["ranking", "metric"])
def test_auto_lists_what_it_chooses_from_the_best_first(task: str) -> None:
    args = ["plan", "--n", "2000", "--features", "4", "--task", task]
    found = run_json(*args)
    rows = found["candidates"]
    errors = [row["predicted_error"] for row in rows if row["predicted_error"] is not None]
    assert len(rows) > 2
    assert errors == sorted(errors)
    assert [row["chosen"] for row in rows] == [True] + [False] * (len(rows) - 1)
    assert rows[0]["algorithm"] == found["chosen"]["algorithm"]
    shown = run(*args).stdout
    assert shown.count("→") == 1
    assert f"auto takes {rows[0]['algorithm']}" in shown
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
        (["--n", "100", "--features", "5", "--algorithm", "SGD"], "published"),
    ],
    ids=str,
)
def test_impossible_plans_are_refused(args: list[str], reason: str) -> None:
    given = args if "--algorithm" in args else [*args, "--algorithm", "DPGDC"]
    assert reason in refused("plan", *given)
    assert reason in run_json("plan", *given, code=1)["error"]


# Fit


def test_fit_says_what_it_did_for_machines() -> None:
    found = run_json(*BOUNDED, "--epsilon", "0.5", "--delta", "1e-6")
    assert found["n"] == N
    assert found["features"] == ["age", "bmi"]
    assert (found["epsilon"], found["delta"]) == (0.5, 1e-6)
    assert found["claim_is_proved"] is True
    assert 0.49 < found["true_epsilon"] <= 0.5
    certificate = load("model.pairdp")[-1].certificate_
    assert found["certificate"] == certificate.to_dict()
    assert found["algorithm"] == certificate.algorithm


def test_an_existing_model_is_replaced_only_by_force() -> None:
    Path("model.pairdp").write_text("precious")
    assert "--force" in refused(*BOUNDED)
    assert Path("model.pairdp").read_text() == "precious"
    run(*BOUNDED, "--force")
    assert isinstance(load("model.pairdp"), Pipeline)


def test_noise_without_a_seed_is_new_each_time() -> None:
    for name in ("a", "b"):
        run(*BOUNDED[:6], *BOUNDED[8:-1], name)
    assert not np.array_equal(coefficients("a"), coefficients("b"))


SAME: dict[str, Callable[[], list[str]]] = {
    "parquet": lambda: _as("data.parquet", table()),
    "parquet of small numbers": lambda: _as("data.parquet", table().astype({"outcome": np.int8})),
    "parquet with text": lambda: _as("data.parquet", table(outcome=("0", "1"))),
    "columns in another order": lambda: _as("data.csv", table()[["outcome", "bmi", "age"]]),
    "bounds in CSV": lambda: _bounds("name,lower,upper\nage,0,100\nbmi,10,60\n"),
    "column dropped": lambda: _as("data.csv", table(id="x"), "--drop", "id"),
    "columns dropped": lambda: _as("data.csv", table(a=1, b=""), "--drop", "a", "--drop", "b"),
    "classes": lambda: ["--classes", "0,1"],
    "classes with spaces": lambda: ["--classes", " 0 , 1"],
    "truth values": lambda: _as("data.parquet", table(outcome=(False, True))),
    "floats": lambda: _as("data.csv", table(outcome=(0.0, 1.0))),
    "signs": lambda: _as("data.csv", table(outcome=("-1", "+1"))),
    "numbers of two lengths": lambda: _as("data.csv", table(outcome=(9, 10))),
}


def _as(path: str, frame: pd.DataFrame, *more: str) -> list[str]:
    write(frame, path)
    return [*more, "--table", path]


def _bounds(content: str) -> list[str]:
    Path("bounds.json").write_text(content)
    return []


@pytest.mark.parametrize("kind", SAME)
def test_the_same_data_in_another_form_is_the_same_model(kind: str) -> None:
    run(*BOUNDED)
    right = coefficients()
    args = SAME[kind]()
    path = "data.csv"
    if "--table" in args:
        path = args.pop()
        args.pop()
    run("fit", path, *BOUNDED[2:-1], "other.pairdp", *args)
    np.testing.assert_array_equal(coefficients("other.pairdp"), right)


def test_a_positive_label_turns_the_scores() -> None:
    write(table(outcome=("alive", "dead")))
    run(*BOUNDED)
    assert ranker_of().classes_.tolist() == ["alive", "dead"]
    run(*BOUNDED[:-1], "classes", "--classes", "dead,alive")
    assert ranker_of("classes").classes_.tolist() == ["alive", "dead"]
    plain, turned, same = (
        run_json("predict", "model.pairdp", "data.csv", *more)
        for more in ([], ["--positive", "alive"], ["--positive", "dead"])
    )
    assert same == plain
    assert [row["score"] for row in turned] == [-row["score"] for row in plain]
    assert [row["label"] for row in turned] == [row["label"] for row in plain]
    assert "alive, dead" in refused("predict", "model.pairdp", "data.csv", "--positive", "lost")


def test_given_classes_are_no_assumption_about_the_labels_that_occur() -> None:
    run(*BOUNDED)
    run(*BOUNDED[:-1], "given", "--classes", "0,1")
    assumption = "Which two labels occur is public."
    assert assumption in ranker_of().certificate_.assumptions
    assert assumption not in ranker_of("given").certificate_.assumptions
    assert list(ranker_of("given").classes) == [0, 1]


def test_given_classes_need_not_both_occur() -> None:
    write(table(outcome=("sick", "sick")))
    assert "needs two labels" in refused(*BOUNDED)
    run(*BOUNDED, "--classes", "well,sick")
    assert ranker_of().classes_.tolist() == ["sick", "well"]


@pytest.mark.parametrize(
    ("outcome", "path", "classes"),
    [
        ((False, True), "data.parquet", "False,True"),
        ((0.0, 1.0), "data.parquet", "0,1"),
        ((0.0, 1.0), "data.parquet", "0.0,1.0"),
        ((-1, 1), "data.csv", "-1,1"),
    ],
)
def test_given_classes_are_of_the_column_s_kind(outcome: Any, path: str, classes: str) -> None:
    write(table(outcome=outcome), path)
    run("fit", path, *BOUNDED[2:], "--classes", classes)
    assert ranker_of().classes_.tolist() == list(outcome)


def test_labels_of_single_precision_are_told_apart() -> None:
    # Written 1e+10 in single precision, and 10000000000.0 in double.
    frame = table(outcome=(0.0, 1e10)).astype({"outcome": np.float32})
    write(frame, "data.parquet")
    run(*BOUNDED)
    run("fit", "data.parquet", *BOUNDED[2:-1], "single")
    np.testing.assert_array_equal(coefficients("single"), coefficients())


def test_a_threshold_can_be_public() -> None:
    run(*BOUNDED, "--threshold", "0.25")
    assert ranker_of().intercept_.tolist() == [-0.25]
    assert len(ranker_of().certificate_.releases) == 1
    run(*BOUNDED[:-1], "paid")
    assert len(ranker_of("paid").certificate_.releases) == 2


def test_unscaled_features_are_taken_as_they_are() -> None:
    frame = table()
    frame[["age", "bmi"]] /= 200
    write(frame)
    run(*FIT, "--unscaled", "-o", "model.pairdp")
    model = load("model.pairdp")
    assert isinstance(model, PrivateRanker)
    assert model.feature_names_in_.tolist() == ["age", "bmi"]
    direct = PrivateRanker(algorithm="DPGDSC", random_state=1)
    direct.fit(pd.read_csv("data.csv")[["age", "bmi"]], frame["outcome"])
    np.testing.assert_array_equal(model.coef_, direct.coef_)
    scores = [row["score"] for row in run_json("predict", "model.pairdp", "data.csv")]
    np.testing.assert_allclose(
        scores, direct.decision_function(pd.read_csv("data.csv")[["age", "bmi"]]), rtol=1e-12
    )


def test_a_metric_is_fitted_to_any_number_of_classes() -> None:
    frame = table()
    frame["outcome"] = np.array(["a", "b", "c"])[np.arange(N) % 3]
    write(frame)
    write(frame, "data.parquet")
    for path in ("data.csv", "data.parquet"):
        run("fit", path, *BOUNDED[2:-1], path + ".model", "--task", "metric")
    (_, metric), (_, other) = (load(f"data.{end}.model").steps[-1] for end in ("csv", "parquet"))
    assert isinstance(metric, PrivateMetric)
    np.testing.assert_array_equal(metric.components_, other.components_)
    rows = run_json("predict", "data.csv.model", "data.csv")
    features = frame[["age", "bmi"]]
    coordinates = load("data.csv.model").transform(features)
    np.testing.assert_allclose([[row["z0"], row["z1"]] for row in rows], coordinates, rtol=1e-12)
    assert "holds" in run("verify", "data.csv.model").stdout
    for option in (["--threshold", "0"], ["--classes", "a,b"]):
        error = refused(*BOUNDED, "--task", "metric", *option)
        assert f"{option[0]} is for --task ranking" in error


def test_printed_noise_is_named_as_what_it_is() -> None:
    found = run_json(*BOUNDED, "--calibration", "printed", "--epsilon", "2")
    assert found["certificate"]["calibration"] == "printed"
    assert isinstance(found["claim_is_proved"], bool)


def test_warnings_are_one_line_each_on_standard_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run(*BOUNDED, "--delta", "0.1")
    assert result.stderr.startswith("Warning: delta = 0.1 is not below 1/n")
    assert result.stderr.count("\n") == 1
    assert "Warning" not in result.stdout


BAD_FITS: dict[str, tuple[list[str], str]] = {
    "no table": (["fit", "nowhere.csv", *BOUNDED[2:]], "there is no file nowhere.csv"),
    "other ending": (["fit", "bounds.json", *BOUNDED[2:]], "must end in .csv"),
    "no label": ([*BOUNDED, "--label", "result"], "no column 'result'; it has age, bmi, outcome"),
    "no dropped column": ([*BOUNDED, "--drop", "id"], "no column 'id'"),
    "all dropped": ([*BOUNDED, "--drop", "age", "--drop", "bmi"], "features must be at least 1"),
    "no bounds": ([*FIT, "-o", "model.pairdp"], "give --bounds FILE, or --unscaled"),
    "bounds and unscaled": ([*BOUNDED, "--unscaled"], "leave out one of"),
    "no bounds file": ([*FIT, "--bounds", "no.json", "-o", "m"], "no.json cannot be read"),
    "bounds of data": ([*FIT, "--bounds", "data.csv", "-o", "m"], "lack the columns"),
    "label with bounds": ([*BOUNDED, "--label", "age"], "the label 'age' is not to have bounds"),
    "no directory": ([*BOUNDED[:-1], "nowhere/model"], "there is no directory nowhere"),
    "no ledger": ([*SECRET, "--ledger", "no.json"], "no.json"),
    "broken ledger": ([*SECRET, "--ledger", "bounds.json"], "damaged"),
    "one class given": ([*BOUNDED, "--classes", "1"], "two different labels"),
    "same class given": ([*BOUNDED, "--classes", "1, 1"], "two different labels"),
    "three classes given": ([*BOUNDED, "--classes", "0,1,2"], "two different labels"),
    "other classes given": ([*BOUNDED, "--classes", "1,2"], "labels besides --classes"),
    "classes of text": ([*BOUNDED, "--classes", "no,yes"], "not of the column's kind"),
    "bad threshold": ([*BOUNDED, "--threshold", "nan"], "threshold"),
    "bad seed": ([*BOUNDED, "--seed", "-1"], "seed"),
    "bad budget": ([*BOUNDED, "--epsilon", "0"], "epsilon must be"),
    "bad delta": ([*BOUNDED, "--delta", "2"], "delta must be"),
    "bad algorithm": ([*BOUNDED, "--algorithm", "SGD"], "published"),
    "bad loss": ([*BOUNDED, "--loss", "zero-one"], "loss must be one of"),
    "loss of metrics": ([*BOUNDED, "--task", "metric", "--loss", "least_squares"], "loss must"),
    "printed by auto": (
        [*BOUNDED, "--calibration", "printed", "--algorithm", "auto"],
        "name a published algorithm",
    ),
}


@pytest.mark.parametrize("kind", BAD_FITS)
def test_bad_fits_are_refused_in_one_sentence_and_leave_nothing(kind: str) -> None:
    args, reason = BAD_FITS[kind]
    before = there()
    assert reason in refused(*args)
    assert reason in run_json(*args, code=1)["error"]
    assert there() == before


BAD_TABLES: dict[str, tuple[str, str]] = {
    "empty": ("", "is empty"),
    "no records": ("age,bmi,outcome\n", "has 0 records, and a pair needs two"),
    "one record": ("age,bmi,outcome\n5317,2,0\n", "has 1 records, and a pair needs two"),
    "no names": ("53.17,22.5,0\n60.5,31.5,1\n", "must name the columns"),
    "text": ("age,bmi,outcome\n5317yrs,2,0\n1,2,1\n", "no number in column 'age', record 1"),
    "missing": ("age,bmi,outcome\n5317,2,0\n1,,1\n", "no value in column 'bmi', record 2"),
    "NaN": ("age,bmi,outcome\n5317,nan,0\n1,1,1\n", "NaN or infinity in record 1"),
    "no label": ("age,bmi,outcome\n5317,2,0\n1,1,\n", "no label in column 'outcome', record 2"),
    "ragged": ("age,bmi,outcome\n1,2,0\n5317,1\n", "2 entries in record 2"),
    "one class": ("age,bmi,outcome\n5317,2,53170\n1,1,53170\n", "'outcome' has 1"),
    "many classes": ("age,bmi,outcome\n1,2,53170\n1,1,53171\n1,1,53172\n", "'outcome' has 3"),
    "more columns": ("age,bmi,id,outcome\n1,2,5317,0\n1,1,53171,1\n", "--drop id"),
    "fewer columns": ("age,outcome\n1,0\n1,1\n", "has no column 'bmi'"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_bad_tables_are_refused_without_telling_a_value_and_cost_nothing(kind: str) -> None:
    content, reason = BAD_TABLES[kind]
    Path("data.csv").write_text(content)
    run("ledger", "new", "ledger.json", "--epsilon", "5")
    before = Path("ledger.json").read_bytes()
    error = refused(*SECRET, "--ledger", "ledger.json")
    assert reason in error
    assert "5317" not in error
    assert "53.17" not in error
    assert not Path("model.pairdp").exists()
    assert Path("ledger.json").read_bytes() == before


@pytest.mark.parametrize("at", ["reading", "running", "saving"])
def test_an_interrupted_fit_leaves_no_file(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    owner, name = {"reading": (Plan, "read"), "running": (Plan, "run"), "saving": (os, "replace")}[
        at
    ]
    monkeypatch.setattr(owner, name, interrupt)
    assert "interrupted" in refused(*BOUNDED)
    assert there() == {"data.csv", "bounds.json"}


def test_a_full_disk_leaves_the_old_model(monkeypatch: pytest.MonkeyPatch) -> None:
    run(*BOUNDED)
    before = Path("model.pairdp").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left on device" in refused(*BOUNDED, "--force")
    assert Path("model.pairdp").read_bytes() == before


# Ledger


def test_a_ledger_pays_until_it_is_empty() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "1.2", "--delta", "1e-5")
    shown = run_json("ledger", "show", "ledger.json")
    assert (shown["epsilon"], shown["delta"], shown["spends"]) == (1.2, 1e-5, [])
    assert shown["spent_epsilon"] == 0
    run(*SECRET, "--ledger", "ledger.json")
    shown = run_json("ledger", "show", "ledger.json")
    assert 0.99 < shown["spent_epsilon"] <= 1
    assert [spend["label"] for spend in shown["spends"]] == ["DPGDSC (Xue 2021, Algorithm 1)"]
    assert "DPGDSC" in run("ledger", "show", "ledger.json").stdout
    before, files = Path("ledger.json").read_bytes(), there()
    again = [*SECRET[:-1], "second", "--ledger", "ledger.json"]
    assert "does not fit into what is left" in refused(*again, code=3)
    assert "does not fit" in run_json(*again, code=3)["error"]
    assert Path("ledger.json").read_bytes() == before
    assert there() == files


def test_over_budget_is_refused_before_the_table_is_read() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "0.1")
    # Record 200 is bad, and no one looks at it.
    Path("data.csv").write_text(Path("data.csv").read_text() + "bad,bad,1\n")
    assert "does not fit" in refused(*SECRET, "--ledger", "ledger.json", code=3)


def test_the_true_command_has_the_exit_code_of_a_refused_budget() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "0.1")
    done = command(*SECRET, "--ledger", "ledger.json")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "5")
    with monkeypatch.context() as locked:
        locked.setattr(os, "access", lambda _, mode, **__: mode != os.W_OK)
        assert "is not to be written to" in refused(*SECRET, "--ledger", "ledger.json")
    assert run_json("ledger", "show", "ledger.json")["spends"] == []


def test_a_ledger_is_not_opened_twice() -> None:
    args = ["ledger", "new", "ledger.json", "--epsilon", "2", "--adaptive"]
    assert run_json(*args) == {
        "ledger": "ledger.json",
        "epsilon": 2.0,
        "delta": 1e-5,
        "adaptive": True,
    }
    assert "exists already" in refused(*args)
    assert run_json("ledger", "show", "ledger.json")["adaptive"] is True


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["new", "ledger.json", "--epsilon", "0"], "epsilon must be"),
        (["new", "ledger.json", "--delta", "1"], "delta must be"),
        (["new", "nowhere/ledger.json"], "no directory"),
        (["show", "nowhere.json"], "does not exist"),
        (["show", "data.csv"], "damaged"),
    ],
    ids=str,
)
def test_ledgers_that_cannot_be_are_refused(args: list[str], reason: str) -> None:
    assert reason in refused("ledger", *args)
    assert there() == {"data.csv", "bounds.json"}


# Verify


def test_verify_takes_models_and_certificates() -> None:
    run(*BOUNDED)
    certificate = load("model.pairdp")[-1].certificate_
    certificate.save("certificate.json")
    for path in ("model.pairdp", "certificate.json"):
        found = run_json("verify", path)
        assert found["holds"] is True
        (one,) = found["certificates"]
        assert one["n"] == N
        assert one["claim"] == {"epsilon": 1.0, "delta": 1e-5}
        shown = run("verify", path, "--statement").stdout
        assert certificate.statement() in shown
        assert certificate.statement() not in run("verify", path).stdout


def test_verify_checks_every_step_of_a_pipeline() -> None:
    frame, y = table()[["age", "bmi"]], table()["outcome"]
    scaler = BoundsScaler.from_file("bounds.json")
    model = make_pipeline(
        scaler, PrivateMetric(2.0, algorithm="DPGDC"), PrivateRanker(algorithm="DPGDSC")
    ).fit(frame, y)
    save(model, "model.pairdp")
    found = run_json("verify", "model.pairdp")["certificates"]
    assert [one["claim"]["epsilon"] for one in found] == [2.0, 1.0]
    scores = [row["score"] for row in run_json("predict", "model.pairdp", "data.csv")]
    np.testing.assert_allclose(scores, model.decision_function(frame), rtol=1e-9)


def test_verify_knows_models_of_every_length() -> None:
    # A model begins with the length of its header, and 31520 is " {" in bytes.
    run(*BOUNDED)
    model, size = load("model.pairdp"), 8
    for _ in range(6):
        half = size // 2
        model[0].feature_names_in_ = np.array(["a" * half, "b" * (size - half)], dtype=object)
        save(model, "long.pairdp")
        start = Path("long.pairdp").read_bytes()[:8]
        size += 31520 - int.from_bytes(start, "little")
    assert start[:3] == b" {\0"
    assert "holds" in run("verify", "long.pairdp").stdout


@pytest.mark.parametrize("change", ["damaged", "cut", "scaler", "text", "none", "certificate"])
def test_verify_fails_on_anything_else(change: str) -> None:
    run(*BOUNDED)
    content = bytearray(Path("model.pairdp").read_bytes())
    if change == "damaged":
        content[len(content) // 3] ^= 1
    elif change == "cut":
        content = content[:-3]
    elif change == "text":
        content = bytearray(b"hello")
    elif change == "certificate":
        text = load("model.pairdp")[-1].certificate_.to_json()
        content = bytearray(text.replace('"epsilon": 1.0', '"epsilon": 0.5').encode())
    Path("other").write_bytes(content)
    if change == "scaler":
        save(BoundsScaler().fit_columns(["age"]), "other")
    if change == "none":
        Path("other").unlink()
    error = refused("verify", "other")
    assert "other" in error or change == "certificate"
    assert "error" in run_json("verify", "other", code=1)


# Predict


def test_predictions_go_to_the_output_and_nowhere_else() -> None:
    run(*BOUNDED)
    printed = run("predict", "model.pairdp", "data.csv")
    assert printed.stderr == ""
    assert len(printed.stdout.splitlines()) == N + 1
    done = run("predict", "model.pairdp", "data.csv", "-o", "scores.csv")
    assert done.stdout == ""
    assert Path("scores.csv").read_text() == printed.stdout
    assert run_json("predict", "model.pairdp", "data.csv", "-o", "scores.csv", "--force") == {
        "output": "scores.csv",
        "n": N,
    }
    assert Path("scores.csv").read_text() == printed.stdout
    rows = run_json("predict", "model.pairdp", "data.csv")
    assert len(rows) == N
    assert set(rows[0]) == {"score", "label"}


def test_predictions_need_the_features_in_any_order_and_no_label() -> None:
    run(*BOUNDED)
    right = run("predict", "model.pairdp", "data.csv").stdout
    write(table(extra="text")[["extra", "bmi", "age"]], "new.csv")
    write(table()[["bmi", "age"]], "new.parquet")
    for path in ("new.csv", "new.parquet"):
        assert run("predict", "model.pairdp", path).stdout == right


def test_an_empty_table_has_no_predictions() -> None:
    run(*BOUNDED)
    Path("new.csv").write_text("age,bmi\n")
    assert run("predict", "model.pairdp", "new.csv").stdout == "score,label\n"
    assert run_json("predict", "model.pairdp", "new.csv") == []


def test_predictions_that_cannot_be_are_refused() -> None:
    run(*BOUNDED)
    Path("new.csv").write_text("age\n1\n")
    assert "no column 'bmi'" in refused("predict", "model.pairdp", "new.csv")
    Path("new.csv").write_text("age,bmi\n1,2\n1,5317kg\n")
    Path("scores.csv").write_text("precious")
    args = ["predict", "model.pairdp", "new.csv", "-o", "scores.csv"]
    assert "--force" in refused(*args)
    error = refused(*args, "--force")
    assert "record 2" in error
    assert "5317" not in error
    assert Path("scores.csv").read_text() == "precious"
    for place in ("nowhere/scores.csv", "new.csv/scores.csv"):
        assert "no directory" in refused(*args[:-1], place)
    assert "no pairdp model" in refused("predict", "data.csv", "data.csv")
    assert "there is no file" in refused("predict", "nowhere", "data.csv")
    save(BoundsScaler().fit_columns(["age"]), "scaler")
    assert "without a model" in refused("predict", "scaler", "data.csv")
    rows = table()[["age", "bmi"]].to_numpy() / 100
    PrivateRanker(algorithm="DPGDSC").fit(rows, table()["outcome"]).save("nameless")
    assert "no names of columns" in refused("predict", "nameless", "data.csv")
    assert not [name for name in there() if "writing" in name]


def test_fractions_are_no_labels() -> None:
    write(table(outcome=(9.5, 10.5)))
    assert "fractions are no labels" in refused(*BOUNDED)
