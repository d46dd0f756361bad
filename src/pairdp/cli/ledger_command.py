"""``pairdp ledger``: a privacy budget for all releases of a data set."""

from __future__ import annotations

from pathlib import Path

import click

from pairdp.cli.common import budget_options, echo_json, json_option, report_errors
from pairdp.privacy import Budget, BudgetLedger, LedgerError, default_delta

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("ledger", short_help="Create a privacy budget, and show what is left of it.")
def command() -> None:
    """Keep one privacy budget for all releases of a data set, in a file."""


@command.command("new")
@click.argument("file", type=FILE)
@budget_options
@click.option("--n", type=int, help="Number of records, for the default δ; needed above 10⁴.")
@click.option("--adaptive", is_flag=True, help="Costs may depend on earlier results.")
@json_option
@report_errors
def new(
    file: Path, epsilon: float, delta: float | None, n: int | None, adaptive: bool, as_json: bool
) -> None:
    """Create a ledger with a budget."""
    if delta is None:
        delta = default_delta(n or 1)
    if file.exists():
        raise LedgerError(f"{file} already exists: a budget must not be created twice")
    BudgetLedger(Budget(epsilon, delta), file, adaptive=adaptive)
    if as_json:
        echo_json({"ledger": str(file), "epsilon": epsilon, "delta": delta, "adaptive": adaptive})
        return
    click.echo(f"Created {file} with ε = {epsilon:g}, δ = {delta:g}")


@command.command("show")
@click.argument("file", type=FILE)
@json_option
@report_errors
def show(file: Path, as_json: bool) -> None:
    """Show what was spent and what is left."""
    ledger = BudgetLedger.load(file)
    spends, spent, left = ledger.spends, ledger.spent(), ledger.remaining()
    if as_json:
        echo_json(
            {
                "epsilon": ledger.budget.epsilon,
                "delta": ledger.budget.delta,
                "adaptive": ledger.adaptive,
                "spent_epsilon": spent,
                "remaining": {
                    "pure_epsilon": left.pure_epsilon,
                    "gaussian_mu": left.gaussian_mu,
                    "gaussian_epsilon": left.gaussian_epsilon,
                },
                "spends": [{"label": s.label, "time": s.time} for s in spends],
            }
        )
        return
    click.echo(f"Budget: ε = {ledger.budget.epsilon:g}, δ = {ledger.budget.delta:g}")
    for spend in spends:
        click.echo(f"  {spend.time}  {spend.label}")
    click.echo(f"Spent: ε = {spent:.6g} at that δ")
    click.echo(f"Room for {left}")
