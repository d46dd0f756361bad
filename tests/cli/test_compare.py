"""``pairdp compare``: synthetic records by default, and never a table that is not public."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.helpers import refused, run, run_json, there

SMALL = ["compare", "--n", "120", "--features", "3", "--repeats", "2", "--algorithms", "moments"]
PUBLIC = ["compare", "--public-data", "data.csv", "--repeats", "2", "--algorithms", "moments"]


def test_a_table_of_scores_is_printed_and_a_page_saved() -> None:
    shown = run(*SMALL, "--epsilons", "0.5,5", "-o", "out.html").stdout
    assert "synthetic records: n = 120, 3 features" in shown
    assert "ε = 0.5" in shown
    assert "logistic regression (not private)" in shown
    assert "Saved to out.html" in shown
    assert "AUC over ε" in Path("out.html").read_text()
    assert "already exists" in refused(*SMALL, "-o", "out.html")
    assert run(*SMALL, "--epsilons", "0.5,5", "-o", "out.html", "--force").stdout == shown


def test_json_has_every_score() -> None:
    found = run_json(*SMALL, "--epsilons", "1")
    assert [score["algorithm"] for score in found["scores"]] == [
        "moments",
        "logistic regression",
        "auto without noise",
    ]
    assert all(len(score["values"]) == 2 for score in found["scores"])
    assert (found["delta"], found["seed"], found["output"]) == (1e-6, 0, None)


def test_a_table_is_used_only_if_it_is_said_to_be_public() -> None:
    labelled = [*PUBLIC, "--label", "outcome", "--bounds", "bounds.json"]
    before = there()
    why = refused(*labelled, "-o", "out.html")
    assert "add --is-public if everybody may see these records" in why
    assert there() == before
    found = run_json(*labelled, "--is-public", "--epsilons", "5")
    assert found["records"] == "public records: n = 133 of 200, 2 features, 2 classes"
    assert found["scores"][1]["mean"] > 0.7


def test_a_schema_describes_a_public_table() -> None:
    schema = {"age": [0, 100], "bmi": [10, 60], "outcome": {"label": [0, 1]}}
    Path("schema.json").write_text(json.dumps(schema))
    found = run_json(*PUBLIC, "--is-public", "--schema", "schema.json", "--epsilons", "5")
    assert found["scores"][1]["mean"] > 0.7


def test_options_that_do_not_fit_are_refused() -> None:
    assert "is for --public-data: leave out --label" in refused(*SMALL, "--label", "outcome")
    assert "needs --label" in refused(*PUBLIC, "--is-public")
    assert "leave out n_features" in refused(
        *PUBLIC, "--is-public", "--label", "outcome", "--features", "3"
    )
    assert ".html or .svg" in refused(*SMALL, "-o", "out.png")
    assert "did you mean 'moments'" in refused(*SMALL[:-1], "momants")
    assert "list of numbers" in run(*SMALL, "--epsilons", "one", code=2).stderr
