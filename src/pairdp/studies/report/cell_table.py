"""The table of a plot, with a link from each private number to its certificate."""

from __future__ import annotations

from collections.abc import Mapping

from pairdp.drawing import Figure
from pairdp.drawing.text import escape, measured
from pairdp.drawing.value_table import write_interval, write_table
from pairdp.studies.report.certificate_list import Proof
from pairdp.studies.report.figures import Line, Plot

NO_CERTIFICATE = "no certificate"


def write_cells(plot: Plot, figure: Figure, proofs: Mapping[str, Proof]) -> str:
    """Return the table of a plot, and the notes below it."""
    notes: dict[str, int] = {}
    runs = [_runs(line) for line in plot.lines]
    spans = [f"{r[0]} to {r[-1]}" if len(r) > 1 else "".join(map(str, r)) for r in runs]

    def write(row: int, i: int) -> str:
        cell = plot.lines[row].cells[i]
        text = measured(cell.mean)
        proof = proofs.get(cell.certificate)
        if proof is not None:
            text = f"<a href=#{proof.place}>{text} {'✓' if proof.proved else '✗'}</a>"
        text += write_interval(figure.series[row].points[i])
        if len(runs[row]) > 1:
            text += f" <small>{cell.runs} runs</small>"
        if proof is None and cell.kind in ("printed", "certified"):
            text += f" <small>{NO_CERTIFICATE}</small>"
        if cell.note:
            text += f" <sup>{notes.setdefault(cell.note, len(notes) + 1)}</sup>"
        return text

    caption = "Means with 95 % intervals; ✓ proved, ✗ NOT proved"
    table = write_table(figure, write, {"runs": spans}, caption)
    items = "".join(f"<li>{escape(note)}" for note in notes)
    return table + (f"<ol class=notes>{items}</ol>" if items else "")


def _runs(line: Line) -> list[int]:
    """Return the numbers of runs, sorted; empty for the paper's own numbers."""
    return sorted({cell.runs for cell in line.cells if cell.kind != "paper"})
