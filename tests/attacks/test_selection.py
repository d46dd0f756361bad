"""What was tried: one record, to move the choice of a search by more than is paid for.

- A held-out record, in every class and at every place of the order, null ones included: each score
  that reaches the mechanism changes by at most 1, and some by 1.
- All of the records of a unit that has more than are used of it.
- A record of the training part: no record that is held out changes its place or its use.
- Splits that follow the contents of records.
- The whole of a search on two neighbours, end to end.
- A certificate that leaves out a candidate that was fitted, or the choice.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

from pairdp import Budget, CertificateError, NoiseSource, PrivateRanker, PrivateSearch, verify
from pairdp.audit import audit
from pairdp.evaluation.selection import ModelSelection
from pairdp.privacy import PermuteAndFlip
from pairdp.privacy.certificates.combined import certificates_in, combine, split_of
from pairdp.selection.run import SearchRecords, parts_of

Array = NDArray[np.float64]
N = 60
RNG = np.random.default_rng(1)
Y = np.where(np.arange(N) % 3 == 0, 1, 0)
X = np.clip(RNG.normal(size=(N, 2)) / 3 + Y[:, None] / 3, -0.7, 0.7)
RANKER = PrivateRanker(
    1.0, 1e-6, model="linear", algorithm="moments", data_norm=1.0, classes=[0, 1], invalid="null"
)
FEATURES = [{"features": [0]}, {"features": [1]}, {"features": [0, 1]}]


def scores_of(
    monkeypatch: pytest.MonkeyPatch, x: Array, y: Array, groups: Any = None, **unit: Any
) -> Array:
    """Return what reaches the mechanism that chooses, for fixed models."""
    seen: list[Array] = []

    def release(self: Any, value: Any, generator: np.random.Generator) -> Array:
        seen.append(np.array(value))
        return np.array([0.0])

    with monkeypatch.context() as patched:
        patched.setattr(PermuteAndFlip, "release", release)
        ranker = clone(RANKER).set_params(**unit)
        search = PrivateSearch(ranker, FEATURES, unpromising="ignore", random_state=0, held_out=0.5)
        search.fit(x, y, groups=groups)
    return seen[0]


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_no_held_out_record_moves_a_score_by_more_than_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = PrivateSearch(RANKER, FEATURES, held_out=0.5).plan(N, 2)
    held_out = np.flatnonzero(plan.held_out.places(N))
    found = []
    for row in held_out[:1]:
        states = []
        for label, value in itertools.product((0, 1, 7), (-0.7, 0.0, 0.7)):
            x, y = X.copy(), Y.copy()
            x[row], y[row] = value, label
            states.append(scores_of(monkeypatch, x, y))
        x = X.copy()
        x[row] = np.nan
        states.append(scores_of(monkeypatch, x, Y))
        found.append(np.array(states))
    changes = [np.abs(states[:, None] - states[None]).max() for states in found]
    assert max(changes) <= 1 + 1e-12


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_no_unit_moves_a_score_by_more_than_the_records_that_are_used_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held_out = np.flatnonzero(
        PrivateSearch(RANKER, FEATURES, held_out=0.5).plan(N, 2).held_out.places(N)
    )
    rows, groups = held_out[:12], np.arange(N)
    groups[rows] = rows[0]
    states = []
    for label, value in itertools.product((0, 1), (-0.7, 0.7)):
        x, y = X.copy(), Y.copy()
        x[rows], y[rows] = value, label
        states.append(scores_of(monkeypatch, x, y, groups, max_records=2))
    found = np.array(states)
    assert 1 < np.abs(found[:, None] - found[None]).max() <= 2 + 1e-12


def test_scores_reach_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A positive record among negatives that moves from the top to the bottom, for one model."""
    seen: list[Array] = []
    n = 40
    chosen = ModelSelection(2).plan(n, Budget(1.0))

    def release(self: Any, value: Any, generator: np.random.Generator) -> Array:
        seen.append(np.array(value))
        return np.array([0.0])

    monkeypatch.setattr(PermuteAndFlip, "release", release)
    signs = np.r_[1.0, -np.ones(n - 1)]
    for top in (1.0, -1.0):
        one = np.r_[top, np.zeros(n - 1)]
        chosen.run([one, -one], [signs, signs], NoiseSource(0))
    moved = seen[1] - seen[0]
    np.testing.assert_allclose(moved, [-1.0, 1.0])  # both by Δ, in opposite directions


@pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")
def test_records_of_training_leave_held_out_records_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the noise and the model fixed, only the model depends on the training part."""
    search = PrivateSearch(RANKER, FEATURES, unpromising="ignore", random_state=0, held_out=0.5)
    places = search.plan(N, 2).held_out.places(N)
    for row in np.flatnonzero(~places)[:1]:
        x, y = X.copy(), Y.copy()
        x[row], y[row] = np.nan, 9
        np.testing.assert_array_equal(
            search.fit(x, y).plan_.held_out.places(N), search.fit(X, Y).plan_.held_out.places(N)
        )


def test_no_record_and_no_unit_is_both_fitted_and_scored() -> None:
    plan = PrivateSearch(RANKER, FEATURES, held_out=0.5).plan(N, 2)
    held_out, numbered = plan.held_out.places(N), np.arange(N)[:, None]
    training, tested = parts_of(plan, SearchRecords(numbered, Y))
    np.testing.assert_array_equal(training.rows, numbered[~held_out])
    np.testing.assert_array_equal(tested.rows, numbered[held_out])
    np.testing.assert_array_equal(tested.labels, Y[held_out])
    training, tested = parts_of(plan, SearchRecords(numbered, Y, numbered[:, 0] // 3))
    assert len(training.rows) == len(tested.rows) == N // 2
    assert not {*training.groups} & {*tested.groups} - {None}


@pytest.mark.parametrize("share", [Y == 1, "stratified", np.arange(10), None, True])
def test_splits_by_content_are_refused(share: Any) -> None:
    with pytest.raises(ValueError, match="by the contents of records"):
        PrivateSearch(RANKER, FEATURES, held_out=share).fit(X, Y)


PLAN = ModelSelection(2).plan(40, Budget(1.0))


def choose(scores: Array, seed: int) -> Array:
    """Return the choice among two models on 40 records, as indicators."""
    signs = np.r_[1.0, -np.ones(39)]
    place = PLAN.run([scores, -scores], [signs, signs], NoiseSource(seed))
    return np.array([float(place)])


def broken(scores: Array, seed: int) -> Array:
    """Return the same with a quarter of the noise."""
    mechanism = PermuteAndFlip(1.0, 0.25, 2)
    place = mechanism.release([scores[0] / 2, -scores[0] / 2], NoiseSource(seed).stream("choice"))
    return np.asarray(place)


@pytest.mark.slow
def test_an_audit_finds_no_violation_and_finds_too_little_noise() -> None:
    up, down = (np.r_[top, np.zeros(39)] for top in (1.0, -1.0))
    report = audit(choose, up, down, Budget(1.0), runs=3000, name="choice")
    assert report.verdict != "violated"
    assert report.lower_bound > 0.5
    assert audit(broken, up, down, Budget(1.0), runs=3000, name="broken").verdict == "violated"


def test_a_certificate_without_a_candidate_or_the_choice_is_refused() -> None:
    algorithms = [{"algorithm": "moments"}, {"algorithm": "DPGDC2"}]
    certificate = PrivateSearch(RANKER, algorithms).plan(4000, 2).certificate
    assert verify(certificate).holds
    with pytest.raises(CertificateError):
        verify(replace(certificate, releases=certificate.releases[:-1]))
    with pytest.raises(CertificateError):
        verify(replace(certificate, budget=Budget(0.9, 1e-6)))
    parts = certificates_in(certificate)
    fewer = combine(4000, parts[1:], split_of(certificate), budget=certificate.budget)
    assert fewer.epsilon() < certificate.epsilon()  # what is left out is not paid for
    more = [parts[0], parts[0], *parts]
    with pytest.raises(ValueError, match="which is more than"):
        combine(4000, more, split_of(certificate), budget=certificate.budget)
