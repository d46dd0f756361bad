"""Nothing but released values on the grid decides what a run returns.

Every mechanism of a run is recorded. What it releases must lie on its grid, and a run on entirely
other records in which the mechanisms release the same values must return the same parameters and
statistics, to the last bit. So low bits of records or of hidden iterates have no way around the
mechanisms. Draws of records and random starts have the same seed: they depend on no record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import PrivateLinearClassifier, PrivateLinearRegressor, PrivateMetric, PrivateRanker
from pairdp.algorithms import (
    Fit,
    GradientDescent,
    NoisyGradientDescent,
    Plan,
    WithPairDesign,
    find_algorithm,
)
from pairdp.algorithms.neural import EmbeddingDescent
from pairdp.audit.transcripts import Run, record_run
from pairdp.online import CenteredMoments, OnlineDescent, OnlineMoments
from pairdp.privacy.mechanisms.additive_noise import _Scaled
from tests.attacks.honest_plans import CONDITIONED
from tests.audit.cases import ALL, BUDGET, METRIC, PURE, RANKING, SQUARES, plan, pure_ones

MORE: dict[str, Callable[[], Plan]] = {
    **CONDITIONED,
    # Over two pairs of each of four records, the gradient of the audits' loss is often zero.
    "pair design": lambda: WithPairDesign(NoisyGradientDescent(steps=2, step_size=0.2), 2).plan(
        RANKING, 20, 3, BUDGET
    ),
    "embedding": lambda: EmbeddingDescent((3,), 2, steps=2).plan(METRIC, 20, 3, BUDGET),
    "hidden iterates": lambda: NoisyGradientDescent("last", steps=20).plan(RANKING, 40, 3, BUDGET),
    "hidden matrices": lambda: NoisyGradientDescent("last", steps=20).plan(
        replace(METRIC, regularization=0.5), 40, 3, BUDGET
    ),
    "matrices": lambda: NoisyGradientDescent(steps=3, step_size=0.1).plan(METRIC, 20, 3, BUDGET),
    "batches of matrices": lambda: NoisyGradientDescent(
        steps=3, step_size=0.1, batch_size=4, pairing="disjoint"
    ).plan(METRIC, 20, 3, BUDGET),
    "reservoir": lambda: OnlineDescent(buffer=4, replacement="reservoir", batch_size=2).plan(
        RANKING, 20, 3, BUDGET
    ),
    "stream of matrices": lambda: OnlineDescent(noise="models", buffer=4).plan(
        METRIC, 20, 3, BUDGET
    ),
    "batches of moments": lambda: OnlineMoments(batch_size=3).plan(SQUARES, 20, 3, BUDGET),
    "batches of centred moments": lambda: CenteredMoments(
        batch_size=3, center_records=6, radius_records=3
    ).plan(SQUARES, 20, 3, BUDGET),
    "epochs, as in the theorem": lambda: find_algorithm("DPEGD").plan(
        RANKING, 8, 3, BUDGET, schedule="theorem"
    ),
    "printed stream": lambda: find_algorithm("OnPairStrC").plan(
        RANKING, 20, 3, BUDGET, calibration="printed", schedule="tuned"
    ),
}
PLANS: dict[str, Callable[[], Plan]] = {
    **{name: lambda name=name: plan(name) for name in ALL},  # type: ignore[misc]
    **{f"{name}, pure": lambda name=name: plan(name, PURE) for name in pure_ones()},  # type: ignore[misc]
    **MORE,
}


def run(planned: Plan, seed: int, outputs: Sequence[np.ndarray] | None = None) -> Run:
    """Run a plan on records that have nothing in common with those of another seed."""
    n, d = planned.task.n, planned.task.features
    x = np.random.default_rng(seed).normal(size=(n, d))
    return record_run(planned, (x, np.resize([1.0, *[-1.0] * (2 * seed - 1)], n)), 7, outputs)


def is_same(one: Fit, other: Fit) -> bool:
    """Return whether two runs returned the same."""
    first, second = ({"": fit.parameters, **fit.statistics} for fit in (one, other))
    return first.keys() == second.keys() and all(
        np.array_equal(first[key], second[key]) for key in first
    )


@pytest.mark.parametrize("name", PLANS)
def test_the_rest_of_a_run_is_a_function_of_values_on_the_grid(name: str) -> None:
    planned = PLANS[name]()
    first = run(planned, 1)
    assert first.calls
    for call in first.calls:
        steps = call.noisy / call.mechanism.grid
        assert np.array_equal(steps, np.rint(steps))
    again = run(planned, 2, [call.noisy for call in first.calls])
    assert len(again.calls) == len(first.calls)
    pairs = list(zip(first.calls, again.calls, strict=True))
    assert not all(np.array_equal(one.value, other.value) for one, other in pairs)
    assert is_same(first.fit, again.fit)


@dataclass(frozen=True)
class Leaking(GradientDescent):
    """Adds a hair of a record to what was released."""

    def execute(self, plan: Any, records: Any, noise: Any, progress: Any) -> np.ndarray:
        released = super().execute(plan, records, noise, progress)
        return np.asarray(released + 2.0**-40 * records.x[0])


def test_records_that_pass_by_the_mechanisms_are_noticed() -> None:
    planned = Leaking(steps=2).plan(RANKING, 8, 2, BUDGET)
    first = run(planned, 1)
    assert not is_same(first.fit, run(planned, 2, [call.noisy for call in first.calls]).fit)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "ranker": lambda: PrivateRanker(1.0, 1e-5, data_norm=1.0, random_state=0),
    "additive ranker": lambda: PrivateRanker(
        1.0, 1e-5, model="additive", data_norm=1.0, random_state=0
    ),
    "ranker, pure": lambda: PrivateRanker(1.0, 0.0, data_norm=1.0, random_state=0),
    "ranker with a threshold": lambda: PrivateRanker(
        1.0, 1e-5, algorithm="DPGDSC", regularization=0.1, data_norm=1.0, random_state=0
    ),
    "metric": lambda: PrivateMetric(20.0, 1e-5, data_norm=1.0, random_state=0),
    "classifier": lambda: PrivateLinearClassifier(1.0, 1e-5, data_norm=1.0, random_state=0),
    "regressor": lambda: PrivateLinearRegressor(
        1.0, 1e-5, target_bound=2.0, data_norm=1.0, random_state=0
    ),
}


@pytest.mark.filterwarnings("ignore:the released metric is a multiple of the Euclidean one")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_model_files_are_functions_of_released_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[np.ndarray] = []
    original = _Scaled.add_to

    def record(mechanism: _Scaled, vector: np.ndarray, noise: np.ndarray) -> np.ndarray:
        released.append(original(mechanism, vector, noise))
        return released[-1].copy()

    def saved(seed: int) -> bytes:
        x = np.random.default_rng(seed).normal(size=(60, 3)) / 3
        y = np.resize([1, *[0] * (2 * seed - 1)], 60)
        path = tmp_path / f"{seed}.pairdp"
        ESTIMATORS[name]().fit(x, y).save(path)
        return path.read_bytes()

    monkeypatch.setattr(_Scaled, "add_to", record)
    first = saved(1)
    replayed = iter(list(released))
    monkeypatch.setattr(_Scaled, "add_to", lambda *_: next(replayed))
    assert saved(2) == first
    assert next(replayed, None) is None
