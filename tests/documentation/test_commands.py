"""The commands of the documentation, run on small tables in the order of each page."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairdp import PrivateRanker, read_bounds
from tests.cli.helpers import BOUNDS, run, table, write
from tests.documentation.pages import (
    BOUNDS_PAGE,
    DASK,
    ONLY_CHECKED,
    PAGES,
    ROOT,
    TUTORIAL,
    blocks,
    name,
    program,
)
from tests.studies.data.places import DATA

SCHEMA = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "died": {"label": ["no", "yes"]},
}
LINEAR = ["--label", "outcome", "--bounds", "bounds.json", "--model", "linear", "--seed", "1"]
# Fewer runs of what would take minutes.
QUICK = ["--quick", "--permutations", "2", "--jobs", "1"]
FEW = ["--runs", "40", "--climbs", "1"]
SMALLER = {
    "pairdp study all --quick --data DIR --out quick": [*QUICK[1:], "--figure", "2"],
    "pairdp study wang2024 --figure 1": QUICK,
    "pairdp study huai2020 --figure 3 --dataset hepatitis": QUICK,
    "pairdp audit model.pairdp --full --jobs 2": FEW,
    "pairdp audit model.pairdp --data public.csv --label outcome --canary extreme": FEW,
}
# Codes other than 0 with which commands end.
ENDS_WITH = {
    "pairdp audit DPGDC2 --calibration printed --loss tight --steps 1 --step-size 0.1"
    " --epsilon 2": 4
}


def commands(page: Path) -> list[str]:
    """Return the commands of a page that are run here."""
    found = [each for block in blocks(page) if block.language == "shell" for each in block.commands]
    return [each for each in found if (name(page), each) not in ONLY_CHECKED]


WITH_COMMANDS = [page for page in PAGES if name(page) != DASK and commands(page)]


def write_patients(n: int = 1500) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 95, n)
    died = np.where(rng.random(n) < 1 / (1 + np.exp((60 - age) / 5)), "yes", "no")
    people = [f"P{i:04d}" for i in range(n)]
    frame = pd.DataFrame(
        {"patient_id": people, "age": age, "sex": rng.choice(["F", "M"], n), "died": died}
    )
    for each in ("patients", "data", "test"):
        frame.to_csv(f"{each}.csv", index=False)
    frame.to_csv("patienten.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    frame.drop(columns="died").head(5).to_csv("new.csv", index=False)
    Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")


def save_a_model_of_an_own_loss() -> None:
    Path("mypackage").mkdir()
    code = "from pairdp.losses import LogisticRanking\n\nclass MyLoss(LogisticRanking):\n    pass\n"
    Path("mypackage/losses.py").write_text(code, encoding="utf-8")
    loss = import_module("mypackage.losses").MyLoss()
    frame = table()
    ranker = PrivateRanker(1.0, loss=loss, data_norm=1.0, algorithm="DPGDSC")
    ranker.fit(frame[["age", "bmi"]] / 100, frame["outcome"]).save("model.pairdp")


def prepare(page: str) -> None:
    """Write what a reader of the page has."""
    if page == "docs/audit.md":
        write(table(), "public.csv")
        Path("bounds.json").write_text(json.dumps(BOUNDS), encoding="utf-8")
        run("fit", "public.csv", *LINEAR, "--algorithm", "DPGDSC", "-o", "model.pairdp")
        return
    write_patients()
    if page == "docs/privacy.md":
        save_a_model_of_an_own_loss()
        return
    model = ["model.pairdp", "test.csv", "--epsilon", "1"]
    run("fit", "patients.csv", "--schema", "schema.json", "--epsilon", "1", "-o", "model.pairdp")
    run("evaluate", *model, "--roc", "-o", "roc.json")
    run("evaluate", *model, "-o", "evaluation.json")
    if page != "docs/command_line.md":  # which makes its own
        run("ledger", "new", "study.ledger", "--epsilon", "20", "--delta", "1e-3")


def complete(command: str) -> None:
    """Run a line that turns on completion; in its shell, if that is installed."""
    shell = re.findall(r"_PAIRDP_COMPLETE=(\w+)_source pairdp", command)[0]
    here = Path(sys.executable).parent
    if not (here / "pairdp").exists():
        pytest.skip("the command is not installed")
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    found = subprocess.run(
        [here / "pairdp"],
        env={**os.environ, "_PAIRDP_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{shell}_complete" in found.stdout
    if where := shutil.which(shell):
        ended = subprocess.run(
            [where, "-c", command], env={**os.environ, "PATH": path}, capture_output=True
        )
        assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name)
def test_commands_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    prepare(name(page))
    for command in commands(page):
        if "_PAIRDP_COMPLETE" in command:
            complete(command)
            continue
        assert program(command) == "pairdp", command
        if "DIR" in command and not (DATA / "diabetes.csv").is_file():
            continue  # tests of the studies say where the data sets are
        args = [str(DATA) if word == "DIR" else word for word in shlex.split(command)[1:]]
        if "-o" in args:  # the file may be there already
            args.append("--force")
        run(*args, *SMALLER.get(command, []), code=ENDS_WITH.get(command, 0))
        if args[0] == "schema":  # which is filled in by hand before it is used
            Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")


NUMBER = re.compile(r"\d+\.\d+")
CONSOLES = [
    pytest.param(text, id=f"{name(page)}-{i}", marks=[pytest.mark.slow] * ("compare" in text))
    for page in PAGES
    if name(page) != TUTORIAL
    for i, text in enumerate(block.text for block in blocks(page) if block.language == "console")
]


@pytest.mark.parametrize("text", CONSOLES)
def test_a_console_shows_what_is_printed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(table())
    Path("bounds.json").write_text(json.dumps(BOUNDS), encoding="utf-8")
    run("fit", "data.csv", *LINEAR, "-o", "model.pairdp")
    command, printed = text.split("\n", 1)
    found = run(*shlex.split(command)[2:]).stdout
    assert NUMBER.sub("", found).split() == NUMBER.sub("", printed).split()
    expected = [float(each) for each in NUMBER.findall(printed)]
    assert [float(each) for each in NUMBER.findall(found)] == pytest.approx(expected, abs=0.002)


def test_files_of_bounds_on_the_page_are_read(tmp_path: Path) -> None:
    files = [block for block in blocks(ROOT / BOUNDS_PAGE) if block.language in ("json", "text")]
    for block, kind in zip(files, ("json", "csv"), strict=True):
        path = tmp_path / f"bounds.{kind}"
        path.write_text(block.text, encoding="utf-8")
        bounds = read_bounds(path)
        assert bounds.lower == {"age": 0.0, "systolic": 60.0}
        assert bounds.upper == {"age": 120.0, "systolic": 260.0}
