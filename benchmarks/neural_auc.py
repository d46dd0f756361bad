"""AUC of private networks beside other private rankers, where networks pay and where not.

Synthetic records have a rotated structure (a wave, a product and a fold of directions across all
features); ``adult`` is a common table of numbers and categories, if its file is there. DP-SGD of
Opacus, with the cross-entropy of single records, is a row if torch and Opacus are installed; its
guarantee is for an added or removed record, and its rows are standardised without privacy. For a
replaced record, its parameter µ of Gaussian DP is about twice as large, and so is that of the
network in the row below it.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from tests.studies.data.places import DATA

from benchmarks.opacus_peer import RELATION, opacus_scores
from benchmarks.utility.tables import DELTA, mixed_table
from pairdp import PrivateNeuralRanker, PrivateRanker
from pairdp.algorithms import ConditionedDescent
from pairdp.privacy.accounting import gaussian

Scored = tuple[Any, Any, Any, Any]
EPSILONS = (1.0, 4.0)
SEEDS = 3
FEATURES, TEST = 12, 20_000


def rotated(n: int, seed: int) -> Scored:
    """Return training and test records whose odds depend on functions of rotated directions."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(FEATURES, FEATURES)))[0]
    x = rng.normal(size=(n + TEST, FEATURES))
    z = x @ turn
    wave, product = 2.25 * np.sin(1.5 * z[:, 0]), 1.5 * z[:, 1] * z[:, 2]
    fold = 1.2 * np.abs(z[:, 3]) * np.sign(z[:, 4])
    odds = 1.5 * (wave + product + fold + 0.5 * z[:, 5])
    y = (rng.random(n + TEST) < expit(odds)).astype(int)
    x /= 4 * np.sqrt(FEATURES)
    return x[:n], y[:n], x[n:], y[n:]


def _methods(**facts: Any) -> dict[str, Callable[[float | None, int], Any]]:
    """Return the rankers by name, for a budget and a seed."""
    expanded = ConditionedDescent("quadratic")
    found: dict[str, Callable[[float | None, int], Any]] = {
        "network": lambda e, s: PrivateNeuralRanker(e, DELTA, random_state=s, **facts),
        "network, sums over pairs": lambda e, s: PrivateNeuralRanker(
            e, DELTA, gradient="pairwise", random_state=s, **facts
        ),
        "linear": lambda e, s: PrivateRanker(e, DELTA, model="linear", random_state=s, **facts),
        "expanded": lambda e, s: PrivateRanker(
            e, DELTA, algorithm=expanded, random_state=s, **facts
        ),
        "additive": lambda e, s: PrivateRanker(e, DELTA, model="additive", random_state=s, **facts),
        "auto": lambda e, s: PrivateRanker(e, DELTA, random_state=s, **facts),
    }
    return found


def _print_row(title: str, name: str, found: list[list[float]]) -> None:
    cells = [f"{np.mean(s):.3f} ± {np.std(s, ddof=1) / np.sqrt(len(s)):.3f}" for s in found]
    print(f"| {title} | {name} | {' | '.join(cells)} |", flush=True)


def _print_rows(
    title: str, drawn: list[Scored], numbers: list[Scored] | None = None, **facts: Any
) -> None:
    """Print a row for each method; ``numbers`` are the records as numbers, if they are tables."""

    def auc(scores: Any, seed: int) -> float:
        return float(roc_auc_score(drawn[seed][3], scores))

    for name, method in _methods(**facts).items():
        found = []
        for epsilon in EPSILONS:
            models = [method(epsilon, s).fit(*drawn[s][:2]) for s in range(SEEDS)]
            found.append([auc(m.decision_function(drawn[s][2]), s) for s, m in enumerate(models)])
        _print_row(title, name, found)
    if importlib.util.find_spec("opacus") is not None:
        rows = numbers or drawn
        found = [
            [auc(opacus_scores(*rows[s][:3], epsilon, DELTA, s), s) for s in range(SEEDS)]
            for epsilon in EPSILONS
        ]
        _print_row(title, f"DP-SGD of Opacus ({RELATION})", found)
        network = _methods(**facts)["network"]
        doubled = [gaussian.epsilon(2 * gaussian.gdp_mu(e, DELTA), DELTA) for e in EPSILONS]
        found = [
            [auc(network(e, s).fit(*drawn[s][:2]).decision_function(drawn[s][2]), s)
             for s in range(SEEDS)]
            for e in doubled
        ]  # fmt: skip
        _print_row(title, f"network, {' and '.join(f'ε = {e:.2f}' for e in doubled)}", found)
    x, y, test, _ = drawn[0]
    model = PrivateNeuralRanker(None, n_steps=300, random_state=0, **facts).fit(x, y)
    plain = auc(model.decision_function(test), 0)
    print(f"| {title} | network, not private | {plain:.3f} | |", flush=True)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print(
        f"AUC on other records, mean ± standard error of {SEEDS} seeds, δ = {DELTA:g}, replace one"
    )
    print(f"| records | ranker | {' | '.join(f'ε = {e:g}' for e in EPSILONS)} |")
    print(f"|---|---|{'---|' * len(EPSILONS)}")
    for n in (10_000, 50_000):
        _print_rows(f"rotated, n = {n}", [rotated(n, s) for s in range(SEEDS)], data_norm=1.0)
    if (DATA / "adult.csv").is_file():
        split = mixed_table("adult", 32_561, 0)
        (y, labels), (x, test) = split.labels, split.rows
        tables = [(split.train, None, split.test, labels)] * SEEDS
        _print_rows("adult, n = 32561", tables, [(x, y, test, labels)] * SEEDS, schema=split.schema)


if __name__ == "__main__":
    main()
