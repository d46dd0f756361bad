"""Time and memory of fits and predictions from tables, beside what reading the file takes.

Each case is a process of its own: its time includes starting Python and importing libraries. Cases
are interleaved and repeated; the best time of each is printed, and its ratio to the process in
which pyarrow reads the same CSV file into memory.

Options: ``--rows N`` and ``--rounds N``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

ROWS, ROUNDS = 3_000_000, 3
NUMBERS = [f"x{i}" for i in range(10)]
WARDS = ["ICU", "Medicine", "Surgery", "Emergency"]
SCHEMA: dict[str, Any] = {
    **{name: [0, 100] for name in NUMBERS},
    "sex": ["F", "M"],
    "ward": WARDS,
    "died": {"label": ["no", "yes"]},
}
FIT = "--algorithm moments --force"  # sums over the records: the rest of the fit takes no time
PAIRDP = "from pairdp.cli.main import main; main({!r}.split())"
FRAME = """
import {library}
from pairdp import PrivateRanker
frame = {read}
import time; start = time.process_time()
PrivateRanker(schema="schema.json", algorithm="moments").fit(frame)
print(time.process_time() - start)
"""
CASES = {
    "pyarrow reads mixed.csv": "import pyarrow.csv as c; c.read_csv('mixed.csv')",
    "pandas reads mixed.csv": "import pandas as c; c.read_csv('mixed.csv')",
    "pairdp fit mixed.csv, by a schema": PAIRDP.format(
        f"fit mixed.csv --schema schema.json -o mixed.pairdp {FIT}"
    ),
    "the same of 1000 rows": PAIRDP.format(
        f"fit small.csv --schema schema.json -o small.pairdp {FIT}"
    ),
    "the same with --invalid null": PAIRDP.format(
        f"fit mixed.csv --schema schema.json -o null.pairdp --invalid null {FIT}"
    ),
    "the same, text in quotation marks": PAIRDP.format(
        f"fit quoted.csv --schema schema.json -o quoted.pairdp {FIT}"
    ),
    "the same from mixed.parquet": PAIRDP.format(
        f"fit mixed.parquet --schema schema.json -o parquet.pairdp {FIT}"
    ),
    "the same from a directory": PAIRDP.format(
        f"fit parts --schema schema.json -o parts.pairdp {FIT}"
    ),
    "pairdp predict mixed.csv": PAIRDP.format(
        "predict mixed.pairdp mixed.csv --force -o scores.csv"
    ),
    "pyarrow reads numbers.csv": "import pyarrow.csv as c; c.read_csv('numbers.csv')",
    "pairdp fit numbers.csv, by bounds": PAIRDP.format(
        f"fit numbers.csv --label died --classes 0,1 --bounds bounds.json -o numbers.pairdp {FIT}"
    ),
    "pairdp predict numbers.csv": PAIRDP.format(
        "predict numbers.pairdp numbers.csv --force -o scores.csv"
    ),
}
FRAMES = {
    "pandas": "pandas.read_parquet('mixed.parquet')",
    "polars": "polars.read_parquet('mixed.parquet')",
    "pyarrow": "pyarrow.parquet.read_table('mixed.parquet')",
}


@dataclass(frozen=True)
class Cost:
    """Seconds of a process by the clock and of all its threads, and its peak memory."""

    wall: float
    processor: float
    megabytes: float


def write_tables(rows: int) -> None:
    """Write the tables of all cases to the working directory."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: np.round(rng.normal(50, 15, rows), 2) for name in NUMBERS}
    died = sum(columns[name] - 50 for name in NUMBERS[:4]) / 30 + rng.logistic(size=rows) > 0
    numbers = pa.table({**columns, "died": died.astype(int)})
    columns["sex"] = pa.array(["F", "M"]).take(pa.array(rng.integers(0, 2, rows)))
    columns["ward"] = pa.array(WARDS).take(pa.array(rng.integers(0, 4, rows)))
    columns["died"] = pa.array(["no", "yes"]).take(pa.array(died.astype(int)))
    mixed = pa.table(columns)
    plain, quoted = (csv.WriteOptions(quoting_style=style) for style in ("none", "needed"))
    csv.write_csv(mixed, "mixed.csv", plain)
    csv.write_csv(mixed.slice(0, 1000), "small.csv", plain)
    csv.write_csv(mixed, "quoted.csv", quoted)
    csv.write_csv(numbers, "numbers.csv", plain)
    parquet.write_table(mixed, "mixed.parquet")
    parquet.write_to_dataset(mixed, "parts", partition_cols=["ward"])
    Path("schema.json").write_text(json.dumps(SCHEMA))
    Path("bounds.json").write_text(json.dumps({name: [0, 100] for name in NUMBERS}))


def cost_of(code: str) -> Cost:
    """Return the cost of a process that runs some code."""
    start = time.perf_counter()
    silent = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-c", code], stdout=silent, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        errors = process.stderr.read().decode() if process.stderr else ""
        raise RuntimeError(f"a case failed:\n{code}\n{errors}")
    if process.stderr:
        process.stderr.close()
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def best(costs: list[Cost]) -> Cost:
    """Return the least time and memory of several runs."""
    return Cost(*(min(getattr(cost, name) for cost in costs) for name in vars(costs[0])))


def main(arguments: list[str] | None = None) -> None:
    """Print the cost of all cases."""
    given = dict(zip(*[iter(arguments or [])] * 2, strict=True))
    rows, rounds = int(given.pop("--rows", ROWS)), int(given.pop("--rounds", ROUNDS))
    if given:
        raise ValueError(f"unknown option {next(iter(given))}: there are --rows and --rounds")
    here = Path.cwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            cost_of(f"from benchmarks.table_speed import write_tables; write_tables({rows})")
            sizes = [Path(name).stat().st_size / 1e6 for name in ("mixed.csv", "numbers.csv")]
            print(
                f"{rows} rows; mixed.csv: 10 numbers, 2 categories and a label, {sizes[0]:.0f} MB; "
                f"numbers.csv: 10 numbers and a label, {sizes[1]:.0f} MB"
            )
            costs = _measured(rounds)
        finally:
            os.chdir(here)
    print(f"{'':36s} seconds  ratio   CPU s  ratio  peak MB")
    base = None
    for name, found in costs.items():
        base = found if name.startswith("pyarrow reads") or base is None else base
        print(
            f"{name:36s} {found.wall:7.2f} {found.wall / base.wall:6.2f} {found.processor:7.2f} "
            f"{found.processor / base.processor:6.2f} {found.megabytes:8.0f}"
        )


def _measured(rounds: int) -> dict[str, Cost]:
    found: dict[str, list[Cost]] = {name: [] for name in CASES}
    frames: dict[str, list[float]] = {name: [] for name in FRAMES}
    for _ in range(rounds):
        for name, code in CASES.items():
            found[name].append(cost_of(code))
        for name, read in FRAMES.items():
            library = "pyarrow.parquet" if name == "pyarrow" else name
            code = FRAME.format(library=library, read=read)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            frames[name].append(float(done.stdout))
    for name, seconds in frames.items():
        print(f"PrivateRanker.fit of a frame of {name}, in memory: {min(seconds):.2f} CPU seconds")
    return {name: best(costs) for name, costs in found.items()}
