"""The command pairdp audit."""

from __future__ import annotations

from typing import Any

import pytest

from pairdp import PrivateRanker, PrivateSearch
from tests.cli.helpers import BOUNDED, refused, run, run_json
from tests.estimators.data import two_classes

pytestmark = pytest.mark.slow

# Wrong with a probability of 1e-8 each, as in tests/audit.
SURE = ("--confidence", "0.99999999")
QUICK = ("--n", "4", "--climbs", "0", *SURE)


def test_a_published_algorithm_is_consistent() -> None:
    shown = run("audit", "DPGDSC", *QUICK, "--loss", "tight", "--runs", "200000").stdout
    assert shown.startswith("consistent: DPGDSC (Xue 2021, Algorithm 1)\n")
    assert "claimed      ε = 1 at δ = 1e-06" in shown
    assert "certificate  ε = 1 at that δ" in shown


def test_a_violation_is_shown_and_told_by_the_exit_code() -> None:
    printed = ("audit", "DPGDC2", "--calibration", "printed", "--loss", "tight", "--steps", "1")
    printed = (*printed, "--step-size", "0.1", "--radius", "10", "--epsilon", "2", *QUICK)
    printed = (*printed, "--delta", "1e-5")
    shown = run(*printed, code=4).stdout
    assert shown.startswith("violated: DPGDC2")
    assert "certificate  ε = 2.11471 at that δ" in shown
    found = run_json(*printed, code=4)
    assert found["verdict"] == "violated"
    (report,) = found["audits"]
    assert 2.0 < report["lower_bound"] < 2.115
    assert report["claimed"] == {"epsilon": 2.0, "delta": 1e-5}


def test_json_and_number_of_jobs() -> None:
    options = ("audit", "DPEGD", *QUICK, "--full", "--runs", "60")
    first = run_json(*options)
    assert first["verdict"] == "consistent"
    assert first == run_json(*options, "--jobs", "2")


def test_a_saved_model_is_audited() -> None:
    run(*BOUNDED)
    found = run_json("audit", "model.pairdp", "--climbs", "0", "--runs", "100000", *SURE)
    (report,) = found["audits"]
    assert report["verdict"] == "consistent"
    assert report["name"] == "DPGDSC (Xue 2021, Algorithm 1)"
    assert report["certificate_epsilon"] == pytest.approx(report["claimed"]["epsilon"])
    assert 0 < report["lower_bound"] <= report["claimed"]["epsilon"]
    assert report["confidence"] == pytest.approx(1 - 1e-8, abs=1e-12)
    said = refused("audit", "model.pairdp", "--epsilon", "0.1")
    assert "which has a plan: leave out --epsilon" in said


def test_other_tasks() -> None:
    pointwise = run_json("audit", "Wang2024Pointwise", *QUICK, "--runs", "60")
    assert pointwise["verdict"] == "consistent"
    metric = run_json("audit", "DPGDC", *QUICK, "--task", "metric", "--runs", "100000")
    assert metric["verdict"] == "consistent"


@pytest.mark.parametrize("name", ["moments", "minimizer", "scatter", "fisher"])
@pytest.mark.slow
def test_algorithms_that_no_paper_names(name: str) -> None:
    found = run_json("audit", name, *QUICK, "--runs", "200")
    assert found["verdict"] == "consistent"


def test_what_is_refused() -> None:
    assert "neither a file nor an algorithm" in refused("audit", "DPGDX")
    assert "does not take --steps" in refused("audit", "DPEGD", "--steps", "3")
    assert "for named algorithms" in refused("audit", "auto", "--loss", "tight")
    assert "confidence must be between" in refused("audit", "DPGDC", "--confidence", "1")
    run("audit", code=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DPEGD", "Kang2021"])
def test_the_schedule_of_a_theorem_is_consistent(name: str) -> None:
    # n = 16: for fewer records Theorem 3 needs a step size above 2/L.
    options = (name, "--n", "16", "--climbs", "0", *SURE, "--full", "--runs", "60")
    (report,) = run_json("audit", *options, "--schedule", "theorem")["audits"]
    assert report["verdict"] == "consistent"


@pytest.mark.parametrize("measure", ["auc", "accuracy", "error", "pair_auc", "concordance"])
def test_evaluations_are_audited(measure: str) -> None:
    audit = ["audit", measure, "--epsilon", "1", "--n", "40", "--runs", "20000", *SURE]
    found = run_json(*audit)
    assert found["verdict"] == "consistent"
    assert found["audits"][0]["lower_bound"] > 0.6
    assert "audits an evaluation" in refused(*audit, "--loss", "hinge")


def test_the_file_of_an_evaluation_is_audited() -> None:
    run(*BOUNDED)
    run("evaluate", "model.pairdp", "data.csv", "--epsilon", "1", "--label", "outcome", "--measure",
        "accuracy", "--seed", "0", "-o", "accuracy.json")  # fmt: skip
    found = run_json("audit", "accuracy.json", "--full", "--runs", "1000", *SURE)
    assert found["verdict"] == "consistent"
    assert found["audits"][0]["name"] == "Private evaluation of accuracy"
    assert "has a plan" in refused("audit", "accuracy.json", "--n", "30")


def test_the_evaluation_in_a_model_is_audited_too() -> None:
    run(*BOUNDED, "--evaluate", "0.5", "--hopeless", "warn")
    found = run_json("audit", "model.pairdp", "--climbs", "0", "--runs", "20000", *SURE)
    fit, evaluation = found["audits"]
    assert fit["name"] == "DPGDSC (Xue 2021, Algorithm 1)"
    assert evaluation["name"] == "Private evaluation of scores"
    assert evaluation["lower_bound"] > 0
    assert evaluation["confidence"] == pytest.approx(1 - 0.5e-8, abs=1e-12)


@pytest.mark.parametrize(
    ("candidates", "method", "fits"),
    [
        ({"regularization": [0.0, 0.1]}, "auto", 1),
        ([{"features": [0]}, {"features": [1]}], "split", 2),
        ([{"features": [0]}, {"features": [1]}], "repeat", 2),
    ],
)
def test_a_search_is_audited_with_its_choice(candidates: Any, method: Any, fits: int) -> None:
    x, y = two_classes()
    ranker = PrivateRanker(1.0, model="linear", algorithm="moments", data_norm=1.0)
    search = PrivateSearch(ranker, candidates, method=method, unpromising="ignore")
    search.fit(x, y).save("search.pairdp")
    audited = run("audit", "search.pairdp", "--climbs", "0", "--runs", "20000", *SURE)
    assert "pairdp.selection.audit_search audits the whole" in audited.stderr
    assert audited.stdout.count("consistent: Least squares from moments") == fits
    chosen = "consistent: Private choice of a model"
    assert audited.stdout.count(chosen) == (0 if method == "repeat" else 1)
