"""Mixed tables as people have them, on the command line, beside scikit-learn without privacy."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from pairdp import Schema
from tests.cli.helpers import run, run_json
from tests.schema.real_tables import FILES, Columns, parts, without_privacy
from tests.studies.data.places import needs_data


def write(path: str, table: Columns) -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon", "gap"), [("adult", "1", 0.03), ("adult", "5", 0.02), ("german", "8", 0.06)]
)
def test_a_mixed_table_from_fit_to_scores(name: str, epsilon: str, gap: float) -> None:
    path = str(FILES / f"{name}.json")
    schema = Schema.read(path)
    train, test = parts(name)
    write("train.csv", train)
    write("test.csv", {column: cells for column, cells in test.items() if column != schema.label})
    run("schema", "--check", path, "train.csv", "--yes")
    run("fit", "train.csv", "--schema", path, "--epsilon", epsilon, "--seed", "0", "-o", "m.pairdp")
    assert "holds" in run("verify", "m.pairdp").stdout
    scores = [row["score"] for row in run_json("predict", "m.pairdp", "test.csv")]
    high = [label == (schema.classes or ("",))[-1] for label in test[str(schema.label)]]
    private, best = roc_auc_score(high, scores), without_privacy(schema, train, test)
    assert best - gap < private, f"AUC {private:.3f}, and {best:.3f} without privacy"
