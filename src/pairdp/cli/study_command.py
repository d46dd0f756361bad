"""``pairdp study``: reproduce the papers' tables and figures, and write a report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pairdp.cli.common import FAILED, INTERRUPTED, echo_json, fail, json_option, report_errors
from pairdp.studies.papers import STUDIES

DIRECTORY = click.Path(path_type=Path, file_okay=False)


@click.command("study", short_help="Reproduce the papers' experiments and write a report.")
@click.argument("name", type=click.Choice((*STUDIES, "all")))
@click.option("--data", type=DIRECTORY, help="Directory of the data sets.  [default: PAIRDP_DATA]")
@click.option(
    "--out", type=DIRECTORY, default=Path("study"), show_default=True, help="Output directory."
)
@click.option("--quick", is_flag=True, help="Few points and permutations, as a check.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes.  [default: one per core]")
@click.option(
    "--permutations", type=click.IntRange(min=2), help="Runs of each cell.  [default: 20]"
)
@click.option("--table", "tables", type=int, multiple=True, help="Run this table only.")
@click.option("--figure", "figures", type=int, multiple=True, help="Run this figure only.")
@click.option("--exhibit", "others", multiple=True, help="Run this exhibit only, by its name.")
@click.option("--dataset", "datasets", multiple=True, help="Run this data set only.")
@json_option
@report_errors
def command(
    name: str,
    data: Path | None,
    out: Path,
    quick: bool,
    jobs: int | None,
    permutations: int | None,
    tables: tuple[int, ...],
    figures: tuple[int, ...],
    others: tuple[str, ...],
    datasets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Reproduce the experiments of a paper, or of all papers.

    Compares the numbers that a paper reports with runs with printed noise, with certified noise
    and without noise. Writes results.csv, results.json, report.html and plots/*.svg. The same
    command resumes an interrupted run. --table, --figure, --exhibit and --dataset may be repeated.

    \b
    Examples:
      pairdp study xue2021 --data data --out xue
      pairdp study xue2021 --figure 3
    """  # noqa: D301 - the command line's help reads the control character
    from pairdp.studies.data import DatasetError
    from pairdp.studies.engine import default_workers
    from pairdp.studies.journal import JournalError
    from pairdp.studies.run import SelectionError, run_studies
    from pairdp.studies.study import QUICK_RUNS, RUNS, Scale
    from pairdp.studies.summary import summary

    scale = Scale(permutations or (QUICK_RUNS if quick else RUNS), quick)
    options = {"as_json": as_json}
    exhibits = [f"Table {number}" for number in tables]
    exhibits += [f"Figure {number}" for number in figures]
    exhibits += others
    try:
        written = run_studies(
            STUDIES if name == "all" else (name,),
            out,
            scale,
            exhibits=exhibits,
            datasets=datasets,
            data=data,
            workers=jobs or default_workers(),
            command=_in_words(name, quick, permutations, exhibits, datasets),
        )
    except SelectionError as error:
        fail("no study has this", options, FAILED, error.problems)
    except (DatasetError, JournalError) as error:
        fail(str(error), options, FAILED)
    except KeyboardInterrupt:
        what = "interrupted: finished jobs are kept, and the same command resumes"
        fail(what, options, INTERRUPTED)
    found = summary(written.results)
    if as_json:
        echo_json(_as_json(name, written, found))
        return
    new = written.pieces - written.repeated
    click.echo(f"{written.pieces} jobs, {new} of them run now.")
    for sentence in found.headline:
        click.echo(f"- {sentence}")
    click.echo("Wrote " + ", ".join(str(path) for path in written.files))


def _in_words(
    name: str,
    quick: bool,
    permutations: int | None,
    exhibits: Sequence[str],
    datasets: Sequence[str],
) -> str:
    """Return the command that gives the same numbers."""
    words = ["pairdp", "study", name]
    words += ["--quick"] if quick else []
    words += ["--permutations", str(permutations)] if permutations else []
    for exhibit in exhibits:
        words += ["--exhibit", exhibit]
    for dataset in datasets:
        words += ["--dataset", dataset]
    return shlex.join(words)


def _as_json(name: str, written: Any, found: Any) -> dict[str, Any]:
    return {
        "study": name,
        "files": [str(path) for path in written.files],
        "pieces": written.pieces,
        "repeated": written.repeated,
        "cells": len(written.results.cells),
        "certificates": len(written.results.certificates),
        "remarks": [remark.title for remark in written.results.remarks],
        "headline": list(found.headline),
    }
