"""Time and memory of ranking-loss gradients over all pairs, relative to two matrix products.

With ``OMP_NUM_THREADS=1``, times of the logistic loss are processor times: other processes matter
less.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from itertools import cycle

import numpy as np

from benchmarks.timing import best_seconds, random_records, traced_peak
from pairdp.losses import (
    HingeRanking,
    LeastSquaresRanking,
    LogisticRanking,
    PowerHingeRanking,
    RankingLoss,
    SquaredHingeRanking,
)
from pairdp.pairs import Risk, risk
from pairdp.records import Records

FEATURES = 20
CLOCK = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
MILLION = 1_000_000
NAIVE = 20_000
HINGES = {
    "hinge": HingeRanking(),
    "squared hinge": SquaredHingeRanking(),
    "rounded hinge (width 0.1)": HingeRanking(width=0.1),
    "q-norm hinge (q = 1.5)": PowerHingeRanking(power=1.5),
}


def _set_up(n: int) -> tuple[Records, np.ndarray, Callable[[], object]]:
    """Return records, weights at the edge of the unit ball, and the two products."""
    x, y = random_records(n, FEATURES)
    records = Records(x, y)
    weights = np.random.default_rng(1).standard_normal(FEATURES)
    weights /= np.linalg.norm(weights)
    coefficients = np.random.default_rng(2).standard_normal(n)
    return records, weights, lambda: (records.x @ weights, records.x.T @ coefficients)


def _gradient(loss: RankingLoss, records: Records, weights: np.ndarray) -> Callable[[], np.ndarray]:
    """Return a function that computes a gradient, at other weights than the last: a step's cost."""
    of_records: Risk = risk(loss, records)
    points = cycle([weights, -weights])
    return lambda: of_records.gradient(next(points))


def growth() -> None:
    """Print the logistic gradient beside the products, from 10⁵ to 10⁷ records."""
    print(f"Logistic gradient over all pairs, {FEATURES} features")
    print("  records     products     gradient    ratio   ns a record")
    for n, rounds in ((10**5, 30), (MILLION, 15), (10**7, 5)):
        records, weights, products = _set_up(n)
        base, ours = best_seconds(
            [products, _gradient(LogisticRanking(), records, weights)], rounds, CLOCK
        )
        print(
            f"  {n:8.0e}  {base * 1e3:8.2f} ms  {ours * 1e3:8.2f} ms  {ours / base:6.2f}x"
            f"   {ours / n * 1e9:11.1f}"
        )


def temperatures() -> None:
    """Print the logistic gradient at ever lower temperatures, whose scores spread ever wider."""
    records, weights, products = _set_up(MILLION)
    print("\nLogistic gradient at 10⁶ records, by temperature")
    for temperature in (1.0, 0.1, 0.01, 0.001):
        loss = LogisticRanking(temperature=temperature)
        base, ours = best_seconds([products, _gradient(loss, records, weights)], 5, CLOCK)
        print(f"  {temperature:8g}  {ours * 1e3:8.2f} ms  {ours / base:6.2f}x the products")


def hinges() -> None:
    """Print the hinge family beside one sort and the products, at 10⁶ records."""
    records, weights, products = _set_up(MILLION)
    scores = records.x @ weights
    print("\nHinge family at 10⁶ records, against the two products and one sort")
    print("                               gradient   with argsort   with a plain sort")
    calls = [products, lambda: np.argsort(scores), lambda: np.sort(scores)]
    for name, loss in HINGES.items():
        rounds = 2 if isinstance(loss, PowerHingeRanking) and loss.power < 2 else 7
        base, order, plain, ours = best_seconds([*calls, _gradient(loss, records, weights)], rounds)
        print(
            f"  {name:26s}  {ours * 1e3:8.2f} ms  {ours / (base + order):10.2f}x"
            f"  {ours / (base + plain):16.2f}x"
        )


def _naive(loss: RankingLoss, records: Records, weights: np.ndarray) -> np.ndarray:
    """Return the gradient as numpy users write it: one table of all differences."""
    scores, positive, n = records.x @ weights, records.positive == 1, records.n
    table = loss.slope(loss.scale * (scores[positive, None] - scores[None, ~positive]))
    factor = loss.orders * loss.scale / (n * (n - 1))
    up, down = table.sum(axis=1) @ records.x[positive], table.sum(axis=0) @ records.x[~positive]
    return np.asarray(factor * (up - down))


def against_naive() -> None:
    """Print how much faster the fast sums are than a table of all pairs, and that they agree."""
    records, weights, _ = _set_up(NAIVE)
    print(f"\nAgainst a numpy table of all pairs, {NAIVE} records")
    losses = {"logistic": LogisticRanking(), "least squares": LeastSquaresRanking(), **HINGES}
    for name, loss in losses.items():
        fast = _gradient(loss, records, weights)
        slow, ours = best_seconds([lambda loss=loss: _naive(loss, records, weights), fast], 2)
        gap = np.linalg.norm(fast() - _naive(loss, records, weights)) / loss.derivative_bound(4.0)
        print(
            f"  {name:26s}  {slow * 1e3:9.1f} ms against {ours * 1e3:7.2f} ms: "
            f"{slow / ours:7.0f} times faster, gradients {gap:.0e} apart"
        )


def against_libauc() -> None:
    """Print the one-sided logistic gradient beside LibAUC's, if that is installed."""
    try:
        losses = importlib.import_module("libauc.losses")
        torch = importlib.import_module("torch")
    except ImportError as missing:
        print(f"\nAgainst LibAUC: skipped, {missing}")
        return
    records, weights, _ = _set_up(NAIVE)
    loss_of_pairs = losses.PairwiseAUCLoss("logistic")
    rows = torch.from_numpy(records.x)
    labels = torch.from_numpy((records.y > 0).astype(np.float64))

    def theirs() -> object:
        point = torch.tensor(weights, requires_grad=True)
        loss_of_pairs(rows @ point, labels).backward()
        return point.grad

    ours = _gradient(LogisticRanking("one-sided"), records, weights)
    slow, fast = best_seconds([theirs, ours], 3)
    print(
        f"\nAgainst LibAUC's pairwise logistic loss, {NAIVE} records: {slow * 1e3:.1f} ms against "
        f"{fast * 1e3:.2f} ms, {slow / fast:.0f} times faster"
    )


def memory() -> None:
    """Print the arrays that a gradient makes beside the records, at their peak."""
    print("\nPeak memory of a gradient beside its records, in numbers a record")
    sizes = (MILLION, 4 * MILLION)
    made = [_set_up(n)[:2] for n in sizes]
    for name, loss in {"logistic": LogisticRanking(), **HINGES}.items():
        peaks = [
            traced_peak(_gradient(loss, *case)) / 8 / n for case, n in zip(made, sizes, strict=True)
        ]
        print(f"  {name:26s}  {peaks[0]:6.1f} at 10⁶  {peaks[1]:6.1f} at 4·10⁶")


def main() -> None:
    """Print all tables."""
    growth()
    temperatures()
    hinges()
    against_naive()
    against_libauc()
    memory()


if __name__ == "__main__":
    main()
