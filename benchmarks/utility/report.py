"""Tables of results as aligned text, and the summary over families."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.utility.aims import print_aims
from benchmarks.utility.methods import BEFORE, METHODS
from benchmarks.utility.results import Row, areas, differences, group, mean_error, signal
from benchmarks.utility.rules import print_rules

RANGES = ((0.0, 5.0), (5.0, 100.0), (100.0, np.inf))
"""Of nµ/d, with d encoded features."""
TITLES = {
    "mixed": "adult and german",
    "tuned on": "families tuned on",
    "held out": "families held out",
    "papers": "data sets of the papers",
}


def print_report(rows: Sequence[Row], epsilons: Sequence[float]) -> None:
    """Print all tables, and the summary."""
    for (part, table, n), some in group(rows, "part", "table", "n").items():
        facts = some[0]
        print(
            f"{table} ({part}): n = {n}, {facts['columns']} columns, {facts['numbers']} of them "
            f"numbers, {facts['width']} encoded features; {len(group(some, 'seed'))} seeds"
        )
        print_table(some, epsilons)
        print()
    for (part,), some in group(rows, "part").items():
        print_ranges(some, TITLES[part])
        print_wins(some, TITLES[part])
        print()
    print_rules(rows)
    print_aims(rows)


def print_table(rows: Sequence[Row], epsilons: Sequence[float]) -> None:
    """Print mean AUC and standard errors of all methods by ε, for one table and n."""
    print(f"    {'ε =':34s}", *(f"{epsilon:<14g}" for epsilon in epsilons))
    for name, method in METHODS.items():
        found = [row for row in rows if row["method"] == name]
        if not found:
            continue
        by_epsilon = group(found, "epsilon")
        columns = epsilons if method.relation else (None,)
        shown = [mean_error(areas(by_epsilon[(epsilon,)])) for epsilon in columns]
        title = name if method.relation else f"{name} (not private)"
        print(f"    {title:34s}", *(f"{mean:.3f} ± {error:.3f} " for mean, error in shown))


def print_ranges(rows: Sequence[Row], title: str) -> None:
    """Print the mean AUC of the private methods over tables, by range of nµ/d."""
    print(f"{title}: mean AUC by nµ/d, over all tables, n, ε and seeds")
    heads = [f"{low:g} to {high:g}" for low, high in RANGES]
    print(f"    {'':34s}", *(f"{head:>12s}" for head in (*heads, "all")))
    for name, method in METHODS.items():
        found = [row for row in rows if row["method"] == name]
        if not found or not method.relation:
            continue
        means = []
        for low, high in (*RANGES, (0.0, np.inf)):
            inside = areas(row for row in found if low <= signal(row) < high)
            means.append(f"{np.mean(inside):12.3f}" if inside else f"{'-':>12s}")
        print(f"    {name:34s}", *means)


def print_wins(rows: Sequence[Row], title: str) -> None:
    """Print how often our methods are better and worse than others, beyond two standard errors."""
    present = {row["method"] for row in rows if row["epsilon"] is not None}
    ours = [name for name in METHODS if METHODS[name].ours and name in present and name != BEFORE]
    others = [BEFORE, *(name for name in METHODS if not METHODS[name].ours)]
    others = [name for name in others if name in present]
    print(f"{title}: cells (table, n, ε) better / worse by two standard errors; mean difference")
    print(f"    {'':34s}", *(f"{f'than {name}':>26s}" for name in others))
    for name in ours:
        shown = []
        for other in others:
            found = [mean_error(gaps) for gaps in differences(rows, name, other).values()]
            better = sum(mean > 2 * error for mean, error in found)
            worse = sum(mean < -2 * error for mean, error in found)
            overall = np.mean([mean for mean, _ in found])
            shown.append(f"{better} / {worse} of {len(found)}; {overall:+.3f}")
        print(f"    {name:34s}", *(f"{text:>26s}" for text in shown))
