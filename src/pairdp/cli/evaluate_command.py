"""``pairdp evaluate``: how good a saved model is on a sensitive table, with an interval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pairdp._files import Draft, write_atomically
from pairdp.cli.common import (
    check_output,
    echo_json,
    invalid_option,
    json_option,
    paying_ledger,
    report_errors,
    trust_option,
)
from pairdp.cli.evaluate_table import EvaluatedTable
from pairdp.cli.table_options import TABLE, open_with, table_options
from pairdp.cli.unit_options import unit_options, unit_parameters
from pairdp.drawing import write_svg
from pairdp.estimators import load
from pairdp.evaluation import Evaluation, EvaluationPlan, ScoreResult
from pairdp.evaluation.evaluate import (
    check_hope,
    plan_model,
    run_plan,
    used_records,
)
from pairdp.evaluation.kinds import Options
from pairdp.evaluation.measures import MEASURES, evaluated_model
from pairdp.evaluation.result import digest_of
from pairdp.privacy import Budget, BudgetLedger, Unit
from pairdp.tables import TableError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("evaluate", short_help="Release how good a saved model is on a sensitive table.")
@click.argument("model", type=FILE)
@click.argument("data", type=TABLE)
@click.option(
    "--epsilon", type=float, required=True, help="ε, the privacy budget of the evaluation."
)
@click.option(
    "--delta", type=float, default=0.0, show_default=True, help="δ; 0 for pure ε."
)  # fmt: skip
@click.option("--label", help="Name of the label column; that of the schema.")
@click.option(
    "--measure",
    type=click.Choice(MEASURES),
    default="auto",
    show_default=True,
    help="What is released; by default, what fits the model.",
)
@click.option(
    "--target-range",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="For regressors: the public range of the target; that of the model.",
)
@unit_options
@click.option(
    "--noise",
    type=click.Choice(("auto", "laplace", "gaussian")),
    default="auto",
    show_default=True,
    help="Gaussian noise needs --delta, and pays off among other Gaussian releases only.",
)
@click.option(
    "--share",
    type=float,
    metavar="SHARE",
    help="A public guess of the share of positive records, to judge what can be said.",
)
@click.option(
    "--hopeless",
    type=click.Choice(("error", "warn")),
    default="error",
    show_default=True,
    help="What to do if, by public facts, nothing can be said; before anything is spent.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Print what to expect, and spend nothing.")
@click.option(
    "--roc", is_flag=True, help="Release counts for the ROC curve too, for half of the budget."
)
@click.option(
    "--threshold",
    type=float,
    help="Release sensitivity, specificity and precision at this score, for half of the budget.",
)
@click.option(
    "--score-range",
    type=float,
    metavar="BOUND",
    help="With --roc: a public bound on the absolute value of most scores.",
)
@click.option("--r2", is_flag=True, help="For regressors: release R² too, for half of the budget.")
@click.option("-o", "--output", type=FILE, help="JSON file for figures and certificate.")
@click.option("--figure", type=FILE, help="SVG file for the ROC curve, with --roc.")
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--ledger", type=FILE, help="Pay for the evaluation from this ledger.")
@click.option(
    "--data-set",
    metavar="NAME",
    help="Name of the data set, for the ledger; the file's by default.",
)
@click.option(
    "--seed", type=int, help="For tests only: anyone who knows it can subtract the noise."
)
@trust_option
@invalid_option
@table_options
@json_option
@report_errors
def command(
    model: Path, data: Path, trusted: tuple[str, ...], as_json: bool, **options: Any
) -> None:
    """Release how good a saved MODEL is on the records of DATA (CSV or Parquet).

    For models with scores of two classes this is the AUC: the chance that a record of the second
    class scores above one of the first. For regressors it is the mean absolute and the mean squared
    error, for metrics the chance that a pair of the same class is closer than one of different
    classes, for rankers of graded responses the chance that of two records with different responses
    the one with the larger response has the larger score, and with --measure accuracy the share of
    right predictions. It is released with differential privacy, with a 95 % interval that covers
    both this noise and that of sampling. Use records that the model was not fitted to. What the
    evaluation costs adds to what other releases of these records cost.

    The number of records is public. A record that cannot be scored or has another label is an
    error, which reveals something about the data. With --invalid null it becomes a null record,
    which is in no pair; the number of these is released too, and the interval is wider.

    If the smaller class has fewer than about 10/ε records, nothing can be said; --plan prints what
    to expect from the number of records alone.

    With --roc or --threshold, half of the budget is for counts of scores by class: a ROC curve with
    a band that holds as a whole, or figures at one threshold, such as 0, above which models predict
    the second class. A threshold alone is more accurate.  pairdp verify  computes the figures in
    the file of -o again from what was released.

    \b
    Examples:
      pairdp evaluate model.pairdp test.csv --epsilon 0.5 --plan
      pairdp evaluate model.pairdp test.csv --epsilon 0.5 --ledger ledger.json
      pairdp evaluate model.pairdp test.csv --epsilon 1 --roc --figure roc.svg -o evaluation.json
    """  # noqa: D301 - the command line's help reads the control character
    if options["figure"] is not None and not options["roc"]:
        raise TableError("--figure draws the ROC curve: give --roc too")
    for path in (options["output"], options["figure"]):
        if path is not None:
            check_output(path, options["force"], model, data, options["ledger"])
    target = options["target_range"] or None
    evaluated = evaluated_model(load(model, trusted=trusted), options["measure"], target)
    table = open_with(data, options)
    records = EvaluatedTable.of(table, evaluated, options["label"])
    units, invalid = unit_parameters(options), options["invalid"]
    if units:
        table.check_columns([units["unit"]])
    n, _ = table.count(None, invalid=invalid)
    plan = plan_model(
        evaluated,
        n,
        Budget(options["epsilon"], options["delta"]),
        Unit(units["unit"], units["max_records"]) if units else None,
        invalid=invalid,
        options=Options(*(options[name] for name in Options._fields)),
    )
    if options["only_plan"]:
        _print_plan(plan, as_json)
        return
    check_hope(plan, options["share"], options["hopeless"])
    ledger = paying_ledger(options, plan.certificate, data, options["output"])
    outputs, labels, groups = records.read(units.get("unit"), invalid)
    if len(outputs) != n or len(labels) != n:
        raise TableError(f"{data} changed while it was read: nothing was released")
    used = used_records(plan, evaluated, outputs, labels, groups)
    digest = digest_of(evaluated.model.last)
    found = run_plan(plan, *used, model=digest, random_state=options["seed"])
    _release(found, options["output"], ledger)
    if options["figure"] is not None and isinstance(found, ScoreResult):
        write_atomically(options["figure"], write_svg(found.roc.figure()).encode())
    _print(found, options["threshold"], as_json)


def _release(found: Evaluation, output: Path | None, ledger: BudgetLedger | None) -> None:
    """Pay for the evaluation, and write its file: nothing is shown that is not paid for."""
    if output is None:
        if ledger is not None:
            ledger.spend(found.certificate)
        return
    try:
        draft = Draft(output, found.to_json().encode())
        if ledger is not None:
            ledger.release(found.certificate, draft)
            return
        try:
            draft.publish()
        finally:
            draft.discard()
    except OSError as error:
        raise TableError(f"{output} cannot be written: {error.strerror}") from None


def _print_plan(plan: EvaluationPlan, as_json: bool) -> None:
    if as_json:
        echo_json(plan.to_dict())
    else:
        click.echo(str(plan))


def _print(found: Evaluation, threshold: float | None, as_json: bool) -> None:
    if as_json:
        echo_json(found.to_dict())
        return
    click.echo(str(found))
    if isinstance(found, ScoreResult) and found.plan.evaluation.edges:
        click.echo(str(found.at(0.0 if threshold is None else threshold)))
    click.echo()
    click.echo(found.privacy_statement())
