"""How often a private model is worse than the zero model, which needs no data."""

from __future__ import annotations

from collections.abc import Iterator

from pairdp.studies.learning import ZERO
from pairdp.studies.results import HIGHER_IS_BETTER, Cell, Remark, Results


def remarks(results: Results, study: str) -> Iterator[Remark]:
    """Yield for each exhibit where private models have a larger error than the zero model.

    A zero model named "zero model, κ = 1" is compared with series that end in ", κ = 1".
    """
    cells = [
        cell
        for cell in results.cells
        if cell.study == study and cell.measure not in HIGHER_IS_BETTER
    ]
    zeros = [cell for cell in cells if cell.series.startswith(ZERO)]
    for exhibit in dict.fromkeys(zero.exhibit for zero in zeros):
        found: dict[tuple[str, str, str], list[tuple[Cell, Cell]]] = {}
        for zero in zeros:
            for cell in cells:
                private = cell.kind in ("printed", "certified")
                if zero.exhibit == exhibit and private and _is_comparable(cell, zero):
                    where = (cell.measure, cell.series, cell.kind)
                    found.setdefault(where, []).append((cell, zero))
        if found:
            yield Remark(
                study,
                exhibit,
                "How often a private model is worse than no model at all",
                "Cells whose mean is larger than that of the zero model, which needs no data:\n"
                + "\n".join(_line(*where, pairs) for where, pairs in found.items()),
            )


def _is_comparable(cell: Cell, zero: Cell) -> bool:
    place = ("exhibit", "panel", "measure", "protocol", "x")
    same = all(getattr(cell, name) == getattr(zero, name) for name in place)
    return same and cell.series.endswith(zero.series.removeprefix(ZERO))


def _line(measure: str, series: str, kind: str, pairs: list[tuple[Cell, Cell]]) -> str:
    worse = [cell for cell, zero in pairs if cell.mean > zero.mean]
    text = f"  {measure}, {series}, {kind} noise: {len(worse)} of {len(pairs)}"
    if 0 < len(worse) < len(pairs):
        at = dict.fromkeys(f"{cell.x:g}" for cell in worse)
        text += f" ({worse[0].x_name} = {', '.join(at)})"
    return text
