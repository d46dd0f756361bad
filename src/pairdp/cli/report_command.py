"""``pairdp report``: a page about a model, for the person who decides on its release."""

from __future__ import annotations

import hashlib
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pairdp._files import write_atomically
from pairdp.cli.common import (
    FAILED,
    check_output,
    echo_json,
    import_option,
    json_option,
    open_ledger,
    report_errors,
    trust_option,
)
from pairdp.privacy import CertificateError
from pairdp.tables import TableError

if TYPE_CHECKING:
    from pairdp.evaluation import Evaluation
    from pairdp.report import SourceFile

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("report", short_help="Write a page about a model, for the person who signs.")
@click.argument("model", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="The HTML file to write.")
@click.option(
    "--evaluation",
    type=FILE,
    help="A private evaluation of this model: the file of  pairdp evaluate -o.",
)
@click.option("--ledger", type=FILE, help="The ledger that paid; it is only read.")
@click.option(
    "--date",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The date of the report; today by default.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@import_option
@trust_option
@json_option
@report_errors
def command(
    model: Path,
    output: Path,
    evaluation: Path | None,
    ledger: Path | None,
    date: datetime | None,
    force: bool,
    trusted: tuple[str, ...],
    as_json: bool,
) -> None:
    r"""Write a report on the model in MODEL: one HTML page, which loads nothing from elsewhere.

    It says in plain words what was released and what is protected, what an attacker can learn at
    most, which columns were used and how good the model is, if that was paid for; then the exact
    statement, what is not covered, and a place to sign. Print it from a browser.

    Everything in it is released or public: it reads no data and costs no budget. The certificates
    are verified; if one is refused, the page says so first and the exit code is 1.

    \b
    Examples:
      pairdp report model.pairdp -o report.html
      pairdp report model.pairdp --evaluation evaluation.json --ledger ledger.json -o report.html
    """
    from pairdp.estimators import load
    from pairdp.report import write_report

    check_output(output, force, model, evaluation, ledger)
    loaded = load(model, trusted=trusted)
    sources = [path for path in (model, evaluation) if path is not None]
    page = write_report(
        loaded,
        evaluation=None if evaluation is None else _read_evaluation(evaluation),
        ledger=open_ledger(ledger),
        date=None if date is None else date.date(),
        trusted=trusted,
        files=[_source(path) for path in sources],
        command="\n".join(f"pairdp verify {shlex.quote(path.name)}" for path in sources),
    )
    try:
        write_atomically(output, page.html.encode())
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from None
    if as_json:
        echo_json({"report": str(output), "warning": page.warning, "refused": page.refused})
    else:
        click.echo(f"Wrote {output}: open it in a browser, and print it from there")
        if page.warning is not None:
            click.echo(f"Warning: {page.warning}", err=True)
    if page.refused:
        sys.exit(FAILED)


def _read_evaluation(path: Path) -> Evaluation:
    from pairdp.evaluation import Evaluation

    try:
        document = path.read_bytes()
    except OSError as error:
        raise CertificateError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return Evaluation.from_json(document)
    except CertificateError as error:
        raise CertificateError(f"{path}: {error}") from None


def _source(path: Path) -> SourceFile:
    from pairdp.report import SourceFile

    return SourceFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest())
