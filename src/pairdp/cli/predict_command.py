"""``pairdp predict``: scores of the records of a table by a saved model."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from pairdp._files import write_atomically
from pairdp._reading import Invalid
from pairdp.cli.common import (
    check_output,
    echo_json,
    invalid_option,
    json_option,
    report_errors,
    trust_option,
    with_progress,
)
from pairdp.cli.table_options import open_with, table_options
from pairdp.estimators import BoundsScaler, load
from pairdp.tables import TableError

Array = NDArray[np.float64]
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("predict", short_help="Score the records of a table with a saved model.")
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option("-o", "--output", type=FILE, help="CSV file to write; standard output by default.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--positive", metavar="LABEL", help="The label that gets high scores.")
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
    trusted: tuple[str, ...],
    invalid: Invalid,
    as_json: bool,
    **options: Any,
) -> None:
    """Score the records of DATA (CSV or Parquet) with a saved MODEL.

    For a ranker, the output is a score and a label for each record; for a metric, coordinates whose
    Euclidean distances are those of the metric. Predictions for the records of DATA are as
    sensitive as the records. With --invalid null, records that cannot be read get an empty line.

    \b
    Example:
      pairdp predict model.pairdp new.csv -o scores.csv
    """  # noqa: D301 - the command line's help reads the control character
    if output is not None:
        check_output(output, force, model, data)
    steps = _steps(load(model, trusted=trusted))
    table = open_with(data, options)
    names = [str(name) for name in steps[0].feature_names_in_]
    table.check_columns(names)
    head, predict = _predictor(steps, positive)
    n, _ = table.count(None, invalid=invalid)

    def lines() -> Iterator[list[Any]]:
        batches = table.batches(names, None, invalid=invalid)
        for batch in with_progress(n, batches, "scoring"):
            unreadable = np.isnan(batch.features[:, 0])
            predicted = iter([] if unreadable.all() else predict(batch.features[~unreadable]))
            yield from ([None] * len(head) if null else next(predicted) for null in unreadable)

    if output is not None:
        _save(output, head, lines())
        if as_json:
            echo_json({"output": str(output), "n": n})
        else:
            click.echo(f"Wrote {n} records to {output}", err=True)
    elif as_json:
        echo_json([dict(zip(head, line, strict=True)) for line in lines()])
    else:
        _write(sys.stdout, head, lines())


def _steps(model: Any) -> list[Any]:
    """Return the steps of a model, after checking that it has the names of columns."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if isinstance(steps[-1], BoundsScaler):
        raise TableError("the file contains a scaler without a model")
    if not hasattr(steps[0], "feature_names_in_"):
        raise TableError(
            "the model has no names of columns, since it was fitted to an array: fit it to a "
            "DataFrame, or with  pairdp fit"
        )
    return steps


def _predictor(
    steps: list[Any], positive: str | None
) -> tuple[list[str], Callable[[Array], list[list[Any]]]]:
    """Return the names of the output columns, and the function that computes them."""
    *before, model = steps
    labels = [str(label) for label in getattr(model, "classes_", ())]
    if positive is not None and positive not in labels:
        known = f"its labels are {', '.join(labels)}" if labels else "the model has no labels"
        raise TableError(f"--positive {positive} is not a label of the model: {known}")
    sign = -1.0 if labels and positive == labels[0] else 1.0
    for step in steps:
        vars(step).pop("feature_names_in_", None)  # rows come as arrays, in this order

    def scaled(rows: Array) -> Array:
        for step in before:
            rows = step.transform(rows)
        return rows

    def scores_and_labels(rows: Array) -> list[list[Any]]:
        rows = scaled(rows)
        scores, found = sign * model.decision_function(rows), model.predict(rows)
        return [list(pair) for pair in zip(scores.tolist(), found.tolist(), strict=True)]

    if labels:
        return ["score", "label"], scores_and_labels
    if hasattr(model, "decision_function"):
        return ["score"], lambda rows: model.decision_function(scaled(rows))[:, None].tolist()
    if hasattr(model, "predict"):
        return ["prediction"], lambda rows: model.predict(scaled(rows))[:, None].tolist()
    head = [f"z{i}" for i in range(len(model.get_feature_names_out()))]
    return head, lambda rows: model.transform(scaled(rows)).tolist()


def _write(file: io.TextIOBase | Any, head: list[str], lines: Iterator[list[Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)


def _save(output: Path, head: list[str], lines: Iterator[list[Any]]) -> None:
    """Write a CSV file atomically."""

    def write(file: BinaryIO) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        _write(text, head, lines)
        text.flush()
        text.detach()

    try:
        write_atomically(output, write)
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from None
