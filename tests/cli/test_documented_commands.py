"""The commands of the documentation, run on a small table in the order of each page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.helpers import run
from tests.test_documentation import ROOT, blocks

SCHEMA = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "died": {"label": ["no", "yes"]},
}
PAGES = [
    "command_line.md",
    "estimators.md",
    "evaluation.md",
    "first_model.md",
    "report.md",
    "theory.md",
]
# A new schema is filled in by hand before it is used.
LEFT_OUT = ("...", "pairdp schema ")


def write_tables(n: int = 1500) -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 95, n)
    died = np.where(rng.random(n) < 1 / (1 + np.exp((60 - age) / 5)), "yes", "no")
    people = [f"P{i:04d}" for i in range(n)]
    frame = pd.DataFrame(
        {"patient_id": people, "age": age, "sex": rng.choice(["F", "M"], n), "died": died}
    )
    for name in ("patients", "data", "test"):
        frame.to_csv(f"{name}.csv", index=False)
    frame.drop(columns="died").head(5).to_csv("new.csv", index=False)
    Path("schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")


def commands(page: str) -> list[str]:
    text = "\n".join(text for language, text in blocks(ROOT / "docs" / page) if language == "shell")
    lines = re.findall(r"^pairdp [a-z].*$", text, re.MULTILINE)
    return [line for line in lines if not any(part in line for part in LEFT_OUT)]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_run(page: str) -> None:
    write_tables()
    model = ["model.pairdp", "test.csv", "--epsilon", "1"]
    run("fit", "patients.csv", "--schema", "schema.json", "--epsilon", "1", "-o", "model.pairdp")
    run("evaluate", *model, "--roc", "-o", "roc.json")
    run("evaluate", *model, "-o", "evaluation.json")
    if page != "command_line.md":  # which makes its own
        run("ledger", "new", "study.ledger", "--epsilon", "20", "--delta", "1e-3")
    found = commands(page)
    assert found
    for command in found:
        _, *args = shlex.split(command, comments=True)
        if "-o" in args:  # the file may be there already
            args.append("--force")
        run(*args)


@pytest.mark.slow
def test_comparison_prints_what_the_page_says() -> None:
    (text,) = (
        text for language, text in blocks(ROOT / "docs/estimators.md") if language == "console"
    )
    command, printed = text.split("\n", 1)
    number = re.compile(r"0\.\d{3}")
    found = run(*shlex.split(command)[2:]).stdout
    assert number.sub("", found).split() == number.sub("", printed).split()
    expected = [float(each) for each in number.findall(printed)]
    assert [float(each) for each in number.findall(found)] == pytest.approx(expected, abs=0.002)
