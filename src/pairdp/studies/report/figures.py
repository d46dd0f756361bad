"""Cells grouped as a page shows them: by study, exhibit and plot; plots become figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pairdp.drawing import Axis, Figure, Point, Series, Style, assign_styles
from pairdp.drawing.figure import LINES
from pairdp.drawing.text import number
from pairdp.studies.results import Cell, Remark, Results

_T = TypeVar("_T")

KIND_NAMES = {
    "paper": "paper",
    "printed": "printed",
    "certified": "certified",
    "baseline": "not private",
}
LINE_STYLES = dict(zip(KIND_NAMES, LINES, strict=True))
PROTOCOL_NAMES = {
    "paper": "paper protocol",
    "standardised": "standardised rows",
    "honest": "honest protocol",
    "": "numbers of the paper",
}
X_NAMES = {"ε": "privacy budget ε", "n": "training records n", "d": "features d"}
MAIN = "auto"  # the series with its own colour
_LINEAR = ("auc", "accuracy")  # between 0 and 1, never on a logarithmic axis


@dataclass(frozen=True)
class Line:
    """The cells of one series and kind in a plot, sorted by x."""

    series: str
    kind: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Plot:
    """A plot and its table.

    ``whole`` has the cells of this panel and measure under every protocol, as neighbouring plots
    share their axes.
    """

    panel: str
    measure: str
    protocol: str
    x_name: str
    lines: tuple[Line, ...]
    whole: tuple[Cell, ...]

    @property
    def conditions(self) -> str:
        """The protocol in words; empty for our runs on synthetic data."""
        if not self.protocol and any(line.kind != "paper" for line in self.lines):
            return ""
        return PROTOCOL_NAMES[self.protocol]

    @property
    def xs(self) -> list[float]:
        """The values of x, sorted."""
        return sorted({cell.x for line in self.lines for cell in line.cells})

    @property
    def name(self) -> str:
        """The panel, and x if it has only one value."""
        at = "" if len(self.xs) > 1 else f" at {self.x_name} = {number(self.xs[0])}"
        return f"{self.panel or self.measure}{at}"


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of a paper."""

    name: str
    plots: tuple[Plot, ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Section:
    """All exhibits of a study, and remarks that belong to none of them."""

    name: str
    title: str
    exhibits: tuple[Exhibit, ...]
    remarks: tuple[Remark, ...]


def to_sections(results: Results, titles: Mapping[str, str] | None = None) -> tuple[Section, ...]:
    """Return a section for each study, by first appearance; without a title it has its name."""
    names = _unique([c.study for c in results.cells] + [r.study for r in results.remarks])
    return tuple(
        _section(
            name,
            (titles or {}).get(name, name),
            [cell for cell in results.cells if cell.study == name],
            [remark for remark in results.remarks if remark.study == name],
        )
        for name in names
    )


def _section(name: str, title: str, cells: Sequence[Cell], remarks: Sequence[Remark]) -> Section:
    names = _unique(cell.exhibit for cell in cells)
    exhibits = [
        Exhibit(
            exhibit,
            tuple(_plots([cell for cell in cells if cell.exhibit == exhibit])),
            tuple(remark for remark in remarks if remark.exhibit == exhibit),
        )
        for exhibit in names
    ]
    others = tuple(remark for remark in remarks if remark.exhibit not in names)
    return Section(name, title, tuple(exhibits), others)


def _plots(cells: Sequence[Cell]) -> Iterable[Plot]:
    for key in _unique((cell.panel, cell.measure, cell.x_name) for cell in cells):
        whole = [cell for cell in cells if (cell.panel, cell.measure, cell.x_name) == key]
        used = {cell.protocol for cell in whole}
        # The numbers of the paper are drawn with our runs under either protocol.
        for protocol in sorted(used - {""}, key=list(PROTOCOL_NAMES).index) or [""]:
            shown = [cell for cell in whole if cell.protocol in (protocol, "")]
            panel, measure, x_name = key
            yield Plot(panel, measure, protocol, x_name, tuple(_lines(shown)), tuple(whole))


def _lines(cells: Sequence[Cell]) -> Iterable[Line]:
    for series in _unique(cell.series for cell in cells):
        for kind in KIND_NAMES:
            points = [cell for cell in cells if (cell.series, cell.kind) == (series, kind)]
            while points:
                line: dict[float, Cell] = {}
                again = []  # a line has one point at each x: duplicates get another line
                for cell in points:
                    again += [cell] if cell.x in line else []
                    line.setdefault(cell.x, cell)
                yield Line(series, kind, tuple(line[x] for x in sorted(line)))
                points = again


def choose_styles(sections: Sequence[Section]) -> dict[str, Style]:
    """Return the colour and marker of every series, the same in all sections."""
    groups = [
        [line for plot in exhibit.plots for line in plot.lines]
        for section in sections
        for exhibit in section.exhibits
    ]
    grey = {line.series for group in groups for line in group if line.kind == "baseline"}
    return assign_styles(
        [[line.series for line in group] for group in groups], grey=grey, main=MAIN
    )


def to_figure(plot: Plot, styles: Mapping[str, Style]) -> Figure:
    """Return the figure of a plot: lines over x, or dots if x has only one value."""
    linear = plot.measure.lower() in _LINEAR
    where = f" on {plot.panel}" if plot.panel else ""
    how = f", {plot.conditions}" if plot.conditions else ""
    return Figure(
        plot.name,
        Axis(X_NAMES.get(plot.x_name, plot.x_name), plot.x_name),
        Axis(plot.measure, scale="linear" if linear else "auto"),
        tuple(_to_series(line, styles[line.series]) for line in plot.lines),
        mark="line" if len(plot.xs) > 1 else "dot",
        description=f"{plot.measure} over {plot.x_name}{where}{how}",
        intervals="95 % intervals of the means",
        beside=tuple(map(_to_point, plot.whole)),
    )


def _to_series(line: Line, style: Style) -> Series:
    return Series(
        line.series,
        tuple(map(_to_point, line.cells)),
        replace(style, line=LINE_STYLES[line.kind], bold=line.series == MAIN),
        KIND_NAMES[line.kind],
        # Without noise, a result does not depend on ε.
        across=line.kind == "baseline" and line.cells[0].x_name == "ε",
    )


def _to_point(cell: Cell) -> Point:
    return Point(cell.x, cell.mean, (cell.low, cell.high))


def _unique(values: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(values))
