"""``pairdp fit``: from a table to a private model in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pairdp.algorithms.choice.models import MODEL_REASON
from pairdp.cli.common import (
    budget_options,
    calibration_options,
    check_output,
    echo_json,
    estimator,
    invalid_option,
    json_option,
    model_options,
    paying_ledger,
    report_errors,
)
from pairdp.cli.fit_columns import FitColumns, NumberColumns
from pairdp.cli.fit_schema import SchemaColumns
from pairdp.cli.held_out_options import held_out_options, held_out_parameters
from pairdp.cli.scorecard_options import scorecard, scorecard_options, scorecard_parameters
from pairdp.cli.table_options import TABLE, open_with, table_options
from pairdp.cli.unit_options import unit_options, unit_parameters
from pairdp.estimators.fit_warnings import EUCLIDEAN
from pairdp.model_file import Steps, draft_of, save_steps
from pairdp.privacy import BudgetLedger, Certificate
from pairdp.tables import TableError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("fit", short_help="Fit a private ranker or metric to a table and save it.")
@click.argument("data", type=TABLE)
@click.option("--schema", type=FILE, help="JSON file with a public description of the columns.")
@click.option("--label", help="Name of the label or response column; that of the schema.")
@click.option("--bounds", type=FILE, help="JSON or CSV file with public bounds of the features.")
@click.option(
    "--unscaled", is_flag=True, help="Do not scale features: rows are within --data-norm."
)
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="A column to leave out; may be repeated."
)
@click.option(
    "--classes", metavar="A,B", help="The two labels, if it is not public which ones occur."
)
@scorecard_options
@click.option("--threshold", type=float, help="A public threshold, instead of a noisy one.")
@budget_options
@unit_options
@model_options
@calibration_options
@held_out_options
@click.option("--ledger", type=FILE, help="Pay for the fit from this ledger.")
@click.option(
    "--data-set",
    metavar="NAME",
    help="Name of the data set, for the ledger; the file's by default.",
)
@click.option("--note", help="A remark for the entry in the ledger.")
@click.option(
    "--seed", type=int, help="For tests only: anyone who knows it can subtract the noise."
)
@invalid_option
@table_options
@click.option("-o", "--output", type=FILE, required=True, help="Where to save the model.")
@click.option("--force", is_flag=True, help="Replace an existing model.")
@json_option
@report_errors
def command(data: Path, output: Path, force: bool, as_json: bool, **options: Any) -> None:
    """Fit a private ranker or metric to DATA (CSV or Parquet) and save it.

    A schema (see  pairdp schema) describes the columns: ranges, categories, dates, what a missing
    cell means, and the label with its classes, of which the last one ranks high. The model stores
    it, and  pairdp predict  reads tables by it.

    Without a schema, all features are numbers: those that have bounds in --bounds. The labels that
    occur are then assumed to be public; give --classes if they are not. The larger label is ranked
    higher. If both --classes are numbers, cells with equal numbers match, such as 1 and 1.0;
    otherwise cells are compared as text.

    The number of records is public. A record that cannot be read, that the schema has no place for,
    or that has another label, makes the fit fail, which reveals something about the data. With
    --invalid null it becomes a null record, which contributes nothing and reveals nothing.

    With --response-bounds the label column is a graded response: numbers, clipped to these public
    bounds, and records are ranked by them.

    With --unit and --max-records, the guarantee covers all records of one unit, such as a patient
    with several rows. The first so many rows of each unit are used, whatever they contain; the
    others, and rows without a unit, become null records. The column is not a feature.

    By default, public facts decide whether a ranker is linear, additive or quadratic, and the plan
    says why; --model names one. Options such as --loss and --algorithm are for linear models. With
    --scorecard and a schema, the model is a sum of points for each bin of each column; --increasing
    and --decreasing constrain numbers, --pair and --interactions add products. These must be known
    without the data.

    With --evaluate, a share of the records is held out from training, by a public rule on row
    numbers (all rows of a unit together), and the model is evaluated on them with the same budget.
    No record is in both, so that the whole costs no more.  pairdp plan --evaluate  prints what to
    expect.

    \b
    Examples:
      pairdp fit patients.csv --schema schema.json --epsilon 1 -o model.pairdp
      pairdp fit patients.csv --schema schema.json --model linear -o model.pairdp
      pairdp fit patients.csv --schema schema.json --evaluate -o model.pairdp
      pairdp fit patients.csv --schema schema.json --scorecard --increasing age -o card.pairdp
    """  # noqa: D301 - the command line's help reads the control character
    check_output(output, force, data, *(options[name] for name in ("schema", "bounds", "ledger")))
    units = unit_parameters(options)
    table = open_with(data, options)
    columns: FitColumns
    if options["schema"] is None:
        columns = NumberColumns.of(table, options)
    else:
        columns = SchemaColumns.of(table, options)
    if columns.n < 2:
        raise TableError(f"{data} has {columns.n} records; a pair needs two")
    more = {**_task_parameters(options), **columns.parameters, **units}
    more["data_set"] = options["data_set"]
    more |= scorecard_parameters(options)
    model = scorecard(options, more) if options["scorecard"] else estimator(options, **more)
    held_out = held_out_parameters(options)
    with model._holding_out(**held_out):
        plan, released = model._plan_all(columns.n, columns.width)
        ledger = _ledger(options, released, data, columns.names, output)
        model._fit_plan(plan, columns.batches(model), columns.width, columns.classes)
    _release(columns.fitted(model), model, output, ledger)
    try:
        _print_result(model, output, columns, as_json)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted: the model is in {output}") from None


def _print_result(model: Any, output: Path, columns: FitColumns, as_json: bool) -> None:
    directions = getattr(model, "n_directions_", None)
    evaluation = getattr(model, "evaluation_", None)
    if directions == 0 and columns.width > 1:
        click.echo(f"Warning: {EUCLIDEAN}", err=True)
    if as_json:
        echo_json(
            {
                "model": str(output),
                "n": columns.n,
                "features": columns.names,
                "ranked_high": None if columns.classes is None else columns.classes.tolist()[-1],
                "directions": directions,
                "model_kind": getattr(model, "model_", None),
                "algorithm": model.certificate_.algorithm,
                "epsilon": model.epsilon,
                "delta": model.certificate_.budget.delta,
                "claim_is_proved": model.plan_.claim_is_proved,
                "true_epsilon": model.plan_.true_epsilon,
                "evaluation": evaluation and evaluation.figures(),
                "certificate": model.certificate_.to_dict(),
            }
        )
        return
    click.echo(model.privacy_statement())
    for reason in model.plan_.reasons:
        if reason.startswith(MODEL_REASON):
            click.echo(f"\n{reason}")
    if directions is not None:
        click.echo(f"\nDirections learned: {directions} of {columns.width}.")
    if evaluation is not None:
        click.echo(f"\nOn {evaluation.certificate.n} records that were held out:\n{evaluation}")
    click.echo(f"\nSaved to {output}. Check it with  pairdp verify {output}")


def _ledger(
    options: dict[str, Any], released: Certificate, data: Path, names: list[str], output: Path
) -> BudgetLedger | None:
    """Return the ledger that pays for the fit, after checking that it has room for all of it."""
    note = options["note"]
    if note is not None and options["ledger"] is None:
        raise TableError("--note is for the entry in a ledger: give --ledger too")
    return paying_ledger(
        options, released, data, output, columns=names, model_file=output.name, note=note
    )


def _release(fitted: Steps, model: Any, output: Path, ledger: BudgetLedger | None) -> None:
    """Save the model, and spend the budget if there is a ledger.

    The file is complete on disk before the budget is spent, and is renamed afterwards: a full disk
    costs nothing, and nothing is released that was not paid for.
    """
    if ledger is None:
        save_steps(fitted, output)
    else:
        ledger.release(model.certificate_, draft_of(fitted, output))


def _task_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the estimator's parameters that depend on the task."""
    more: dict[str, Any] = {
        "calibration": options["calibration"],
        "schedule": options["schedule"],
        "random_state": options["seed"],
        "invalid": options["invalid"],
    }
    if options["task"] != "ranking" or options["response_bounds"] is not None:
        for name in ("classes", "threshold"):
            if options[name] is not None:
                raise TableError(f"--{name} is for --task ranking without --response-bounds")
        return more
    if options["threshold"] is not None:
        more["threshold"] = options["threshold"]
    return more
