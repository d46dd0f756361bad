"""``pairdp schema``: a public description of a table's columns, to be completed by a person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pairdp._files import write_atomically
from pairdp.cli.common import (
    check_output,
    echo_json,
    invalid_option,
    json_option,
    refuse_options,
    report_errors,
)
from pairdp.cli.table_options import open_with, table_options
from pairdp.tables import TableError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("schema", short_help="Start a schema from a table's header, or check one.")
@click.argument("data", type=FILE)
@click.option(
    "--check", "schema", type=FILE, metavar="SCHEMA",
    help="Count the cells of DATA that are not as this schema says. NOT private.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="With --check: print even if this is not a terminal.")
@click.option("-o", "--output", type=FILE, help="Where to write; standard output by default.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@invalid_option
@table_options
@json_option
@report_errors
def command(
    data: Path,
    schema: Path | None,
    yes: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a starter for a schema of DATA (CSV or Parquet), or check a schema.

    A schema is a public description of the columns: ranges of numbers, lists of categories, the
    label. The starter has the names of the columns, which are all that is read of DATA; replace
    each ? by what is known without the data: limits of the instrument, of the form, of the law.

    With --check, all of DATA is read, and the number of cells that are missing, outside their range
    or unknown is printed for each column. These counts are NOT private: they are for those who hold
    the data, and changing a schema because of them makes the schema depend on the data. They are
    printed to a terminal only, unless --yes is given, and never saved.

    \b
    Examples:
      pairdp schema patients.csv -o schema.json
      pairdp schema --check schema.json patients.csv
    """  # noqa: D301 - the command line's help reads the control character
    if schema is not None:
        refuse_options("the counts of --check are not private and not saved", "output", "force")
        if not yes and not sys.stdout.isatty():
            raise TableError(
                "the counts of --check are not private, and this is not a terminal: give --yes if "
                "nobody but those who hold the data will read the output"
            )
        from pairdp.cli.schema_check import check

        check(schema, data, options, as_json)
        return
    refuse_options("--yes is for --check", "yes")
    if output is not None:
        check_output(output, force, data)
    _write_starter(data, output, options, as_json)


def _write_starter(data: Path, output: Path | None, options: dict[str, Any], as_json: bool) -> None:
    """Write a starter, which depends on the first line of the table alone."""
    from pairdp.schema import starter

    table = open_with(data, options)
    names = [name for name in table.columns if name]  # a column without a name cannot be used
    table.check_columns(names)
    text = starter(names)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        write_atomically(output, text.encode())
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from None
    if as_json:
        echo_json({"schema": str(output), "columns": names})
    else:
        click.echo(
            f"Wrote {output} with {len(names)} columns: replace every ? in it without looking at "
            "the data, then use  pairdp fit --schema"
        )
