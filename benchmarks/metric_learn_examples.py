"""metric-learn's side of docs/migrating_from_metric_learn.md, where it runs.

metric-learn 0.7.0 needs scikit-learn 1.5, and pairdp a newer one: install both into an environment
of their own (``pip install metric-learn "scikit-learn<1.6"``) and run this file there.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def main() -> None:
    """Print the results of its examples on iris."""
    try:
        from metric_learn import ITML, MMC, NCA  # type: ignore[import-not-found]
        from sklearn.datasets import load_iris
        from sklearn.model_selection import cross_val_score
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline

        x, y = load_iris(return_X_y=True)
        print(NCA(random_state=42).fit(x, y).components_.shape)
    except (ImportError, TypeError):
        print("metric-learn is not installed, or does not run with this scikit-learn")
        return
    for name, model in {
        "NCA": make_pipeline(NCA(random_state=42), KNeighborsClassifier()),
        "Euclidean": KNeighborsClassifier(),
    }.items():
        print(f"{name:10s} 5 neighbours: {cross_val_score(model, x, y).mean():.3f}")
    few = make_pipeline(NCA(n_components=2, random_state=42), KNeighborsClassifier())
    print(f"NCA, 2 axes, 5 neighbours: {cross_val_score(few, x, y).mean():.3f}")
    rng = np.random.default_rng(0)
    places = rng.integers(0, 150, (2200, 2))
    pairs, signs = x[places], np.where(y[places[:, 0]] == y[places[:, 1]], 1, -1)
    for learner in (MMC, ITML):
        made: Any = learner(random_state=42).fit(pairs[:200], signs[:200])
        right = np.mean(made.predict(pairs[200:]) == signs[200:])
        print(
            f"{learner.__name__:10s} 200 pairs: AUC {made.score(pairs[200:], signs[200:]):.3f}, "
            f"accuracy {right:.3f}, threshold {made.threshold_:.3f}"
        )


if __name__ == "__main__":
    main()
