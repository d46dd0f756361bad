"""Running studies from beginning to end, and writing what they found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

from pairdp._version import __version__
from pairdp.studies.assembly import assemble
from pairdp.studies.data import CATALOG
from pairdp.studies.engine import run_jobs
from pairdp.studies.journal import Journal
from pairdp.studies.learning import Learning
from pairdp.studies.plan import Scale, Study
from pairdp.studies.protocols import CHOSEN, IN_WORDS, prepared
from pairdp.studies.report import write_plots, write_report
from pairdp.studies.results import Results
from pairdp.studies.summary import summary

STUDIES: Final = ("huai2020", "xue2021", "wang2024", "yang2021", "kang2021")
"""All studies by name."""


def find_study(name: str, scale: Scale) -> Study:
    """Return a study by name."""
    if name not in STUDIES:
        raise ValueError(f"no study is called {name!r}; known: {', '.join(STUDIES)}, all")
    make: Callable[[Scale], Study] = import_module(f"pairdp.studies.{name}").study
    return make(scale)


@dataclass(frozen=True)
class Written:
    """What a run of studies left in its directory; ``files`` ends with the directory of plots."""

    results: Results
    files: tuple[Path, ...]
    pieces: int
    repeated: int


def run_studies(
    names: Iterable[str],
    out: Path,
    scale: Scale,
    *,
    data: Path | None = None,
    workers: int = 1,
    progress: bool | None = None,
    command: str = "",
) -> Written:
    """Run studies, going on where an earlier run in the directory stopped, and write them down.

    Parameters
    ----------
    names : iterable of str
        Which, of `STUDIES`.
    out : Path
        Directory for the journal, results.csv, results.json, report.html and the directory
        of plots; made if absent.
    scale : Scale
        How much of them.
    data : Path, optional
        Directory of the data sets.
    workers : int
        Processes side by side.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    command : str
        How it was asked for, for the report.
    """
    studies = [find_study(name, scale) for name in names]
    jobs = {place.job.key: place.job for study in studies for place in study.places}
    start = time.perf_counter()
    _check_data(jobs.values(), data)
    out.mkdir(parents=True, exist_ok=True)
    with Journal(out) as journal:
        known = sum(key in journal.done for key in jobs)
        outcomes = run_jobs(jobs.values(), journal, data=data, workers=workers, progress=progress)
        worked = sum(journal.seconds[key] for key in jobs)
    facts = _facts(scale, command, jobs.values())
    facts["duration"] = (
        f"{time.perf_counter() - start:.0f} s with {workers} processes; all pieces took "
        f"{worked:.0f} s of one, earlier runs included"
    )
    titles = ", ".join(study.name for study in studies)
    results = assemble(f"Studies of private pairwise learning: {titles}", studies, outcomes, facts)
    return Written(results, _write(results, out), len(jobs), known)


def _check_data(jobs: Iterable[object], data: Path | None) -> None:
    """Load every data set once, so that a missing one is told before anything is run."""
    for dataset in sorted({job.dataset for job in jobs if isinstance(job, Learning)}):
        prepared(dataset, "honest", data)


def _facts(scale: Scale, command: str, jobs: Iterable[object]) -> dict[str, str]:
    used = sorted({job.dataset for job in jobs if isinstance(job, Learning)})
    facts = {
        "library version": __version__,
        "command": command,
        "permutations": str(scale.runs),
        "quick": "yes" if scale.quick else "no",
        "intervals": (
            "95 % confidence intervals of the mean by Student's t over the permutations. They say "
            "how sure the mean over splits of this data set is, not what another data set would "
            "give; and fewer permutations make ties within them easier."
        ),
        "randomness": "Splits and noise are seeded by the permutation's number and the cell.",
    }
    if used:
        facts |= {f"{name} protocol": words for name, words in IN_WORDS.items()}
        facts["how the protocols were chosen"] = CHOSEN
    for name in used:
        source = CATALOG[name]
        facts[f"data set {name}"] = (
            f"{source.title}, {source.rows} records of {len(source.columns)} features; missing: "
            f"{source.missing}; {source.citation}; sha256 {source.sha256}"
        )
    return facts


def _write(results: Results, out: Path) -> tuple[Path, ...]:
    files = (out / "results.csv", out / "results.json", out / "report.html", out / "plots")
    results.to_csv(files[0])
    results.to_json(files[1])
    found = summary(results)
    write_report(results, files[2], headline=found.headline, table=found.rows)
    write_plots(results, files[3])
    return files
