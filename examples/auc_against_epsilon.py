"""Draw docs/auc-against-epsilon.svg: AUC of private rankers on the breast-cancer data.

Run with ``python examples/auc_against_epsilon.py`` after ``pip install 'pairdp[plot]'``. The
data are public, so scores on held-out records may be shown.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np

from pairdp.demo import DELTA, HELD_OUT, load
from pairdp.estimators import PrivateRanker

mpl.use("svg")
from matplotlib import pyplot as plt

EPSILONS = np.geomspace(0.1, 10, 11)
SPLITS = 120
LINES = {
    "PrivateRanker, algorithm chosen by public facts": {},
    "DPGDSC (Xue 2021), certified noise": {"algorithm": "DPGDSC"},
    "DPGDSC, noise as the paper prints it": {"algorithm": "DPGDSC", "calibration": "printed"},
    "DPEGD (Xue 2021), certified noise": {"algorithm": "DPEGD"},
}


def areas(epsilon: float | None, **params: str) -> np.ndarray:
    """Return the AUC on held-out records for each of many random splits."""
    x, y = load()
    found = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[HELD_OUT:], order[:HELD_OUT]
        ranker = PrivateRanker(epsilon, DELTA, data_norm=1.0, random_state=seed, **params)
        found.append(ranker.fit(x[train], y[train]).score(x[test], y[test]))
    return np.array(found)


def main() -> None:
    """Draw the picture and print its numbers."""
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    for name, params in LINES.items():
        runs = np.array([areas(float(epsilon), **params) for epsilon in EPSILONS])
        mean, error = runs.mean(axis=1), 2 * runs.std(axis=1) / np.sqrt(SPLITS)
        (line,) = axes.plot(EPSILONS, mean, marker="o", markersize=4, label=name)
        axes.fill_between(EPSILONS, mean - error, mean + error, color=line.get_color(), alpha=0.15)
        print(f"{name:50s}", *(f"{value:.3f}" for value in mean))
    best = float(areas(None).mean())
    print(f"{'without noise':50s} {best:.3f}")
    axes.axhline(best, color="gray", linestyle="--", label="without noise")
    axes.set(xscale="log", xlabel="ε (smaller is more private)", ylabel="AUC on held-out records")
    axes.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", frameon=False, fontsize=9)
    axes.set_title(f"Breast cancer, n = {569 - HELD_OUT}, δ = {DELTA:g}", fontsize=11)
    figure.tight_layout()
    target = Path(__file__).parents[1] / "docs" / "auc-against-epsilon.svg"
    figure.savefig(target, metadata={"Date": None})
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
