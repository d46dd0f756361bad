"""What Wang 2024's figures claim, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator

from pairdp.studies.results import Remark, Results

NAME = "wang2024"


def remarks(results: Results) -> Iterator[Remark]:
    """Yield whether less noise in the labels gives less error at every ε."""
    lines = []
    for kind in ("printed", "certified"):
        means: dict[tuple[str, float], dict[str, float]] = {}
        for cell in results.cells:
            if cell.study == NAME and cell.kind == kind:
                means.setdefault((f"{cell.panel}, {cell.measure}", cell.x), {})[cell.series] = (
                    cell.mean
                )
        for panel in sorted({panel for panel, _ in means}):
            points = [found for (where, _), found in means.items() if where == panel]
            best = sum(min(found, key=lambda s: found[s]).endswith("κ = 0") for found in points)
            lines.append(f"  {panel}, {kind} noise: at {best} of {len(points)} ε")
    if lines:
        yield Remark(
            NAME,
            "Figures 1 and 2",
            "Where κ = 0, no noise in the labels, has the least mean error",
            "The paper's claim is that it has, at every ε:\n" + "\n".join(lines),
        )
