"""The demonstration: a private ranker and a private metric on real data.

Run it with ``pairdp demo``, ``python -m pairdp.demo`` or ``make demo``. The data are public, so
scores on held-out records may be shown.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from pairdp.estimators import BoundsScaler, NoSignalWarning, PrivateMetric, PrivateRanker
from pairdp.studies.data.public_ranges import PUBLIC_RANGES
from pairdp.verification import verify

Array = NDArray[np.float64]
DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
HELD_OUT = 169
SPLITS = 10
UPPER = tuple(each.upper for each in PUBLIC_RANGES["cancer_wdbc"].values())
"""Public upper bounds of the features; the lower bounds are zero."""


def load() -> tuple[Array, NDArray[np.str_]]:
    """Return the breast-cancer data, scaled into the unit ball by public bounds, and the labels."""
    data = load_breast_cancer()
    x = BoundsScaler(0.0, UPPER).fit_transform(data.data)
    return x, np.array(["malignant", "benign"])[data.target]


def scores(
    make: Callable[[int], Any], splits: int | None = None, scoring: str = "roc_auc"
) -> Array:
    """Return scores on held-out records over random splits; ``make`` takes a seed."""
    x, y = load()
    scorer, found = get_scorer(scoring), []
    for seed in range(splits or SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[HELD_OUT:], order[:HELD_OUT]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSignalWarning)  # the table shows what noise does
            found.append(scorer(make(seed).fit(x[train], y[train]), x[test], y[test]))
    return np.array(found)


def ranker(epsilon: float | None, seed: int, **params: Any) -> PrivateRanker:
    """Return a ranker with a seed, for public data only."""
    return PrivateRanker(epsilon, DELTA, data_norm=1.0, random_state=seed, **params)


def _metric(epsilon: float | None, seed: int) -> Any:
    metric = PrivateMetric(epsilon, DELTA, data_norm=1.0, random_state=seed)
    return make_pipeline(metric, KNeighborsClassifier(3))


def _row(
    name: str,
    make: Callable[..., Any],
    budgets: tuple[float | None, ...] = (*EPSILONS, None),
    scoring: str = "roc_auc",
    **params: Any,
) -> str:
    """Return a line with the mean score for each ε; None, in the last column, is without noise."""
    means = {e: scores(partial(make, e, **params), scoring=scoring).mean() for e in budgets}
    columns = [f"{means[e]:.3f}" if e in means else "" for e in (*EPSILONS, None)]
    return (f"  {name:36s}" + "".join(f"{column:>10s}" for column in columns)).rstrip()


def _head(title: str) -> str:
    return f"{title:38s}" + "".join(f"{f'ε = {e:g}':>10s}" for e in EPSILONS) + "  no noise"


def main() -> None:
    """Print the scores of private models on the breast-cancer data, and a privacy statement."""
    x, y = load()
    n = len(y) - HELD_OUT
    print(
        f"Breast-cancer data: {n} training records, {HELD_OUT} held out, {x.shape[1]} features, "
        f"scaled by public bounds.\nδ = {DELTA:g}; means of {SPLITS} random splits.\n"
    )
    printed = {"algorithm": "DPGDSC", "calibration": "printed"}
    logistic = LogisticRegression(C=1e3, class_weight="balanced", max_iter=1000)
    print(_head("AUC of a ranker"))
    print(_row("PrivateRanker", ranker))
    print(_row("  with DPGDSC (Xue 2021)", ranker, EPSILONS, algorithm="DPGDSC"))
    print(_row("  DPGDSC with the paper's noise", ranker, EPSILONS, **printed))
    print(_row("scikit-learn LogisticRegression", lambda *_: logistic, (None,)) + "\n")
    print(_head("Accuracy of 3 nearest neighbours"))
    print(_row("in the metric of PrivateMetric", _metric, scoring="accuracy"))
    print(_row("in the Euclidean metric", lambda *_: KNeighborsClassifier(3), (None,), "accuracy"))
    fitted = PrivateRanker(1.0, DELTA, data_norm=1.0).fit(x[:n], y[:n])
    print(f"\nThe privacy statement of one ranker at ε = 1\n{'-' * 44}")
    print(fitted.privacy_statement())
    print(f"\nIts certificate, verified independently\n{'-' * 39}")
    print(verify(fitted.certificate_.to_json()))


if __name__ == "__main__":
    main()
