"""``pairdp plan --theory``: the papers' bounds on accuracy, without any data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from pairdp.algorithms import NoisyGradientDescent
from pairdp.algorithms.registry import algorithms
from pairdp.cli.common import echo_json, estimator
from pairdp.privacy import Budget, default_delta
from pairdp.problem import Problem
from pairdp.theory import TABLE, RecordsNeeded, as_text, evaluate, records_needed


def print_theory(
    n: int,
    features: int,
    excess_risk: float | None,
    as_json: bool,
    options: dict[str, Any],
    known: dict[str, Any],
) -> None:
    """Print every bound for the problem that options describe.

    ``known`` has the "failure" and the "solution_norm" of `evaluate`.
    """
    delta = default_delta(n) if options["delta"] is None else options["delta"]
    budget = Budget(options["epsilon"], delta)
    problem = _problem(n, features, options)
    bounds = evaluate(problem, n, features, budget, **known)
    needed: tuple[RecordsNeeded, ...] = ()
    if excess_risk is not None:
        needed = records_needed(problem, features, budget, excess_risk, **known)
    if as_json:
        echo_json(
            {
                "n": n,
                "features": features,
                "epsilon": budget.epsilon,
                "delta": budget.delta,
                **known,
                "problem": repr(problem),
                "bounds": [bound.to_dict() for bound in bounds],
                "excess_risk": excess_risk,
                "records_needed": [asdict(entry) for entry in needed],
                "gradient_complexities": [asdict(row) for row in TABLE],
            }
        )
        return
    facts = f"n = {n}, ε = {budget.epsilon:g}, δ = {budget.delta:g}, γ = {known['failure']:g}"
    click.echo(f"{problem}\n{facts}\n")
    click.echo(as_text(bounds, needed, TABLE))
    if excess_risk is not None and not needed:
        click.echo(
            f"\nno bound here is at most {excess_risk:g} for any n up to 10¹⁵; where T is free, "
            "numbers of steps up to max(10⁶, n) were tried"
        )


def _problem(n: int, features: int, options: dict[str, Any]) -> Problem:
    name = options["algorithm"]
    if name in algorithms("records"):
        raise ValueError(f"{name} learns from single records: --theory covers pairs only")
    if name == "auto":
        # An algorithm for every loss, which needs no regulariser: the problem of the options alone.
        every = NoisyGradientDescent(steps=1, step_size=1.0)
        options = {**options, "algorithm": every, "epsilon": None, "delta": None}
    chosen: Problem = estimator(options).plan(n, features).problem
    return chosen
