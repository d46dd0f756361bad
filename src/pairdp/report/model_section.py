"""The sections on the data and on the model."""

from __future__ import annotations

from collections.abc import Iterator

from pairdp.drawing import write_group
from pairdp.drawing.text import measured
from pairdp.report.card import Weight
from pairdp.report.columns import ColumnFact
from pairdp.report.facts import ReportFacts
from pairdp.report.html import Html, facts, paragraphs, section, table, tag
from pairdp.report.words import count, protects

_PRINTED = 40  # longer tables are not printed


def data_section(report: ReportFacts) -> Html:
    """Return the data set, its label and unit, and the public facts of its columns."""
    card = report.card
    pairs = [
        ("data set", card.data_set or "not named"),
        ("records", f"n = {count(report.certificate.n)}" + _horizon(report)),
        ("protected", protects(report.certificate)),
        *_label(report),
    ]
    if not card.columns:
        known = paragraphs(
            "The model does not state which columns it was fitted to: it has no schema. It got "
            f"{count(len(card.weights))} numbers for each record."
            if card.weights
            else "The model does not state which columns it was fitted to: it has no schema."
        )
    else:
        rows = [(column.name, column.role, _public(column)) for column in card.columns]
        known = table(
            ("column", "used as", "public range or kind"),
            rows,
            caption="Columns, and what was fixed about them before any record was read",
        )
    return section("data", "The data", facts(pairs), known)


def _public(column: ColumnFact) -> str:
    return "–" if column.role in ("identifier", "not used") else column.words.removeprefix("label ")


def _horizon(report: ReportFacts) -> str:
    return " at most, the declared length of the stream" if report.is_stream else ""


def _label(report: ReportFacts) -> Iterator[tuple[str, str]]:
    named = [column for column in report.card.columns if column.role == "label"]
    if report.card.ranked is not None:
        low, high = report.card.ranked
        name = f"{named[0].name}: " if named else ""
        yield "label", f"{name}{low} (low scores) and {high} (high scores)"
    elif named:
        yield "label", f"{named[0].name}: {_public(named[0])}"


def model_section(report: ReportFacts) -> Html:
    """Return the released weights, with figures and their noise."""
    card = report.card
    if not card.weights:
        return section(
            "model", "The model", paragraphs("This model has no weights that could be listed.")
        )
    said = [_noise_words(report)]
    if card.axes:
        shown = min(len(card.axes), 3)
        said.insert(
            0,
            f"The metric measures distances along {count(len(card.axes))} directions of "
            f"{count(len(card.weights))} features; {shown} of them are drawn, largest first.",
        )
    group = write_group("The model", report.figures, legend=False) if report.figures else ""
    return section(
        "model",
        "The model",
        paragraphs(*said),
        Html(group),
        _weights_table(report),
    )


def _noise_words(report: ReportFacts) -> str:
    noise = report.card.noise
    if report.certificate.budget is None:
        return "No noise was added."
    if noise.deviation is None and report.card.weights_are != "points of bins":
        return f"The noise of single numbers is {noise.words}."
    return (
        "Error bars are two standard deviations of the noise that was added for privacy. They do "
        "not contain the chance of which records were in the data. What the noise is: "
        f"{noise.words}."
    )


def _weights_table(report: ReportFacts) -> Html:
    card = report.card
    order = list(card.weights_to_show)
    intercept = [] if card.intercept is None else [card.intercept]
    head = ("name", card.weights_are, "noise (standard deviation)")
    caption = f"{card.weights_are.capitalize()}, {card.order_in_words}"
    listed = table(head, map(_row, intercept + order), caption=caption, cls="numbers")
    what = "diagonal entries of the matrix" if report.is_metric else card.weights_are
    summary = tag("summary", f"All {count(len(order))} {what}, with their noise")
    return tag("details", summary, listed, cls="long" if len(order) > _PRINTED else None)


def _row(weight: Weight) -> tuple[str, str, str]:
    noise = "not known" if weight.noise is None else f"{weight.noise:#.2g}".removesuffix(".")
    return weight.name, measured(weight.value), noise
