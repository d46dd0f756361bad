"""Every plot of a report as an SVG file of its own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pairdp._files import write_atomically
from pairdp.drawing import Style, write_svg
from pairdp.studies.report.figures import (
    Exhibit,
    Plot,
    Study,
    choose_styles,
    sort_out,
    to_figure,
)
from pairdp.studies.report.page import is_quick
from pairdp.studies.results import Results

_LONGEST = 120  # letters of a name, far below what file systems allow
_GREEK = str.maketrans({"ε": "epsilon", "δ": "delta", "λ": "lambda", "σ": "sigma", "β": "beta"})


def write_plots(results: Results, directory: Path) -> tuple[Path, ...]:
    """Write the plots of results into a directory, each whole or not at all.

    The directory is made if absent. Series look as in the report of the same results.
    Other files in the directory stay as they are.

    Returns
    -------
    tuple of Path
        The files in the order of the report, named by study, exhibit, panel, measure
        and protocol.
    """
    studies = sort_out(results)
    styles = choose_styles(studies)
    quick = is_quick(results.facts)
    directory.mkdir(parents=True, exist_ok=True)
    written: dict[Path, None] = {}
    for study in studies:
        for exhibit in study.exhibits:
            for plot in exhibit.plots:
                path = _free(directory, _name(study, exhibit, plot), written)
                picture = _picture(study, exhibit, plot, styles, quick=quick)
                write_atomically(path, picture.encode())
                written[path] = None
    return tuple(written)


def _picture(
    study: Study, exhibit: Exhibit, plot: Plot, styles: Mapping[str, Style], *, quick: bool
) -> str:
    words = [study.title, plot.conditions, "quick run, not for conclusions" if quick else ""]
    figure = to_figure(plot, styles)
    title = ", ".join(filter(None, (exhibit.name, figure.title)))
    return write_svg(replace(figure, title=title), "; ".join(filter(None, words)))


def _name(study: Study, exhibit: Exhibit, plot: Plot) -> str:
    """Return a name of small letters, digits and dashes."""
    parts = (study.name, exhibit.name, plot.panel, plot.measure, plot.protocol)
    # Letters are first made small, so that a capital Greek one is found as well.
    words = " ".join(parts).lower().translate(_GREEK)
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    dashed = re.sub("[^a-z0-9]+", "-", plain)[:_LONGEST]
    return dashed.strip("-") or "plot"


def _free(directory: Path, name: str, taken: dict[Path, None]) -> Path:
    """Return the file of a name, with a number where plots before have the same."""
    path = directory / f"{name}.svg"
    number = 1
    while path in taken:
        number += 1
        path = directory / f"{name}-{number}.svg"
    return path
