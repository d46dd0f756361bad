"""The options ``--unit`` and ``--max-records``, and the units of a table's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import click

from pairdp._reading import Invalid
from pairdp.tables import Table, TableError


def unit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--unit`` and ``--max-records``."""
    command = click.option(
        "--max-records",
        type=int,
        help="With --unit: how many records of each unit are used; the first ones.",
    )(command)
    return click.option(
        "--unit",
        metavar="COLUMN",
        help="Protect all records of one unit, such as patient_id, together.",
    )(command)


def unit_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator that say what is protected."""
    unit, most = options["unit"], options["max_records"]
    if (unit is None) != (most is None):
        raise TableError(
            "--unit and --max-records belong together: the column that identifies a unit, and how "
            "many records of each are used"
        )
    return {} if unit is None else {"unit": unit, "max_records": most}


def units_of(table: Table, unit: str, invalid: Invalid) -> Callable[[int], list[Any]]:
    """Return a function that returns the units of the next rows of a table, in order.

    The column is read by itself: what else is in a row, and in which batches other columns are
    read, does not matter.
    """

    def cells() -> Iterator[Any]:
        for batch in table.cells([unit], invalid=invalid):
            yield from batch.columns[unit].tolist()

    remaining = cells()
    return lambda rows: list(islice(remaining, rows))
