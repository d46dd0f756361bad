"""``pairdp predict`` with pipelines of steps of scikit-learn."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from pairdp import save
from tests.cli.helpers import refused, run
from tests.model_file.test_transformers import FRAME, LABELS, STEPS, ranker


@pytest.fixture
def scores() -> list[float]:
    """Return the scores in Python, after writing the model and the table."""
    model = make_pipeline(STEPS["columns by name"], ranker()).fit(FRAME, LABELS)
    save(model, "model.pairdp")
    FRAME.iloc[:, ::-1].to_csv("new.csv", index=False, float_format="%.17g")
    return model.decision_function(FRAME).tolist()  # type: ignore[no-any-return]


def column(name: str, path: str) -> list[str]:
    with Path(path).open() as file:
        return [row[name] for row in csv.DictReader(file)]


def test_a_table_of_text_and_gaps_gets_the_scores_of_python(scores: list[float]) -> None:
    run("predict", "model.pairdp", "new.csv", "-o", "scores.csv")
    np.testing.assert_allclose(
        np.array(column("score", "scores.csv"), float), scores, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", ["sex", "systolic"])
def test_unknown_cells_are_an_error_or_get_no_score(scores: list[float], name: str) -> None:
    lines = Path("new.csv").read_text().splitlines()
    fourth = lines[4].split(",")
    fourth[lines[0].split(",").index(name)] = "unknown"
    lines[4] = ",".join(fourth)
    Path("new.csv").write_text("\n".join(lines) + "\n")
    error = refused("predict", "model.pairdp", "new.csv", "-o", "scores.csv")
    assert "cannot read record 4" in error
    run("predict", "model.pairdp", "new.csv", "--invalid", "null", "-o", "scores.csv")
    found = column("score", "scores.csv")
    assert [i for i, cell in enumerate(found) if not cell] == [3]
    del found[3], scores[3]
    np.testing.assert_allclose(np.array(found, float), scores, rtol=1e-9, atol=1e-12)
