"""Draw docs/auc-against-epsilon.svg: AUC of private rankers on the breast-cancer data.

Run with ``python examples/auc_against_epsilon.py``, which also prints the numbers. The data are
public, so scores on held-out records may be shown.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from pairdp import BoundsScaler, NoSignalWarning, PrivateRanker
from pairdp.demo import UPPER
from pairdp.drawing import Axis, Figure, Point, Series, Style, write_svg

DELTA = 1e-6
HELD_OUT = 169
EPSILONS = np.geomspace(0.1, 10, 11).tolist()
SPLITS = 120
RANKERS: dict[str, dict[str, str]] = {
    "PrivateRanker, algorithm chosen from public facts": {},
    "DPGDSC (Xue 2021), certified noise": {"algorithm": "DPGDSC"},
    "DPGDSC, noise as the paper prints it": {"algorithm": "DPGDSC", "calibration": "printed"},
    "DPEGD (Xue 2021), certified noise": {"algorithm": "DPEGD"},
}


def scores(epsilon: float | None, **params: Any) -> NDArray[np.float64]:
    """Return the AUC on held-out records over random splits."""
    x, y = load_breast_cancer(return_X_y=True)
    x, found = BoundsScaler(0.0, UPPER).fit_transform(x), []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[HELD_OUT:], order[:HELD_OUT]
        model = PrivateRanker(epsilon, DELTA, data_norm=1.0, random_state=seed, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoSignalWarning)  # the figure shows what noise does
            found.append(model.fit(x[train], y[train]).score(x[test], y[test]))
    return np.array(found)


def mean(epsilon: float | None, x: float, **params: str) -> Point:
    """Return the mean AUC over random splits, with an interval of two standard errors."""
    runs = scores(epsilon, **params)
    middle, error = float(runs.mean()), float(2 * runs.std() / np.sqrt(SPLITS))
    return Point(x, middle, (middle - error, middle + error))


def main() -> None:
    """Draw the figure and print its numbers."""
    series = [
        Series(
            name,
            tuple(mean(epsilon, epsilon, **params) for epsilon in EPSILONS),
            Style(color, color, bold=not params, band=True),
        )
        for color, (name, params) in enumerate(RANKERS.items())
    ]
    grey = Style(7, None, "thin")
    series.append(Series("without noise", (mean(None, EPSILONS[0]),), grey, across=True))
    for each in series:
        print(f"{each.name:52s}", *(f"{point.y:.3f}" for point in each.points))
    figure = Figure(
        f"Breast cancer, n = {569 - HELD_OUT}, δ = {DELTA:g}",
        Axis("ε (smaller is more private)", "ε", scale="log"),
        Axis("AUC on held-out records", scale="linear"),
        tuple(series),
        intervals="two standard errors of the mean",
    )
    target = Path(__file__).parents[1] / "docs" / "auc-against-epsilon.svg"
    target.write_text(write_svg(figure), "utf-8")
    print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
