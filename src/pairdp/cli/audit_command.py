"""``pairdp audit``: try to break the guarantee of an algorithm or of a saved model."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairdp._checks import did_you_mean
from pairdp.cli.common import (
    VIOLATED,
    budget_options,
    calibration_options,
    echo_json,
    import_option,
    json_option,
    refuse_options,
    report_errors,
    trust_option,
)

if TYPE_CHECKING:
    from pairdp.algorithms import Plan
    from pairdp.audit import AuditReport
    from pairdp.cli.audit_data import AuditData
    from pairdp.evaluation import EvaluationPlan
    from pairdp.evaluation.selection import SelectionPlan
    from pairdp.privacy import Certificate

_TIGHT = "tight"
_PROBLEM = {
    "epsilon", "delta", "n", "features", "task", "loss", "radius", "regularization", "data_norm",
    "calibration", "schedule", "steps", "step_size", "max_records",
}  # fmt: skip
_OF_SEARCH = (
    "this model was chosen by a private search. All fits that its certificate covers, and the "
    "choice, are audited here one by one: pairdp.selection.audit_search audits the whole."
)
_OF_RUNS = (
    "this model was chosen among a random number of fits. Each candidate is audited here: "
    "pairdp.selection.audit_search audits the whole."
)
_OF_EVALUATIONS = {"epsilon", "delta", "n", "max_records"}


@click.command("audit", short_help="Try to break the guarantee of an algorithm or a model.")
@click.argument("target")
@budget_options
@click.option("--n", type=int, default=20, show_default=True, help="Number of records.")
@click.option("--features", type=int, default=2, show_default=True, help="Number of features.")
@click.option(
    "--task", type=click.Choice(("ranking", "metric", "classification")), default="ranking",
    show_default=True, help="What to learn.",
)  # fmt: skip
@click.option("--loss", help="By default that of the algorithm; 'tight' attains the bounds.")
@click.option(
    "--radius", type=float, default=1.0, show_default=True, help="Radius of the constraint."
)
@click.option("--regularization", type=float, help="λ; chosen from public facts by default.")
@click.option("--data-norm", type=float, default=1.0, show_default=True, help="Norm of rows.")
@calibration_options
@click.option("--steps", type=int, help="Number of steps, if it is a parameter.")
@click.option("--step-size", type=float, help="Step size, if it is a parameter.")
@click.option(
    "--max-records", type=int,
    help="Protect units of up to so many records: all records of one unit are replaced.",
)  # fmt: skip
@click.option("--full", is_flag=True, help="Run the whole plan for every sample.")
@click.option("--runs", type=int, help="Number of samples on each data set.")
@click.option(
    "--confidence", type=float, default=0.9999, show_default=True,
    help="Confidence of a violation.",
)  # fmt: skip
@click.option(
    "--climbs", type=int, default=20, show_default=True, help="Number of steps of the search."
)
@click.option("--jobs", type=int, default=1, show_default=True, help="Number of processes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of runs and search.")
@click.option(
    "--data", type=click.Path(path_type=Path, dir_okay=False),
    help="A table to audit on, instead of synthetic data. The report depends on it.",
)  # fmt: skip
@click.option("--label", help="Name of the label column of --data.")
@click.option(
    "--bounds", type=click.Path(path_type=Path, dir_okay=False),
    help="JSON or CSV file with public bounds of the features of --data.",
)  # fmt: skip
@click.option(
    "--canary", type=click.Choice(("influential", "extreme")), default="influential",
    show_default=True, help="Replace one of the most influential records of --data, or the first.",
)  # fmt: skip
@import_option
@trust_option
@json_option
@report_errors
def command(target: str, as_json: bool, **options: Any) -> None:
    """Run an algorithm on the worst neighbouring data sets, and bound its ε from below.

    TARGET is the name of an algorithm such as DPGDSC, "auto", or the file of a saved model, whose
    plan is audited, and that of its evaluation on held-out records, if it has one; of a private
    search, all fits and the choice. Options that
    describe a problem are then refused. No data is needed: the audit
    searches for the worst synthetic neighbours. With --data, one record of a given table is
    replaced; the report is then NOT private, unless the table is public.

    TARGET can also be the file of an evaluation, or what it measures: auc, accuracy, error,
    pair_auc or concordance. Then it is audited on the records that change it most.

    The verdict is "violated" if the lower bound is above the claimed ε, with exit code 4.
    Otherwise it is "consistent", which is not a proof.

    \b
    Examples:
      pairdp audit DPGDSC --epsilon 1 --delta 1e-5
      pairdp audit DPGDC2 --calibration printed --loss tight --steps 1 --step-size 0.1 --epsilon 2
      pairdp audit model.pairdp --full --jobs 2
      pairdp audit accuracy --epsilon 1 --n 100
      pairdp audit moments --data public.csv --label outcome --bounds bounds.json
    """  # noqa: D301 - the command line's help reads the control character
    from pairdp.audit import audit_plan

    evaluation = _evaluation(target, options)
    if evaluation is not None:
        _show([_audited(evaluation, options, as_json)], as_json)
        return
    options["evaluations"], options["choices"] = [], []
    plans = _plans(target, options)
    shared = {name: options[name] for name in ("full", "runs", "climbs", "jobs", "seed")}
    shared.update(data=options["records"], canary=options["canary"])
    evaluations, choices = options["evaluations"], options["choices"]
    allowed = 1 - options["confidence"]  # which several audits share
    options["confidence"] = 1 - allowed / (len(plans) + len(evaluations) + len(choices))
    shared["confidence"] = options["confidence"]
    reports = [audit_plan(plan, progress=False if as_json else None, **shared) for plan in plans]
    reports += [_audited(plan, options, as_json) for plan in evaluations]
    _show([*reports, *(_audited_choice(plan, options, as_json) for plan in choices)], as_json)


def _show(reports: list[AuditReport], as_json: bool) -> None:
    """Print reports, and exit if one of them is a violation."""
    violated = any(report.is_violated for report in reports)
    if as_json:
        verdict = "violated" if violated else "consistent"
        echo_json({"verdict": verdict, "audits": [report.to_dict() for report in reports]})
    else:
        click.echo("\n".join(str(report) for report in reports))
    if violated:
        sys.exit(VIOLATED)


def _evaluation(target: str, options: dict[str, Any]) -> EvaluationPlan | None:
    """Return the plan of an evaluation, in a file or of a measure; None for other targets."""
    from pairdp.evaluation import Evaluation, plan_evaluation
    from pairdp.evaluation.measures import MEASURES
    from pairdp.evaluation.result import is_evaluation

    found: EvaluationPlan
    refused = {"label", "bounds", "canary", "data", "climbs"}
    if target in MEASURES[1:]:
        refuse_options("this audits an evaluation", *refused, *_PROBLEM - _OF_EVALUATIONS)
        found = plan_evaluation(
            options["n"],
            options["epsilon"],
            options["delta"] or 0.0,
            measure=target,  # type: ignore[arg-type]
            max_records=options["max_records"],
            target_range=(-1.0, 1.0) if target == "error" else None,
        )
        return found
    path = Path(target)
    if not path.is_file() or not is_evaluation(path):
        return None
    refuse_options(f"{target} is an evaluation, which has a plan", *refused, *_PROBLEM)
    found = Evaluation.from_json(path.read_bytes()).plan
    return found


def _audited(plan: EvaluationPlan, options: dict[str, Any], as_json: bool) -> AuditReport:
    from pairdp.audit import audit_evaluation

    shared = {name: options[name] for name in ("full", "runs", "confidence", "jobs", "seed")}
    return audit_evaluation(plan, progress=False if as_json else None, **shared)


def _audited_choice(plan: SelectionPlan, options: dict[str, Any], as_json: bool) -> AuditReport:
    from pairdp.audit import audit_choice

    shared = {name: options[name] for name in ("confidence", "jobs", "seed")}
    return audit_choice(plan, progress=False if as_json else None, **shared)


def _plans(target: str, options: dict[str, Any]) -> list[Plan]:
    from pairdp.algorithms import algorithms

    known = {**algorithms(), "auto": "auto"}
    options["records"] = None
    if options["data"] is None:
        refuse_options("this option is for --data", "label", "bounds", "canary")
    if target in known:
        found = None if options["data"] is None else _read_data(options)
        plan = _plan(target, known[target], options)
        options["records"] = found if found is None else found.coded_for(plan)
        return [plan]
    path = Path(target)
    if not path.exists():
        names = ", ".join(known)
        raise ValueError(
            f"{target} is neither a file nor an algorithm; known: {names}"
            + did_you_mean(target, known)
        )
    refuse_options(f"{target} is a model, which has a plan", *_PROBLEM)
    from pairdp.estimators.files import load_steps

    steps = load_steps(path, trusted=options["trusted"]).estimators
    plans = [step.plan_ for step in steps if hasattr(step, "plan_")]
    if not plans:
        raise ValueError(f"{target} contains no model with a certificate")
    if any(plan.task.budget is None for plan in plans):
        raise ValueError(f"{target} claims no privacy: there is nothing to audit")
    options["evaluations"] = [step.evaluation_.plan for step in steps if _has_evaluation(step)]
    for step in steps:
        if _is_of_search(step) and options["data"] is None:
            plans += _add_search(step.certificate_, options)
    if options["data"] is not None:
        from pairdp.cli.audit_data import read_data_for

        refuse_options(f"{target} is a model, which scales its features", "bounds")
        if len(plans) > 1:
            raise ValueError(f"{target} has several private steps: audit it without --data")
        found = read_data_for(steps, options["data"], options["label"], plans[0].task.n)
        options["records"] = found.coded_for(plans[0])
    return plans


def _has_evaluation(step: Any) -> bool:
    return hasattr(step, "evaluation_")


def _is_of_search(step: Any) -> bool:
    """Return whether a model was chosen among others, so that its certificate covers more."""
    if not hasattr(step, "plan_") or _has_evaluation(step):
        return False
    return bool(step.certificate_.algorithm != step.plan_.certificate.algorithm)


def _add_search(certificate: Certificate, options: dict[str, Any]) -> list[Plan]:
    """Return the plans of the other fits of a search, and add its choice to what is audited."""
    from pairdp.algorithms.repeated_search import RepeatedSearch
    from pairdp.algorithms.stored_plans import stored_plan
    from pairdp.evaluation.selection import ModelSelection
    from pairdp.privacy import Certificate
    from pairdp.privacy.certificates.combined import certificates_in, is_combined
    from pairdp.privacy.certificates.statistic import is_of_statistic, statistic_of
    from pairdp.storage import Trusted

    trusted = Trusted(options["trusted"])
    if not is_combined(certificate):
        click.echo(f"Note: {_OF_RUNS}", err=True)
        search = statistic_of(certificate)
        if not isinstance(search, RepeatedSearch):
            return []
        fits = [Certificate.from_json(text) for text in search.candidates]
        return [stored_plan(fit, trusted=trusted) for fit in fits[1:]]
    click.echo(f"Note: {_OF_SEARCH}", err=True)
    fits = []
    for _, own in certificates_in(certificate):
        statistic = statistic_of(own) if is_of_statistic(own) else None
        if isinstance(statistic, ModelSelection) and own.budget is not None:
            options["choices"].append(statistic.plan(own.n, own.budget, own.unit))
        else:
            fits.append(own)
    return [stored_plan(fit, trusted=trusted) for fit in fits[1:]]  # the first is the model's


def _read_data(options: dict[str, Any]) -> AuditData:
    """Return the table of an algorithm's audit, which determines n and the number of features."""
    from pairdp.cli.audit_data import read_data

    refuse_options("--data has the number of records and of features", "n", "features")
    found = read_data(options["data"], options["label"], options["bounds"])
    options["n"], options["features"] = found.rows.shape
    return found


