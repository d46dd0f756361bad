"""``pairdp plan``: the noise that each algorithm would add, without any data."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairdp.algorithms import Algorithm, Plan
from pairdp.algorithms.choice import Candidate, Choice
from pairdp.algorithms.score_models import model_of
from pairdp.cli.common import (
    budget_options,
    calibration_options,
    echo_json,
    estimator,
    json_option,
    model_options,
    refuse_options,
    report_errors,
)
from pairdp.cli.held_out_options import held_out_options, held_out_parameters
from pairdp.cli.scorecard_options import scorecard, scorecard_options, scorecard_parameters
from pairdp.cli.theory import print_theory
from pairdp.privacy import NoMechanism

if TYPE_CHECKING:
    from pairdp.schema import Schema


@click.command(
    "plan", short_help="Print the noise that each algorithm would add, without any data."
)
@click.option("--n", type=int, required=True, help="Number of records, which is public.")
@click.option("--features", type=int, help="Number of features.")
@click.option(
    "--schema",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON file that describes the columns, instead of --features.",
)
@budget_options
@model_options
@calibration_options
@click.option(
    "--max-records", type=int, help="Protect units, of which so many records are used at most."
)
@scorecard_options
@held_out_options
@click.option("--details", is_flag=True, help="Print the chosen plan with all its numbers.")
@click.option(
    "--theory", is_flag=True, help="Print the papers' bounds on accuracy instead of the noise."
)
@click.option(
    "--excess-risk",
    type=float,
    help="With --theory: also print how many records make each bound this small.",
)
@click.option(
    "--failure",
    type=float,
    default=0.05,
    show_default=True,
    help="With --theory: γ, the probability with which a bound may fail.",
)
@click.option(
    "--solution-norm",
    type=float,
    help="With --theory: a bound on the norm of the best parameters, if less than the radius.",
)
@json_option
@report_errors
def command(
    n: int,
    features: int | None,
    schema: Path | None,
    details: bool,
    theory: bool,
    excess_risk: float | None,
    failure: float,
    solution_norm: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the noise that each algorithm would add to its release, without any data.

    The noise is the standard deviation of what is added to each released number, for the first
    release if there are several. The error is predicted from public facts; it is only meaningful
    for comparing algorithms with each other.

    With --theory, every theorem of the papers about the accuracy of learning from pairs is
    evaluated instead, for the problem of the algorithm that is named, or by default for a logistic
    loss without regularisation.

    With --evaluate, a share of the n records is held out, and the interval of the evaluation that
    is to be expected is printed too.

    \b
    Examples:
      pairdp plan --n 10000 --features 20 --epsilon 0.5 --delta 1e-6
      pairdp plan --n 10000 --schema schema.json --epsilon 0.5
      pairdp plan --n 10000 --schema schema.json --scorecard --pair age hours
      pairdp plan --n 512 --features 8 --algorithm DPGDC2 --calibration printed
      pairdp plan --n 10000 --features 20 --theory --regularization 0.1 --excess-risk 0.1
    """  # noqa: D301 - the command line's help reads the control character
    described = _schema(features, schema)
    features = described.width if described is not None else features or 0
    if options["data_norm"] is None:
        options["data_norm"] = 1.0  # there are no rows to warn about
    if theory:
        refuse_options(
            "--theory prints bounds, not plans", "calibration", "details", "schedule",
            "max_records", "evaluate", "scorecard",
        )  # fmt: skip
        known = {"failure": failure, "solution_norm": solution_norm}
        print_theory(n, features, excess_risk, as_json, options, known)
        return
    refuse_options("this option is for --theory", "excess_risk", "failure", "solution_norm")
    how = {key: options[key] for key in ("calibration", "schedule", "max_records")}
    more = {"schema": described, **how, **scorecard_parameters({**options, "schema": schema})}
    model = scorecard(options, more) if options["scorecard"] else estimator(options, **more)
    held_out = held_out_parameters(options)
    whole = model.plan_with_evaluation(n, features, **held_out) if held_out else None
    chosen = model.plan(n, features) if whole is None else whole.training
    trained = chosen.task.n
    chooses = options["algorithm"] == "auto" and not options["scorecard"]
    choice = model.choices(trained, features) if chooses else None
    rows = [_row(model, choice, each) for each in choice.candidates] if choice else []
    if as_json:
        echo_json(
            {
                "n": n,
                "features": features,
                "epsilon": options["epsilon"],
                "delta": chosen.task.budget.delta if chosen.task.budget else None,
                "model": getattr(model, "model", None) and model_of(chosen),
                "candidates": rows,
                "chosen": _described(chosen),
                "evaluation": None if whole is None else whole.evaluation.to_dict(),
            }
        )
        return
    if whole is not None:
        click.echo(f"{whole.head}\n")
    if len(rows) > 1:
        click.echo(_table(rows))
        click.echo()
    click.echo(str(chosen) if details or not rows else f"auto chooses {chosen.algorithm.name}")
    if rows and not details:
        shown = [reason for reason in chosen.reasons if reason.startswith("auto: ")]
        if options["delta"] is None:
            shown.append(chosen.reasons[-1])
        shown += [f"WARNING: {sentence}" for sentence in chosen.warnings]
        click.echo("\n".join(f"  {line}" for line in shown))
    if whole is not None:
        click.echo(f"\n{whole.evaluation}")


