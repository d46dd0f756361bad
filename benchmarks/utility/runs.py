"""Cells to measure (a table, n, ε and a seed), measured by all methods in several processes."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from tests.studies.data.places import DATA

from benchmarks.utility.families import TUNED_ON
from benchmarks.utility.held_out import HELD_OUT
from benchmarks.utility.methods import METHODS
from benchmarks.utility.results import Row, key_of
from benchmarks.utility.tables import PAPERS, Split, mixed_table, paper_table

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Cell:
    """A table of n records drawn by a seed; ``part`` is where it comes from."""

    part: str
    table: str
    n: int
    seed: int

    @property
    def split(self) -> Split:
        """The records."""
        return _split(self)


@lru_cache(maxsize=1)
def _split(cell: Cell) -> Split:
    if cell.part in FAMILIES:
        return FAMILIES[cell.part][cell.table].split(cell.table, cell.n, cell.seed)
    make = paper_table if cell.part == "papers" else mixed_table
    return make(cell.table, cell.n, cell.seed)


FAMILIES = {"tuned on": TUNED_ON, "held out": HELD_OUT}
"""Synthetic families by part."""
MIXED = {"adult": (2000, 10_000, 32_561), "german": (700,)}
"""Sizes of mixed tables, which constants were tuned on too."""


def cells(
    parts: Sequence[str], tables: Sequence[str], sizes: Sequence[int], seeds: int
) -> Iterator[Cell]:
    """Yield the cells of some parts; of all tables if none is named.

    ``sizes`` are those of the synthetic families.
    """
    known: dict[str, dict[str, Sequence[int]]] = {
        "mixed": {name: found for name, found in MIXED.items() if (DATA / f"{name}.csv").is_file()},
        **{part: dict.fromkeys(families, sizes) for part, families in FAMILIES.items()},
        "papers": {name: (n,) for name, n in PAPERS.items()},
    }
    for part in parts:
        for table, found in known[part].items():
            if not tables or table in tables:
                yield from (Cell(part, table, n, seed) for n in found for seed in range(seeds))


def measure(cell: Cell, name: str, epsilon: float | None) -> Row:
    """Return the AUC of a method on the records that it did not see; ε is None without privacy."""
    split, method = cell.split, METHODS[name]
    facts = split.facts(epsilon or 1.0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", category=UserWarning)
        scores = method.scores(split, *(() if epsilon is None else (epsilon, cell.seed)))
    seconds = time.perf_counter() - start
    area = float(roc_auc_score(split.labels[1], scores))
    key = {"part": cell.part, "table": cell.table, "seed": cell.seed}
    return {**key, **facts, "epsilon": epsilon, "method": name, "auc": area, "seconds": seconds}


def run(
    found: Sequence[Cell],
    methods: Sequence[str],
    epsilons: Sequence[float],
    *,
    known: Sequence[Row] = (),
    path: Path | None = None,
    jobs: int = 2,
) -> list[Row]:
    """Return a row for each cell, method and ε, in this order; known ones are not run again.

    Progress goes to stderr, and rows to a file as they come, one JSON object a line.
    """
    old = {key_of(row): row for row in known}
    wanted = [
        (cell, name, epsilon)
        for cell in found
        for name in methods
        for epsilon in (epsilons if METHODS[name].relation else (None,))
    ]
    keys = [(c.part, c.table, c.n, epsilon, c.seed, name) for c, name, epsilon in wanted]
    rows = [old[key] for key in keys if key in old]
    todo = [one for one, key in zip(wanted, keys, strict=True) if key not in old]
    start = time.perf_counter()
    results = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=8)(
        delayed(measure)(*one) for one in todo
    )
    with (path or Path("/dev/null")).open("w", encoding="utf-8") as file:
        for row in rows:
            print(json.dumps(row), file=file)
        for done, row in enumerate(results, 1):
            rows.append(row)
            print(json.dumps(row), file=file, flush=True)
            if done % 50 == 0 or done == len(todo):
                spent = time.perf_counter() - start
                print(f"\r{done} of {len(todo)} fits, {spent:.0f} s", end="", file=sys.stderr)
    if todo:
        print(file=sys.stderr)
    by_key = {key_of(row): row for row in rows}
    return [by_key[key] for key in keys]