def _plan(name: str, algorithm: Any, options: dict[str, Any]) -> Plan:
    from pairdp.privacy import Budget, Unit, default_delta

    given = {key: options[key] for key in ("steps", "step_size") if options[key] is not None}
    if given:
        try:
            algorithm = replace(algorithm, **given)
        except TypeError:
            asked = " and ".join(f"--{key.replace('_', '-')}" for key in given)
            raise ValueError(f"{name} does not take {asked}") from None
    n, features = options["n"], options["features"]
    delta = default_delta(n) if options["delta"] is None else options["delta"]
    if options["loss"] == _TIGHT:
        if name == "auto":
            raise ValueError("the tight loss is for named algorithms, such as DPGDSC")
        from pairdp.algorithms.requirements import Need
        from pairdp.audit import TightLoss
        from pairdp.constraints import L2Ball
        from pairdp.problem import Problem

        constraint = L2Ball(options["radius"])
        strength = options["regularization"]
        if strength is None:
            strength = 1.0 if Need.STRONGLY_CONVEX in algorithm.needs else 0.0
        problem = Problem(TightLoss(), constraint, strength, 0.0, options["data_norm"])
        budget = Budget(options["epsilon"], delta)
        how = {key: options[key] for key in ("calibration", "schedule")}
        records = options["max_records"]
        unit = None if records is None else Unit("unit", records)
        plan: Plan = algorithm.plan(problem, n, features, budget, unit=unit, **how)
        return plan
    planned: Plan = _estimator(name, algorithm, options).plan(n, features)
    return planned


def _estimator(name: str, algorithm: Any, options: dict[str, Any]) -> Any:
    """Return the unfitted estimator that options describe."""
    from pairdp.algorithms import algorithms
    from pairdp.estimators import (
        PrivateLinearClassifier,
        PrivateMetric,
        PrivatePairMetric,
        PrivateRanker,
    )

    kind: Any
    if options["task"] == "classification" or name in algorithms("records"):
        kind = PrivateLinearClassifier
    elif name in algorithms("given pairs"):
        kind = PrivatePairMetric
    elif options["task"] == "metric" or name in algorithms("metric"):
        kind = PrivateMetric
    else:
        kind = PrivateRanker
    # The algorithm alone: a threshold would be another release.
    more = {"threshold": 0.0} if kind is PrivateRanker and name != "auto" else {}
    shared = (
        "loss", "radius", "regularization", "data_norm", "calibration", "schedule", "max_records",
    )  # fmt: skip
    return kind(
        options["epsilon"],
        options["delta"],
        algorithm=algorithm,
        **{key: options[key] for key in shared},
        **more,
    )
