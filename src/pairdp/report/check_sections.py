"""The sections on the budget, verification, limits, the exact statement and the signature."""

from __future__ import annotations

from collections.abc import Iterator

from pairdp.drawing.text import number
from pairdp.privacy import Budget
from pairdp.privacy.certificates.on_trust import trust_lines
from pairdp.privacy.certificates.statement import has_schema
from pairdp.privacy.ledger.balance import Remaining
from pairdp.report.facts import LedgerEntry, ReportFacts
from pairdp.report.html import Html, bullets, facts, paragraphs, section, table, tag
from pairdp.report.statement import statement
from pairdp.report.words import budget_words

STATES = {
    "holds": "verified",
    "open": "not planned again",
    "refused": "REFUSED",
    "no claim": "nothing to verify",
}


def ledger_section(report: ReportFacts) -> Html:
    """Return the entries of the ledger, and what is left."""
    ledger = report.ledger
    if ledger is None:
        return section(
            "ledger",
            "The budget of the data set",
            paragraphs(
                "No ledger was given. Other releases of the same records add to the cost, and "
                "this report does not know of any."
            ),
        )
    named = "" if ledger.data_set is None else f" of the data set {ledger.data_set}"
    unit = "single records" if ledger.unit is None else f"all records of one {ledger.unit}"
    budget = budget_words(Budget(ledger.epsilon, ledger.delta))
    words = [
        (
            f"All releases{named} together may spend {budget}, for {unit}. Costs of single entries "
            "are at this δ; together they cost less than their sum if δ > 0."
        )
    ]
    if not any("this model" in entry.paid_for for entry in ledger.entries):
        words.append("NO ENTRY of this ledger has the cost of this model.")
    spent = min(ledger.spent / ledger.epsilon, 1.0)
    meter = tag(
        "div",
        tag("div", cls="spent", style=f"width:{100 * spent:.1f}%"),
        cls="meter",
        role="img",
        aria_label=f"{100 * spent:.0f} % of ε is spent",
    )
    pairs = [
        ("budget", budget),
        ("spent", f"ε = {number(float(f'{ledger.spent:.4g}'))} at this δ"),
        ("left", _left(ledger.remaining)),
    ]
    head = ("time (UTC)", "release", "ε alone", "paid for", "data set", "note")
    entries = table(
        head, map(_entry, ledger.entries), caption="Entries of the ledger", cls="ledger"
    )
    return section(
        "ledger",
        "The budget of the data set",
        paragraphs(*words),
        meter,
        facts(pairs),
        entries if ledger.entries else None,
    )


def _left(left: Remaining) -> str:
    pure = f"one more release with pure ε = {left.pure_epsilon:.3g}"
    if left.gaussian_mu == 0:
        return pure
    return f"{pure}, or one with Gaussian noise of ε = {left.gaussian_epsilon:.3g}"


def _entry(entry: LedgerEntry) -> tuple[str, ...]:
    spend = entry.spend
    known = (entry.paid_for, spend.facts.data_set, spend.facts.note)
    cost = number(float(f"{entry.epsilon:.4g}"))
    time = spend.time.replace("T", " ").removesuffix("+00:00")
    return (time, spend.label, cost, *(fact or "–" for fact in known))


def verification_section(report: ReportFacts, command: str) -> Html:
    """Return the result of verification, and the command that repeats it."""
    verified = report.verified
    evaluated = report.evaluation_verified
    headlines = [*verified.headlines, *(() if evaluated is None else evaluated.headlines)]
    checks = [*verified.checks, *(() if evaluated is None else evaluated.checks)]
    rows = [
        (
            check.what,
            number(float(f"{check.stated:.7g}")),
            number(float(f"{check.recomputed:.7g}")),
            check.route,
            "agrees" if check.ok else "FAILS",
        )
        for check in checks
    ]
    head = ("number", "stated", "recomputed", "how", "result")
    listed = table(head, rows, caption="Numbers of the certificates, recomputed by a second route")
    summary = tag("summary", f"All {len(rows)} recomputed numbers")
    return section(
        "verification",
        "Verification",
        bullets(headlines),
        paragraphs(
            "To verify is to plan again from the public facts that the certificate states, to "
            "compare every number, and to recompute each by a second route. It takes no data, and "
            "anyone who has the file can repeat it:"
        ),
        tag("pre", command, cls="command"),
        paragraphs(
            "No certificate can show that the model was made by this plan, from these records: for "
            "that, one has to trust whoever made it."
        ),
        tag("details", summary, listed, cls="long") if rows else None,
    )


