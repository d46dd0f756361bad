"""Time and memory of fits and predictions from tables, beside what reading the file takes.

Each case is a process of its own. Its time includes its start, which is that of the same command on
1000 rows with modules that are compiled, and is printed too. Ratios are to the process in which
pyarrow reads the same file into memory: of the whole processes, and without their starts. Cases are
interleaved and repeated; the best time of each is printed.

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

ROWS, ROUNDS = 3_000_000, 2
NUMBERS = [f"x{i}" for i in range(10)]
WARDS = ["ICU", "Medicine", "Surgery", "Emergency"]
SCHEMA: dict[str, Any] = {
    **{name: [0, 100] for name in NUMBERS},
    "sex": ["F", "M"],
    "ward": WARDS,
    "died": {"label": ["no", "yes"]},
}
FIT = "--algorithm moments --force"  # sums over the records: the rest of the fit takes no time
FRAME = """
import {library}
from pairdp import PrivateRanker
frame = {read}
import time; start = time.process_time()
PrivateRanker(schema="schema.json", algorithm="moments").fit(frame)
print(time.process_time() - start)
"""
READ = {
    ".csv": "import pyarrow.csv as c; c.read_csv({!r})",
    ".parquet": "import pyarrow.parquet as p; p.read_table({!r})",
}
SCHEMA_FIT = "fit {} --schema schema.json -o {}.pairdp " + FIT
BOUNDS_FIT = "fit {} --label died --classes 0,1 --bounds bounds.json -o {}.pairdp " + FIT
PREDICT = "predict small_{}.pairdp {} --force -o scores.csv"


@dataclass(frozen=True)
class Case:
    """A process: what it does, its code, its start, and the case in which pyarrow reads."""

    name: str
    code: str
    start: str
    read: str


def pairdp(arguments: str) -> str:
    """Return the code of a command."""
    return f"from pairdp.cli.main import main; main({arguments!r}.split())"


def cases() -> tuple[dict[str, str], list[Case]]:
    """Return the processes that measure starts, by name, and all cases."""
    starts = {
        "pyarrow .csv": READ[".csv"].format("small_mixed.csv"),
        "pyarrow .parquet": READ[".parquet"].format("small_mixed.parquet"),
        "fit by a schema": pairdp(SCHEMA_FIT.format("small_mixed.csv", "small_mixed")),
        "fit by bounds": pairdp(BOUNDS_FIT.format("small_numbers.csv", "small_numbers")),
    }
    found: list[Case] = []

    def reading(file: str) -> str:
        name = f"pyarrow reads {file}"
        kind = Path(file).suffix or ".parquet"
        found.append(Case(name, READ[kind].format(file), f"pyarrow {kind}", name))
        return name

    def command(file: str, what: str, arguments: str, read: str) -> None:
        found.append(Case(f"pairdp {what} {file}", pairdp(arguments), what, read))

    for kind, fit, form in (
        ("mixed", "fit by a schema", SCHEMA_FIT),
        ("numbers", "fit by bounds", BOUNDS_FIT),
    ):
        predict = f"predict {kind}"
        starts[predict] = pairdp(PREDICT.format(kind, f"small_{kind}.csv"))
        for file in (f"{kind}.csv", f"{kind}.parquet"):
            read = reading(file)
            command(file, fit, form.format(file, "model"), read)
            found.append(Case(f"pairdp predict {file}", pairdp(PREDICT.format(kind, file)),
                              predict, read))  # fmt: skip
    schema = "fit by a schema"
    read = "pyarrow reads mixed.csv"
    null = SCHEMA_FIT.format("mixed.csv", "model") + " --invalid null"
    found.append(Case("the same fit with --invalid null", pairdp(null), schema, read))
    command("quoted.csv", schema, SCHEMA_FIT.format("quoted.csv", "model"), reading("quoted.csv"))
    command("parts/", schema, SCHEMA_FIT.format("parts", "model"), reading("parts"))
    found.append(Case("pandas reads mixed.csv", "import pandas; pandas.read_csv('mixed.csv')",
                      "pyarrow .csv", read))  # fmt: skip
    return starts, found


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
    csv.write_csv(mixed.slice(0, 1000), "small_mixed.csv", plain)
    csv.write_csv(numbers.slice(0, 1000), "small_numbers.csv", plain)
    csv.write_csv(mixed, "quoted.csv", quoted)
    csv.write_csv(numbers, "numbers.csv", plain)
    parquet.write_table(mixed, "mixed.parquet")
    parquet.write_table(numbers, "numbers.parquet")
    parquet.write_table(mixed.slice(0, 1000), "small_mixed.parquet")
    parquet.write_to_dataset(mixed, "parts", partition_cols=["ward"])
    Path("schema.json").write_text(json.dumps(SCHEMA))
    Path("bounds.json").write_text(json.dumps({name: [0, 100] for name in NUMBERS}))


def cost_of(code: str) -> Cost:
    """Return the cost of a process that runs some code, with compiled modules as after an install.

    They are kept in the working directory, also where the environment asks for none.
    """
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    compiled = {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(Path("compiled").resolve()),
    }
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **compiled},
    )
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
            _measure(rounds)
        finally:
            os.chdir(here)


def _measure(rounds: int) -> None:
    """Run all cases and print what they cost."""
    starts, found = cases()
    costs: dict[str, list[Cost]] = {name: [] for name in (*starts, *(c.name for c in found))}
    frames: dict[str, list[float]] = {name: [] for name in FRAMES}
    for code in starts.values():
        cost_of(code)  # compiles modules
    for _ in range(rounds):
        for name, code in starts.items():
            costs[name].append(cost_of(code))
        for case in found:
            costs[case.name].append(cost_of(case.code))
        for name, read in FRAMES.items():
            library = "pyarrow.parquet" if name == "pyarrow" else name
            code = FRAME.format(library=library, read=read)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
            frames[name].append(float(done.stdout))
    least = {name: best(some) for name, some in costs.items()}
    print("                                            by the clock              processor time")
    print("                                    seconds start ratio without  seconds start ratio "
          "without  peak MB")  # fmt: skip
    begins = {case.name: case.start for case in found}
    for case in found:
        own, read = (least[name] for name in (case.name, case.read))
        begun, imported = least[case.start], least[begins[case.read]]
        print(f"{case.name:36s}", end="")
        for time_of in ("wall", "processor"):
            seconds, start = (getattr(cost, time_of) for cost in (own, begun))
            base, bare = (getattr(cost, time_of) for cost in (read, imported))
            without = (seconds - start) / (base - bare)
            print(f"{seconds:7.2f} {start:5.2f} {seconds / base:5.2f} {without:7.2f}  ", end="")
        print(f"{own.megabytes:7.0f}")
    for name, times in frames.items():
        print(f"PrivateRanker.fit of a frame of {name}, in memory: {min(times):.2f} CPU seconds")
