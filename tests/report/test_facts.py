"""What a report says: warnings first, verification, ledger, evaluation and limits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pairdp import (
    Budget,
    BudgetLedger,
    CertificateError,
    PrivateRanker,
    PrivateSearch,
    load,
    save,
    write_report,
)
from pairdp.privacy import Certificate, PureEvent
from pairdp.report import facts as facts_module
from pairdp.report.facts import LedgerFacts, collect_facts
from tests.estimators.data import two_classes
from tests.report.models import DAY, KINDS, evaluation, html_of, model_of
from tests.report.parsed import Page


def page(model: Any, **options: Any) -> Page:
    """Return the parsed report of a model, or of a kind of model."""
    if isinstance(model, str) and not options:
        return Page.of(html_of(model))
    model = model_of(model) if isinstance(model, str) else model
    return Page.of(write_report(model, date=DAY, **options).html)


@pytest.mark.parametrize(
    ("kind", "title"),
    [("not private", "NOT PRIVATE"), ("printed", "FOR STUDY"), ("seeded", "NOT SECRET")],
)
def test_what_must_not_be_overlooked_is_in_the_first_line(kind: str, title: str) -> None:
    found = page(kind)
    assert found.all("h1")[0].text.startswith(f"{title}: ")
    assert found.all("title")[0].text.startswith(f"{title}: ")
    (alert,) = [e for e in found.elements if e.attributes.get("class") == "alert"]
    assert alert.text.startswith(f"{title}. ")
    assert alert.parents[-1] == "header"


def test_other_models_have_no_warning() -> None:
    for kind in set(KINDS) - {"not private", "printed", "seeded"}:
        found = page(kind)
        assert found.all("h1")[0].text.startswith("Privacy report · ")
        assert not [e for e in found.elements if e.attributes.get("class") == "alert"]
        assert "verified" in found.section("summary")


def test_a_false_claim_and_a_refused_certificate_are_said_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = collect_facts(model_of("linear"), date=DAY)
    false = replace(facts.certificate, budget=Budget(0.1, 1e-6))
    claimed = replace(facts, card=replace(facts.card, certificate=false))
    assert claimed.warning is not None
    assert claimed.warning[0] == "FALSE CLAIM"
    assert claimed.attackers is None

    def refuse(*_: Any, **__: Any) -> None:
        raise CertificateError("the noise <b> is too small")

    monkeypatch.setattr(facts_module, "verify_model", refuse)
    found = page(model_of("linear"))
    assert found.all("h1")[0].text.startswith("REFUSED: ")
    assert "the noise <b> is too small" in found.section("verification")
    assert "REFUSED" in found.section("summary")


def test_bounds_on_attackers_are_stated_with_their_exception() -> None:
    found = page("linear").section("meaning")
    assert "no method is right in more than 54.8\u202f%" in found
    assert "except with a probability of at most 10⁻⁶ (1 in 1\u202f000\u202f000)" in found
    pure = page("pure").section("meaning")
    assert "73.2\u202f%" in pure  # e/(1 + e) = 0.7311, rounded up
    assert "content; always" in pure
    none = page("not private").section("meaning")
    assert "nothing bounds what an attacker can learn" in none


def test_the_ledger_is_shown_with_what_is_left() -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-6), data_set="admissions")
    ledger.spend(PureEvent(0.25), "a mean <b>")
    model = PrivateRanker(1.0, 1e-6, data_norm=1.0, ledger=ledger, data_set="admissions")
    model.fit(*two_classes())
    found = page(model).section("ledger")
    for words in ("a mean <b>", "0.25", "this model", "ε = 2, δ = 10⁻⁶", "one more release"):
        assert words in found
    assert f"{ledger.remaining().pure_epsilon:.3g}" in found
    other = page("pure", ledger=ledger).section("ledger")
    assert "NO ENTRY of this ledger has the cost of this model" in other
    assert "No ledger was given" in page("linear").section("ledger")


def test_the_entry_of_a_search_is_found_whichever_model_was_chosen() -> None:
    ranker = PrivateRanker(1.0, 1e-6, model="linear", algorithm="moments", data_norm=1.0)
    candidates = [{"algorithm": "moments"}, {"algorithm": "DPGDC2"}]
    plan = PrivateSearch(ranker, candidates).plan(500, 3)
    assert plan.certificate_of(1).event != plan.certificate.event  # in another order
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    ledger.spend(plan.certificate)
    for place in (0, 1):
        (entry,) = LedgerFacts.of(ledger, {"it": plan.certificate_of(place)}).entries
        assert entry.paid_for == "it"
    (entry,) = LedgerFacts.of(ledger, {"it": plan.candidates[0].plan.certificate}).entries
    assert entry.paid_for == ""


def test_an_evaluation_is_shown_with_intervals() -> None:
    one = evaluation("scorecard")
    found = page("scorecard", evaluation=one)
    quality = found.section("quality")
    low, high = one.auc_interval
    assert f"{one.auc:.3f}, 95 % interval {low:.3f} to {high:.3f}" in quality
    assert f"{one.auc:.3f}" in found.section("summary")
    for words in ("ROC curve", "Calibration", "sensitivity", "both budgets add up", "share of no"):
        assert words in quality
    assert "do NOT include the evaluation in this report" in found.section("meaning")
    assert "does not include the evaluation in this report" in found.section("summary")
    assert "Of the evaluation" in found.section("statement")
    assert "Private evaluation of scores holds" in found.section("verification")
    without = page("linear", evaluation=evaluation("linear", roc=False))
    assert "ROC" not in without.section("quality")
    assert "No private evaluation was paid for" in page("linear").section("quality")


def test_an_evaluation_of_other_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="of another model: it is for the classes 0, 1"):
        write_report(model_of("scorecard"), evaluation=evaluation("linear", roc=False))
    with pytest.raises(ValueError, match="this model has no classes"):
        write_report(model_of("regressor"), evaluation=evaluation("linear", roc=False))
    with pytest.raises(TypeError, match=r"what pairdp\.evaluate returns, got float"):
        write_report(model_of("linear"), evaluation=0.8)


@dataclass(frozen=True)
class OtherEvaluation:
    """An evaluation of another kind: named figures with intervals, and a certificate."""

    certificate: Certificate

    def figures(self) -> dict[str, Any]:
        return {
            "mean_absolute_error": {"value": 12.25, "interval": [11.5, 13.0]},
            "accuracy": 0.75,
            "accuracy_interval": [0.7, 0.8],
            "level": 0.95,
            "null_records": 3.0,
            "target": [0, 100],
        }


def test_any_kind_of_evaluation_is_shown_by_its_named_figures() -> None:
    other = OtherEvaluation(evaluation("linear", roc=False).certificate)
    quality = page("regressor", evaluation=other).section("quality")
    assert "mean absolute error12.25, 95 % interval 11.50 to 13.00" in quality
    assert "accuracy0.750, 95 % interval 0.700 to 0.800" in quality
    assert "null records" in quality


def test_an_evaluation_in_the_model_is_used_and_said_to_be_of_held_out_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_of("linear")
    monkeypatch.setattr(model, "evaluation_", evaluation("linear", roc=False), raising=False)
    quality = page(model).section("quality")
    assert "held out from the fit by a public rule" in quality
    assert "do NOT include" not in page(model).section("meaning")
    assert "add up" not in quality


def test_limits_are_those_of_the_model() -> None:
    limits = {kind: page(kind).section("limits") for kind in KINDS}
    assert "encoding by the schema is covered" in limits["scorecard"]
    assert "Preparation of the records" in limits["linear"]
    assert "Nearest-neighbour models" in limits["metric"]
    assert "Nearest-neighbour models" not in limits["linear"]
    assert "same patient_id is taken on trust" in limits["unit"]
    assert "A person with several records" in limits["linear"]
    assert limits["not private"].endswith("Everything: the model was fitted without noise.")


def test_columns_label_and_unit_are_listed() -> None:
    data = page("unit").section("data")
    for words in ("patient_id", "identifier", "60 to 260", "F, M", "died: yes (low scores)"):
        assert words in data
    assert "all records of each unit (patient_id), of which at most 2 records are used" in data
    assert "it has no schema" in page("linear").section("data")
    assert "declared length of the stream" in page("stream").section("data")
    assert "stay: 0 to 100" in page("regressor").section("data")


@pytest.mark.parametrize("kind", KINDS)
def test_everything_in_a_report_is_in_the_model_file(kind: str, tmp_path: Any) -> None:
    """A model file holds released values and public facts only, and so does the report of it."""
    model = model_of(kind)
    save(model, tmp_path / "model.pairdp")
    assert write_report(load(tmp_path / "model.pairdp"), date=DAY).html == html_of(kind)


def test_cells_of_the_table_are_not_in_the_report() -> None:
    """Neither what the schema has no place for, nor identifiers, nor what is outside a range."""
    import numpy as np

    rng = np.random.default_rng(0)
    secret = {
        "age": ["7731.25", *map(str, rng.integers(0, 100, 399))],
        "ward": ["Secretward", *rng.choice(["ICU", "Surgery"], 399).tolist()],
        "patient_id": [f"Secretid{i}" for i in range(400)],
        "died": rng.choice(["no", "yes"], 400).tolist(),
    }
    schema: dict[str, Any] = {
        "age": [0, 120],
        "ward": {"categories": ["ICU", "Surgery"], "other": True},
        "patient_id": "id",
        "died": {"label": ["no", "yes"]},
    }
    model = PrivateRanker(1.0, schema=schema, unit="patient_id", max_records=1).fit(secret)
    html = write_report(model, date=DAY).html
    assert "Secretward" not in html
    assert "Secretid" not in html
    assert "7731.25" not in html  # a released number may have four of these digits


def test_parts_of_the_records_are_named() -> None:
    model = PrivateRanker(1.0, algorithm="DPEGD", data_norm=1.0).fit(*two_classes())
    released = page(model).section("released")
    assert "from the" in released
    assert "records of the part" in released


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_statement_is_complete(kind: str) -> None:
    """It has all words of the statement, in order."""
    words = page(kind).section("statement")
    stated = model_of(kind)
    stated = stated.steps[-1][1] if hasattr(stated, "steps") else stated
    wanted = re.sub("^  - ", "", stated.privacy_statement(), flags=re.MULTILINE)
    assert "".join(wanted.split()) in "".join(words.split())
