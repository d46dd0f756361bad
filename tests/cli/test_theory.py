"""``pairdp plan --theory``."""

from __future__ import annotations

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


def test_json_and_records_for_an_excess_risk() -> None:
    report = run_json(*PLAN, "--regularization", "0.1", "--excess-risk", "0.1", "--json")
    kang = next(b for b in report["bounds"] if b["paper"] == "Kang 2021" and b["value"])
    assert kang["vacuous"] is True
    assert kang["assumptions"][0]["met"] is True
    needed = {entry["statement"]: entry for entry in report["records_needed"]}
    assert needed["Theorem 2"]["printed"] > needed["Theorem 2"]["proved"] > 2000
    assert len(report["gradient_complexities"]) == 8


def test_an_excess_risk_needs_the_theory() -> None:
    arguments = ["plan", "--n", "100", "--features", "2", "--excess-risk", "0.1"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "--theory" in result.output
