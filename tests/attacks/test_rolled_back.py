"""Ledger files and lock files that are put back, replaced or removed.

What was tried: after ε = 0.9 of 1.0 was spent, the ledger's file was put back to its old bytes, or
replaced by a link to a fresh ledger, and the very object that had spent believed it and spent 0.9
once more. A cleaner removed the lock file between two spends of 0.9, and both succeeded.

What must hold: an open ledger refuses a file that does not extend what it has seen; a removed
ledger is not begun anew with a full budget; no removed file lets two spends through.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import Budget, BudgetExceededError, BudgetLedger, LedgerError, PureEvent
from tests.privacy.ledger.ledger_helpers import rewrite

MOST = PureEvent(0.9)


def put_back(path: Path, old: bytes) -> None:
    path.write_bytes(old)


def put_back_by_renaming(path: Path, old: bytes) -> None:
    other = path.with_name("backup")
    other.write_bytes(old)
    other.replace(path)


def fresh(path: Path, old: bytes) -> None:
    BudgetLedger(Budget(1.0), path.with_name("fresh.json"))
    path.with_name("fresh.json").replace(path)


def link_to_fresh(path: Path, old: bytes) -> None:
    BudgetLedger(Budget(1.0), path.with_name("fresh.json"))
    path.unlink()
    path.symlink_to(path.with_name("fresh.json"))


def link_to_old(path: Path, old: bytes) -> None:
    path.with_name("backup").write_bytes(old)
    path.unlink()
    path.symlink_to(path.with_name("backup"))


def removed(path: Path, old: bytes) -> None:
    path.unlink()


def without_the_spend(path: Path, old: bytes) -> None:
    rewrite(path, lambda document: document["spends"].clear())


def with_a_smaller_spend(path: Path, old: bytes) -> None:
    rewrite(path, lambda document: document["spends"][0]["event"].update(epsilon=0.01))


def with_a_larger_budget(path: Path, old: bytes) -> None:
    rewrite(path, lambda document: document["budget"].update(epsilon=10.0))


def spent_again_elsewhere(path: Path, old: bytes) -> None:
    """Put it back, and let an innocent process spend the very same, in the same second."""
    time = BudgetLedger.load(path).spends[0].time
    path.write_bytes(old)
    BudgetLedger.load(path).spend(MOST, "first")
    rewrite(path, lambda document: document["spends"][0].update(time=time))


ROLLBACKS = [
    put_back, put_back_by_renaming, fresh, link_to_fresh, link_to_old, removed, without_the_spend,
    with_a_smaller_spend, with_a_larger_budget, spent_again_elsewhere,
]  # fmt: skip


@pytest.mark.parametrize("attack", ROLLBACKS)
def test_an_open_ledger_refuses_a_file_that_was_rolled_back(
    tmp_path: Path, attack: Callable[[Path, bytes], None]
) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    old = path.read_bytes()
    ledger.spend(MOST, "first")
    new = path.read_bytes()
    attack(path, old)
    uses: list[Callable[[], object]] = [
        lambda: ledger.spend(PureEvent(0.05), "second"),
        lambda: ledger.check(PureEvent(0.05)),
        ledger.remaining,
        ledger.spent,
        lambda: ledger.spends,
        lambda: ledger.save_stream("token"),
    ]
    for use in uses:
        with pytest.raises(LedgerError, match=r"ledger\.json"):
            use()
    path.unlink(missing_ok=True)
    path.write_bytes(new)
    ledger.spend(PureEvent(0.05), "with the right file again")


def test_a_removed_ledger_is_not_created_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(Budget(1.0), path).spend(MOST, "first")
    content = path.read_bytes()
    path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError, match="was removed") as caught:
            BudgetLedger(Budget(1.0), path)
        assert ".ledger.json.identity" in str(caught.value)
        with pytest.raises(LedgerError, match="does not exist"):
            BudgetLedger.load(path)
    assert not path.exists()
    path.write_bytes(content)
    with pytest.raises(BudgetExceededError):
        BudgetLedger(Budget(1.0), path).spend(MOST, "again")


def test_opening_another_ledger_under_the_same_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    BudgetLedger(Budget(1.0), path).spend(MOST, "first")
    BudgetLedger(Budget(1.0), tmp_path / "fresh.json")
    (tmp_path / "fresh.json").replace(path)
    for attempt in (lambda: BudgetLedger(Budget(1.0), path), lambda: BudgetLedger.load(path)):
        with pytest.raises(LedgerError, match="not the one that was created with this name"):
            attempt()


@pytest.mark.parametrize("exists", [True, False])
def test_opening_a_link_to_another_ledger_is_refused(tmp_path: Path, exists: bool) -> None:
    path, fresh = tmp_path / "ledger.json", tmp_path / "elsewhere" / "fresh.json"
    BudgetLedger(Budget(1.0), path).spend(MOST, "first")
    fresh.parent.mkdir()
    if exists:
        BudgetLedger(Budget(1.0), fresh)
    path.rename(tmp_path / "hidden")
    path.symlink_to(fresh)
    with pytest.raises(LedgerError, match=r"\.ledger\.json\.identity"):
        BudgetLedger(Budget(1.0), path)
    if exists:
        with pytest.raises(LedgerError, match="not the one that was created with this name"):
            BudgetLedger.load(path)
    assert fresh.exists() == exists
    path.unlink()
    path.symlink_to("hidden")  # the right one may move, with a link to it in its old place
    assert BudgetLedger(Budget(1.0), path).spent() == 0.9


def test_a_ledger_can_move_and_its_marker_be_lost(tmp_path: Path) -> None:
    old, new = tmp_path / "ledger.json", tmp_path / "elsewhere" / "ledger.json"
    BudgetLedger(Budget(1.0), old).spend(MOST, "first")
    new.parent.mkdir()
    old.rename(new)
    assert BudgetLedger.load(new).spent() == 0.9
    with pytest.raises(LedgerError, match="was removed"):
        BudgetLedger(Budget(1.0), old)
    (new.parent / ".ledger.json.identity").unlink()
    assert BudgetLedger.load(new).spent() == 0.9
    assert (new.parent / ".ledger.json.identity").exists()


def test_links_are_followed_once(tmp_path: Path) -> None:
    BudgetLedger(Budget(1.0), tmp_path / "real.json")
    BudgetLedger(Budget(1.0), tmp_path / "fresh.json")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    ledger = BudgetLedger(Budget(1.0), link)
    link.unlink()
    link.symlink_to("fresh.json")
    ledger.spend(MOST, "first")
    with pytest.raises(BudgetExceededError):
        ledger.spend(MOST, "second")
    assert BudgetLedger.load(tmp_path / "fresh.json").spends == ()
    assert link.is_symlink()


@pytest.mark.parametrize("kind", ["directory", "pipe", "circle"])
def test_a_ledger_must_be_a_regular_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "ledger.json"
    make: dict[str, Callable[[], object]] = {
        "directory": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "circle": lambda: path.symlink_to(path),
    }
    make[kind]()
    before = os.lstat(path)
    with pytest.raises(LedgerError):
        BudgetLedger(Budget(1.0), path)
    with pytest.raises(LedgerError):
        BudgetLedger.load(path)
    assert os.lstat(path).st_ino == before.st_ino


@given(moves=st.lists(st.sampled_from(["spend", "keep", "put back"]), min_size=2, max_size=12))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_no_order_of_spends_and_backups_exceeds_the_budget(
    moves: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.json"
    ledger, granted = BudgetLedger(Budget(1.0), path), 0
    kept = path.read_bytes()
    for move in moves:
        if move == "keep":
            kept = path.read_bytes()
        elif move == "put back":
            path.write_bytes(kept)
        else:
            try:
                ledger.spend(PureEvent(0.4), "some")
                granted += 1
            except (LedgerError, BudgetExceededError):
                pass
    assert granted <= 2


def while_spending(
    ledger: BudgetLedger, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]
) -> object:
    """Let another thread spend, do something while its entry is being written, and let it go on."""
    writing, go_on, fsync = threading.Event(), threading.Event(), os.fsync
    found: list[object] = []

    def spend() -> None:
        try:
            found.append(ledger.spend(MOST, "first"))
        except LedgerError as error:
            found.append(error)

    def stuck(handle: int) -> None:
        if threading.current_thread() is first:
            writing.set()
            go_on.wait(30)
        fsync(handle)

    first = threading.Thread(target=spend)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", stuck)
        first.start()
        assert writing.wait(10)
        try:
            meanwhile()
        finally:
            go_on.set()
            first.join()
    return found[0]


def test_removing_the_lock_file_allows_no_second_spend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    one = BudgetLedger(Budget(1.0), path)
    other = BudgetLedger(Budget(1.0), path, timeout=0.1)

    def meanwhile() -> None:
        for entry in tmp_path.iterdir():
            if entry != path and not entry.name.endswith(".writing"):
                entry.unlink()
        with pytest.raises(LedgerError, match="in use by another process"):
            other.spend(MOST, "second")

    assert not isinstance(while_spending(one, monkeypatch, meanwhile), LedgerError)
    with pytest.raises(BudgetExceededError):
        other.spend(MOST, "second")
    assert [s.label for s in one.spends] == ["first"]


@pytest.mark.parametrize("attack", [removed, fresh, link_to_fresh, put_back_by_renaming])
def test_replacing_the_file_during_a_spend_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Callable[[Path, bytes], None]
) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    content = path.read_bytes()
    found = while_spending(ledger, monkeypatch, lambda: attack(path, content))
    assert isinstance(found, LedgerError)
    assert "Nothing was spent" in str(found)
    assert not path.exists() or b'"spends": []' in path.read_bytes()


def test_a_ledger_that_is_created_concurrently_is_shared(tmp_path: Path) -> None:
    path, together = tmp_path / "ledger.json", threading.Barrier(8)

    def begin(_: int) -> BudgetLedger:
        together.wait()
        return BudgetLedger(Budget(1.0), path)

    with ThreadPoolExecutor(8) as threads:
        ledgers = list(threads.map(begin, range(8)))
    assert len({ledger.identity for ledger in ledgers}) == 1
