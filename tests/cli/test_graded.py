"""``pairdp fit --response-bounds``: a graded response from a table to predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pairdp import load
from tests.cli.helpers import N, ranker_of, refused, run, run_json, table, write

FIT = ["fit", "graded.csv", "--label", "grade", "--bounds", "bounds.json", "--seed", "1"]
GRADED = [*FIT, "--algorithm", "DPGDSC", "--response-bounds", "-1", "4", "-o", "graded.pairdp"]


def graded() -> pd.DataFrame:
    frame = table()
    del frame["outcome"]
    return frame.assign(grade=np.round(frame["age"] / 20, 1).astype(object))


def test_from_a_table_to_predictions() -> None:
    write(graded(), "graded.csv")
    found = run_json(*GRADED, "--epsilon", "100")
    assert (found["n"], found["ranked_high"], found["directions"]) == (N, None, None)
    assert "Responses are clipped to the range from -1 to 4" in str(found["certificate"])
    assert ranker_of("graded.pairdp").response_bounds == (-1.0, 4.0)
    run("verify", "graded.pairdp")
    lines = run("predict", "graded.pairdp", "graded.csv").stdout.splitlines()
    assert lines[0] == "score"
    scores = np.array(lines[1:], dtype=float)
    assert np.corrcoef(scores, graded()["age"])[0, 1] > 0
    statement = run(*GRADED, "--response-levels", "6", "--force").stdout
    assert ranker_of("graded.pairdp").response_levels == 6
    assert "Larger responses are ranked above smaller ones." in statement


def test_the_concordance_is_evaluated() -> None:
    write(graded(), "graded.csv")
    run(*GRADED, "--epsilon", "100", "--evaluate", "0.4")
    assert "concordance" in run("show", "graded.pairdp").stdout
    assert "holds" in run("verify", "graded.pairdp").stdout
    run("report", "graded.pairdp", "-o", "report.html")
    assert "concordance" in Path("report.html").read_text()
    evaluate = ["evaluate", "graded.pairdp", "graded.csv", "--label", "grade", "--epsilon", "5"]
    assert "concordance of 0.8" in run(*evaluate, "--plan").stdout
    found = run_json(*evaluate, "--seed", "0", "-o", "evaluation.json")
    responses = np.clip(graded()["grade"].astype(float), -1, 4)
    exact = load("graded.pairdp").score(graded().drop(columns="grade"), responses)
    low, high = found["figures"]["concordance_interval"]
    assert low < exact < high
    assert "holds" in run("verify", "evaluation.json").stdout
    plan = ["plan", "--n", "500", "--features", "3", "--response-bounds", "0", "5"]
    assert "concordance of 0.8" in run(*plan, "--epsilon", "1", "--evaluate").stdout


def test_cells_that_are_no_numbers() -> None:
    frame = graded()
    frame.loc[3, "grade"] = "high"
    write(frame, "graded.csv")
    assert "must be numbers" in refused(*GRADED)
    run(*GRADED, "--invalid", "null")


def test_a_plan_without_data() -> None:
    sizes = ["plan", "--n", "500", "--features", "3"]
    found = run_json(*sizes, "--response-bounds", "0", "5")
    losses = {row["loss"] for row in found["candidates"]}
    assert losses == {"GradedRanking"}


def test_refusals() -> None:
    write(graded(), "graded.csv")
    assert "low below high" in refused(*FIT, "--response-bounds", "4", "0", "-o", "m")
    for more in (["--classes", "0,1"], ["--threshold", "0"]):
        assert "without --response-bounds" in refused(*GRADED, *more)
    metric = ["--task", "metric", "--response-bounds", "0", "4", "-o", "m"]
    assert "are for --task ranking" in refused(*FIT, *metric)
