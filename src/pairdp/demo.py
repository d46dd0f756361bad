"""The demonstration: a private ranker and a private metric on real data.

Run with ``pairdp demo``, ``python -m pairdp.demo`` or ``make demo``. The data are public, so
the demonstration may look at how well each model does on held-out records.
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
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from pairdp.estimators import BoundsScaler, NoSignalWarning, PrivateMetric, PrivateRanker
from pairdp.verification import verify

Array = NDArray[np.float64]
DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
HELD_OUT = 169
SPLITS = 10
# Round bounds of the ten measures (mean, error, worst), as a clinic would know them.
UPPER = (
    (30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1),
    (3, 5, 25, 550, 0.04, 0.15, 0.4, 0.06, 0.08, 0.03),
    (40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.21),
)


def load() -> tuple[Array, NDArray[np.str_]]:
    """Return the breast-cancer data in the unit ball, by public bounds, and its labels."""
    data = load_breast_cancer()
    x = BoundsScaler(0.0, np.ravel(UPPER)).fit_transform(data.data)
    return x, np.array(["malignant", "benign"])[data.target]


def mean_score(make: Callable[[int], Any]) -> float:
    """Return the mean score on held-out records, over random splits."""
    x, y = load()
    scores = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[HELD_OUT:], order[:HELD_OUT]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSignalWarning)  # the table shows what noise does
            scores.append(make(seed).fit(x[train], y[train]).score(x[test], y[test]))
    return float(np.mean(scores))


class _Logistic(LogisticRegression):  # type: ignore[misc]
    """Logistic regression scored by AUC."""

    def score(self, X: Array, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(y == self.classes_[1], self.decision_function(X)))


def _ranker(epsilon: float | None, seed: int, **params: Any) -> PrivateRanker:
    return PrivateRanker(epsilon, DELTA, data_norm=1.0, random_state=seed, **params)


def _metric(epsilon: float | None, seed: int, **params: Any) -> Any:
    metric = PrivateMetric(epsilon, DELTA, data_norm=1.0, random_state=seed, **params)
    return make_pipeline(metric, KNeighborsClassifier(3))


def _row(name: str, make: Callable[..., Any], baseline: bool = True, **params: Any) -> str:
    """Return a line of scores, one for each ε, and the one without noise."""
    budgets = (*EPSILONS, None) if baseline else EPSILONS
    scores = [mean_score(partial(make, epsilon, **params)) for epsilon in budgets]
    return f"  {name:36s}" + "".join(f"{score:10.3f}" for score in scores)


def _head(what: str) -> str:
    return f"{what:38s}" + "".join(f"{f'ε = {e:g}':>10s}" for e in EPSILONS) + "  no noise"


def main() -> None:
    """Print how private models do on the breast-cancer data, and one privacy statement."""
    x, y = load()
    n = len(y) - HELD_OUT
    print(
        f"Breast-cancer data: {n} records to learn from, {HELD_OUT} held out, {x.shape[1]} "
        f"features, scaled by public bounds.\nδ = {DELTA:g}; means of {SPLITS} random splits.\n"
    )
    print(_head("AUC of a ranker"))
    print(_row("PrivateRanker", _ranker))
    print(_row("  with DPGDSC (Xue 2021)", _ranker, False, algorithm="DPGDSC"))
    print(
        _row(
            "  DPGDSC with the paper's noise",
            _ranker,
            False,
            algorithm="DPGDSC",
            calibration="printed",
        )
    )
    logistic = mean_score(lambda _: _Logistic(C=1e3, class_weight="balanced", max_iter=1000))
    print(f"  {'scikit-learn LogisticRegression':36s}{'':{10 * len(EPSILONS)}s}{logistic:10.3f}\n")
    print(_head("Accuracy of 3 nearest neighbours"))
    print(_row("in the metric of PrivateMetric", _metric))
    euclid = mean_score(lambda _: KNeighborsClassifier(3))
    print(f"  {'in the Euclidean metric':36s}{'':{10 * len(EPSILONS)}s}{euclid:10.3f}")
    ranker = PrivateRanker(1.0, DELTA, data_norm=1.0).fit(x[:n], y[:n])
    print(f"\nThe privacy statement of one ranker at ε = 1\n{'-' * 44}")
    print(ranker.privacy_statement())
    print(f"\nIts certificate, checked by other routes than it was made\n{'-' * 57}")
    print(verify(ranker.certificate_.to_json()))


if __name__ == "__main__":
    main()
