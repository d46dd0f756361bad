"""What the models are meant to reach, beside what was found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from benchmarks.utility.methods import BEFORE, CHOSEN, METHODS
from benchmarks.utility.results import CELL, Row, areas, differences, group, mean_error, signal

WANTED = {
    ("adult", 32_561, 0.5): 0.903,
    ("adult", 32_561, 1.0): 0.908,
    ("adult", 32_561, 4.0): 0.914,
    ("adult", 2000, 1.0): 0.865,
}
"""Least AUC by table, n and ε."""
GAIN, BETWEEN, LOSS = 0.02, (5.0, 100.0), 0.01
"""Least mean gain of linear models for nµ/d in a range, and the largest mean loss of a family."""


def print_aims(rows: Sequence[Row]) -> None:
    """Print each aim, and whether it was reached: by the model that is chosen, if it was run."""
    print("Aims")
    chosen = [row for row in rows if row["method"] == CHOSEN]
    ours = chosen or [row for row in rows if METHODS[row["method"]].ours]
    for (table, n, epsilon), least in WANTED.items():
        some = [r for r in ours if (r["table"], r["n"], r["epsilon"]) == (table, n, epsilon)]
        for (name,), found in group(some, "method").items():
            mean, error = mean_error(areas(found))
            print(
                f"    {table} {n}, ε = {epsilon:g}: at least {least}: {_mark(mean >= least)} by "
                f"{name}, {mean:.4f} ± {error:.4f}"
            )
    for (part,), found in group(rows, "part").items():
        if part in ("tuned on", "held out"):
            _print_gains(part, found)


def _mark(reached: bool) -> str:
    return "reached" if reached else "missed"


def _print_gains(part: str, rows: Sequence[Row]) -> None:
    """Print the gain of linear models over those without conditioning."""
    gaps = differences(rows, "linear", BEFORE)
    signals = {key: signal(some[0]) for key, some in group(rows, *CELL).items()}
    inside = [g.mean() for key, g in gaps.items() if BETWEEN[0] <= signals[key] <= BETWEEN[1]]
    if not inside:
        return
    families = defaultdict(list)
    for (_, table, _, _), gap in gaps.items():
        families[table].append(gap.mean())
    means = {name: float(np.mean(found)) for name, found in families.items()}
    worst = min(means, key=lambda name: means[name])
    print(
        f"    linear models, families {part}, nµ/d from {BETWEEN[0]:g} to {BETWEEN[1]:g}: mean "
        f"gain of at least {GAIN}: {_mark(np.mean(inside) >= GAIN)}, {np.mean(inside):+.4f} in "
        f"{len(inside)} cells"
    )
    print(
        f"    linear models, families {part}: no family worse by {LOSS} on average: "
        f"{_mark(means[worst] >= -LOSS)}, the least is {means[worst]:+.4f} ({worst})"
    )
