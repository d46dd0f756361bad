"""``pairdp schema --check``: which cells are not as a schema says. Not private."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from pairdp.cli.common import echo_json
from pairdp.cli.schema_table import cells_for, check_table
from pairdp.cli.table_options import open_with
from pairdp.schema import Schema

NOT_PRIVATE = "NOT PRIVATE: these counts are about the data. Do not publish them."
KINDS = ("missing", "outside", "unknown")


def check(path: Path, data: Path, options: dict[str, Any], as_json: bool) -> None:
    """Print how many cells of each column are missing, outside their range, or unknown."""
    schema = Schema.read(path)
    table = open_with(data, options)
    with_label = schema.label in table.columns
    check_table(schema, table, response=with_label)
    names = [*schema.features, *([schema.label] if schema.label and with_label else [])]
    n, _ = table.count(None, invalid=options["invalid"])
    counts = {name: Counter[str]() for name in names}
    lines = 0
    batches = cells_for(schema, table, names, invalid=options["invalid"])
    for batch in batches:
        lines += int(batch.unreadable.sum())
        read = {name: cells[~batch.unreadable] for name, cells in batch.columns.items()}
        for name, found in schema.outside(read).items():
            counts[name].update({kind: getattr(found, kind) for kind in KINDS})
    known = {column.name for column in schema.columns}
    extra = [name for name in table.columns if name not in known]
    if as_json:
        echo_json(
            {
                "warning": NOT_PRIVATE,
                "n": n,
                "malformed_lines": lines,
                "columns": {name: {kind: counts[name][kind] for kind in KINDS} for name in names},
                "extra_columns": extra,
            }
        )
        return
    click.echo(NOT_PRIVATE)
    for line in _lines(schema, counts, n):
        click.echo(line)
    if lines:
        click.echo(f"{lines} lines are malformed, and would be null records.")
    if extra:
        click.echo(f"Not in the schema, and ignored: {', '.join(extra)}")
    if not with_label:
        click.echo("The table has no label column: it can be scored, not fitted.")


def _lines(schema: Schema, counts: dict[str, Counter[str]], n: int) -> list[str]:
    """Return a table of counts, with what the schema says of such cells."""
    heads = ("column", *KINDS, "what becomes of them")
    rows: list[tuple[str, ...]] = [heads]
    for name, found in counts.items():
        column = next(column for column in schema.columns if column.name == name)
        rows.append((name, *(str(found[kind]) for kind in KINDS), _result(column, found)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return [f"{n} records", *lines]


def _result(column: Any, found: Counter[str]) -> str:
    """Return what becomes of the cells that were counted."""
    words = []
    missing, other = column.missing, getattr(column, "other", False)
    if found["missing"]:
        if missing is None and other is not False:
            missing = other
        meaning = {
            None: "missing cells are refused",
            "null": "missing cells make null records",
            "indicator": "missing cells have an indicator",
            True: "missing cells count as other",
        }
        known = missing is None or isinstance(missing, bool | str)
        words.append(meaning.get(missing if known else "", f"missing cells become {missing}"))
    if found["outside"]:
        words.append("cells outside are clipped")
    if found["unknown"]:
        if other is False:
            words.append("unknown cells are refused")
        else:
            words.append(
                f"unknown cells {'count as other' if other is True else f'become {other}'}"
            )
    return ", ".join(words)
