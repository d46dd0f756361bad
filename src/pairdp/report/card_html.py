"""The card of a fitted model as HTML for notebooks, in light and dark colours, from one element."""

from __future__ import annotations

from typing import NamedTuple
from xml.etree.ElementTree import Element

from pairdp.drawing.colors import DARK, LIGHT
from pairdp.drawing.elements import make, to_html
from pairdp.privacy.mechanisms.noise_source import SEEDED
from pairdp.report.card import ModelCard, Weight, verified
from pairdp.verification.report import Report

_SHOWN = 20
_HEADS = {
    "weights": ("feature", "weight"),
    "points of bins": ("bin", "points"),
    "diagonal of the matrix": ("feature", "diagonal"),
}
_WIDTH, _HEIGHT = 120.0, 14.0
_COLORS = ("card", "ink", "soft", "line", "grid", "yes", "no", "c0", "c1", "warn-edge")
_STYLE = """
.pairdp-card{background:var(--card);color:var(--ink);border:1px solid var(--line);border-radius:8px;
padding:.8rem 1rem;max-width:46rem;font:14px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,Arial,
sans-serif;overflow-wrap:anywhere;margin-bottom:.5rem}
.pairdp-card *{box-sizing:border-box}
.pairdp-card p{margin:0 0 .6rem}
.pairdp-card .title{font-weight:600;font-size:1.05rem;margin:0}
.pairdp-card .soft{color:var(--soft)}
.pairdp-card .holds{color:var(--yes);font-weight:600}
.pairdp-card .fails{color:var(--no);font-weight:600}
.pairdp-card .open{color:var(--warn-edge);font-weight:600}
.pairdp-card table{border-collapse:collapse;font-variant-numeric:tabular-nums;color:inherit;
margin:0;border:0;background:none}
.pairdp-card tr{background:none !important}
.pairdp-card th,.pairdp-card td{text-align:left;padding:.15rem .9rem .15rem 0;border:0;
border-bottom:1px solid var(--grid);font-weight:400;vertical-align:middle;color:inherit;
background:none;font-size:inherit;line-height:inherit}
.pairdp-card thead th{color:var(--soft);border-color:var(--line)}
.pairdp-card .facts th{color:var(--soft);white-space:nowrap;vertical-align:top}
.pairdp-card .last{margin:.6rem 0 0}
.pairdp-card .number,.pairdp-card thead .number{text-align:right;white-space:nowrap}
.pairdp-card .facts{margin-bottom:.7rem}
.pairdp-card svg{display:block;overflow:visible}
.pairdp-card summary{cursor:pointer;color:var(--soft)}
"""


def card_html(card: ModelCard) -> str:
    """Return a card as one self-contained HTML element; all names are escaped."""
    title = _text("p", card.kind, "title")
    purpose = _text("p", card.purpose, "soft")
    children = [title, purpose, _facts(card)]
    if card.weights:
        children += _weights(card)
    body = to_html(make("div", {"class": "pairdp-card"}, children))
    return f"<style>{_themes()}{_STYLE}</style>{body}"


def _themes() -> str:
    """Return the colours of both themes: of the system, or those that a notebook has chosen."""
    light, dark = (
        "".join(f"--{name}:{colors[name]};" for name in _COLORS) for colors in (LIGHT, DARK)
    )
    card = ".pairdp-card"
    chosen_dark = (
        f'[data-jp-theme-light="false"] {card},.vscode-dark {card},[data-theme="dark"] {card}'
    )
    chosen_light = (
        f'[data-jp-theme-light="true"] {card},.vscode-light {card},[data-theme="light"] {card}'
    )
    return (
        f"{card}{{{light}}}@media (prefers-color-scheme:dark){{{card}{{{dark}}}}}"
        f"{chosen_light}{{{light}}}{chosen_dark}{{{dark}}}"
    )


def _facts(card: ModelCard) -> Element:
    word, detail, style = _verification(card)
    verification = _text("td", "")
    verification.append(_text("span", word, style))
    verification.append(_text("span", f" {detail}", "soft"))
    rows = [
        _row("privacy", card.budget_in_words),
        _row("protects", card.unit_in_words),
        make("tr", {}, [_text("th", "verification"), verification]),
        _row("records", card.records_in_words),
        _row("algorithm", card.certificate.algorithm),
    ]
    if card.evaluation_in_words is not None:
        rows.append(_row("held out", card.evaluation_in_words))
    if card.data_set is not None:
        rows.append(_row("data set", card.data_set))
    if card.axes:
        rows.append(_row("directions", f"{len(card.axes)} of {len(card.weights)}"))
    return make("table", {"class": "facts"}, [make("tbody", {}, rows)])


