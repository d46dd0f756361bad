"""Running commands on a small table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from pairdp import PrivateRanker, load
from pairdp.cli.main import main
from pairdp.estimators.score_models import arrays_of

N = 200
BOUNDS = {"age": [0, 100], "bmi": [10, 60]}
FIT = ["fit", "data.csv", "--label", "outcome", "--algorithm", "DPGDSC", "--seed", "1"]
BOUNDED = [*FIT, "--bounds", "bounds.json", "-o", "model.pairdp"]
# A ledger does not pay for seeded noise.
SECRET = [*FIT[:-2], *BOUNDED[len(FIT) :]]


def table(outcome: tuple[Any, Any] = (0, 1), **more: Any) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, N)
    age = np.round(rng.normal(40 + 20 * y, 15), 3)
    bmi = np.round(rng.normal(30 - 5 * y, 6), 3)
    return pd.DataFrame({"age": age, "bmi": bmi, "outcome": np.array(outcome)[y], **more})


def write(frame: pd.DataFrame, path: str = "data.csv") -> None:
    if path.endswith(".csv"):
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)


def run(*args: str, code: int = 0) -> Result:
    """Run a command, and check that it ends as it should, without a traceback."""
    result = CliRunner().invoke(main, list(args))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    assert result.exit_code == code, result.output
    return result


def refused(*args: str, code: int = 1) -> str:
    """Run a command that fails, and return its one sentence."""
    result = run(*args, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def run_json(*args: str, code: int = 0) -> Any:
    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    result = run(*args, "--json", code=code)
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=no_constant)


def there() -> set[str]:
    return {path.name for path in Path().iterdir() if not path.name.endswith(".lock")}


def coefficients(path: str = "model.pairdp") -> NDArray[np.float64]:
    model = load(path)
    found: NDArray[np.float64] = (model[-1] if isinstance(model, Pipeline) else model).coef_
    return found


def released(ranker: PrivateRanker) -> NDArray[np.float64]:
    """Return all released numbers of a ranker."""
    return np.concatenate([np.ravel(getattr(ranker, name)) for name in arrays_of(ranker)])


def ranker_of(path: str = "model.pairdp") -> PrivateRanker:
    model = load(path)
    ranker = model[-1] if isinstance(model, Pipeline) else model
    assert isinstance(ranker, PrivateRanker)
    return ranker


def command(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the true command, in a process of its own."""
    found = Path(sys.executable).with_name("pairdp")
    start = [str(found)] if found.exists() else [sys.executable, "-m", "pairdp.cli.main"]
    return subprocess.run([*start, *args], capture_output=True, text=True, check=False, timeout=60)
