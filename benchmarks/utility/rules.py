"""The AUC of the chosen model by row of the table of public facts, which plans state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from benchmarks.utility.methods import CHOSEN
from benchmarks.utility.results import Row
from benchmarks.utility.tables import DELTA
from pairdp.algorithms.choice.models import RULES, TableTask, rule_for
from pairdp.algorithms.scorecard.cells import CategoryCells, NumberCells
from pairdp.privacy import Budget

UNPRIVATE, LINEAR = "logistic regression", "linear"
TUNED = ("mixed", "tuned on")
"""The parts that rules were chosen on; ranges are of these alone."""


def _task(row: Row) -> TableTask:
    """Return the facts of a row; linear models of numbers alone need no schema."""
    if row["method"] == LINEAR:
        return TableTask(row["n"], row["width"], Budget(row["epsilon"], DELTA))
    numbers = [NumberCells(place, -1.0, 1.0) for place in range(row["numbers"])]
    others = [CategoryCells((place,)) for place in range(row["numbers"], row["columns"])]
    budget = Budget(row["epsilon"], DELTA)
    return TableTask(row["n"], row["width"], budget, (*numbers, *others))


def print_rules(rows: Sequence[Row]) -> None:
    """Print quantiles of the AUC, and of what it differs by from logistic regression."""
    used = [row for row in rows if row["part"] in TUNED and row["table"] != "no-signal"]
    plain = {
        (row["table"], row["n"], row["seed"]): row["auc"]
        for row in used
        if row["method"] == UNPRIVATE
    }
    found = defaultdict(list)
    for row in used:
        only_numbers = row["numbers"] == row["columns"] == row["width"]
        if row["method"] == CHOSEN or (row["method"] == LINEAR and only_numbers):
            other = plain.get((row["table"], row["n"], row["seed"]), np.nan)
            rule = rule_for(_task(row))
            if row["method"] == CHOSEN or rule.model == LINEAR:
                found[rule.when].append((row["auc"], row["auc"] - other))
    if not found:
        return
    print(f"{CHOSEN} by rule, on tables tuned on: 10 % and 90 % quantiles of the AUC, and of the")
    print(f"AUC minus that of {UNPRIVATE} without privacy")
    for rule in RULES:
        if not found[rule.when]:
            continue
        low, high = np.quantile(np.array(found[rule.when]), [0.1, 0.9], axis=0)
        print(
            f"    {rule.when:56s} {rule.model:10s} {low[0]:.2f} to {high[0]:.2f}   "
            f"{low[1]:+.2f} to {high[1]:+.2f}   ({len(found[rule.when])} fits)"
        )