def _verification(card: ModelCard) -> tuple[str, str, str]:
    if card.certificate.budget is None:
        return "no claim", "", "open"
    report = verified(card.certificate)
    if not isinstance(report, Report):
        return "refused:", report, "fails"
    if not report.holds:
        return "not planned again:", report.not_planned, "open"
    source = card.certificate.noise_source
    if source == SEEDED:
        return "holds,", f"but the noise is not secret: {source}", "open"
    return "holds", "planned again, with the same numbers", "holds"


class _Bar(NamedTuple):
    """A row of the table: a weight, and the number that its bar shows."""

    weight: Weight
    value: float
    noise: float | None


def _weights(card: ModelCard) -> list[Element]:
    bars = [_Bar(weight, weight.value, weight.noise) for weight in card.weights_to_show]
    drawn = ""
    if card.axes:  # the diagonal says little about a direction
        pairs = zip(card.weights, card.axes[0].loadings, strict=True)
        bars, drawn = [_Bar(weight, loading, None) for weight, loading in pairs], "first axis"
        bars.sort(key=lambda bar: -abs(bar.value))
    largest = max(abs(bar.value) + (bar.noise or 0.0) for bar in bars) or 1.0
    head = (*_HEADS[card.weights_are], card.plus_minus, drawn)
    found = [_table(head, bars[:_SHOWN], largest)]
    if more := bars[_SHOWN:]:
        summary = _text("summary", f"{len(more)} more {head[0]}s")
        found.append(make("details", {}, [summary, _table(head, more, largest)]))
    found.append(_text("p", f"{card.plus_minus}: {card.noise.words}.", "soft last"))
    return found


def _table(head: tuple[str, ...], bars: list[_Bar], largest: float) -> Element:
    styles = (None, "number", "number", None)
    names = [_text("th", name, style) for name, style in zip(head, styles, strict=True)]
    rows = [
        make(
            "tr",
            {},
            [
                _text("th", bar.weight.name),
                _text("td", f"{bar.weight.value:#.4g}", "number"),
                _text("td", _spread(bar.weight.noise), "number"),
                make("td", {}, [_bar(bar, largest)]),
            ],
        )
        for bar in bars
    ]
    return make("table", {}, [make("thead", {}, [make("tr", {}, names)]), make("tbody", {}, rows)])


def _spread(noise: float | None) -> str:
    return "unknown" if noise is None else f"{noise:#.2g}".removesuffix(".")


def _bar(bar: _Bar, largest: float) -> Element:
    """Return a bar from zero to the weight, with a line of the noise's size at its end."""
    middle, scale = _WIDTH / 2, _WIDTH / 2 / largest
    end = middle + bar.value * scale
    low, high = sorted((middle, end))
    children = [
        make(
            "line", {"x1": middle, "x2": middle, "y1": 0.0, "y2": _HEIGHT, "stroke": "var(--line)"}
        ),
        make(
            "rect",
            {
                "x": low,
                "y": 3.0,
                "width": high - low,
                "height": _HEIGHT - 6,
                "fill": "var(--c1)" if bar.value >= 0 else "var(--c0)",
            },
        ),
    ]
    if bar.noise is not None:
        x1, x2 = end - bar.noise * scale, end + bar.noise * scale
        line = {"x1": x1, "x2": x2, "y1": _HEIGHT / 2, "y2": _HEIGHT / 2}
        children.append(make("line", {**line, "stroke": "var(--ink)"}))
    size = {"width": _WIDTH, "height": _HEIGHT, "viewBox": f"0 0 {_WIDTH:g} {_HEIGHT:g}"}
    return make("svg", {**size, "aria-hidden": "true"}, children)


def _row(name: str, value: str) -> Element:
    return make("tr", {}, [_text("th", name), _text("td", value)])


def _text(tag: str, text: str, style: str | None = None) -> Element:
    element = make(tag, {"class": style})
    element.text = text
    return element
