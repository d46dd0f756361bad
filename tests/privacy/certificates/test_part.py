"""Parts of the records: their events, and what adaptive releases on them really cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from pairdp.privacy import ParallelEvent, Part, PrivacyCurve, PureEvent, SequentialEvent
from pairdp.privacy.certificates.part import composed, misplaced, moved_into

TRAINING, EVALUATION = Part("training", 8), Part("evaluation", 2)


def cost(*placed: tuple[Part | None, float]) -> float:
    """Return the ε of pure releases on parts."""
    events = composed((part, PureEvent(epsilon)) for part, epsilon in placed)
    return PrivacyCurve(*events).epsilon(0.0)


def test_parts_of_one_split_cost_the_worst_of_them() -> None:
    assert cost((TRAINING, 1.0), (EVALUATION, 0.5)) == 1.0
    assert cost((TRAINING, 1.0), (EVALUATION, 0.5), (EVALUATION, 0.75)) == 1.25
    assert cost((TRAINING, 1.0), (EVALUATION, 0.5), (None, 0.25)) == 1.25


def test_a_release_on_a_part_adds_to_those_on_parts_of_it() -> None:
    half, rest = (Part(name, 4, within=TRAINING) for name in ("half", "rest"))
    assert cost((half, 1.0), (rest, 0.5), (EVALUATION, 0.25)) == 1.0
    assert cost((half, 1.0), (rest, 0.5), (TRAINING, 0.25)) == 1.25
    events = composed([(half, PureEvent(1.0)), (EVALUATION, PureEvent(2.0))])
    inner = ParallelEvent((SequentialEvent((PureEvent(1.0),)),))
    assert events == (
        ParallelEvent((SequentialEvent((inner,)), SequentialEvent((PureEvent(2.0),)))),
    )


def test_splits_of_the_same_records_add_up() -> None:
    """A record may be in the expensive part of both, whatever the parts are called."""
    first = [Part("part 1", 4, within=TRAINING), Part("part 2", 4, within=TRAINING)]
    second = [Part("part 1", 4, TRAINING, split=1), Part("part 2", 4, TRAINING, split=1)]
    prices = (1.0, 0.1, 0.1, 1.0)
    assert cost(*zip((*first, *second), prices, strict=True)) == 2.0


def test_parts_become_parts_of_a_part() -> None:
    inner = Part("inner", 2, within=Part("outer", 4))
    assert moved_into(None, TRAINING, 3) == TRAINING
    assert moved_into(inner, TRAINING, 3) == Part("inner", 2, Part("outer", 4, TRAINING, 3))
    assert [part.name for part in inner.chain] == ["outer", "inner"]
    assert inner.describe() == "the 2 records of inner, of the 4 records of outer"


@pytest.mark.parametrize(
    "part", [TRAINING, Part("a", 1, TRAINING, 2, by_unit=True), Part("b", 3, split=1)]
)
def test_parts_are_read_back(part: Part) -> None:
    assert Part.from_dict(part.to_dict()) == part


@pytest.mark.parametrize(
    "values",
    [{"size": 2}, {"size": 0}, {"within": 1}, {"split": -1}, {"by_unit": 1}, {"more": 1}],
)
def test_malformed_parts_are_refused(values: dict[str, object]) -> None:
    base = {} if values == {"size": 2} else {"name": "a", "size": 2}
    with pytest.raises((ValueError, TypeError)):
        Part.from_dict({**base, **values})


def test_parts_that_cannot_be_disjoint_are_found() -> None:
    assert not list(misplaced([TRAINING, EVALUATION], 10))
    assert "10 records, more than n = 9" in next(misplaced([TRAINING, EVALUATION], 9))
    assert "two sizes" in next(misplaced([TRAINING, Part("training", 7)], 20))
    halves = [Part("half", 5, TRAINING), Part("rest", 4, TRAINING)]
    assert "more than the 8 of training" in next(misplaced(halves, 10))
    assert not list(misplaced([Part("half", 8, TRAINING), Part("all", 8, TRAINING, 1)], 10))


def exact_epsilon(
    releases: list[tuple[int, float, Callable[[tuple[int, ...]], int]]],
) -> float:
    """Return the exact ε of binary randomised responses on records of two bits each.

    Each release asks one record (of two) for one of its bits, which earlier answers choose, and
    returns it, or the other bit with odds e^-ε.
    """

    def chance(data: tuple[tuple[int, int], ...], outputs: tuple[int, ...]) -> float:
        product = 1.0
        for t, (record, epsilon, question) in enumerate(releases):
            bit = data[record][question(outputs[:t])]
            kept = 1 / (1 + math.exp(-epsilon))
            product *= kept if outputs[t] == bit else 1 - kept
        return product

    values = list(itertools.product((0, 1), repeat=2))
    worst = 0.0
    for outputs in itertools.product((0, 1), repeat=len(releases)):
        for one, other, changed in itertools.product(values, values, values):
            for place in (0, 1):
                data = (one, other)
                neighbour = (changed, other) if place == 0 else (one, changed)
                worst = max(worst, math.log(chance(data, outputs) / chance(neighbour, outputs)))
    return worst


def test_releases_that_use_the_outputs_of_other_parts_cost_exactly_the_worst_part() -> None:
    """Neither less nor more, with questions that every earlier answer decides."""
    releases = [
        (0, 0.7, lambda earlier: 0),
        (1, 0.9, lambda earlier: earlier[0]),
        (0, 0.4, lambda earlier: (earlier[0] + earlier[1]) % 2),
        (1, 0.1, lambda earlier: earlier[2]),
    ]
    stated = cost((TRAINING, 0.7), (EVALUATION, 0.9), (TRAINING, 0.4), (EVALUATION, 0.1))
    assert stated == pytest.approx(1.1)
    assert exact_epsilon(releases) == pytest.approx(stated, abs=1e-12)