def limits_section(report: ReportFacts) -> Html:
    """Return what is not covered, for this model."""
    return section(
        "limits",
        "What is not covered",
        bullets(_limits(report)),
    )


def _limits(report: ReportFacts) -> Iterator[str]:
    certificate = report.certificate
    yield from trust_lines(certificate)
    if certificate.budget is None:
        yield "Everything: the model was fitted without noise."
        return
    yield (
        "Other releases of the same records: other models, statistics, plots, and parameters that "
        "were chosen by looking at them."
        + ("" if report.ledger is None else " The ledger lists those that it paid for.")
    )
    if has_schema(certificate):
        yield (
            "What was done to the table before the schema was applied, such as a column or an "
            "imputed value that was computed from other records. The encoding by the schema is "
            "covered."
        )
    else:
        yield (
            "Preparation of the records before they reached the algorithm: a scaler, an imputer or "
            "a selection of columns that was fitted to them."
        )
    if certificate.unit is None:
        yield (
            "A person with several records: each record is protected by itself, and all of them "
            "together less."
        )
    else:
        yield (
            f"Wrong identifiers: that all rows of a person have the same {certificate.unit.name} "
            "is taken on trust."
        )
    yield (
        "Facts about many people: that a disease is more common among smokers is what a model is "
        "meant to show, and may concern persons who are not in the data."
    )
    if report.evaluation is None:
        yield "How good the model is: no private evaluation was paid for."
    if report.is_metric:
        yield (
            "Nearest-neighbour models that use this metric: they store raw records, and are not "
            "private."
        )
    if report.handles_invalid == "error":
        yield (
            "Error messages for records that cannot be read: whether there was one depends on the "
            "data. Only those who hold the data may see it."
        )
    yield "The machine: running time, memory, logs of other software, and access to the records."


def statement_section(report: ReportFacts) -> Html:
    """Return the exact statement of each certificate."""
    evaluation = report.evaluation
    return section(
        "statement",
        "The exact statement",
        paragraphs(
            f"Of the model, with {budget_words(report.certificate.budget)}:",
        ),
        statement(report.statement),
        None
        if evaluation is None
        else paragraphs(
            f"Of the evaluation, with {budget_words(evaluation.certificate.budget)}:",
        ),
        None if evaluation is None else statement(evaluation.certificate.statement()),
    )


def signature_section(report: ReportFacts) -> Html:
    """Return what identifies the report, and lines to sign on."""
    pairs = [
        ("date of this report", f"{report.date:%Y-%m-%d}"),
        *((f"{name} made by", version) for name, version in report.versions),
        ("noise", report.certificate.noise_source),
        *((f"SHA-256 of {file.name}", file.sha256) for file in report.files),
    ]
    lines = tag(
        "div",
        *(
            tag("div", tag("div", cls="rule"), tag("div", label, cls="under"))
            for label in ("Name", "Role", "Date and place", "Signature")
        ),
        cls="lines",
    )
    return section(
        "signature",
        "Decision and signature",
        facts(pairs),
        tag(
            "div",
            tag("p", "I have read this report, and decide on the release of the model:"),
            tag(
                "p",
                *(
                    tag("span", tag("span", cls="box"), f" {choice}", cls="choice")
                    for choice in ("released", "not released", "released under conditions:")
                ),
                cls="boxes",
            ),
            tag("div", cls="rule"),
            lines,
            cls="sign",
        ),
    )
