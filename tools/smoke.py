"""A try of an installed pairdp with its extras: fit, evaluate, save, verify, report, draw.

It needs no file of the sources, and prints the versions that it ran with.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import pairdp
from pairdp.demo import loan_table

NAMES = (
    "numpy", "scipy", "scikit-learn", "dp-accounting", "randomgen", "filelock", "lazy-loader",
    "tqdm", "safetensors", "click", "dask", "distributed", "numba", "pyarrow", "matplotlib",
    "river",
)  # fmt: skip


def core(folder: Path) -> None:
    """Fit, evaluate, save, load, verify and report, from Python and from the command line."""
    table, model_file = folder / "loans.csv", folder / "model.pairdp"
    pairdp.demo.write_loans(table, 2000, seed=1)
    model = pairdp.PrivateRanker(2.0, schema=loan_table.SCHEMA)
    model.fit(loan_table.loans(6000, seed=1), evaluation_share=0.2)
    assert model.score(loan_table.loans(4000, seed=2)) > 0.6  # noqa: S101
    model.save(model_file)
    assert pairdp.verify(pairdp.load(model_file).certificate_).holds  # noqa: S101
    model.report(folder / "report.html")
    for words in (["verify", model_file], ["predict", model_file, table, "-o", folder / "s.csv"]):
        subprocess.run([sys.executable, "-m", "pairdp.cli.main", *map(str, words)], check=True)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = (rng.normal(size=(2000, 4)) + y[:, None]) / 5
    pairdp.PrivateMetric(2.0, data_norm=1.0).fit(x, y).transform(x)
    stream = pairdp.OnlinePrivateRanker(1.0, horizon=2000, data_norm=1.0)
    stream.partial_fit(x, y, classes=[0, 1])


def extras(folder: Path) -> None:
    """Try each extra that is installed: tables, plot, fast, river, dask."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    x = (rng.normal(size=(2000, 4)) + y[:, None]) / 5
    if find_spec("pyarrow"):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table(loan_table.loans(500, seed=1)), folder / "loans.parquet")
        words = ["predict", folder / "model.pairdp", folder / "loans.parquet"]
        words += ["-o", folder / "p.csv"]
        subprocess.run([sys.executable, "-m", "pairdp.cli.main", *map(str, words)], check=True)
    if find_spec("matplotlib"):
        import matplotlib as mpl

        mpl.use("agg")
        pairdp.load(folder / "model.pairdp").certificate_.plot()
    if find_spec("numba"):
        pairdp.PrivateRanker(2.0, data_norm=1.0, algorithm="Yang2021").fit(x[:300], y[:300])
    if find_spec("river"):
        from pairdp.estimators.river import RiverRanker

        stream = pairdp.OnlinePrivateRanker(1.0, horizon=100, data_norm=1.0)
        river = RiverRanker(stream, ["a", "b"], [False, True])
        river.learn_one({"a": 0.5, "b": -0.1}, True)
    if find_spec("dask") and find_spec("distributed"):
        import dask.array as da
        from distributed import Client

        from pairdp.dask import DaskPrivateRanker

        with Client(processes=False, n_workers=1, dashboard_address=None):
            rows = da.from_array(x, chunks=(500, 4)), da.from_array(y, chunks=500)
            DaskPrivateRanker(2.0, data_norm=1.0, classes=[0, 1]).fit(*rows)


def main() -> None:
    """Run everything and print the versions."""
    warnings.simplefilter("ignore", pairdp.NoSignalWarning)
    with tempfile.TemporaryDirectory() as folder:
        core(Path(folder))
        extras(Path(folder))
    found = [f"{name} {version(name)}" for name in NAMES if find_spec(_module(name))]
    print(f"pairdp {pairdp.__version__} on Python {platform.python_version()}:", ", ".join(found))


def _module(name: str) -> str:
    return {"scikit-learn": "sklearn"}.get(name, name.replace("-", "_"))


if __name__ == "__main__":
    main()
