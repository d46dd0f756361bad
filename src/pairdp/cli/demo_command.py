"""``pairdp demo``: a private model of a synthetic table, its private AUC and its report."""

from __future__ import annotations

from pathlib import Path

import click

from pairdp.cli.common import report_errors
from pairdp.tables import TableError


@click.command("demo", short_help="Compare private models of a synthetic table; write a report.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("pairdp-demo"),
    show_default=True,
    help="The directory for the table, its schema, the model and the report.",
)
@report_errors
def command(output: Path) -> None:
    """Compare private models of a synthetic table of loans, and write the report of one.

    The AUC of a private model is printed beside those of other private models and of models
    without privacy; the table has curved effects, which favour additive models. Then a model is
    fitted, evaluated privately on held-out records, verified, saved, and described in an HTML page.
    It takes less than a minute. Files of an earlier demonstration in the same directory are
    replaced.
    """
    from pairdp.demo.run import main

    try:
        main(output)
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from None
