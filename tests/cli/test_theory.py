"""``pairdp plan --theory``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pairdp.cli.main import main
from tests.cli.helpers import run_json

PLAN = ["plan", "--n", "2000", "--features", "4", "--theory"]


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*PLAN, *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_table_of_a_ranking_problem() -> None:
    text = printed()
    assert "LogisticRanking" in text
    assert "NOT MET: the problem is strongly convex" in text
    assert "vacuous" in text
    assert "records that suffice" not in text


def test_a_named_algorithm_brings_its_problem() -> None:
    assert "NOT MET: the problem is strongly convex" not in printed("--algorithm", "DPGDSC")


def test_metrics_and_other_losses() -> None:
    text = printed("--task", "metric", "--loss", "hinge", "--regularization", "0.1")
    assert "HingeMetric" in text
    assert "NOT MET: the loss is smooth" in text


def test_graded_responses_are_part_of_the_problem() -> None:
    text = printed("--response-bounds", "0", "5", "--response-levels", "6")
    assert text.startswith("Problem(loss=GradedRanking(")
    assert "levels=6" in text
    of_metric = ("--task", "metric", "--response-bounds", "0", "5")
    assert "are for --task ranking" in refused(*PLAN, *of_metric)


def test_json_and_records_for_an_excess_risk() -> None:
    report = run_json(*PLAN, "--regularization", "0.1", "--excess-risk", "0.1", "--json")
    kang = next(b for b in report["bounds"] if b["paper"] == "Kang 2021" and b["value"])
    assert kang["vacuous"] is True
    assert kang["assumptions"][0]["met"] is True
    needed = {entry["statement"]: entry for entry in report["records_needed"]}
    assert needed["Theorem 2"]["printed"] > needed["Theorem 2"]["proved"] > 2000
    assert len(report["gradient_complexities"]) == 8


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 1, result.output
    return result.output


@pytest.mark.parametrize("option", ["--excess-risk", "--failure", "--solution-norm"])
def test_options_of_the_theory_need_it(option: str) -> None:
    assert f"is for --theory: leave out {option}" in refused(*PLAN[:-1], option, "0.1")


@pytest.mark.parametrize(
    "option", [("--calibration", "certified"), ("--schedule", "tuned"), ("--details",)]
)
def test_options_of_plans_are_refused(option: tuple[str, ...]) -> None:
    assert f"not plans: leave out {option[0]}" in refused(*PLAN, *option)


def test_algorithms_for_single_records_are_refused() -> None:
    said = refused(*PLAN, "--algorithm", "Wang2024Pointwise")
    assert "Wang2024Pointwise learns from single records: --theory covers pairs only" in said


def test_the_failure_and_the_norm_of_the_solution_change_the_bounds() -> None:
    def value(*arguments: str) -> float:
        report = run_json(*PLAN, *arguments, "--json")
        (found,) = (b for b in report["bounds"] if b["statement"] == "Theorem 3 (no privacy)")
        return float(found["value"])

    usual = value()
    assert value("--failure", "0.2") < usual
    assert value("--solution-norm", "0.5") < usual


def test_a_risk_that_nothing_reaches_is_told_with_what_was_tried() -> None:
    assert "any n up to 10¹⁵" in printed("--excess-risk", "1e-12")
