"""``pairdp predict``: scores of the records of a table by a saved model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
from numpy.typing import NDArray

from pairdp._coded_cells import Column
from pairdp._files import write_atomically
from pairdp._reading import Invalid
from pairdp.cli.common import (
    check_output,
    echo_json,
    invalid_option,
    json_option,
    report_errors,
    trust_option,
)
from pairdp.cli.predict_output import Output, written_cell
from pairdp.cli.predict_rows import Predictor, kept_columns
from pairdp.cli.table_options import TABLE, open_with, table_options
from pairdp.estimators.files import load_steps
from pairdp.tables import TableError
from pairdp.tables.threads import in_threads

FILE = click.Path(path_type=Path, dir_okay=False)
Array = NDArray[np.float64]
Lines = tuple[bytes, int]
"""Lines of the output, and how many records they are of."""
_OTHER_FORMATS = {".parquet", ".pq", ".gz", ".json", ".xlsx"}


@click.command("predict", short_help="Score the records of a table with a saved model.")
@click.argument("model", type=FILE)
@click.argument("data", type=TABLE)
@click.option("-o", "--output", type=FILE, help="CSV file to write; standard output by default.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--positive", metavar="LABEL", help="The label that gets high scores.")
@click.option(
    "--keep", multiple=True, metavar="COLUMN",
    help="A column to copy to the output, such as an id; may be repeated.",
)  # fmt: skip
@click.option(
    "--reference", type=TABLE, metavar="TABLE",
    help="A public table: add each score's percentile among the scores of its records.",
)  # fmt: skip
@click.option(
    "--probability", is_flag=True,
    help="Add the probability of the label with high scores, by a calibrated model.",
)  # fmt: skip
@trust_option
@invalid_option
@table_options
@json_option
@report_errors
def command(
    model: Path,
    data: Path,
    output: Path | None,
    force: bool,
    positive: str | None,
    keep: tuple[str, ...],
    reference: Path | None,
    probability: bool,
    trusted: tuple[str, ...],
    invalid: Invalid,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the records of DATA (CSV or Parquet) with a saved MODEL.

    For a ranker, the output is a score and a label for each record; for a metric, coordinates whose
    Euclidean distances are those of the metric. Predictions for the records of DATA are as
    sensitive as the records. A model with a schema reads DATA by it: columns may be in any order,
    the label may be absent, and other columns are ignored or refused, as the schema says. A record
    that makes a null record by the schema or, with --invalid null, that cannot be read, gets empty
    predictions.

    Percentiles are relative to --reference, a table that is public (or was released privately).
    Never give it the records that the model was fitted to: their scores are not covered by the
    model's guarantee. A score is not a probability: to calibrate scores needs labels, which must be
    paid for. ``pairdp evaluate --roc`` does so, and ``pairdp calibrate`` adds it to the model.

    \b
    Example:
      pairdp predict model.pairdp new.csv --keep patient_id -o scores.csv
    """  # noqa: D301 - the command line's help reads the control character
    if output is not None:
        if output.suffix.lower() in _OTHER_FORMATS:
            raise TableError(f"predictions are written as CSV: give {output} another name")
        check_output(output, force, model, data, reference)
    predictor = Predictor.of(load_steps(model, trusted=trusted), positive, probability)
    table = open_with(data, options)
    predictor.check(table)
    table.check_columns(keep)
    head = [*keep, *predictor.head]
    percentiles = None
    if reference is not None:
        percentiles = _percentiles(predictor, reference, options, invalid)
        head.append("percentile")
    if twice := [name for name in keep if head.count(name) > 1]:
        raise TableError(f"--keep {twice[0]}: the output has another column of this name")

    def output_of(part: tuple[Callable[[], Array], Sequence[Column]]) -> Output:
        rows, cells = part
        found, null = predictor.columns(rows())
        if percentiles is not None:
            found.append(percentiles(np.asarray(found[0])))
        return Output(cells, found, null)

    parts = zip(
        predictor.parts(table, invalid=invalid),
        kept_columns(table, keep, invalid=invalid),
        strict=False,
    )
    if output is None and as_json:
        rows = (row for some in in_threads(output_of, parts) for row in some.rows())
        echo_json([dict(zip(head, row, strict=True)) for row in rows])
        return
    written = in_threads(lambda part: _written(output_of(part)), parts)
    first = (",".join(map(written_cell, head)) + "\n").encode()
    if output is None:
        for lines, _ in chain([(first, 0)], written):
            sys.stdout.write(lines.decode())
        return
    n = _save(output, chain([(first, 0)], written))
    if as_json:
        echo_json({"output": str(output), "n": n})
    else:
        click.echo(f"Wrote {n} records to {output}", err=True)


def _percentiles(
    predictor: Predictor, path: Path, options: dict[str, Any], invalid: Invalid
) -> Callable[[Array], Array]:
    """Return the function from scores to percentiles among the scores of a public table."""
    if predictor.head[0] != "score":
        raise TableError("--reference is for models that give scores")
    table = open_with(path, options)
    predictor.check(table)
    scores = []
    for rows in predictor.parts(table, invalid=invalid):
        found, null = predictor.columns(rows())
        scores.append(found[0][~null])
    known = np.sort(np.concatenate(scores or [np.empty(0)]))
    if not len(known):
        raise TableError(f"{path} has no records that can be scored")

    def percentiles(scores: Array) -> Array:
        below, upto = (np.searchsorted(known, scores, side) for side in ("left", "right"))
        return np.asarray(50.0 * (below + upto) / len(known))

    return percentiles


def _written(output: Output) -> Lines:
    return output.lines(), len(output.null)


def _save(path: Path, parts: Iterable[Lines]) -> int:
    """Write a CSV file atomically, and return the number of records."""
    n = 0

    def write(file: BinaryIO) -> None:
        nonlocal n
        for lines, number in parts:
            file.write(lines)
            n += number

    try:
        write_atomically(path, write)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror}") from None
    return n
