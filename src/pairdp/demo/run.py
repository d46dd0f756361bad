"""The demonstration: a private model of a mixed table, its private AUC and its report.

Run it with ``pairdp demo``, ``python -m pairdp.demo`` or ``make demo``. The table is synthetic, so
scores on held-out records may be shown. Its effects are curved, which favours additive models over
linear ones, the less the fewer loans there are: from 10 000 of them, at ε = 1, the AUC is 0.787,
that of the linear model 0.785, and that of logistic regression without privacy 0.788
(``python -c "from pairdp.demo import run; run.TRAIN = 10_000; run.main()"``).
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from pairdp._version import __version__
from pairdp.demo.loan_table import SCHEMA, loans, write_loans
from pairdp.demo.noisy_logistic import noisy_logistic
from pairdp.estimators import NoSignalWarning, PrivateRanker, SchemaEncoder
from pairdp.verification import verify

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 4.0)
TRAIN, TEST = 20_000, 10_000
REPEATS = 4
FOLDER = Path("pairdp-demo")


class Loans:
    """Loans to learn from and others to judge on, also as rows of numbers in the unit ball."""

    def __init__(self, seed: int) -> None:
        table = loans(TRAIN + TEST, seed)
        order = np.random.default_rng(seed).permutation(TRAIN + TEST)  # the table is sorted by date
        self.seed = seed
        self.train: Any = {name: cells[order[TEST:]] for name, cells in table.items()}
        self.test: Any = {name: cells[order[:TEST]] for name, cells in table.items()}
        encode = SchemaEncoder(SCHEMA).transform
        self.rows, self.other_rows = encode(self.train), encode(self.test)
        self.defaulted = self.train["defaulted"] == "yes"

    def auc(self, scores: NDArray[np.float64]) -> float:
        """Return the AUC of scores of the loans to judge on."""
        return float(roc_auc_score(self.test["defaulted"] == "yes", scores))


def _ranker(data: Loans, epsilon: float, model: str) -> float:
    ranker = PrivateRanker(epsilon, DELTA, schema=SCHEMA, model=model, random_state=data.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)  # the table shows what noise does
        return float(ranker.fit(data.train).score(data.test))


def _noisy_logistic(data: Loans, epsilon: float) -> float:
    weights = noisy_logistic(data.rows, data.defaulted, (epsilon, DELTA), data.seed)
    return data.auc(data.other_rows @ weights[:-1])


def _logistic(data: Loans) -> float:
    model = LogisticRegression(C=1e3, max_iter=1000).fit(data.rows, data.defaulted)
    return data.auc(model.decision_function(data.other_rows))


def _boosting(data: Loans) -> float:
    model = HistGradientBoostingClassifier(random_state=0).fit(data.rows, data.defaulted)
    return data.auc(model.decision_function(data.other_rows))


PRIVATE: dict[str, Callable[[Loans, float], float]] = {
    "PrivateRanker": lambda data, epsilon: _ranker(data, epsilon, "auto"),
    "  its linear model": lambda data, epsilon: _ranker(data, epsilon, "linear"),
    "DP-GD logistic regression": _noisy_logistic,
}
NOT_PRIVATE: dict[str, Callable[[Loans], float]] = {
    "scikit-learn logistic regression": _logistic,
    "scikit-learn gradient boosting": _boosting,
}


def _compare() -> list[str]:
    """Return a table of the mean AUC over draws of loans and noise, with paired differences."""
    found: dict[tuple[str, float | None], list[float]] = {}
    steps = REPEATS * (len(PRIVATE) * len(EPSILONS) + len(NOT_PRIVATE))
    with tqdm(total=steps, desc="Fitting", unit="model", leave=False) as bar:
        for seed in range(1, REPEATS + 1):
            data = Loans(seed)
            for name, private in PRIVATE.items():
                for epsilon in EPSILONS:
                    found.setdefault((name, epsilon), []).append(private(data, epsilon))
                    bar.update()
            for name, other in NOT_PRIVATE.items():
                found.setdefault((name, None), []).append(other(data))
                bar.update()
    first = next(iter(PRIVATE))
    lines = [f"  {'private':34s}" + "".join(f"{f'ε = {e:g}':25s}" for e in EPSILONS).rstrip()]
    for name in PRIVATE:
        cells = (_cell(found[name, e], found[first, e]) for e in EPSILONS)
        lines.append(f"  {name:34s}{''.join(f'{cell:25s}' for cell in cells)}".rstrip())
    lines.append("  not private")
    return lines + [f"  {name:34s}{np.mean(found[name, None]):.3f}" for name in NOT_PRIVATE]


def _cell(values: list[float], best: list[float]) -> str:
    """Return a mean and, for other models than the first, the difference from that one."""
    if values is best:
        return f"{np.mean(values):.3f}"
    difference = np.subtract(values, best)
    error = difference.std() / max(len(difference) - 1, 1) ** 0.5
    return f"{np.mean(values):.3f} ({difference.mean():+.3f} ± {error:.3f})"


def _command() -> str:
    """Return how to call the command here: after ``make demo`` it is not on the path."""
    beside, here = Path(sys.executable).with_name("pairdp"), Path.cwd()
    if shutil.which("pairdp") or not beside.exists():
        return "pairdp"
    return str(beside.relative_to(here) if beside.is_relative_to(here) else beside)


def main(folder: Path = FOLDER) -> None:
    """Compare private models of synthetic loans; then fit, evaluate, verify and report one."""
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"pairdp {__version__}: which loans will default? A private model of a synthetic table of\n"
        f"{len(SCHEMA) - 2} columns (numbers, categories, a date, gaps) from {TRAIN} loans.\n\n"
        f"AUC on {TEST} other loans, δ = {DELTA:g}, a replaced record is protected;\n"
        f"means over {REPEATS} draws of loans and noise (± error: difference from the first row):",
        flush=True,
    )
    with threadpool_limits(1):  # threads of boosting that wait for a busy core take very long
        print("\n".join(_compare()))
    print(
        "The same records, schema and guarantee for all private models. DP-GD is noisy gradient\n"
        "descent on one-hot rows, with steps and clipping chosen on other synthetic tables. The\n"
        "effects of this synthetic table are curved, which favours additive models over linear\n"
        "ones; from 10000 loans, no private model is clearly ahead at ε = 1. For real tables,\n"
        "also where this library is weak, see docs/utility.md.\n"
    )
    table, schema = folder / "loans.csv", folder / "schema.json"
    write_loans(table, TRAIN, seed=0)
    schema.write_text(json.dumps(SCHEMA, indent=1) + "\n", encoding="utf-8")
    print("One model at ε = 1, a fifth of the loans held out to evaluate it at no further cost:")
    model: Any = PrivateRanker(1.0, DELTA, schema=SCHEMA, data_set="synthetic loans")
    model.fit(loans(TRAIN, seed=0), evaluation_share=0.2, evaluation_options={"roc": True})
    found = model.evaluation_
    print(
        f"  private AUC: {found.auc:.3f}, 95 % interval {found.auc_interval.lower:.3f} to "
        f"{found.auc_interval.upper:.3f}"
    )
    print(f"  {str(verify(model.certificate_)).splitlines()[0]}")
    saved, report = folder / "model.pairdp", folder / "report.html"
    model.save(saved)
    model.report(report)
    command = _command()
    print(
        f"  the report, to open in a browser: {report.resolve()}\n\n"
        f"Go on with it:\n"
        f"  {command} show {saved}\n"
        f"  {command} verify {saved}\n"
        f"  {command} fit {table} --schema {schema} --epsilon 2 -o {folder / 'another.pairdp'}"
    )
