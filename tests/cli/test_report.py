"""``pairdp report``: a page for the person who signs."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from pairdp import CertificateError, PrivateRanker, evaluate, load
from pairdp.privacy import Budget, BudgetLedger
from tests.cli.helpers import BOUNDED, FIT, SECRET, refused, run, run_json, table, there
from tests.report.parsed import Page

REPORT = ["report", "model.pairdp", "-o", "report.html", "--date", "2026-01-02"]
EVALUATE = ["evaluate", "model.pairdp", "data.csv", "--label", "outcome", "--epsilon", "1"]


def page() -> Page:
    found = Page.of(Path("report.html").read_text("utf-8"))
    assert found.errors == []
    return found


def test_a_report_names_its_files_and_the_commands_that_verify_them() -> None:
    run(*SECRET, "--data-set", "admissions")
    run(*EVALUATE, "--roc", "-o", "eval uation.json")
    said = run(*REPORT, "--evaluation", "eval uation.json").stdout
    assert said.startswith("Wrote report.html")
    found = page()
    assert found.all("h1")[0].text == "Privacy report · admissions"
    digest = hashlib.sha256(Path("model.pairdp").read_bytes()).hexdigest()
    assert digest in found.section("signature")
    assert "pairdp verify model.pairdp" in found.section("verification")
    assert "pairdp verify 'eval uation.json'" in found.section("verification")
    for name in ("age", "0 to 100", "bmi", "10 to 60"):
        assert name in found.section("data")
    auc = json.loads(Path("eval uation.json").read_text())["figures"]["auc"]
    assert f"{auc:.3f}" in found.section("summary")


def test_a_report_shows_the_ledger_and_does_not_change_it() -> None:
    run("ledger", "new", "ledger.json", "--epsilon", "3", "--delta", "1e-6")
    run(*SECRET, "--ledger", "ledger.json")
    before = Path("ledger.json").read_bytes()
    run(*REPORT, "--ledger", "ledger.json")
    assert Path("ledger.json").read_bytes() == before
    found = page().section("ledger")
    assert "this model" in found
    left = BudgetLedger.load("ledger.json").remaining().pure_epsilon
    assert f"{left:.3g}" in found
    assert BudgetLedger.load("ledger.json").budget == Budget(3.0, 1e-6)


def test_a_report_is_the_same_for_the_same_day_and_replaced_on_demand() -> None:
    run(*BOUNDED)
    said = run_json(*REPORT)
    assert said["report"] == "report.html"
    assert said["warning"].startswith("NOT SECRET. ")
    assert said["refused"] is False
    first = Path("report.html").read_bytes()
    assert "already exists" in refused(*REPORT)
    assert run(*REPORT, "--force").stderr.startswith("Warning: NOT SECRET. ")
    assert Path("report.html").read_bytes() == first
    assert page().all("h1")[0].text.startswith("NOT SECRET: ")  # a seed was given
    run(*REPORT[:-2], "--force")
    assert re.search(r"\d{4}-\d\d-\d\d", page().section("signature"))


def test_a_refused_certificate_is_an_error_after_the_page_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CertificateError("forged")

    run(*SECRET)
    monkeypatch.setattr("pairdp.report.facts.verify_model", refuse)
    assert "Warning: REFUSED" in run(*REPORT, code=1).stderr
    assert page().all("h1")[0].text.startswith("REFUSED: ")


def test_a_missing_or_damaged_model_is_refused() -> None:
    assert "no-model.pairdp" in refused("report", "no-model.pairdp", "-o", "report.html")
    Path("model.pairdp").write_bytes(b"nonsense")
    refused(*REPORT)
    run(*BOUNDED, "--force")
    whole = Path("model.pairdp").read_bytes()
    Path("model.pairdp").write_bytes(whole[:-50])
    refused(*REPORT)
    assert "report.html" not in there()


@pytest.mark.parametrize("document", [b"", b"{", b"{}", b"[1]", b"\xff\xfe", b'{"format": 1}'])
def test_a_damaged_evaluation_is_refused(document: bytes) -> None:
    run(*BOUNDED)
    Path("bad.json").write_bytes(document)
    assert "bad.json" in refused(*REPORT, "--evaluation", "bad.json")
    assert "report.html" not in there()


def test_an_edited_evaluation_is_refused() -> None:
    run(*SECRET)
    run(*EVALUATE, "-o", "evaluation.json")
    stated = json.loads(Path("evaluation.json").read_text())
    stated["figures"]["auc"] = 0.999
    Path("evaluation.json").write_text(json.dumps(stated))
    assert "evaluation.json" in refused(*REPORT, "--evaluation", "evaluation.json")
    assert "no.json cannot be read" in refused(*REPORT, "--evaluation", "no.json")
    assert "report.html" not in there()


def test_an_evaluation_of_another_model_is_refused() -> None:
    run(*SECRET)
    frame = table(("no", "yes"))
    other = PrivateRanker(1.0, data_norm=100.0).fit(frame[["age", "bmi"]], frame["outcome"])
    evaluate(other, frame[["age", "bmi"]], frame["outcome"], 1.0).save("other.json")
    assert "of another model" in refused(*REPORT, "--evaluation", "other.json")
    same_classes = table()
    columns, labels = same_classes[["age", "bmi"]], same_classes["outcome"]
    other = PrivateRanker(1.0, data_norm=100.0, model="linear").fit(columns, labels)
    evaluate(other, columns, labels, 1.0).save("other.json")
    found = refused(*REPORT, "--evaluation", "other.json")
    assert "the evaluation is of another model: the digest of what that model released" in found
    assert "report.html" not in there()


def test_outputs_that_cannot_be_written_are_refused_before_anything() -> None:
    run(*BOUNDED)
    assert "no directory" in refused("report", "model.pairdp", "-o", "nowhere/report.html")
    assert "is an input" in refused("report", "model.pairdp", "-o", "model.pairdp", "--force")
    assert "no-ledger" in refused(*REPORT, "--ledger", "no-ledger.json")
    assert "report.html" not in there()
    assert load("model.pairdp") is not None


def test_a_model_without_bounds_has_a_report_too() -> None:
    run(*FIT, "--data-norm", "100", "--unscaled", "-o", "plain.pairdp")
    run("report", "plain.pairdp", "-o", "report.html")
    assert "no schema" in page().section("data")
