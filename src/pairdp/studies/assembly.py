"""From outcomes of jobs to cells, certificates and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pairdp.studies.jobs import RunResult, certificate_key
from pairdp.studies.plan import Place, Study
from pairdp.studies.results import Cell, Remark, Results
from pairdp.studies.statistics import interval

_REASONS = 3  # that are all told


def assemble(
    title: str,
    studies: Iterable[Study],
    outcomes: Mapping[str, RunResult],
    facts: Mapping[str, str],
) -> Results:
    """Return the results of studies whose jobs have all been run."""
    cells: list[Cell] = []
    refused: list[Remark] = []
    certificates: dict[str, dict[str, Any]] = {}
    readings: dict[str, str] = {}
    listed = list(studies)
    for study in listed:
        cells += study.figures
        refusals: dict[tuple[str, str, str], list[tuple[Place, str]]] = {}
        for place in study.places:
            outcome = outcomes[place.job.key]
            if outcome.refused:
                where = (place.exhibit, place.series, place.kind)
                refusals.setdefault(where, []).append((place, outcome.refused))
                continue
            key = ""
            if outcome.certificate is not None:
                key = certificate_key(outcome.certificate)
                certificates[key] = outcome.certificate
            cells.append(_cell(study.name, place, outcome.values[place.measure], key))
        refused += _refusals(study.name, refusals)
        if study.reading:
            readings[f"how {study.name} was read"] = study.reading
    found = Results(title, tuple(cells), (), certificates, {**facts, **readings})
    remarks = [remark for study in listed for remark in study.remarks(found)]
    return replace(found, remarks=(*remarks, *refused))


def _cell(study: str, place: Place, runs: tuple[float, ...], certificate: str) -> Cell:
    mean, low, high = interval(runs)
    return Cell(
        study, place.exhibit, place.panel, place.measure, place.series, place.kind,
        place.protocol, place.x_name, float(place.x), mean, low, high, len(runs), certificate,
        place.note,
    )  # fmt: skip


def _refusals(
    study: str, refusals: Mapping[tuple[str, str, str], list[tuple[Place, str]]]
) -> Iterator[Remark]:
    """Yield why cells are left out, each reason once; of many reasons the first and the last."""
    for (exhibit, series, kind), found in refusals.items():
        reasons: dict[str, list[str]] = {}
        for place, reason in found:
            at = f"{place.panel}, {place.x_name} = {place.x:g}"
            reasons.setdefault(reason, []).append(at)
        lines = []
        for reason, places in reasons.items():
            shown = list(dict.fromkeys(places))
            more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
            lines.append(f"{'; '.join(shown[:3])}{more}:\n  {reason}")
        if len(lines) > _REASONS:  # they differ in a number
            between = f"… and {len(lines) - 2} more of the kind between:"
            lines = [lines[0], between, lines[-1]]
        yield Remark(
            study,
            exhibit,
            f"{series} with {kind} noise cannot be run in {len(found)} cells",
            "\n".join(lines),
        )
