"""One record that changes both what a model learns from and what it is evaluated on.

Training and evaluation cost the larger of the two if each record reaches one of them alone. Other
splits than the one of this library are searched for what they really cost, over all neighbours of
small data sets. Then fits are replayed on neighbours, and what each part reads is compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import PrivateLinearClassifier, PrivateMetric, PrivateRanker
from pairdp.estimators.held_out_records import HeldOutRecords
from pairdp.privacy.certificates.held_out import HeldOut

Record = tuple[int, int]  # a label and a bit
Rule = Callable[[Sequence[Record]], NDArray[np.bool_]]
EPSILONS = (0.7, 0.4)


def stratified(records: Sequence[Record]) -> NDArray[np.bool_]:
    """Hold out the last half of each class, and half of all records."""
    held_out = np.zeros(len(records), dtype=bool)
    classes = [[row for row, record in enumerate(records) if record[0] == c] for c in (0, 1)]
    kept = (len(classes[0]) + 1) // 2
    for rows, first in zip(classes, (kept, len(records) // 2 - kept), strict=True):
        held_out[rows[first:]] = True
    return held_out


def alternating(records: Sequence[Record]) -> NDArray[np.bool_]:
    """Hold out every second record of each class."""
    held_out = np.zeros(len(records), dtype=bool)
    for label in (0, 1):
        held_out[[row for row, record in enumerate(records) if record[0] == label][1::2]] = True
    return held_out


def sorted_by_contents(records: Sequence[Record]) -> NDArray[np.bool_]:
    """Hold out the last half of a sorted table."""
    held_out = np.zeros(len(records), dtype=bool)
    order = sorted(range(len(records)), key=lambda row: records[row])
    held_out[order[len(records) // 2 :]] = True
    return held_out


def hashed(records: Sequence[Record]) -> NDArray[np.bool_]:
    """Hold out records by a function of their contents."""
    return np.array([(3 * label + bit) % 2 == 1 for label, bit in records])


def by_number(records: Sequence[Record]) -> NDArray[np.bool_]:
    """Hold out what this library holds out."""
    return HeldOut(0.5).places(len(records))


def true_epsilon(rule: Rule, n: int) -> float:
    """Return the exact ε of two counts, of the worst sets they may count, over all neighbours.

    Each counts the records of a part that are in a set of kinds, with discrete Laplace noise for a
    change by one, which is ε₁ for training and ε₂ for evaluation: the largest loss is the sum of
    |change|·ε over both, and the set of those kinds that become more (or less) changes most.
    """
    kinds = list(itertools.product((0, 1), repeat=2))
    found = []
    for records in itertools.product(kinds, repeat=n):
        held_out = rule(records)
        places = np.array([2 * label + bit for label, bit in records])
        found.append([np.bincount(places[held_out == side], minlength=4) for side in (False, True)])
    counts = np.array(found).reshape((4,) * n + (2, 4))
    worst = 0.0
    for axis in range(n):
        for kind in range(1, 4):  # of all kinds, each is compared with each
            change = counts - np.roll(counts, kind, axis=axis)
            more, less = change.clip(min=0).sum(axis=-1), (-change).clip(min=0).sum(axis=-1)
            worst = max(worst, float((np.maximum(more, less) * EPSILONS).sum(axis=-1).max()))
    return worst


def test_a_split_by_numbers_costs_the_larger_part() -> None:
    assert true_epsilon(by_number, 6) == pytest.approx(max(EPSILONS))


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        (stratified, 2 * max(EPSILONS) + min(EPSILONS)),  # another record of each class moves
        (sorted_by_contents, sum(EPSILONS)),
        (hashed, sum(EPSILONS)),
    ],
)
def test_splits_by_contents_cost_at_least_the_sum(rule: Rule, cost: float) -> None:
    assert true_epsilon(rule, 6) == pytest.approx(cost)


def test_the_cost_of_a_stratified_split_may_grow_with_n() -> None:
    """Flipping one label moves all later records of both classes to the other part."""
    costs = [true_epsilon(alternating, n) for n in (4, 6)]
    assert costs[0] > 2.6 * sum(EPSILONS)
    assert costs[1] == pytest.approx(costs[0] + sum(EPSILONS))


N, D, SHARE = 200, 3, 0.25
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, D)) + Y[:, None]) / 5
GROUPS = [None if unit == 0 else int(unit) for unit in RNG.integers(0, 90, N)]


class Seen:
    """What the two parts of a fit read: before noise, and whatever the other part released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.training: list[Any] = []
        self.evaluation: list[Any] = []
        monkeypatch.setattr(HeldOutRecords, "without", self._without(HeldOutRecords.without))
        monkeypatch.setattr(HeldOutRecords, "evaluate", self._evaluate(HeldOutRecords.evaluate))

    def _without(self, original: Any) -> Any:
        def without(held_out: Any, batches: Any, n_features: int) -> Iterator[Any]:
            for batch in original(held_out, batches, n_features):
                self.training.append(batch)
                yield batch

        return without

    def _evaluate(self, original: Any) -> Any:
        def evaluate(held_out: Any, model: Any) -> Any:
            self.evaluation.append((held_out._rows, held_out._labels, held_out._groups))
            return original(held_out, model)

        return evaluate

    def read(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the records of both parts, as text by row, and forget them."""
        trained = [
            [np.asarray(rows, float), np.asarray(labels, object)[:, None], _column(groups, rows)]
            for rows, labels, *groups in self.training
        ]
        (rows, labels, units) = self.evaluation.pop()
        tested = [
            np.concatenate(rows),
            np.concatenate(labels)[:, None],
            _column([units] if units else [], np.concatenate(rows)),
        ]
        self.training.clear()
        parts = [np.concatenate([np.hstack(part) for part in trained]), np.hstack(tested)]
        return parts[0].astype(str), parts[1].astype(str)


def _column(groups: Sequence[Any], rows: Any) -> NDArray[Any]:
    return np.array(groups[0] if groups else [""] * len(rows), object)[:, None]


def changed_rows(one: NDArray[Any], other: NDArray[Any]) -> int:
    assert one.shape == other.shape
    return int((one != other).any(axis=1).sum())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def fitted(kind: Any, x: Any, y: Any, *, batches: bool, groups: Any = None, **more: Any) -> Any:
    model = kind(5.0, data_norm=1.0, random_state=0, invalid="null", **more)
    options: dict[str, Any] = {"evaluation_share": SHARE}
    options["evaluation_options"] = {"hopeless": "warn"}
    if not batches:
        return model.fit(x, y, groups, **options)
    cuts = [(0, 70), (70, 71), (71, N)]
    parts = [(x[i:j], y[i:j], *([] if groups is None else [groups[i:j]])) for i, j in cuts]
    return model.fit_batches(iter(parts), N, D, labels=[0, 1], **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("kind", [PrivateRanker, PrivateLinearClassifier, PrivateMetric])
def test_a_replaced_record_is_in_one_part(seen: Seen, kind: Any, batches: bool) -> None:
    more = {} if kind is PrivateMetric else {"classes": [0, 1]}
    model = fitted(kind, X, Y, batches=batches, **more)
    before = seen.read()
    assert len(before[0]) == 150
    assert len(before[1]) == 50
    held_out = HeldOut(SHARE).places(N)
    for place, row in [(0, np.nan), (3, 0.5), (int(np.argmax(held_out)), 9.0), (N - 1, np.inf)]:
        x, y = X.copy(), Y.copy()
        x[place], y[place] = row, 1 - y[place]
        again = fitted(kind, x, y, batches=batches, **more)
        after = seen.read()
        changes = [changed_rows(one, other) for one, other in zip(before, after, strict=True)]
        assert changes == ([0, 1] if held_out[place] else [1, 0])
        if held_out[place]:  # with the same noise, all that was learned is the same
            for name in ("coef_", "parameters_", "components_"):
                if hasattr(model, name):
                    assert np.array_equal(getattr(model, name), getattr(again, name))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("batches", [False, True])
def test_a_replaced_unit_is_in_one_part(seen: Seen, batches: bool) -> None:
    options = {"classes": [0, 1], "max_records": 2, "batches": batches}
    fitted(PrivateRanker, X, Y, groups=GROUPS, **options)
    before = seen.read()
    sides = set()
    for unit in sorted({own for own in GROUPS[:20] if own is not None})[:6]:
        rows = [place for place, own in enumerate(GROUPS) if own == unit]
        x, y = X.copy(), Y.copy()
        x[rows], y[rows] = np.nan, 1 - y[rows]
        fitted(PrivateRanker, x, y, groups=GROUPS, **options)
        after = seen.read()
        used = [
            changed_rows(one[one[:, -1] != "None"], other[other[:, -1] != "None"])
            for one, other in zip(before, after, strict=True)
        ]
        assert 0 in used
        assert sum(used) > 0
        sides.add(used.index(0))
    assert sides == {0, 1}
