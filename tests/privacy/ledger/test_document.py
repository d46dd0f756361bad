"""The file of a ledger: kept, damaged, and on failing disks."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pairdp._sealed import seal, unseal
from pairdp.privacy import (
    ApproximateEvent,
    Budget,
    BudgetExceededError,
    BudgetLedger,
    Event,
    FixedSizeSampling,
    GaussianEvent,
    LedgerError,
    ParallelEvent,
    PoissonSampling,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from tests.privacy.ledger.ledger_helpers import names_in, rechained, rewrite

BUDGET = Budget(1.0, 1e-5)


EVERY_KIND: list[Event] = [
    GaussianEvent(0.01),
    PureEvent(0.01, count=3),
    ApproximateEvent(0.01, 1e-8),
    SampledEvent(0.1, FixedSizeSampling(10, 1000), 3),
    SampledEvent(0.1, PoissonSampling(0.01), 3),
    ParallelEvent((PureEvent(0.01), SequentialEvent((GaussianEvent(0.01), PureEvent(0.005))))),
]


def test_saved_and_restored(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    spends = tuple(ledger.spend(event, f"ünïcode {event}") for event in EVERY_KIND)
    for restored in (BudgetLedger(BUDGET, str(path)), BudgetLedger.load(str(path))):
        assert restored.budget == BUDGET
        assert restored.spends == spends == ledger.spends


def test_a_restored_ledger_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    for mu in (0.1, 0.2):
        ledger.spend(GaussianEvent(mu), "noisy")
    restored = BudgetLedger.load(path)
    assert restored.spent() == ledger.spent()
    assert restored.remaining() == ledger.remaining()
    with pytest.raises(BudgetExceededError):
        restored.spend(GaussianEvent(0.2), "too much")


def test_a_new_ledger_is_on_disk_at_once(tmp_path: Path) -> None:
    BudgetLedger(BUDGET, tmp_path / "ledger.json")
    document = json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8"))
    assert document["format"] == "pairdp ledger"
    assert document["format_version"] == 3
    assert document["relation"] == "replace-one-or-null"
    assert document["budget"] == {"epsilon": 1.0, "delta": 1e-5}
    assert document["spends"] == []


def test_a_spend_is_on_disk_when_it_returns(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    for count in range(1, 5):
        ledger.spend(PureEvent(0.1), "again")
        assert len(BudgetLedger.load(tmp_path / "ledger.json").spends) == count
    assert names_in(tmp_path) <= {"ledger.json", "ledger.json.lock"}


def test_two_ledgers_on_one_file_see_each_others_spends(tmp_path: Path) -> None:
    one, other = (BudgetLedger(Budget(1.0), tmp_path / "ledger.json") for _ in range(2))
    one.spend(PureEvent(0.75), "one")
    assert [s.label for s in other.spends] == ["one"]
    assert other.remaining().pure_epsilon == 0.25
    with pytest.raises(BudgetExceededError):
        other.spend(PureEvent(0.5), "other")


def test_ledgers_in_memory_are_separate() -> None:
    one, other = BudgetLedger(Budget(1.0)), BudgetLedger(Budget(1.0))
    one.spend(PureEvent(1.0), "one")
    assert other.spends == ()


@pytest.mark.parametrize("other", [Budget(2.0, 1e-5), Budget(1.0, 1e-6), Budget(1.0)])
def test_another_budget_is_refused(tmp_path: Path, other: Budget) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(BUDGET, path).spend(PureEvent(0.1), "first")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=re.escape(f"has {BUDGET}, not {other}")):
        BudgetLedger(other, path)
    assert path.read_bytes() == before


def test_a_budget_that_changes_under_an_open_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    rewrite(path, lambda document: document.update(budget={"epsilon": 100.0, "delta": 0.0}))
    with pytest.raises(LedgerError, match="must not change"):
        ledger.spend(PureEvent(0.1), "after")


def test_loading_a_missing_file_is_an_error_and_makes_none(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger.load(tmp_path / "ledger.json")
    assert not (tmp_path / "ledger.json").exists()


def test_a_deleted_file_is_not_a_fresh_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    ledger.spend(PureEvent(1.0), "all of it")
    path.unlink()
    with pytest.raises(LedgerError):
        ledger.spend(PureEvent(1.0), "again")
    assert not path.exists()


def test_a_directory_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").mkdir()
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger(BUDGET, tmp_path / "ledger.json")
    with pytest.raises(LedgerError, match="cannot be read"):
        BudgetLedger.load(tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json").is_dir()


def test_a_symbolic_link_is_the_ledger_it_points_to(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    BudgetLedger(Budget(1.0), real)
    link.symlink_to(real)
    BudgetLedger(Budget(1.0), link).spend(PureEvent(1.0), "all of it")
    with pytest.raises(BudgetExceededError):
        BudgetLedger(Budget(1.0), real).spend(PureEvent(1.0), "all of it again")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(BUDGET, path)
    ledger.spend(PureEvent(0.25), "first")
    ledger.spend(GaussianEvent(0.125), "second")
    return path


def resealed(**changes: object) -> Callable[[bytes], bytes]:
    return lambda content: seal(rechained({**unseal(content), **changes})).encode()


def without(*path: str | int) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        document = unseal(content)
        inner: object = document
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return seal(rechained(document)).encode()

    return change


def with_event(**event: object) -> Callable[[bytes], bytes]:
    return resealed(spends=[{"label": "x", "time": "t", "event": event, "id": "a"}])


def unchained(content: bytes) -> bytes:
    document = unseal(content)
    document["spends"][0]["event"]["epsilon"] = 0.01
    return seal(document).encode()


def edited(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        assert content.count(old) == 1
        return content.replace(old, new)

    return change


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "twice": lambda content: content + content,
    "not JSON": lambda _: b"spent: a lot",
    "not text": lambda _: bytes(range(128, 256)),
    "other JSON": lambda _: b'{"a": 1}',
    "JSON list": lambda _: b"[]",
    "no digest": lambda content: json.dumps(unseal(content)).encode(),
    "spend changed, digest kept": edited(b'"epsilon": 0.25', b'"epsilon": 0.01'),
    "spend dropped, digest kept": lambda content: json.dumps(
        {**json.loads(content), "spends": []}
    ).encode(),
    "budget raised, digest kept": edited(b'"delta": 1e-05', b'"delta": 1e-02'),
    "not a number": edited(b'"epsilon": 0.25', b'"epsilon": NaN'),
    "infinite": edited(b'"epsilon": 0.25', b'"epsilon": 1e999'),
    "a key twice": edited(b'"mu": 0.125', b'"mu": 0.125, "mu": 0.125'),
    "newer version": resealed(format_version=4),
    "older version": resealed(format_version=1),
    "version in words": resealed(format_version="3"),
    "another format": resealed(format="pairdp certificate"),
    "another relation": resealed(relation="add-remove"),
    "unknown field": resealed(comment="hello"),
    "another identity": resealed(identity="another"),
    "an identity that is a number": resealed(identity=7),
    "spend changed, chain kept": unchained,
    "no chain": lambda content: seal(
        {**unseal(content), "spends": [{"label": "x", "time": "t", "event": {}, "id": "a"}]}
    ).encode(),
    "no id": without("spends", 0, "id"),
    "no streams": without("streams"),
    "streams are no list": resealed(streams={}),
    "a stream is a number": resealed(streams=[1]),
    "a stream that is lost": resealed(streams=[{"token": "a", "action": "lost", "time": "t"}]),
    "no spends": without("spends"),
    "no budget": without("budget"),
    "no label": without("spends", 0, "label"),
    "no event": without("spends", 0, "event"),
    "no epsilon": without("budget", "epsilon"),
    "spends are no list": resealed(spends={}),
    "spends are nothing": resealed(spends=None),
    "a spend is a number": resealed(spends=[1]),
    "budget below zero": resealed(budget={"epsilon": -1.0, "delta": 0.0}),
    "budget in words": resealed(budget={"epsilon": "1", "delta": 0.0}),
    "unknown event": with_event(kind="free", mu=0.1),
    "event below zero": with_event(kind="pure", epsilon=-0.5, count=1),
    "event with more fields": with_event(kind="pure", epsilon=0.5, count=1, free=True),
    "event without count": with_event(kind="pure", epsilon=0.5),
    "half a release": with_event(kind="pure", epsilon=0.5, count=0.5),
    "parallel to nothing": with_event(kind="parallel", parts=[]),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_refused_and_left_as_it_is(written: Path, damage: str) -> None:
    ledger = BudgetLedger(BUDGET, written)
    damaged = DAMAGES[damage](written.read_bytes())
    written.write_bytes(damaged)
    attempts: list[Callable[[], object]] = [
        lambda: BudgetLedger.load(written),
        lambda: BudgetLedger(BUDGET, written),
        lambda: ledger.spend(PureEvent(0.01), "more"),
        ledger.remaining,
        ledger.spent,
        lambda: ledger.spends,
    ]
    for attempt in attempts:
        with pytest.raises(LedgerError, match=re.escape(str(written))):
            attempt()
    assert written.read_bytes() == damaged
    assert names_in(written.parent) <= {"ledger.json", "ledger.json.lock"}


def test_a_newer_version_is_named(written: Path) -> None:
    written.write_bytes(resealed(format_version=4)(written.read_bytes()))
    with pytest.raises(LedgerError, match=r"format version 4 .* use a newer pairdp"):
        BudgetLedger.load(written)


def test_truncated_files_are_refused(written: Path) -> None:
    whole = written.read_bytes()
    for length in range(0, len(whole.rstrip()), 3):
        written.write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            BudgetLedger.load(written)
        assert written.read_bytes() == whole[:length]


def test_files_with_a_flipped_byte_are_refused(written: Path) -> None:
    whole = written.read_bytes()
    for position in range(0, len(whole) - 1, 3):
        flipped = bytearray(whole)
        flipped[position] ^= 1
        written.write_bytes(flipped)
        with pytest.raises(LedgerError):
            BudgetLedger.load(written)


def test_a_repaired_file_works_again(written: Path) -> None:
    ledger = BudgetLedger(BUDGET, written)
    whole = written.read_bytes()
    written.write_bytes(whole[:100])
    with pytest.raises(LedgerError):
        ledger.spend(PureEvent(0.01), "while damaged")
    written.write_bytes(whole)
    ledger.spend(PureEvent(0.01), "after repair")
    assert [s.label for s in ledger.spends] == ["first", "second", "after repair"]


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_disk_spends_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ledger = BudgetLedger.load(written)
    before, spends = written.read_bytes(), ledger.spends
    with monkeypatch.context() as broken:
        broken.setattr(os, call, raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(LedgerError, match=r"No space left on device.*Nothing was spent"):
            ledger.spend(PureEvent(0.01), "on a full disk")
    assert written.read_bytes() == before
    assert names_in(written.parent) <= {"ledger.json", "ledger.json.lock"}
    assert ledger.spends == spends
    ledger.spend(PureEvent(0.01), "with space again")
    assert len(BudgetLedger.load(written).spends) == len(spends) + 1


def test_what_is_said_of_a_spend_is_true_when_the_directory_cannot_be_flushed(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, fsync, calls = BudgetLedger.load(written), os.fsync, itertools.count(1)

    def fail_second(handle: int) -> None:
        if next(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        fsync(handle)

    before = len(ledger.spends)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_second)
        try:
            ledger.spend(PureEvent(0.01), "flushed or not")
        except LedgerError as error:
            spent = "Nothing was spent" not in str(error)
        else:
            spent = True
    assert len(BudgetLedger.load(written).spends) == before + spent


def test_a_new_ledger_on_a_failing_disk_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(LedgerError, match="Input/output error"):
            BudgetLedger(BUDGET, tmp_path / "ledger.json")
    assert names_in(tmp_path) <= {"ledger.json.lock"}


def test_an_interrupt_while_writing_spends_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, before = BudgetLedger.load(written), written.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            ledger.spend(PureEvent(0.01), "interrupted")
    assert written.read_bytes() == before
    assert len(ledger.spends) == 2
    ledger.spend(PureEvent(0.01), "afterwards")


def test_a_second_name_for_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    os.link(path, tmp_path / "other.json")
    with pytest.raises(LedgerError, match="hard link"):
        ledger.spend(PureEvent(0.1), "under two names")
    with pytest.raises(ValueError, match="path must not be empty"):
        BudgetLedger(Budget(1.0), "")
