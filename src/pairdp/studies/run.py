"""Run studies from beginning to end, and write their results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pairdp._checks import did_you_mean
from pairdp._version import __version__
from pairdp.studies.assembly import assemble
from pairdp.studies.data import CATALOG
from pairdp.studies.engine import run_jobs
from pairdp.studies.journal import Journal
from pairdp.studies.learning import Learning
from pairdp.studies.papers import STUDIES
from pairdp.studies.protocols import DESCRIPTIONS, HOW_CHOSEN, prepared
from pairdp.studies.report import write_plots, write_report
from pairdp.studies.results import Results
from pairdp.studies.study import Scale, Study
from pairdp.studies.summary import summary


def find_study(name: str, scale: Scale) -> Study:
    """Return a study by name."""
    if name not in STUDIES:
        raise ValueError(
            f"unknown study {name!r}; known: {', '.join(STUDIES)}, all"
            + did_you_mean(name, STUDIES)
        )
    module = name.replace("-", "_")
    make: Callable[[Scale], Study] = import_module(f"pairdp.studies.papers.{module}").study
    return make(scale)


class SelectionError(ValueError):
    """None of several studies has what was selected.

    Attributes
    ----------
    problems : tuple of str
        A sentence for each study, with the exhibits and data sets that it has.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(["no study has this", *problems]))


def select(
    studies: Sequence[Study], exhibits: Collection[str] = (), datasets: Collection[str] = ()
) -> list[Study]:
    """Return the parts of studies that have the exhibits and data sets; all, if none are named.

    Raises
    ------
    ValueError
        If no study has one of them; the message lists those that there are. For several studies it
        is a `SelectionError`.
    """
    if len(studies) == 1:
        return [studies[0].only(exhibits, datasets)]
    found = []
    problems = []
    for study in studies:
        try:
            found.append(study.only(exhibits, datasets))
        except ValueError as error:
            problems.append(str(error))
    if not found:
        raise SelectionError(problems)
    return found


@dataclass(frozen=True)
class Written:
    """What was written: the results, the files, and how many jobs were run before."""

    results: Results
    files: tuple[Path, ...]
    pieces: int
    repeated: int


def run_studies(
    names: Iterable[str],
    out: Path,
    scale: Scale,
    *,
    exhibits: Collection[str] = (),
    datasets: Collection[str] = (),
    data: Path | None = None,
    workers: int = 1,
    progress: bool | None = None,
    command: str = "",
) -> Written:
    """Run studies, resuming an interrupted run in the same directory, and write the results.

    Parameters
    ----------
    names : iterable of str
        Names in `STUDIES`.
    out : Path
        Directory for the journal, results.csv, results.json, report.html and the directory
        plots; created if absent.
    scale : Scale
        How much of each study is run.
    exhibits, datasets : collections of str
        The tables, figures and data sets that are run, such as "Table 4"; all, if empty.
    data : Path, optional
        Directory of the data sets.
    workers : int
        Number of parallel processes.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    command : str
        The command that was given, for the report.
    """
    studies = select([find_study(name, scale) for name in names], exhibits, datasets)
    jobs = {planned.job.key: planned.job for study in studies for planned in study.planned}
    used = sorted({job.dataset for job in jobs.values() if isinstance(job, Learning)})
    start = time.perf_counter()
    for name in used:  # a missing data set is an error before anything is run
        prepared(name, "honest", data)
    out.mkdir(parents=True, exist_ok=True)
    with Journal(out) as journal:
        known = sum(key in journal.done for key in jobs)
        found = run_jobs(jobs.values(), journal, data=data, workers=workers, progress=progress)
        total = sum(journal.seconds[key] for key in jobs)
    facts = _facts(scale, command, used)
    facts["duration"] = (
        f"{time.perf_counter() - start:.0f} s with {workers} processes; all jobs together took "
        f"{total:.0f} s of one process, including earlier runs"
    )
    title = f"Studies of private pairwise learning: {', '.join(study.name for study in studies)}"
    results = assemble(title, studies, found, facts)
    titles = {study.name: study.title for study in studies}
    return Written(results, _write(results, titles, out), len(jobs), known)


def _facts(scale: Scale, command: str, datasets: Iterable[str]) -> dict[str, str]:
    facts = {
        "library version": __version__,
        "command": command,
        "permutations": str(scale.runs),
        "quick": "yes" if scale.quick else "no",
        "intervals": (
            "95 % confidence intervals of the mean by Student's t over the permutations. They "
            "describe the mean over splits of this data set, not what another data set would "
            "give; with fewer permutations they are wider, and ties are more likely."
        ),
        "randomness": "Splits and noise are seeded by the permutation's number and the cell.",
    }
    if datasets:
        facts |= {f"{name} protocol": words for name, words in DESCRIPTIONS.items()}
        facts["how the protocols were chosen"] = HOW_CHOSEN
    for name in datasets:
        source = CATALOG[name]
        facts[f"data set {name}"] = (
            f"{source.title}, {source.rows} records of {len(source.columns)} features; missing: "
            f"{source.missing}; {source.citation}; sha256 {source.sha256}"
        )
    return facts


def _write(results: Results, titles: dict[str, str], out: Path) -> tuple[Path, ...]:
    files = (out / "results.csv", out / "results.json", out / "report.html", out / "plots")
    results.to_csv(files[0])
    results.to_json(files[1])
    found = summary(results)
    write_report(results, files[2], headline=found.headline, table=found.rows, titles=titles)
    write_plots(results, files[3], titles)
    return files
