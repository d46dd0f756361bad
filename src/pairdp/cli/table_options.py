"""Options of all commands that read a table: how its text is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pairdp.tables import Table, TextFormat, open_table

TABLE = click.Path(path_type=Path)  # a file, or a directory of Parquet files


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
    table = open_table(path, TextFormat(**{name: options[name] for name in names}))
    table.show_progress = ByteBar()
    return table


class ByteBar:
    """A progress bar of the bytes that were read; if it is shown already, no other one is."""

    def __init__(self) -> None:
        self._shown = False

    @contextmanager
    def __call__(self, total: int) -> Iterator[Callable[[int], object]]:
        """Show a bar on a terminal, and give the function that moves it."""
        if self._shown or not sys.stderr.isatty():
            yield lambda done: None
            return
        from tqdm import tqdm

        self._shown = True
        try:
            with tqdm(
                total=total, desc="reading", unit="B", unit_scale=True, delay=1, leave=False
            ) as bar:
                yield lambda done: bar.update(done - bar.n)
        finally:
            self._shown = False