def _schema(features: int | None, path: Path | None) -> Schema | None:
    """Return the schema, if there is one instead of a number of features."""
    if path is None:
        if features is None:
            raise ValueError("give --features, or --schema FILE")
        return None
    if features is not None:
        raise ValueError("the schema says how many features there are: leave out --features")
    from pairdp.schema import Schema

    refuse_options("rows that a schema encodes have norm at most 1", "data_norm")
    return Schema.read(path)


def _row(model: Any, choice: Choice, candidate: Candidate) -> dict[str, Any]:
    row: dict[str, Any] = {
        "algorithm": candidate.algorithm.name,
        "variant": _variant(candidate.algorithm),
        "loss": type(candidate.problem.loss).__name__,
        "regularization": candidate.problem.regularization,
        "predicted_error": candidate.error if len(choice.candidates) > 1 else None,
        "reason": candidate.reason,
        "chosen": candidate is choice.best,
    }
    try:
        plan = choice.plan(candidate=candidate, complete=model.completed)
    except ValueError as error:
        return {**row, "noise": None, "refused": str(error)}
    return {**row, **_described(plan)}


def _variant(algorithm: Algorithm) -> str:
    """Return the hyper-parameters that distinguish an algorithm from others of the same name."""
    chosen = []
    for field in fields(algorithm):  # type: ignore[arg-type]
        value = getattr(algorithm, field.name)
        if field.name in ("name", "printed_rule", "columns") or value == field.default:
            continue
        shown = f"{value:.3g}" if isinstance(value, float) else str(value)
        chosen.append(f"{field.name}={shown}")
    return ", ".join(chosen)


def _described(plan: Plan) -> dict[str, Any]:
    release = plan.certificate.releases[0]
    mechanism = release.mechanism
    return {
        "algorithm": plan.algorithm.name,
        "noise": 0.0 if isinstance(mechanism, NoMechanism) else mechanism.scale,
        "sensitivity": None if isinstance(mechanism, NoMechanism) else mechanism.sensitivity,
        "releases": [entry.describe() for entry in plan.certificate.releases],
        "settings": plan.settings.to_dict(),
        "reasons": list(plan.reasons),
        "departures": list(plan.departures),
        "warnings": list(plan.warnings),
    }


def _table(rows: list[dict[str, Any]]) -> str:
    named = [
        f"{row['algorithm']} ({row['variant']})" if row["variant"] else row["algorithm"]
        for row in rows
    ]
    width = max(map(len, named))
    lines = [f"  {'algorithm':{width}s} {'loss':20s} {'λ':>9s} {'noise':>9s} {'error':>8s}"]
    for name, row in zip(named, rows, strict=True):
        noise = "refused" if row["noise"] is None else f"{row['noise']:.3g}"
        lines.append(
            f"{'→' if row['chosen'] else ' '} {name:{width}s} {row['loss']:20s} "
            f"{row['regularization']:9.3g} {noise:>9s} {row['predicted_error']:8.3g}"
        )
    return "\n".join(lines)
