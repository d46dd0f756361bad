"""Every plot of a report as an SVG file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path

from pairdp._files import write_atomically
from pairdp.drawing import Style, write_svg
from pairdp.studies.report.figures import (
    Exhibit,
    Plot,
    Section,
    choose_styles,
    to_figure,
    to_sections,
)
from pairdp.studies.report.page import is_quick
from pairdp.studies.results import Results

_LONGEST = 120  # letters of a name, far below what file systems allow
_GREEK = str.maketrans({"ε": "epsilon", "δ": "delta", "λ": "lambda", "σ": "sigma", "β": "beta"})


def write_plots(
    results: Results, directory: Path, titles: Mapping[str, str] | None = None
) -> tuple[Path, ...]:
    """Write the plots of results into a directory, each atomically.

    The directory is created if absent, and other files in it are kept. Series look as in the
    report of the same results. ``titles`` are those of studies, by name.

    Returns
    -------
    tuple of Path
        The files in the order of the report, named by study, exhibit, panel, measure
        and protocol.
    """
    sections = to_sections(results, titles)
    styles = choose_styles(sections)
    quick = is_quick(results.facts)
    directory.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}
    for section in sections:
        for exhibit in section.exhibits:
            for plot in exhibit.plots:
                path = _unused(directory, _name(section, exhibit, plot), written)
                svg = _draw(section, exhibit, plot, styles, quick=quick)
                write_atomically(path, svg.encode())
                written[path] = None
    return tuple(written)


def _draw(
    section: Section, exhibit: Exhibit, plot: Plot, styles: Mapping[str, Style], *, quick: bool
) -> str:
    words = [section.title, plot.conditions, "quick run, not for conclusions" if quick else ""]
    figure = to_figure(plot, styles)
    title = ", ".join(filter(None, (exhibit.name, figure.title)))
    return write_svg(replace(figure, title=title), "; ".join(filter(None, words)))


def _name(section: Section, exhibit: Exhibit, plot: Plot) -> str:
    """Return a file name of lower-case letters, digits and dashes."""
    parts = (section.name, exhibit.name, plot.panel, plot.measure, plot.protocol)
    # Lower case first, so that Greek capitals are translated too.
    words = " ".join(parts).lower().translate(_GREEK)
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    dashed = re.sub("[^a-z0-9]+", "-", plain)[:_LONGEST]
    return dashed.strip("-") or "plot"


def _unused(directory: Path, name: str, taken: Container[Path]) -> Path:
    """Return the path of a name, with a number if earlier plots have the same name."""
    path = directory / f"{name}.svg"
    number = 1
    while path in taken:
        number += 1
        path = directory / f"{name}-{number}.svg"
    return path
