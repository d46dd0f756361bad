"""From the results of jobs to cells, certificates and remarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from pairdp.studies.jobs import RunResult, certificate_key
from pairdp.studies.results import Cell, Remark, Results
from pairdp.studies.study import PlannedCell, Study

LEVEL = 0.95
_MOST_REASONS = 3  # listed in full


class Interval(NamedTuple):
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float


def interval(runs: Sequence[float] | NDArray[np.float64]) -> Interval:
    """Return the mean of runs and its 95 % confidence interval by Student's t."""
    values = np.asarray(runs, dtype=np.float64)
    if values.size < 2:
        raise ValueError(f"an interval needs at least 2 runs, got {values.size}")
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / values.size**0.5
    half = float(stdtrit(values.size - 1, (1 + LEVEL) / 2)) * error
    return Interval(mean, mean - half, mean + half)


def assemble(
    title: str,
    studies: Sequence[Study],
    results: Mapping[str, RunResult],
    facts: Mapping[str, str],
) -> Results:
    """Return the results of studies from those of their jobs."""
    cells: list[Cell] = []
    refused: list[Remark] = []
    certificates: dict[str, dict[str, Any]] = {}
    for study in studies:
        cells += study.reported
        refusals: dict[tuple[str, str, str], list[tuple[PlannedCell, str]]] = {}
        for planned in study.planned:
            result = results[planned.job.key]
            if result.refused:
                where = (planned.exhibit, planned.series, planned.kind)
                refusals.setdefault(where, []).append((planned, result.refused))
                continue
            key = ""
            if result.certificate is not None:
                key = certificate_key(result.certificate)
                certificates[key] = result.certificate
            cells.append(_cell(study.name, planned, result.values[planned.measure], key))
        refused += _refusals(study.name, refusals)
    assumptions = {f"assumptions for {study.name}": study.assumptions for study in studies}
    found = Results(title, tuple(cells), (), certificates, {**facts, **assumptions})
    remarks = [remark for study in studies for remark in study.remarks(found)]
    return replace(found, remarks=(*remarks, *refused))


def _cell(study: str, planned: PlannedCell, runs: tuple[float, ...], certificate: str) -> Cell:
    at = {name: value for name, value in vars(planned).items() if name != "job"}
    return Cell(
        study=study,
        **{**at, "x": float(planned.x)},
        **interval(runs)._asdict(),
        runs=len(runs),
        values=runs,
        certificate=certificate,
    )


def _refusals(
    study: str, refusals: Mapping[tuple[str, str, str], list[tuple[PlannedCell, str]]]
) -> Iterator[Remark]:
    """Yield why cells are left out, each reason once; of many reasons, the first and the last."""
    for (exhibit, series, kind), found in refusals.items():
        reasons: dict[str, list[str]] = {}
        for planned, reason in found:
            at = f"{planned.panel}, {planned.x_name} = {planned.x:g}"
            reasons.setdefault(reason, []).append(at)
        lines = []
        for reason, places in reasons.items():
            shown = list(dict.fromkeys(places))
            more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
            lines.append(f"{'; '.join(shown[:3])}{more}:\n  {reason}")
        if len(lines) > _MOST_REASONS:  # they differ only in numbers
            lines = [lines[0], f"… {len(lines) - 2} similar reasons …", lines[-1]]
        yield Remark(
            study,
            exhibit,
            f"{series} with {kind} noise cannot be run in {len(found)} cells",
            "\n".join(lines),
        )
