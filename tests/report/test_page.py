"""The structure of a report: of every kind of model, with hostile names, and the same again."""

from __future__ import annotations

import itertools
import re
from datetime import date
from typing import Any

import pytest

from pairdp import PrivateRanker, Schema, write_report
from tests.estimators.data import two_classes
from tests.estimators.patients import table
from tests.report.models import DAY, KINDS, evaluation, html_of, model_of
from tests.report.parsed import Page

HOSTILE = "</script><script>alert('x')</script>\"'&"
TURNED = "age\u202e0 = ε"  # what follows would be shown from right to left


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_of_every_kind_is_complete(kind: str) -> None:
    page = Page.of(html_of(kind))
    assert page.errors == []
    sections = [e.attributes["id"] for e in page.all("section")]
    assert sections == [
        "summary", "released", "meaning", "data", "model", "quality", "ledger", "verification",
        "limits", "statement", "signature",
    ]  # fmt: skip
    assert "Signature" in page.section("signature")
    assert "2026-01-02" in page.section("signature")


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_has_a_table_and_a_name(kind: str) -> None:
    html = html_of(kind)
    figures = re.findall(r"<figure>.*?</figure>", html, re.DOTALL)
    for figure in figures:
        assert re.search(r'<svg class=plot [^>]*aria-label="[^"]+"', figure)
        assert "<table" in figure
        assert figure.count("<td>") >= 1
    assert len(figures) == html.count("<figure>")
    assert figures or kind == "not private"


def test_ids_are_unique_headings_in_order_and_links_lead_somewhere() -> None:
    page = Page.of(html_of("scorecard", evaluated=True))
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(set(ids)) == len(ids)
    levels = [int(e.tag[1]) for e in page.elements if re.fullmatch(r"h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    for link in page.all("a"):
        assert (link.attributes["href"] or "").removeprefix("#") in ids
    for name in ("header", "main", "nav"):
        assert len(page.all(name)) == 1
    assert page.all("html")[0].attributes["lang"] == "en"
    assert all(e.attributes.get("aria-label") for e in page.all("section"))


def test_tables_have_captions_and_headings_of_rows_and_columns() -> None:
    html = html_of("scorecard", evaluated=True)
    tables = [t for t in re.findall(r"<table.*?</table>", html, re.DOTALL) if "scope=" in t]
    assert len(tables) > 5
    for found in tables:
        assert "<caption>" in found
        assert 'scope="col"' in found
        assert 'scope="row"' in found


def test_nothing_is_loaded_from_elsewhere() -> None:
    html = html_of("scorecard", evaluated=True)
    assert "http://www.w3.org" in html  # the name space of SVG, in the script
    assert re.findall(r"(?:https?:)?//[a-z]", html.replace("http://www.w3.org/2000/svg", "")) == []
    page = Page.of(html)
    assert not page.all("img")
    assert not page.all("iframe")
    assert all("src" not in e.attributes for e in page.elements)
    assert [e.attributes["href"] for e in page.all("link")] == ["data:,"]
    policy = next(e for e in page.all("meta") if "http-equiv" in e.attributes).attributes["content"]
    assert "default-src 'none'" in (policy or "")
    assert all(not name.startswith("on") for e in page.elements for name in e.attributes)


def test_hostile_names_are_escaped_everywhere() -> None:
    schema = {HOSTILE: [0, 120], "sex": ["F", HOSTILE], "died": {"label": ["no", HOSTILE]}}
    columns = table(200)
    rows = {
        HOSTILE: columns["age"],
        "sex": [("F", HOSTILE)[cell == "M"] for cell in columns["sex"]],
        "died": [("no", HOSTILE)[cell == "yes"] for cell in columns["died"]],
    }
    model = PrivateRanker(1.0, schema=Schema.of(schema), data_set=HOSTILE).fit(rows)
    html = write_report(model, date=DAY).html
    page = Page.of(html)
    assert page.errors == []
    assert "alert('x')" not in html
    assert len(page.all("script")) == 1
    assert HOSTILE in page.section("data")
    assert HOSTILE in page.all("h1")[0].text


def test_names_cannot_turn_the_text_around() -> None:
    X, y = two_classes(200)
    model = PrivateRanker(1.0, data_norm=1.0, data_set=TURNED).fit(X, y)
    html = write_report(model, date=DAY).html
    assert "\u202e" not in html
    assert "age\ufffd0 = ε" in html


def test_the_commands_verify_the_evaluation_too() -> None:
    evaluated = Page.of(html_of("scorecard", evaluated=True)).section("verification")
    alone = Page.of(html_of("scorecard")).section("verification")
    for page, expected in ((evaluated, True), (alone, False)):
        assert "pairdp verify MODEL.pairdp" in page
        assert ("pairdp verify EVALUATION.json" in page) is expected


def test_an_auc_that_noise_hides_is_not_stated() -> None:
    plan = evaluation("scorecard", roc=False).plan
    found = plan.result(plan.read([0.0, 0.0]), plan.certificate)
    assert found.auc_interval == (0.0, 1.0)
    assert "not known" in str(found)
    html = write_report(model_of("scorecard"), evaluation=found, date=DAY).html
    assert "not known: the noise hides it" in Page.of(html).section("quality")
    assert "hidden by noise" in html


def test_the_same_facts_give_the_same_page() -> None:
    model = model_of("scorecard")
    first = html_of("scorecard", evaluated=True)
    assert write_report(model, evaluation=evaluation("scorecard"), date=DAY).html == first
    assert (
        write_report(model, evaluation=evaluation("scorecard"), date=date(2026, 1, 3)).html != first
    )


def test_a_report_is_saved_and_shown_in_notebooks(tmp_path: Any) -> None:
    model = model_of("linear")
    report = model.report(tmp_path / "report.html", date=DAY)
    assert (tmp_path / "report.html").read_text("utf-8") == report.html
    assert len(repr(report)) < 100
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert "<!DOCTYPE" not in shown  # it is escaped
    with pytest.raises(FileNotFoundError, match="no directory"):
        report.save(tmp_path / "nowhere" / "report.html")


def test_models_that_are_not_private_estimators_or_not_fitted_are_refused() -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(TypeError, match="not a private estimator"):
        write_report(LogisticRegression().fit(*two_classes(50)))
    with pytest.raises(NotFittedError):
        PrivateRanker(1.0).report()
