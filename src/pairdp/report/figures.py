"""Cells sorted into what a page shows: studies, exhibits, plots and their lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pairdp.studies.results import Cell, Remark, Results

_T = TypeVar("_T")

KIND_NAMES = {
    "paper": "paper",
    "printed": "printed",
    "certified": "certified",
    "baseline": "not private",
}
PROTOCOL_NAMES = {
    "paper": "paper protocol",
    "honest": "honest protocol",
    "": "figures of the paper",
}
STUDY_NAMES = {
    "huai2020": "Huai et al. 2020: Pairwise learning with differential privacy guarantees",
    "xue2021": "Xue et al. 2021: Differentially private pairwise learning revisited",
    "kang2021": "Kang et al. 2021: Sharper utility bounds for private pairwise learning",
    "yang2021": "Yang et al. 2021: Private pairwise learning with non-smooth losses",
    "wang2024": "Wang et al. 2024: Private stochastic gradient descent with low noise",
}


@dataclass(frozen=True)
class Line:
    """The cells of one series and kind in one plot, sorted by x."""

    series: str
    kind: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Plot:
    """What one plot and its table show.

    ``whole`` are the cells of this panel and measure under every protocol: plots beside
    each other have axes in common.
    """

    panel: str
    measure: str
    protocol: str
    x_name: str
    lines: tuple[Line, ...]
    whole: tuple[Cell, ...]

    @property
    def conditions(self) -> str:
        """The protocol in words; empty for our runs where data is made and not prepared."""
        if not self.protocol and any(line.kind != "paper" for line in self.lines):
            return ""
        return PROTOCOL_NAMES[self.protocol]

    @property
    def xs(self) -> list[float]:
        """The values of x, sorted."""
        return sorted({cell.x for line in self.lines for cell in line.cells})


@dataclass(frozen=True)
class Exhibit:
    """A table or figure of a paper."""

    name: str
    plots: tuple[Plot, ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Study:
    """All exhibits of a paper, and remarks that belong to none of them."""

    name: str
    exhibits: tuple[Exhibit, ...]
    remarks: tuple[Remark, ...]

    @property
    def title(self) -> str:
        """The paper, in words."""
        return STUDY_NAMES.get(self.name, self.name)


def sort_out(results: Results) -> tuple[Study, ...]:
    """Return the studies in the order in which they first appear."""
    names = _unique([c.study for c in results.cells] + [r.study for r in results.remarks])
    return tuple(
        _study(
            name,
            [cell for cell in results.cells if cell.study == name],
            [remark for remark in results.remarks if remark.study == name],
        )
        for name in names
    )


def _study(name: str, cells: Sequence[Cell], remarks: Sequence[Remark]) -> Study:
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
    return Study(name, tuple(exhibits), others)


def _plots(cells: Sequence[Cell]) -> Iterable[Plot]:
    for key in _unique((cell.panel, cell.measure, cell.x_name) for cell in cells):
        whole = [cell for cell in cells if (cell.panel, cell.measure, cell.x_name) == key]
        used = {cell.protocol for cell in whole}
        # The paper's own figures are drawn beside our runs under either protocol.
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
                again = []  # a line has one point at an x: what comes twice gets another line
                for cell in points:
                    again += [cell] if cell.x in line else []
                    line.setdefault(cell.x, cell)
                yield Line(series, kind, tuple(line[x] for x in sorted(line)))
                points = again


def _unique(values: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(values))
