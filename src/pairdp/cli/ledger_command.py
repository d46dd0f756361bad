"""``pairdp ledger``: a privacy budget for all releases of a data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pairdp._checks import on_one_line
from pairdp.cli.common import budget_options, echo_json, json_option, report_errors
from pairdp.privacy import Budget, BudgetLedger, LedgerError, PrivacyCurve, Spend, default_delta

FILE = click.Path(path_type=Path, dir_okay=False)
_MOST_COLUMNS = 4


@click.group("ledger", short_help="Create a privacy budget, and show what is left of it.")
def command() -> None:
    """Keep one privacy budget for all releases of a data set, in a file."""


@command.command("new")
@click.argument("file", type=FILE)
@budget_options
@click.option("--n", type=int, help="Number of records, for the default δ; needed above 10⁴.")
@click.option("--adaptive", is_flag=True, help="Costs may depend on earlier results.")
@click.option(
    "--data-set",
    metavar="NAME",
    help="The data set that the budget is for; a fit to another one warns. By default that of the "
    "first fit.",
)
@click.option(
    "--unit",
    metavar="NAME",
    help="Protect all records of each unit, such as patient_id; by default single records.",
)
@json_option
@report_errors
def new(
    file: Path,
    epsilon: float,
    delta: float | None,
    n: int | None,
    adaptive: bool,
    data_set: str | None,
    unit: str | None,
    as_json: bool,
) -> None:
    """Create a ledger with a budget."""
    if delta is None:
        delta = default_delta(n or 1)
    if file.exists():
        raise LedgerError(f"{file} already exists: a budget must not be created twice")
    BudgetLedger(Budget(epsilon, delta), file, adaptive=adaptive, data_set=data_set, unit=unit)
    if as_json:
        echo_json(
            {
                "ledger": str(file),
                "epsilon": epsilon,
                "delta": delta,
                "adaptive": adaptive,
                "data_set": data_set,
                "unit": unit,
            }
        )
        return
    what = "" if data_set is None else f" for the data set {data_set!r}"
    click.echo(f"Created {file} with ε = {epsilon:g}, δ = {delta:g}{what}{_for_unit(unit)}")


@command.command("show")
@click.argument("file", type=FILE)
@json_option
@report_errors
def show(file: Path, as_json: bool) -> None:
    """Show what was spent, on what, and what is left.

    The cost of an entry is the ε that it has by itself, at the δ of the budget. Together the
    entries cost what is printed below them, which is less than the sum if δ > 0.
    """
    ledger = BudgetLedger.load(file)
    spends, spent, left = ledger.spends, ledger.spent(), ledger.remaining()
    delta = ledger.budget.delta
    costs = [PrivacyCurve(spend.event).epsilon(delta) for spend in spends]
    if as_json:
        echo_json(
            {
                "epsilon": ledger.budget.epsilon,
                "delta": delta,
                "adaptive": ledger.adaptive,
                "data_set": ledger.data_set,
                "unit": ledger.unit,
                "spent_epsilon": spent,
                "remaining": {
                    "pure_epsilon": left.pure_epsilon,
                    "gaussian_mu": left.gaussian_mu,
                    "gaussian_epsilon": left.gaussian_epsilon,
                },
                "spends": [
                    _described(spend, cost) for spend, cost in zip(spends, costs, strict=True)
                ],
            }
        )
        return
    named = "" if ledger.data_set is None else f", for the data set {ledger.data_set!r}"
    click.echo(
        f"Budget: ε = {ledger.budget.epsilon:g}, δ = {delta:g}{named}{_for_unit(ledger.unit)}"
    )
    if spends:
        rows = [_row(spend, cost) for spend, cost in zip(spends, costs, strict=True)]
        click.echo(_table([_HEADER, *rows]))
    click.echo(f"Spent: ε = {spent:.6g} at that δ")
    click.echo(f"Room for {left}")


def _described(spend: Spend, cost: float) -> dict[str, Any]:
    facts = spend.facts
    return {
        "label": spend.label,
        "time": spend.time,
        "epsilon": cost,
        "data_set": facts.data_set,
        "columns": facts.columns,
        "model_file": facts.model_file,
        "note": facts.note,
        "unit": facts.unit,
    }


def _for_unit(unit: str | None) -> str:
    return "" if unit is None else f", for all records of one {on_one_line(unit)} together"


_HEADER = ("time", "ε", "release", "unit", "data set", "columns", "model file", "note")


def _row(spend: Spend, cost: float) -> tuple[str, ...]:
    facts = spend.facts
    named = (
        facts.unit,
        facts.data_set,
        _columns(facts.columns),
        facts.model_file,
        facts.note,
    )
    texts = (spend.time, f"{cost:.4g}", spend.label, *(text or "-" for text in named))
    return tuple(on_one_line(text) for text in texts)


def _columns(columns: tuple[str, ...] | None) -> str | None:
    """Return the first names, and how many more there are."""
    if columns is None:
        return None
    shown = ", ".join(columns[:_MOST_COLUMNS])
    more = len(columns) - _MOST_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(f"{cell:{width}s}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
