"""Engines of one process, and parts that are lost or counted twice."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from pairdp.engines import Engine, InProcess, PartError, Parts, Threads, in_pairs
from pairdp.engines.failures import Failure
from pairdp.engines.parts import Part
from pairdp.engines.scratch import Scratch
from pairdp.partitioned_records import arrays_of
from pairdp.records import Records

ENGINES = [InProcess(), Threads(2)]


def parts_of(values: list[float], engine: Engine) -> Parts:
    return Parts(engine, [Part(i, 1, value) for i, value in enumerate(values)], len(values))


def scaled(value: float, factor: float) -> float:
    return value * factor


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_functions_are_mapped_and_added_up(engine: Engine) -> None:
    parts = parts_of([1.0, 2.0, 4.0], engine)
    assert parts.map_sum(scaled, 10.0) == 70.0
    assert parts.map(scaled, 2.0).map_sum(scaled, 10.0) == 140.0


def shares(value: float, count: int, factor: float) -> list[tuple[int, float]]:
    """Return a piece with the record for one new part, and empty ones for all others."""
    return [(int(place == value % count), factor * value) for place in range(count)]


def joined(pieces: list[float], factor: float) -> list[float]:
    return pieces


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_parts_exchange_pieces_in_order(engine: Engine) -> None:
    parts = parts_of([0.0, 1.0, 2.0], engine).exchange(shares, joined, 10.0)
    assert [part.value for part in parts.handles] == [[0.0, 10.0, 20.0]] * 3
    assert [part.n for part in parts.handles] == [1, 1, 1]
    assert parts.map_sum(len) == 9


@pytest.mark.parametrize(
    "change",
    [lambda parts: parts[1:], lambda parts: [*parts[:-1], parts[0]], lambda parts: parts[::-1]],
    ids=["lost", "twice", "turned"],
)
def test_an_exchange_without_every_part_once_is_an_error(change: object) -> None:
    handles = list(parts_of([0.0, 1.0, 2.0], InProcess()).handles)
    wrong = Parts(InProcess(), change(handles), 3)  # type: ignore[operator]
    with pytest.raises(PartError, match="did not send its records once"):
        wrong.exchange(shares, joined, 1.0)


def test_pieces_must_have_all_records() -> None:
    def too_few(value: float, count: int) -> list[tuple[int, float]]:
        return [(0, value)] * count

    with pytest.raises(PartError, match="do not have all of its records"):
        parts_of([0.0, 1.0], InProcess()).exchange(too_few, joined)


def test_what_a_part_keeps_does_not_travel() -> None:
    scratch = Scratch()
    scratch.put("scores", np.zeros(3))
    assert pickle.loads(pickle.dumps(scratch)).take("scores") is None
    assert scratch.take("scores") is not None
    assert scratch.take("scores") is None


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 21])
def test_every_engine_adds_up_in_the_same_order(count: int) -> None:
    values = list(np.random.default_rng(count).standard_normal(count) * 10.0 ** np.arange(count))
    sums = {parts_of(values, engine).map_sum(scaled, 1.0) for engine in ENGINES}
    assert sums == {in_pairs(values)}


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts[1:],
        lambda parts: [*parts, parts[0]],
        lambda parts: [parts[0], *parts[:-1]],  # one lost and another twice: n is right
        lambda parts: [Part(0, 2, parts[0].value), *parts[1:]],
    ],
    ids=["lost", "twice", "replaced", "longer"],
)
def test_a_lost_or_repeated_part_is_an_error(change: object) -> None:
    parts = parts_of([1.0, 2.0, 4.0], InProcess())
    wrong = Parts(InProcess(), change(list(parts.handles)), 3)  # type: ignore[operator]
    with pytest.raises(PartError, match="the parts do not have the n = 3 records"):
        wrong.map_sum(scaled, 1.0)


def test_failures_quote_nothing_but_sentences_of_this_library() -> None:
    try:
        np.array(["secret"]).astype(float)
    except ValueError as error:
        failure = Failure.of(error)
    assert "secret" not in str(failure.as_error())
    assert isinstance(failure.as_error(), PartError)
    try:
        in_pairs([])
    except ValueError as error:
        own = Failure.of(error).as_error()
    assert isinstance(own, ValueError)
    assert str(own) == "there are no parts to add up"
    assert in_pairs([1, failure, 2]) == failure


def test_a_part_is_as_large_as_its_arrays() -> None:
    """A scheduler that takes parts for small objects moves them between workers."""
    records = Records(np.ones((1000, 10)), np.ones(1000))
    part = Part(0, 1000, (arrays_of(records), [np.zeros(500)]))
    assert 85_000 < sys.getsizeof(part) < 100_000
