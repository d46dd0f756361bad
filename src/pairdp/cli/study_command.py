"""``pairdp study``: the papers' tables and figures, run again, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pairdp.cli.common import FAILED, INTERRUPTED, echo_json, fail, json_option, one_sentence

DIRECTORY = click.Path(path_type=Path, file_okay=False)
# Known without importing the studies, so that --help is quick.
NAMES = ("huai2020", "xue2021", "wang2024", "yang2021", "kang2021", "all")


@click.command("study", short_help="Run the papers' experiments again, and write a report.")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--data", type=DIRECTORY, help="Where the data sets are; else PAIRDP_DATA.")
@click.option(
    "--out", type=DIRECTORY, default=Path("study"), show_default=True, help="Where to write."
)
@click.option("--quick", is_flag=True, help="Few points and permutations, to see that it works.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; by default one a core.")
@click.option(
    "--permutations", type=click.IntRange(min=2), help="Runs of each number.  [default: 20]"
)
@json_option
@one_sentence
def command(
    name: str,
    data: Path | None,
    out: Path,
    quick: bool,
    jobs: int | None,
    permutations: int | None,
    as_json: bool,
) -> None:
    """Run the experiments of a paper again, or of all.

    Figures as printed, noise as printed, noise that is proved, and what needs no noise. Writes
    results.csv, results.json, report.html and plots/, every plot as SVG. A run that was stopped
    goes on where it was when the same command is given again.

    \b
    Example:
      pairdp study xue2021 --data data --out xue
    """  # noqa: D301 - the command line's help reads the control character
    from pairdp.studies.data import DatasetError
    from pairdp.studies.engine import default_workers
    from pairdp.studies.journal import JournalError
    from pairdp.studies.plan import QUICK_RUNS, RUNS, Scale
    from pairdp.studies.run import STUDIES, run_studies
    from pairdp.studies.summary import summary

    scale = Scale(permutations or (QUICK_RUNS if quick else RUNS), quick)
    options = {"as_json": as_json}
    try:
        written = run_studies(
            STUDIES if name == "all" else (name,),
            out,
            scale,
            data=data,
            workers=jobs or default_workers(),
            command=_in_words(name, quick, permutations),
        )
    except (DatasetError, JournalError) as error:
        fail(str(error), options, FAILED)
    except KeyboardInterrupt:
        what = "interrupted: what is done is kept, and the same command goes on from there"
        fail(what, options, INTERRUPTED)
    found = summary(written.results)
    if as_json:
        echo_json(_as_json(name, written, found))
        return
    new = written.pieces - written.repeated
    click.echo(f"{written.pieces} pieces, {new} of them run now.")
    for sentence in found.headline:
        click.echo(f"- {sentence}")
    click.echo("Wrote " + ", ".join(str(path) for path in written.files))


def _in_words(name: str, quick: bool, permutations: int | None) -> str:
    """Return the command that gives the same numbers."""
    more = f" --permutations {permutations}" if permutations else ""
    return f"pairdp study {name}" + (" --quick" if quick else "") + more


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
