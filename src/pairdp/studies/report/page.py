"""The page: summary, contents, studies with their plots, certificates and facts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path

from pairdp._files import write_atomically
from pairdp.drawing import Figure, write_group, write_page
from pairdp.drawing.text import escape
from pairdp.studies.report.cell_table import write_cells
from pairdp.studies.report.certificate_list import Proof, find_proofs, pack, write_list
from pairdp.studies.report.figures import (
    Exhibit,
    Plot,
    Section,
    choose_styles,
    to_figure,
    to_sections,
)
from pairdp.studies.results import Remark, Results

LIMIT = 1_000_000  # bytes of a report
_SHORT = 12  # rows of a summary that is not folded
_FEW_LINES = 6  # of a remark that is not folded
_COLUMNS = 130  # letters in a line of a remark, in a wide window
Row = Mapping[str, str]
_QUICK = (
    '<p class="quick"><b>Quick run.</b> Few permutations and few points: a check that everything '
    "works, not a basis for conclusions.</p>"
)
_DIALOG = (
    '<dialog id="certificate" aria-labelledby="certificate-name"><div class="bar">'
    '<h2 id="certificate-name"></h2><button type="button" id="close">Close</button></div>'
    '<pre></pre><a id="save" hidden>Save the certificate (JSON)</a></dialog>'
)
_WORDS = {
    "Paper": "the number that the paper reports; hollow markers, dashed.",
    "Printed": (
        "our run with the noise formula exactly as the paper prints it; pale markers, dotted. "
        "If its claim is not proved, the certificate says so."
    ),
    "Certified": "our run with noise whose (ε, δ) is proved; solid.",
    "Not private": "a baseline without noise; thin and grey.",
    "Paper protocol": (
        "raw rows, each divided by its own norm: the preparation that explains the papers' AUC. It "
        "reads only the record itself, so certificates cover it."
    ),
    "Standardised rows": (
        "data standardised by statistics of all records. No certificate covers that: ✓ refers to "
        "the algorithm alone."
    ),
    "Honest protocol": "public bounds only; nothing is fitted outside the budget.",
}


def write_report(
    results: Results,
    path: str | Path,
    headline: Sequence[str] = (),
    table: Sequence[Row] = (),
    titles: Mapping[str, str] | None = None,
) -> None:
    """Write the report to an HTML file, atomically; see `render`."""
    write_atomically(Path(path), render(results, headline, table, titles).encode())


def render(
    results: Results,
    headline: Sequence[str] = (),
    table: Sequence[Row] = (),
    titles: Mapping[str, str] | None = None,
) -> str:
    """Return the report as one HTML document that loads nothing from elsewhere.

    Parameters
    ----------
    results : Results
        The results.
    headline : sequence of str
        The main findings, one sentence each, for the top of the page.
    table : sequence of mappings of str to str
        Rows of the table under the headline; their keys are its columns.
    titles : mapping of str to str, optional
        Titles of studies by name.
    """
    sections = to_sections(results, titles)
    summary = _summary(headline, table)
    page = _page(results, sections, summary, documents=True)
    if len(page.encode()) > LIMIT:  # the certificates are in results.json as well
        page = _page(results, sections, summary, documents=False)
    return page


def _page(results: Results, sections: Sequence[Section], summary: str, *, documents: bool) -> str:
    styles = choose_styles(sections)
    figures = {
        _place(i, j): [to_figure(plot, styles) for plot in exhibit.plots]
        for i, section in enumerate(sections, 1)
        for j, exhibit in enumerate(section.exhibits, 1)
    }
    proofs = find_proofs(results)
    body = "".join(_section(each, i, figures, proofs) for i, each in enumerate(sections, 1))
    packed = pack(results, proofs, documents=documents)
    return write_page(
        results.title,
        f"{summary}{_contents(sections, proofs)}{_how_to_read()}{body}"
        f"{_certificates(results, proofs, documents=documents)}{_facts(results.facts)}",
        chain.from_iterable(figures.values()),
        header=_QUICK if is_quick(results.facts) else "",
        css=_resource("study.css"),
        end=f'{_DIALOG}<script type="text/plain" id="packed">{packed}</script>'
        f"<script>{_resource('certificates.js')}</script>",
    )


def _place(section: int, exhibit: int) -> str:
    return f"exhibit-{section}-{exhibit}"


def _resource(name: str) -> str:
    return files("pairdp.studies.report").joinpath(name).read_text("utf-8")


def is_quick(facts: Mapping[str, str]) -> bool:
    """Return whether the facts say that the run was a quick one."""
    stated = facts.get("quick", "").strip().lower() in ("yes", "true", "1")
    return stated or "--quick" in facts.get("command", "").split()


def _summary(headline: Sequence[str], table: Sequence[Row]) -> str:
    if not headline and not table:
        return ""
    sentences = "".join(f"<li>{escape(sentence)}</li>" for sentence in headline)
    return (
        '<section id="summary"><h2>Main findings</h2>'
        + (f'<ul class="headline">{sentences}</ul>' if sentences else "")
        + (_summary_table(table) if table else "")
        + "</section>"
    )


def _summary_table(table: Sequence[Row]) -> str:
    columns = list(dict.fromkeys(name for row in table for name in row))
    head = "".join(f"<th scope=col>{escape(name)}" for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(row.get(name, ''))}" for name in columns) for row in table
    )
    whole = f"<div class=scroll><table><thead><tr>{head}<tbody>{rows}</table></div>"
    if len(table) <= _SHORT:
        return whole
    return f"<details><summary>All {len(table)} comparisons</summary>{whole}</details>"


def _contents(sections: Sequence[Section], proofs: Mapping[str, Proof]) -> str:
    items = "".join(
        f'<li><a href="#study-{i}">{escape(section.title)}</a><ul>'
        + "".join(
            f'<li><a href="#{_place(i, j)}">{escape(exhibit.name)}</a></li>'
            for j, exhibit in enumerate(section.exhibits, 1)
        )
        + "</ul></li>"
        for i, section in enumerate(sections, 1)
    )
    return (
        f'<nav aria-label="Contents"><h2>Contents</h2><ul>{items}'
        f'<li><a href="#certificates">Certificates ({len(proofs)})</a></li>'
        '<li><a href="#facts">How the studies were run</a></li></ul></nav>'
    )


def _how_to_read() -> str:
    items = "".join(f"<div><dt>{name}</dt><dd>{words}</dd></div>" for name, words in _WORDS.items())
    return (
        '<section id="reading"><h2>How to read the plots</h2>'
        f"<dl>{items}</dl><p>Hover over a marker for its values, or focus a plot and use the "
        "arrow keys. The buttons of a legend show and hide series. Numbers in tables link to their "
        "certificates.</p></section>"
    )


def _section(
    section: Section, number: int, figures: Mapping[str, list[Figure]], proofs: Mapping[str, Proof]
) -> str:
    exhibits = "".join(
        _exhibit(exhibit, _place(number, j), figures[_place(number, j)], proofs)
        for j, exhibit in enumerate(section.exhibits, 1)
    )
    return (
        f'<section class="study" id="study-{number}"><h2>{escape(section.title)}</h2>'
        f"{_remarks(section.remarks)}{exhibits}</section>"
    )


def _exhibit(
    exhibit: Exhibit, place: str, figures: Sequence[Figure], proofs: Mapping[str, Proof]
) -> str:
    pairs = zip(exhibit.plots, figures, strict=True)
    group = write_group(
        exhibit.name,
        figures,
        tables=[write_cells(plot, figure, proofs) for plot, figure in pairs],
        tags=[_protocol(plot) for plot in exhibit.plots],
        value="mean",
    )
    return (
        f'<section class="exhibit" id="{place}"><h3>{escape(exhibit.name)}</h3>'
        f"{_remarks(exhibit.remarks)}{group}</section>"
    )


def _protocol(plot: Plot) -> str:
    how = plot.conditions
    return f'<span class="protocol {plot.protocol or "none"}">{how}</span>' if how else ""


def _remarks(remarks: Sequence[Remark]) -> str:
    return "".join(_remark(remark) for remark in remarks)


def _remark(remark: Remark) -> str:
    title, text = f"<h4>{escape(remark.title)}</h4>", f"<pre>{escape(remark.text)}</pre>"
    lines = sum(max(1, math.ceil(len(line) / _COLUMNS)) for line in remark.text.splitlines())
    if lines > _FEW_LINES:
        title, text = f"<details><summary>{title}</summary>", f"{text}</details>"
    return f'<aside class="remark">{title}{text}</aside>'


def _certificates(results: Results, proofs: Mapping[str, Proof], *, documents: bool) -> str:
    if not proofs:
        return ""
    files = "" if documents else " To limit its size, the JSON files are in results.json only."
    return (
        '<section id="certificates"><h2>Certificates</h2><p>The privacy guarantee of each '
        f"number. A link opens the privacy statement.{files}</p><noscript><p>Statements need "
        "JavaScript on this page; results.json contains them too.</p></noscript>"
        f"{write_list(results, proofs)}</section>"
    )


def _facts(facts: Mapping[str, str]) -> str:
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<section id="facts"><h2>How the studies were run</h2><dl>{items}</dl></section>'
