"""A page: one HTML document that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from pairdp.drawing.colors import theme_css
from pairdp.drawing.figure import Figure
from pairdp.drawing.markers import define
from pairdp.drawing.text import escape

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def write_page(
    title: str,
    body: str,
    figures: Iterable[Figure] = (),
    *,
    header: str = "",
    css: str = "",
    end: str = "",
) -> str:
    """Return the document.

    Parameters
    ----------
    title : str
    body : str
        HTML of the content, with figures from `write_group`.
    figures : iterable of Figure
        All figures of the content; their markers are defined once.
    header : str
        HTML below the title.
    css : str
        Additional style rules.
    end : str
        HTML at the end, such as a script.
    """
    markers = define(series.style for figure in figures for series in figure.series)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,"><style>{theme_css()}{_resource("page.css")}{css}</style>'
        f'</head><body>{markers}<header><div class="bar"><h1>{escape(title)}</h1>'
        f'<button type="button" id="theme" hidden>Dark</button></div>{header}</header>'
        f'<main>{body}</main><div id="tip" role="status" hidden></div>'
        f"<script>{_resource('plots.js')}</script>{end}</body></html>\n"
    )


def _resource(name: str) -> str:
    return files("pairdp.drawing").joinpath(name).read_text("utf-8")
