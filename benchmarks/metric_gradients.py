"""Time and memory of metric-loss gradients, over all pairs and over designs of few pairs."""

from __future__ import annotations

import importlib
import sys

import numpy as np

from benchmarks.timing import (
    best_seconds,
    in_new_process,
    peak_megabytes,
    random_records,
    traced_peak,
)
from pairdp.losses import HingeMetric, LogisticMetric, MetricLoss
from pairdp.pairs import PairDesign, risk
from pairdp.records import Records

N, FEATURES = 4000, 50
LOSSES: dict[str, MetricLoss] = {"logistic": LogisticMetric(), "hinge": HingeMetric()}


def _set_up(n: int, d: int) -> tuple[Records, np.ndarray]:
    x, y = random_records(n, d)
    factor = np.random.default_rng(3).standard_normal((d, d)) / d
    return Records(x, y, binary=False), factor @ factor.T


def all_pairs() -> None:
    """Print all-pairs gradients beside the two products of n × n with n × d."""
    records, matrix = _set_up(N, FEATURES)
    table = np.random.default_rng(4).standard_normal((N, N))
    print(f"Metric gradients over all pairs, {N} records, {FEATURES} features")
    for name, loss in LOSSES.items():
        of_records = risk(loss, records)
        products, ours = best_seconds(
            [
                lambda: ((records.x @ matrix) @ records.x.T, table @ records.x),
                lambda of_records=of_records: of_records.gradient(matrix),
            ],
            5,
        )
        peak = in_new_process("benchmarks.metric_gradients", name)
        print(
            f"  {name:10s} {ours * 1e3:8.1f} ms, {ours / products:5.2f}x the two products; "
            f"peak memory of the process {peak} MB"
        )


def designs() -> None:
    """Print gradients over designs of 8 pairs a record, from 10⁵ to 10⁶ records."""
    print("\nMetric gradients over a design, 8 pairs a record, 20 features")
    for n in (10**5, 10**6):
        records, matrix = _set_up(n, 20)
        design = PairDesign.draw(n, 8, np.random.default_rng(5))
        of_records = risk(LogisticMetric(), records, design)

        def gradient(of_records=of_records, matrix=matrix) -> object:
            return of_records.gradient(matrix)

        (seconds,) = best_seconds([gradient], 3)
        peak = traced_peak(gradient) / 8 / n
        print(
            f"  {n:8.0e}  {seconds:7.3f} s, {seconds / design.pairs * 1e9:6.1f} ns a pair; "
            f"peak {peak:.1f} numbers a record"
        )


def against_metric_learn() -> None:
    """Print one gradient beside metric-learn's NCA, which is over all pairs too."""
    try:
        metric_learn = importlib.import_module("metric_learn")
    except ImportError as missing:
        print(f"\nAgainst metric-learn: skipped, {missing}")
        return
    records, matrix = _set_up(N, FEATURES)
    nca = metric_learn.NCA()
    nca.n_iter_ = 0
    mask = records.y[:, None] == records.y[None, :]
    start = np.eye(FEATURES).ravel()
    of_records = risk(LogisticMetric(), records)
    theirs, ours = best_seconds(
        [
            lambda: nca._loss_grad_lbfgs(start, records.x, mask),
            lambda: of_records.gradient(matrix),
        ],
        3,
    )
    print(
        f"\nAgainst metric-learn's NCA, {N} records: {theirs * 1e3:.0f} ms against "
        f"{ours * 1e3:.0f} ms, {theirs / ours:.1f} times faster"
    )


def main() -> None:
    """Print all tables."""
    all_pairs()
    designs()
    against_metric_learn()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        records, matrix = _set_up(N, FEATURES)
        risk(LOSSES[sys.argv[1]], records).gradient(matrix)
        print(f"{peak_megabytes():.0f}")
    else:
        main()
