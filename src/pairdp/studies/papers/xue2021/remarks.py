"""Remarks on the tables of Xue 2021."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pairdp.studies import certified_comparison
from pairdp.studies.learning import EUCLID, Goal, Learning
from pairdp.studies.papers.xue2021.preparations import preparation_remarks
from pairdp.studies.papers.xue2021.tables import (
    APPROXIMATE,
    GENERAL,
    REGULARIZATION,
    STRONG,
)
from pairdp.studies.readings import LARGEST_NORM
from pairdp.studies.results import Cell, Remark, Results

NAME = "xue2021"
_PLACE = ("exhibit", "panel", "measure", "x")


def remarks(results: Results) -> Iterator[Remark]:
    """Yield the findings."""
    cells = [
        cell
        for cell in results.cells
        if cell.study == NAME and not cell.exhibit.endswith(LARGEST_NORM)
    ]
    yield _output_noise("Table 4", "DPGDSC", "ranking", 256, cells)
    yield _output_noise("Table 4", "OffPairStrC", "ranking", 256, cells)
    yield _output_noise("Table 2", "DPGDSC", "metric", 128, cells)
    yield from preparation_remarks(cells)
    yield from certified_comparison.remarks(results, NAME)
    yield from _repeated(cells)
    yield from _euclid(cells)
    yield from _without_noise(cells)
    yield Remark(
        NAME,
        "Table 3",
        "The text and the caption of Table 3 differ",
        "The text says n = 512, the caption n = 128. The numbers for ε = 1 are closer to those of "
        "Table 2 for n = 128, which is what is run here.",
    )


def _output_noise(exhibit: str, name: str, goal: Goal, n: int, cells: Iterable[Cell]) -> Remark:
    """Return how large the printed noise of output perturbation is on a unit ball."""
    added, features = REGULARIZATION[goal], 8
    job = Learning(goal, "diabetes", "paper", n, name, 1.0, 1 / n, regularization=added, runs=2)
    certified = job.plan(features)
    plan = replace(job, calibration="printed", schedule="tuned").plan(features)
    scale = plan.certificate.releases[0].mechanism.scale  # type: ignore[union-attr]
    lipschitz = plan.task.printed_lipschitz
    factor = math.log(n) if name == "OffPairStrC" else 1.0
    sensitivity = 8 * lipschitz * factor / (added * n)
    proved = certified.certificate.releases[0].mechanism.scale  # type: ignore[union-attr]
    steps = certified.settings.to_dict()["steps"]
    count = plan.task.dimension
    length = scale * math.sqrt(count)
    logarithm = "" if factor == 1.0 else " · ln n"
    lines = [
        f"{name} as printed, n = {n}, λ = {added:g}, ε = 1, δ = 1/n, d = {features}:",
        f"  G = {lipschitz:.4g}",
        f"  sensitivity 8G{logarithm}/(λn) = {sensitivity:.4g}, in a ball of diameter 2",
        f"  σ = √(2 ln(1.25/δ)) · {sensitivity:.4g} / ε = {scale:.4g} for each of {count} numbers",
        f"  norm of the noise about σ√{count} = {length:.4g}, while models have norm at most 1",
        f"  certified σ for the same budget, after steps = {steps}: {proved:.4g}",
        "The release is a random point. Measured with this noise, and reported by the paper:",
    ]
    measured = [
        cell for cell in cells
        if cell.exhibit == exhibit and cell.series == name and cell.kind == "printed"
        and cell.panel.endswith(APPROXIMATE)
    ]  # fmt: skip
    lines += [
        f"  {cell.panel}, {cell.x_name} = {cell.x:g}, {cell.protocol} protocol: {cell.mean:.3f} "
        f"({cell.low:.3f} to {cell.high:.3f}), paper {paper.mean:.3f}"
        for cell in measured
        for paper in cells
        if paper.kind == "paper" and _same_place(paper, cell) and paper.series == name
    ]
    title = f"The printed noise of {name} is {scale:.0f} in a set of radius 1 ({exhibit})"
    return Remark(NAME, exhibit, title, "\n".join(lines))


def _same_place(one: Cell, other: Cell) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _PLACE)


def best_private(cells: Iterable[Cell]) -> Cell | None:
    """Return the best number that the paper reports for a private algorithm."""
    private = [c for c in cells if c.kind == "paper" and c.series not in (STRONG, GENERAL)]
    return max(private, key=lambda cell: cell.mean, default=None)


def _repeated(cells: list[Cell]) -> Iterator[Remark]:
    noted = [cell for cell in cells if cell.kind == "paper" and cell.note]
    if not noted:
        return
    lines = [
        f"  {cell.series}, {cell.panel}, {cell.x_name} = {cell.x:g}: {100 * cell.mean:.2f} %, "
        f"{cell.note.removeprefix('the paper prints ').removesuffix(' here')}"
        for cell in noted
    ]
    yield Remark(
        NAME,
        noted[0].exhibit,
        f"{len(noted)} numbers of {noted[0].exhibit} are those of another data set",
        "They agree to two decimals at several consecutive ε, which cannot be chance. Comparisons "
        "are given with and without them:\n" + "\n".join(lines),
    )


def _without_noise(cells: list[Cell]) -> Iterator[Remark]:
    """Yield what models without noise achieve, beside the paper's best private number."""
    for exhibit in ("Table 2", "Table 3", "Table 4"):
        lines = []
        bare = [c for c in cells if c.exhibit == exhibit and c.kind == "baseline"]
        for where, protocol in dict.fromkeys((c.panel, c.protocol) for c in bare):
            here = [c for c in bare if (c.panel, c.protocol) == (where, protocol)]
            best = best_private(c for c in cells if (c.exhibit, c.panel) == (exhibit, where))
            if best is None:
                continue
            # At the largest n; they do not depend on ε.
            reached = {c.series: c.mean for c in sorted(here, key=lambda cell: cell.x)}
            shown = ", ".join(f"{series} {mean:.3f}" for series, mean in reached.items())
            lines.append(
                f"  {where}, {protocol} protocol: {shown}; best private number of the paper: "
                f"{best.series} {best.mean:.3f} at {best.x_name} = {best.x:g}"
            )
        if lines:
            yield Remark(
                NAME,
                exhibit,
                "What models without noise achieve on the same records",
                "A private model is not expected to do better:\n" + "\n".join(lines),
            )


def _euclid(cells: list[Cell]) -> Iterator[Remark]:
    """Yield how the paper's private metrics compare with the metric that needs no data."""
    plain = [cell for cell in cells if cell.series == EUCLID]
    if not plain:
        return
    lines = []
    for cell in plain:
        best = best_private(paper for paper in cells if _same_place(paper, cell))
        if best is not None:
            lines.append(
                f"  {cell.exhibit}, {cell.panel}, {cell.x_name} = {cell.x:g}, {cell.protocol} "
                f"protocol: {cell.mean:.4f} ({cell.low:.4f} to {cell.high:.4f}); best private "
                f"metric of the paper: {best.series} {best.mean:.4f}"
            )
    yield Remark(
        NAME,
        "Tables 2 and 3",
        "The Euclidean metric needs no data, and the paper does not compare with it",
        "3 nearest neighbours in the Euclidean metric, on the same prepared records:\n"
        + "\n".join(lines),
    )
