"""``pairdp schema``: a public description of a table's columns, to be completed by a person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from pairdp._files import write_atomically
from pairdp.cli.common import (
    budget_options,
    check_output,
    echo_json,
    invalid_option,
    json_option,
    refuse_options,
    report_errors,
)
from pairdp.cli.table_options import TABLE, open_with, table_options
from pairdp.tables import TableError

FILE = click.Path(path_type=Path, dir_okay=False)
_OF_PRIVATE = (
    "columns", "epsilon", "delta", "coverage", "unit", "max_records", "ledger", "data_set", "seed",
)  # fmt: skip


@click.command(
    "schema", short_help="Start a schema from a table's header, pay for ranges, or check it."
)
@click.argument("data", type=TABLE)
@click.option(
    "--check", "schema", type=FILE, metavar="SCHEMA",
    help="Count the cells of DATA that are not as this schema says. NOT private.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="With --check: print even if this is not a terminal.")
@click.option(
    "--private", is_flag=True,
    help="Estimate ranges of some columns from DATA, with differential privacy.",
)  # fmt: skip
@click.option(
    "--columns", multiple=True, metavar="A,B",
    help="With --private: the columns that need a range; may be repeated.",
)  # fmt: skip
@budget_options
@click.option(
    "--coverage", type=float, default=0.98, show_default=True,
    help="With --private: the share of a column's values that its range should hold.",
)  # fmt: skip
@click.option(
    "--unit", metavar="COLUMN", help="With --private: protect all records with the same value."
)
@click.option("--max-records", type=int, help="With --unit: how many records of each are used.")
@click.option("--ledger", type=FILE, help="With --private: pay from this ledger.")
@click.option(
    "--data-set", metavar="NAME",
    help="Name of the data set, for the ledger; the file's by default.",
)  # fmt: skip
@click.option(
    "--seed", type=int, help="For tests only: anyone who knows it can subtract the noise."
)
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
    private: bool,
    output: Path | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Write a starter for a schema of DATA (CSV or Parquet), estimate ranges, or check a schema.

    A schema is a public description of the columns: ranges of numbers, lists of categories, the
    label. The starter has the names of the columns, which are all that is read of DATA; replace
    each ? by what is known without the data: limits of the instrument, of the form, of the law.

    With --check, all of DATA is read, and the number of cells that are missing, outside their range
    or unknown is printed for each column. These counts are NOT private: they are for those who hold
    the data, and changing a schema because of them makes the schema depend on the data. They are
    printed to a terminal only, unless --yes is given, and never saved.

    With --private, the ranges of --columns are estimated from DATA and released with differential
    privacy, for --epsilon in total: use it where no limit is known without the data. They are
    written into the starter, and their certificate beside it. Cells that cannot be read count as
    missing, and nothing that is printed depends on them.

    \b
    Examples:
      pairdp schema patients.csv -o schema.json
      pairdp schema patients.csv --private --columns crp,ferritin --epsilon 0.1 -o schema.json
      pairdp schema --check schema.json patients.csv
    """  # noqa: D301 - the command line's help reads the control character
    if not private:
        refuse_options("these options are for --private", *_OF_PRIVATE)
    elif schema is not None:
        raise TableError("--check counts cells without privacy: do not combine it with --private")
    if schema is not None:
        refuse_options("the counts of --check are not private and not saved", "output", "force")
        if not yes and not _is_terminal():
            raise TableError(
                "the counts of --check are not private, and this is not a terminal: give --yes if "
                "nobody but those who hold the data will read the output"
            )
        from pairdp.cli.schema_check import check

        check(schema, data, options, as_json)
        return
    refuse_options("--yes is for --check", "yes")
    if private:
        if output is None:
            raise TableError("--private needs -o: the schema and its certificate are files")
        from pairdp.cli.schema_private import write_private_ranges

        write_private_ranges(data, output, force, options, as_json)
        return
    if output is not None:
        check_output(output, force, data)
    _write_starter(data, output, options, as_json)


def _is_terminal() -> bool:
    return sys.stdout.isatty()


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
