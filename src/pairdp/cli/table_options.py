"""Options of all commands that read a table: how its text is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pairdp.tables import Table, TextFormat, open_table


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--encoding``, ``--separator`` and ``--decimal``."""
    options = (
        click.option(
            "--encoding",
            metavar="NAME",
            help="Encoding of a CSV file, such as latin-1, cp1252 or utf-16; by default UTF-8.",
        ),
        click.option(
            "--separator",
            metavar="CHARACTER",
            help="Between cells of a CSV file, such as ';' or tab; found in the first line by "
            "default.",
        ),
        click.option(
            "--decimal",
            type=click.Choice((".", ",")),
            default=".",
            show_default=True,
            help="Decimal mark of a CSV file. Thousands separators are not accepted.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def open_with(path: Path, options: dict[str, Any]) -> Table:
    """Return the table in a file that is written as the options say."""
    names = ("encoding", "separator", "decimal")
    return open_table(path, TextFormat(**{name: options[name] for name in names}))
