"""``pairdp calibrate``: probabilities for a saved model, from a private evaluation of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pairdp.cli.common import check_output, echo_json, json_option, report_errors, trust_option
from pairdp.tables import TableError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("calibrate", short_help="Add the probabilities of an evaluation to a saved model.")
@click.argument("model", type=FILE)
@click.argument("evaluation", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="File for the calibrated model.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@trust_option
@json_option
@report_errors
def command(
    model: Path,
    evaluation: Path,
    output: Path,
    force: bool,
    trusted: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add the probabilities of an EVALUATION to a saved MODEL.

    EVALUATION is the file that  pairdp evaluate --roc -o  wrote for this model. Nothing is read or
    spent: the evaluation has paid for it. The new file has its certificate too, which  pairdp
    verify  checks, and  pairdp predict --probability  then predicts probabilities.

    \b
    Example:
      pairdp evaluate model.pairdp test.csv --epsilon 1 --roc -o evaluation.json
      pairdp calibrate model.pairdp evaluation.json -o calibrated.pairdp
    """  # noqa: D301 - the command line's help reads the control character
    from pairdp.estimators import load, save
    from pairdp.evaluation import Evaluation

    check_output(output, force, model, evaluation)
    loaded: Any = load(model, trusted=trusted)
    last = loaded.steps[-1][1] if hasattr(loaded, "steps") else loaded
    if not hasattr(last, "calibrate"):
        raise TableError(f"a {type(last).__name__} has no scores of two classes to calibrate")
    try:
        found = Evaluation.from_json(evaluation.read_bytes())
    except OSError as error:
        raise TableError(f"{evaluation} cannot be read: {error.strerror}") from None
    last.calibrate(found)
    save(loaded, output)
    slope, intercept = last.calibration_.calibration
    if as_json:
        echo_json({"output": str(output), "slope": slope, "intercept": intercept})
    else:
        click.echo(
            f"Wrote {output}: log-odds of {last.classes_[1]} are {slope:.4g}·score "
            f"{intercept:+.4g}",
            err=True,
        )
