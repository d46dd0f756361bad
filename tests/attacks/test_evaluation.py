"""What was tried: one record of a test set, to move more of an evaluation than is paid for.

- A record that cannot be read, so that others are scored in another place of a matrix product, or
  beside fewer rows: their scores then round differently, ties break, and many pairs change at once.
- Records with huge numbers, whose products overflow and are computed again together.
- A label, a cell or a score that shows in a warning, in an error or in the number of digits.
- Every kind of replacement, through the whole of `evaluate`, in units of one and of several
  records.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, NoiseSource, evaluate, plan_evaluation
from pairdp.audit import audit
from pairdp.evaluation.measures import evaluated_model
from pairdp.evaluation.planning import ScoreEvaluation, ScorePlan
from pairdp.privacy import GaussianMechanism, L1LaplaceMechanism
from tests.evaluation.test_evaluate import SCHEMA, TABLE, X, Y, fitted, model

Array = NDArray[np.float64]
STRANGE: list[Any] = [None, "old", float("nan"), float("inf"), 1e300, -1e308, 10**400, [1], b"\0"]


def tapped(monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    """Return the list of values that reach a mechanism from now on."""
    values: list[Array] = []

    def release(mechanism: Any, value: Array, generator: np.random.Generator) -> Array:
        values.append(np.array(value))
        return np.asarray(mechanism.add_to(value, mechanism.noise_integers(value.size, generator)))

    for kind in (GaussianMechanism, L1LaplaceMechanism):
        monkeypatch.setattr(kind, "release", release)
    return values


@pytest.mark.parametrize("kind", ["ranker", "classifier", "scaled", "of scikit-learn"])
def test_no_unreadable_row_changes_the_score_of_another(kind: str) -> None:
    scored = evaluated_model(model(kind))
    rows = X[:101].astype(object)
    scores = scored.outputs(rows.astype(float), "null")
    for place, cell in itertools.product((0, 50, 100), STRANGE):
        changed = rows.copy()
        changed[place, 1] = cell
        found = scored.outputs(changed, "null")
        others = np.arange(101) != place
        np.testing.assert_array_equal(found[others], scores[others])


def test_no_null_record_of_a_schema_changes_the_score_of_another() -> None:
    from pairdp import PrivateScorecard

    null = {**SCHEMA, "a": {"range": [-1, 1], "missing": "null"}}
    card = fitted(PrivateScorecard(20.0, schema=null, interactions=True, random_state=0), TABLE)
    scored = evaluated_model(card)
    table = {name: np.array(column[:99], dtype=object) for name, column in TABLE.items()}
    scores = scored.outputs(table, "null")
    for place, cell in itertools.product((0, 40, 98), (None, "", float("nan"), "old")):
        changed = {**table, "a": table["a"].copy()}
        changed["a"][place] = cell
        found = scored.outputs(changed, "null")
        assert np.isnan(found[place])
        others = np.arange(99) != place
        np.testing.assert_array_equal(found[others], scores[others])


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_no_replacement_moves_what_is_released_by_more_than_stated(
    noise: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and labels of every kind, in the place of one record of small test sets."""
    values, n = tapped(monkeypatch), 24
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"invalid": "null", "noise": noise, "hopeless": "warn"}
    rows: list[Any] = [[0.0] * 3, [0.5] * 3, [-0.5] * 3, *([0.1, x, 0.1] for x in STRANGE[::4])]
    labels: list[Any] = [0, 1, None, 7]
    worst = 0.0
    for share, trial in ((0.05, 0), (0.05, 1), (0.5, 1)):
        others = rng.integers(-1, 2, (n, 3)) / 4
        classes = (rng.random(n) < share).astype(int) if trial else (np.arange(n) < 24 * share)
        values.clear()
        for row, label in itertools.product(rows, labels):
            x, y = others.tolist(), np.asarray(classes).astype(int).tolist()
            x[3], y[3] = row, label
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluate(model("ranker"), x, y, 1.0, 1e-3, random_state=0, **options)
        found = np.array(values)
        order = 1 if noise == "laplace" else 2
        changes = np.linalg.norm(found[:, None] - found[None], ord=order, axis=2)
        worst = max(worst, float(changes.max()))
    assert 0.95 < worst < 1 + 1e-9


def test_a_unit_of_several_records_moves_it_by_no_more_than_stated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values, n = tapped(monkeypatch), 48
    groups = np.r_[np.zeros(5), np.arange(1, n - 4)]
    others = np.zeros((n, 3))
    y = np.r_[np.ones(5, int), np.zeros(n - 5, int)]
    for row in (0.5, -0.5):
        x = others.copy()
        x[:5] = row
        evaluate(model("ranker"), x, y, 5.0, groups=groups, max_records=4, random_state=0)
    bound = plan_evaluation(n, 5.0, max_records=4).certificate.releases[0].sensitivity
    assert bound is not None
    change = np.abs(values[1] - values[0]).sum()
    assert 0.95 * bound.value < change <= bound.value


@pytest.mark.parametrize("kind", ["ranker", "of scikit-learn"])
def test_no_error_quotes_a_cell(kind: str) -> None:
    x = X[:60].tolist()
    x[7][0] = "HIV positive"
    with pytest.raises(ValueError, match="cannot be read") as raised:
        evaluate(model(kind), x, Y[:60], 2.0)
    assert "HIV" not in str(raised.value)


def test_nothing_warns_of_what_a_record_is() -> None:
    for cell in STRANGE:
        x = X[:60].astype(object)
        x[7, 0] = cell
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluate(model("ranker"), x, Y[:60], 2.0, invalid="null", random_state=0)


def test_what_is_returned_is_a_function_of_what_was_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two data sets with the same noisy numbers have the same result, whatever they are."""
    released = np.array([3.0, 20.0, 1.0])
    for kind in (GaussianMechanism, L1LaplaceMechanism):
        monkeypatch.setattr(kind, "release", lambda *_: released)
    one, other = (
        evaluate(model("ranker"), x, y, 2.0, invalid="null", random_state=0)
        for x, y in ((X[:99], Y[:99]), (np.full((99, 3), np.nan), np.zeros(99)))
    )
    assert one == other
    assert one.to_dict() == other.to_dict()


BUDGET = Budget(1.0)
SIZE = 30
SIGNS = np.r_[1.0, -np.ones(SIZE - 1)]
PLAN, WEAKER = (ScoreEvaluation(("no", "yes")).plan(SIZE, Budget(e)) for e in (1.0, 10.0))


def run(scores: Array, seed: int, plan: ScorePlan = PLAN) -> Array:
    """Return the noisy numbers."""
    found = plan.run(NoiseSource(seed), scores, SIGNS).auc
    return np.array([found.t, found.height])


def with_little_noise(scores: Array, seed: int) -> Array:
    return run(scores, seed, WEAKER)


def test_an_audit_finds_no_violation_and_finds_too_little_noise() -> None:
    """The only positive record moves from the top to the bottom; confidence 1 - 1e-7 each."""
    neighbours = (np.r_[1.0, np.zeros(SIZE - 1)], np.r_[-1.0, np.zeros(SIZE - 1)])
    for mechanism, verdict in ((run, "consistent"), (with_little_noise, "violated")):
        report = audit(
            mechanism,
            *neighbours,
            BUDGET,
            runs=300,
            confidence=1 - 1e-7,
            attack=lambda outputs: outputs[:, 0],
        )
        assert report.verdict == verdict
