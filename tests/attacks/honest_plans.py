"""Honest plans of every algorithm, and edits of their certificates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from pairdp import (
    Budget,
    Certificate,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
)
from pairdp._sealed import seal, unseal
from pairdp.algorithms import MinimizerRelease, NoisyGradientDescent, Plan, find_algorithm
from pairdp.algorithms.conditioned import ConditionedDescent
from pairdp.algorithms.neural import EmbeddingDescent
from pairdp.algorithms.scorecard import CategoryCells, NumberCells, Scorecard
from tests.audit.cases import ALL, METRIC, PLAIN, PLAIN_POINTS, POINTS, RANKING, plan, pure_ones

N, D = 40, 3
BUDGET, PURE = Budget(1.0, 1e-5), Budget(1.0)
CONDITIONED: dict[str, Callable[[], Plan]] = {
    "conditioned, pairs": lambda: ConditionedDescent(gradient="pairwise", steps=2).plan(
        PLAIN, N, D, BUDGET
    ),
    "expanded": lambda: ConditionedDescent("quadratic", scaling="features", steps=2).plan(
        PLAIN, N, D, BUDGET
    ),
    "conditioned records": lambda: ConditionedDescent(constant=0.5, steps=2).plan(
        PLAIN_POINTS, N, D, BUDGET
    ),
    "expanded, pure": lambda: ConditionedDescent("additive", steps=2).plan(PLAIN, N, D, PURE),
}


def made(estimator: Any) -> Plan:
    found: Plan = estimator.plan(N, D)
    return found


PLANS: dict[str, Callable[[], Plan]] = {
    **{name: lambda name=name: plan(name) for name in ALL},  # type: ignore[misc]
    **{f"{name}, pure": lambda name=name: plan(name, Budget(0.5)) for name in pure_ones()},  # type: ignore[misc]
    "printed": lambda: made(
        PrivateRanker(
            0.1, 1e-6, algorithm="DPGDSC", calibration="printed", threshold=0.0, data_norm=1.0
        )
    ),
    "printed, pure": lambda: made(
        PrivateRanker(
            1.0, 0.0, algorithm="DPGDSC", calibration="printed", threshold=0.0, data_norm=1.0
        )
    ),
    "ranker": lambda: made(PrivateRanker(1.0, 1e-5, data_norm=1.0)),
    "additive ranker": lambda: made(PrivateRanker(1.0, 1e-5, model="additive", data_norm=1.0)),
    "ranker, labels given": lambda: made(PrivateRanker(1.0, 1e-5, classes=[0, 1], data_norm=1.0)),
    "metric estimator": lambda: made(PrivateMetric(1.0, 1e-5, data_norm=1.0)),
    "classifier": lambda: made(PrivateLinearClassifier(1.0, 1e-5, data_norm=1.0)),
    "classifier, pure": lambda: made(PrivateLinearClassifier(1.0, 0.0, data_norm=1.0)),
    "regressor": lambda: made(PrivateLinearRegressor(1.0, 1e-5, target_bound=2.0, data_norm=1.0)),
    "stream ranker": lambda: made(OnlinePrivateRanker(1.0, 1e-5, data_norm=1.0)),
    "baseline": lambda: MinimizerRelease().plan(RANKING, N, D),
    "centre": lambda: MinimizerRelease().plan(
        dataclasses.replace(RANKING, center=np.array([1.0, 0.0, 2.0])), N, D, BUDGET
    ),
    **CONDITIONED,
    "embedding": lambda: EmbeddingDescent((3,), 2, steps=2).plan(METRIC, 20, D, BUDGET),
    "scorecard with weights": lambda: Scorecard(
        (NumberCells(0, -1.0, 1.0), CategoryCells((1,))), interactions=True
    ).plan(POINTS, 300, 2, BUDGET),
    "scorecard with weights, pure": lambda: Scorecard(
        (NumberCells(0, -1.0, 1.0), CategoryCells((1,)))
    ).plan(POINTS, 2000, 2, PURE),
    "scorecard with chosen pairs": lambda: Scorecard(
        (NumberCells(0, -1.0, 1.0), CategoryCells((1,)), NumberCells(1, -1.0, 1.0)), chosen=2
    ).plan(POINTS, 500, 2, BUDGET),
    "theorem": lambda: find_algorithm("DPEGD").plan(RANKING, 6, D, BUDGET, schedule="theorem"),
    "without projection": lambda: NoisyGradientDescent(
        steps=3, step_size=0.1, projected=False
    ).plan(RANKING, N, D, BUDGET),
}
Path_ = tuple[str | int, ...]
Document = dict[str, Any]


def leaf_of(document: Document, path: Path_) -> Any:
    inner: Any = document
    for key in path:
        inner = inner[key]
    return inner


def forged(certificate: Certificate, change: Callable[[Document], None]) -> str:
    document = unseal(certificate.to_json())
    change(document)
    return seal(document)


def divided(document: Document) -> None:
    """Divide the sensitivity, with what it is made of, and the noise by a thousand."""
    for release in document["releases"]:
        release["scale"] /= 1000
        release["sensitivity"]["value"] /= 1000
        for name in ("record_diameter", "diameter"):
            if name in release["sensitivity"]["inputs"]:
                release["sensitivity"]["inputs"][name] /= 1000
