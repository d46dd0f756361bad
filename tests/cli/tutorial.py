"""The hospital tutorial; ``python -m tests.cli.tutorial`` writes the outputs on the page anew."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import tempfile
from itertools import islice
from pathlib import Path

from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pairdp.cli import schema_command
from pairdp.demo.hospital_table import write_patients
from pairdp.schema import Schema
from tests.cli.helpers import run

PAGE = Path(__file__).parents[2] / "docs" / "tutorial_hospital.md"
_CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
_AUCS = re.compile(r"its AUC is\s+(0\.\d+);(.*?)reaches (0\.\d+)", re.DOTALL)


def run_page(page: str) -> str:
    """Return the page with what its commands print, in the working directory."""
    (schema,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)

    def printed(block: re.Match[str]) -> str:
        lines = [line for line in block[1].splitlines() if line.startswith("$ ")]
        found = []
        for line in lines:
            if "--check" in line:  # by now, the user has filled in the schema
                Path("schema.json").write_text(schema, encoding="utf-8")
            found.append(f"{line}\n{_output(line[2:])}")
        return f"```console\n{''.join(found)}```"

    page = _CONSOLE.sub(printed, page)
    private, other = _aucs(Schema.of(json.loads(schema)))
    return _AUCS.sub(rf"its AUC is\n{private:.3f};\2reaches {other:.3f}", page)


def _output(command: str) -> str:
    """Return what a command prints; those of the shell are imitated."""
    name, *args = shlex.split(command)
    match name:
        case "pairdp":
            result = run(*args)
            return result.stdout + result.stderr
        case "python":
            _, _, path, _, rows, _, seed = args
            write_patients(Path(path), int(rows), int(seed))
            return ""
        case "cat":
            return Path(args[0]).read_text(encoding="utf-8")
        case "head":
            with Path(args[1]).open(encoding="utf-8") as file:
                return "".join(islice(file, int(args[0][1:])))
    raise AssertionError(command)


def _aucs(schema: Schema) -> tuple[float, float]:
    """Return the AUC of the scores on the page, and that of a regression without privacy."""
    scores = [float(row["score"]) for row in _rows("scores.csv")]
    train, new = _rows("patients.csv"), _rows("new.csv")
    died = [row["died"] == "yes" for row in new]
    encoded = [
        schema.encode({name: [row[name] for row in rows] for name in rows[0]}, len(rows))
        for rows in (train, new)
    ]
    model = LogisticRegression(C=1e4, max_iter=1000)
    model.fit(encoded[0], [row["died"] == "yes" for row in train])
    return (
        float(roc_auc_score(died, scores)),
        float(roc_auc_score(died, model.decision_function(encoded[1]))),
    )


def _rows(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))


if __name__ == "__main__":
    schema_command._is_terminal = lambda: True
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(run_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
