"""Whole searches are audited end to end: certified noise passes, and missing noise is found.

The data sets differ in one record, of the training part or of the part for the choice. All other
rows of its part are zero, so that the record alone decides the models, or the order of their AUCs.
A claim that is true is refuted with probability 1e-7 at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairdp import Budget, PrivateRanker, PrivateScorecard, PrivateSearch
from pairdp.algorithms import MomentRelease
from pairdp.audit import AuditReport
from pairdp.privacy import GaussianMechanism, PermuteAndFlip, RepeatAndSelect
from pairdp.selection import audit_search

N = 2000
CONFIDENCE = 1 - 1e-7
RIDGES = [{"algorithm": MomentRelease(ridge=ridge)} for ridge in (1.0, 10.0)]
DIRECTIONS = {"monotone": [{"x0": 1, "x1": -1}, {"x0": -1, "x1": 1}]}
SETS = [{"features": [place], "algorithm": MomentRelease(ridge=1.0)} for place in (0, 1)]
Data = tuple[np.ndarray, np.ndarray]


def search(way: str, part: str, epsilon: float) -> PrivateSearch:
    """Return a search whose candidates, if they share a release, rank records in opposite orders.

    Those that do not are models of different features.
    """
    common: dict[str, Any] = {"delta": 1e-5, "data_norm": 1.0, "classes": [0, 1]}
    estimator: Any = PrivateRanker(
        epsilon, model="linear", algorithm="moments", threshold=0.0, **common
    )
    candidates: Any = SETS
    if way == "free":
        candidates = RIDGES
    if way == "free" and part == "selection":
        estimator, candidates = PrivateScorecard(epsilon, **common), DIRECTIONS
    made = PrivateSearch(
        estimator,
        candidates,
        held_out=0.5,
        method="auto" if way == "free" else way,  # type: ignore[arg-type]
        unpromising="ignore",
    )
    assert made.plan(N, 2).method == way
    return made


def of_training(held_out: np.ndarray) -> tuple[Data, Data]:
    """Return data sets in which one training record has opposite rows, and all others are zero."""
    place = int(np.flatnonzero(~held_out)[0])
    y = np.arange(N) % 2
    one, other = np.zeros((N, 2)), np.zeros((N, 2))
    one[place], other[place] = [0.7, 0.7], [-0.7, -0.7]
    return (one, y), (other, y)


def of_selection(held_out: np.ndarray) -> tuple[Data, Data]:
    """Return data sets in which one held-out record is ranked first by one of two candidates.

    It is the only positive one of its part, and its features have opposite signs.
    """
    place = int(np.flatnonzero(held_out)[0])
    y = np.arange(N) % 2
    y[held_out] = 0
    y[place] = 1
    rows = np.where(held_out, 0.0, 2 * y - 1)[:, None] * [0.7, 0.7]
    one, other = rows.copy(), rows.copy()
    one[place], other[place] = [0.7, -0.7], [-0.7, 0.7]
    return (one, y), (other, y)


PARTS = {"training": of_training, "selection": of_selection}


def report(way: str, part: str, epsilon: float, runs: int) -> AuditReport:
    made = search(way, part, epsilon)
    data = PARTS[part](made.plan(N, 2).held_out.places(N))
    return audit_search(made, *data, runs=runs, confidence=CONFIDENCE)


def without_noise(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Remove nearly all noise of fits, or all of that of choices."""

    def exact(_: object, vector: np.ndarray, __: object) -> np.ndarray:
        return vector

    if part == "training":
        noisy = GaussianMechanism._release

        def less(self: GaussianMechanism, vector: np.ndarray, draws: Any) -> np.ndarray:
            return vector + 0.01 * (noisy(self, vector, draws) - vector)

        monkeypatch.setattr(GaussianMechanism, "_release", less)
        return
    monkeypatch.setattr(RepeatAndSelect, "_release", exact)
    monkeypatch.setattr(
        PermuteAndFlip, "_release", lambda _, v, __: np.array([float(np.argmax(v))])
    )


@pytest.mark.parametrize("part", ["training", pytest.param("selection", marks=pytest.mark.slow)])
def test_removed_noise_is_found(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    without_noise(monkeypatch, part)
    found = report("free", part, 0.5, 140)
    assert found.is_violated
    assert found.lower_bound > 0.6


@pytest.mark.slow
def test_a_search_with_its_noise_is_consistent() -> None:
    found = report("split", "selection", 0.5, 60)
    assert not found.is_violated
    assert found.certificate_epsilon is not None
    assert found.certificate_epsilon <= 0.5
    assert "(split)" in found.name


@pytest.mark.slow
@pytest.mark.parametrize(("way", "part"), [("split", "training"), ("repeat", "selection")])
def test_removed_noise_is_found_in_paid_searches(
    monkeypatch: pytest.MonkeyPatch, way: str, part: str
) -> None:
    without_noise(monkeypatch, part)
    runs = 320 if way == "repeat" else 160  # one may never be drawn
    assert report(way, part, 0.5, runs).lower_bound > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "part", "epsilon", "runs", "least"),
    [
        ("free", "training", 16.0, 400, 0.5),
        ("free", "selection", 4.0, 300, 0.5),
        ("split", "training", 16.0, 400, 0.1),
        ("split", "selection", 4.0, 300, 0.5),
        ("repeat", "training", 4.0, 100, 0.0),
        ("repeat", "selection", 4.0, 100, 0.0),
    ],
)
def test_no_audit_exceeds_the_certificate(
    way: str, part: str, epsilon: float, runs: int, least: float
) -> None:
    """The lower bound is below the certified ε and, where the cost is tight, above zero."""
    found = report(way, part, epsilon, runs)
    assert not found.is_violated
    assert least <= found.lower_bound <= epsilon


def test_data_sets_must_differ_in_one_record() -> None:
    made = search("free", "training", 1.0)
    (rows, y), (other, _) = of_training(made.plan(N, 2).held_out.places(N))
    with pytest.raises(ValueError, match="differ in one record, and not in 0"):
        audit_search(made, (rows, y), (rows, y))
    with pytest.raises(ValueError, match="differ in one record, and not in"):
        audit_search(made, (rows, y), (other, 1 - y))
    with pytest.raises(ValueError, match="same number of records"):
        audit_search(made, (rows, y), (other[:-1], y[:-1]))
    with pytest.raises(ValueError, match="runs must be at least"):
        audit_search(made, (rows, y), (other, y), runs=3)
    with pytest.raises(TypeError):
        audit_search(made, (rows, y), (other, y), claimed=1.0)  # type: ignore[arg-type]
    assert (
        audit_search(made, (rows, y), (other, y), claimed=Budget(9.0), runs=40).claimed.epsilon == 9
    )
