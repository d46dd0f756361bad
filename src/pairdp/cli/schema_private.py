"""``pairdp schema --private``: ranges of columns that are paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from pairdp._checks import did_you_mean
from pairdp._files import Draft
from pairdp._reading import read_targets
from pairdp.cli.common import check_output, echo_json, paying_ledger
from pairdp.cli.table_options import open_with
from pairdp.privacy import Budget, BudgetLedger, Unit, default_delta
from pairdp.ranges import PrivateRanges, RangeEstimation
from pairdp.ranges.estimation import run_plan
from pairdp.schema import starter
from pairdp.tables import Table, TableError

_REMARK = (
    "The ranges of {columns} were estimated from the data, and released with differential privacy: "
    "{certificate} is their certificate."
)


def write_private_ranges(
    data: Path, output: Path, force: bool, options: dict[str, Any], as_json: bool
) -> None:
    """Write a starter with released ranges of some columns, and the certificate beside it."""
    beside = output.with_name(f"{output.stem}.certificate.json")
    for path in (output, beside):
        check_output(path, force, data, options["ledger"])
    table = open_with(data, options)
    names = _names(table, options["columns"])
    unit = _unit(table, options)
    n, _ = table.count(None, invalid="null")
    if n == 0:
        raise TableError(f"{data} has no records")
    delta = default_delta(n) if options["delta"] is None else options["delta"]
    estimation = RangeEstimation(tuple(names), options["coverage"])
    plan = estimation.plan(n, Budget(options["epsilon"], delta), unit)
    ledger = paying_ledger(
        options,
        plan.certificate,
        data,
        output,
        columns=plan.estimation.columns,
        model_file=output.name,
    )
    columns, groups = _read(table, names, unit)
    ranges = run_plan(plan, columns, groups, random_state=options["seed"])
    text = starter(
        [name for name in table.columns if name],
        ranges.schema,
        _REMARK.format(columns=", ".join(names), certificate=beside.name),
    )
    _release(ranges, (output, text), beside, ledger)
    _print(ranges, output, beside, as_json)


def _names(table: Table, given: tuple[str, ...]) -> list[str]:
    """Return the columns that options name: whole names, or several with commas between them."""
    if not given:
        raise TableError(
            "name the columns that need a range, such as --columns age,crp: each one costs "
            f"accuracy; the table has {', '.join(table.columns[:20])}"
        )
    names: list[str] = []
    for text in given:
        parts = [text] if text in table.columns else [part.strip() for part in text.split(",")]
        names += [part for part in parts if part]
    table.check_columns(names)
    if twice := [name for name in names if names.count(name) > 1]:
        raise TableError(f"--columns names {twice[0]!r} twice")
    return names


def _unit(table: Table, options: dict[str, Any]) -> Unit | None:
    name, most = options["unit"], options["max_records"]
    if (name is None) != (most is None):
        raise TableError(
            "--unit and --max-records belong together: the column that identifies a unit, and how "
            "many records of each are used"
        )
    if name is None:
        return None
    if name not in table.columns:
        raise TableError(f"there is no column {name!r}{did_you_mean(name, table.columns)}")
    return Unit(name, most)


def _read(table: Table, names: list[str], unit: Unit | None) -> tuple[list[Any], Any]:
    """Return the values of each column, and the units of rows; cells are read one by one."""
    wanted = list(dict.fromkeys([*names, *([] if unit is None else [unit.name])]))
    values: list[list[Any]] = [[] for _ in names]
    groups: list[Any] = []
    batches = table.cells(wanted, numbers=names, invalid="null")
    for cells in batches:
        for column, name in zip(values, names, strict=True):
            column.append(np.where(cells.unreadable, np.nan, read_targets(cells.columns[name])))
        if unit is not None:
            groups.extend(cells.columns[unit.name].tolist())
    return [np.concatenate(column) for column in values], None if unit is None else groups


def _release(
    ranges: PrivateRanges, schema: tuple[Path, str], beside: Path, ledger: BudgetLedger | None
) -> None:
    """Write both files, pay, and give them their names: nothing is released that is not paid for.

    If the ledger has paid and the schema cannot be renamed, the error says where it is.
    """
    path, text = schema
    try:
        certificate = Draft(beside, ranges.certificate.to_json().encode())
        try:
            found = Draft(path, text.encode())
            if ledger is None:
                try:
                    found.publish()
                finally:
                    found.discard()
            else:
                ledger.release(ranges.certificate, found)
            certificate.publish()
        finally:
            certificate.discard()
    except OSError as error:
        raise TableError(f"the schema cannot be written: {error.strerror}") from None


def _print(ranges: PrivateRanges, output: Path, beside: Path, as_json: bool) -> None:
    certificate = ranges.certificate
    if as_json:
        echo_json(
            {
                "schema": str(output),
                "certificate_file": str(beside),
                "ranges": ranges.schema,
                "n": certificate.n,
                "certificate": certificate.to_dict(),
            }
        )
        return
    click.echo(ranges.privacy_statement())
    click.echo()
    for name, (lower, upper) in ranges.schema.items():
        click.echo(f"{name}: {lower:g} to {upper:g}")
    click.echo(f"\nSaved to {output}; replace every ? in it without looking at the data.")
    click.echo(f"Check the certificate with  pairdp verify {beside}")
