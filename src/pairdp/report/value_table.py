"""The numbers of a plot as a table, each private one with a link to its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pairdp.report.figures import KIND_NAMES, Line, Plot
from pairdp.report.text import escape, measured, number
from pairdp.studies.results import Cell

NO_CERTIFICATE = "no certificate"


@dataclass(frozen=True)
class Proof:
    """Where a certificate stands on the page, and whether its claim is proved."""

    place: str
    proved: bool


def write_table(plot: Plot, proofs: Mapping[str, Proof]) -> str:
    """Return the table of a plot: a row for each line, a column for each x.

    End tags that HTML does without are left out: a report has thousands of cells.
    """
    xs = plot.xs
    head = "".join(f"<th>{escape(plot.x_name)} = {number(x)}" for x in xs)
    notes: dict[str, int] = {}
    rows = "".join(_row(line, xs, proofs, notes) for line in plot.lines)
    caption = "Means, 95 % intervals; ✓ proved, ✗ NOT proved"
    return (
        f"<table><caption>{caption}</caption><thead><tr><th>series<th>kind"
        f"<th>runs{head}<tbody>{rows}</table>" + _write_notes(notes)
    )


def _row(line: Line, xs: list[float], proofs: Mapping[str, Proof], notes: dict[str, int]) -> str:
    cells = {cell.x: cell for cell in line.cells}
    runs = sorted({cell.runs for cell in line.cells if cell.kind != "paper"})
    span = "" if not runs else f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    values = "".join(
        "<td>" + _value(cells[x], proofs, notes, say_runs=len(runs) > 1) if x in cells else "<td>"
        for x in xs
    )
    return f"<tr><th>{escape(line.series)}<td>{KIND_NAMES[line.kind]}<td>{span}{values}"


def _value(
    cell: Cell, proofs: Mapping[str, Proof], notes: dict[str, int], *, say_runs: bool
) -> str:
    text = measured(cell.mean)
    proof = proofs.get(cell.certificate)
    if proof is not None:
        text = f"<a href=#{proof.place}>{text} {'✓' if proof.proved else '✗'}</a>"
    text += _interval(cell)
    if say_runs:
        text += f" <small>{cell.runs} runs</small>"
    if proof is None and cell.kind in ("printed", "certified"):
        text += f" <small>{NO_CERTIFICATE}</small>"
    if cell.note:
        text += f" <sup>{notes.setdefault(cell.note, len(notes) + 1)}</sup>"
    return text


def _interval(cell: Cell) -> str:
    above, below = cell.high - cell.mean, cell.mean - cell.low
    if not above and not below:
        return ""
    if measured(above, cell.mean) == measured(below, cell.mean):
        return f" <i>± {measured(above, cell.mean)}</i>"
    return f" <i>[{measured(cell.low, cell.mean)}, {measured(cell.high, cell.mean)}]</i>"


def _write_notes(notes: Mapping[str, int]) -> str:
    if not notes:
        return ""
    return "<ol class=notes>" + "".join(f"<li>{escape(note)}" for note in notes) + "</ol>"
