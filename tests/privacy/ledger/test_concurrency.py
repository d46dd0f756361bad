"""A ledger whose processes are killed, and which many spend from at once."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pairdp
from pairdp.privacy import (
    Budget,
    BudgetExceededError,
    BudgetLedger,
    GaussianEvent,
    LedgerError,
    PureEvent,
)
from tests.privacy.ledger.ledger_helpers import gaussian_delta, gaussian_limit, names_in

BUDGET = Budget(1.0, 1e-5)


# One process imports the library and forks for every order it gets, so that a
# worker costs milliseconds. Workers write + for a spend that returned and - for a
# refused one; the forking process writes their process ids first and ! at last.
WORKERS = r"""
import io, json, os, signal, sys, traceback
from pairdp.privacy import BudgetExceededError, BudgetLedger, GaussianEvent, PureEvent

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(function, call, after):
    calls = 0
    def wrapper(*args):
        nonlocal calls
        calls += 1
        if calls == call and not after:
            die()
        function(*args)
        if calls == call:
            die()
    return wrapper

class HalfWritten:
    def __init__(self, file):
        self.file = file
        self.fileno = file.fileno
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.file.close()
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        die()

def die_at(function=None, call=1, after=False):
    if function == "write":
        whole = io.open
        def half(path, mode="r", *args, **kwargs):
            file = whole(path, mode, *args, **kwargs)
            return HalfWritten(file) if mode == "xb" else file
        io.open = half
    elif function:
        setattr(os, function, dying(getattr(os, function), call, after))

def work(order):
    event = {"pure": PureEvent, "gaussian": GaussianEvent}[order["kind"]](order["amount"])
    ledger = BudgetLedger.load(order["path"])
    die_at(**order.get("die", {}))
    for attempt in range(order["tries"]):
        try:
            ledger.spend(event, f"{os.getpid()}")
            os.write(1, b"+")
        except BudgetExceededError:
            os.write(1, b"-")
            if order["stop"]:
                return

for line in sys.stdin:
    order, children = json.loads(line), []
    waiting, go = os.pipe()
    for _ in range(order["processes"]):
        child = os.fork()
        if child == 0:
            os.close(go)
            os.read(waiting, 1)
            try:
                work(order)
            except BaseException:
                traceback.print_exc()
                os.write(1, b"?")
            os._exit(0)
        children.append(child)
    os.write(1, (" ".join(map(str, children)) + "\n").encode())
    os.close(go), os.close(waiting)
    for child in children:
        os.waitpid(child, 0)
    os.write(1, b"!")
"""


class Workers:
    """Processes that spend from a ledger file when told to."""

    def __init__(self) -> None:
        source = str(Path(pairdp.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKERS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"},
        )

    def start(
        self,
        path: Path,
        kind: str,
        amount: float,
        *,
        processes: int = 1,
        tries: int = 1_000_000,
        stop: bool = False,
        die: dict[str, object] | None = None,
    ) -> list[int]:
        """Set workers going and return their process ids."""
        order = {
            "path": str(path), "kind": kind, "amount": amount, "processes": processes,
            "tries": tries, "stop": stop, "die": die or {},
        }  # fmt: skip
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            line += self._byte()
        return [int(child) for child in line.split()]

    def wait_for(self, count: int) -> str:
        """Return the next so many answers of the workers."""
        return b"".join(self._byte() for _ in range(count)).decode()

    def finish(self) -> str:
        """Return what the workers wrote until the last of them ended."""
        written = b""
        while not written.endswith(b"!"):
            written += self._byte()
        return written[:-1].decode()

    def _byte(self) -> bytes:
        assert self.process.stdout is not None
        byte = self.process.stdout.read(1)
        assert byte, "the workers' process ended"
        return byte

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    group = Workers()
    yield group
    group.close()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@needs_fork
@pytest.mark.parametrize(
    ("kind", "budget", "amount"),
    [("pure", Budget(100.0), 1e-3), ("gaussian", BUDGET, 1e-3)],
    ids=["pure", "gaussian"],
)
def test_survives_being_killed_at_any_moment(
    tmp_path: Path, workers: Workers, kind: str, budget: Budget, amount: float
) -> None:
    path, delays = tmp_path / "ledger.json", random.Random(20240501)  # noqa: S311
    survivor = BudgetLedger(budget, path)
    on_disk, all_acknowledged = 0, 0
    for _ in range(25):
        (child,) = workers.start(path, kind, amount)
        written = workers.wait_for(delays.randrange(4))
        time.sleep(delays.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        written += workers.finish()
        assert set(written) <= {"+"}
        spends = BudgetLedger.load(path).spends
        assert on_disk + len(written) <= len(spends) <= on_disk + len(written) + 1
        survivor.spend(PureEvent(1e-6), "going on")
        on_disk, all_acknowledged = len(spends) + 1, all_acknowledged + len(written)
        assert len(BudgetLedger.load(path).spends) == on_disk
    assert all_acknowledged >= 25


DEATHS: dict[str, tuple[dict[str, object], bool]] = {
    "half written": ({"function": "write"}, False),
    "before the content is flushed": ({"function": "fsync", "call": 1}, False),
    "after the content is flushed": ({"function": "fsync", "call": 1, "after": True}, False),
    "before the rename": ({"function": "replace"}, False),
    "after the rename": ({"function": "replace", "after": True}, True),
    "before the directory is flushed": ({"function": "fsync", "call": 2}, True),
    "after the directory is flushed": ({"function": "fsync", "call": 2, "after": True}, True),
}


@needs_fork
@pytest.mark.parametrize("death", DEATHS)
def test_survives_being_killed_at_every_step_of_a_spend(
    tmp_path: Path, workers: Workers, death: str
) -> None:
    path, (die, is_spent) = tmp_path / "ledger.json", DEATHS[death]
    ledger = BudgetLedger(Budget(1.0), path)
    ledger.spend(PureEvent(0.5), "before")
    workers.start(path, "pure", 0.25, tries=1, die=die)
    assert workers.finish() == "", "the worker was to die before its spend returned"
    expected = [PureEvent(0.5), *[PureEvent(0.25)] * is_spent]
    assert [s.event for s in BudgetLedger.load(path).spends] == expected
    assert [s.event for s in ledger.spends] == expected
    ledger.spend(PureEvent(0.25), "after")
    assert len(BudgetLedger.load(path).spends) == len(expected) + 1
    assert names_in(tmp_path) <= {"ledger.json", "ledger.json.lock"}


@needs_fork
def test_eight_processes_never_overspend_a_pure_budget(tmp_path: Path, workers: Workers) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    children = workers.start(path, "pure", 0.01, processes=8, tries=30)
    written = workers.finish()
    assert written.count("+") == 100
    assert written.count("-") == 8 * 30 - 100
    assert len(written) == 8 * 30
    assert len(ledger.spends) == 100
    assert ledger.spent() == 1.0
    assert len({s.label for s in ledger.spends}) > 1
    assert {s.label for s in ledger.spends} <= {str(child) for child in children}


@needs_fork
def test_eight_processes_never_overspend_a_gaussian_budget(
    tmp_path: Path, workers: Workers
) -> None:
    path, room = tmp_path / "ledger.json", 60
    ledger = BudgetLedger(BUDGET, path)
    amount = gaussian_limit(BUDGET) / math.sqrt(room + 0.5)
    # No process can take it all, and each stops when it is refused, which is slow to explain.
    workers.start(path, "gaussian", amount, processes=8, tries=room // 4, stop=True)
    written = workers.finish()
    assert set(written) == {"+", "-"}
    assert written.count("+") == room
    assert [s.event for s in ledger.spends] == [GaussianEvent(amount)] * room
    assert gaussian_delta(BUDGET.epsilon, amount * math.sqrt(room)) <= BUDGET.delta


@pytest.mark.parametrize("on_disk", [True, False])
def test_threads_sharing_a_ledger_never_overspend(tmp_path: Path, on_disk: bool) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json" if on_disk else None)

    def try_six(_: int) -> int:
        spent = 0
        for _ in range(6):
            try:
                ledger.spend(PureEvent(1 / 32), "from a thread")
                spent += 1
            except BudgetExceededError:
                pass
        return spent

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(try_six, range(8))) == 32
    assert len(ledger.spends) == 32
    assert ledger.spent() == 1.0


def test_a_ledger_held_for_too_long_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    slow = BudgetLedger(Budget(1.0), path)
    impatient = BudgetLedger(Budget(1.0), path, timeout=0.2)
    writing, go_on = threading.Event(), threading.Event()
    fsync = os.fsync

    def stuck(handle: int) -> None:
        writing.set()
        go_on.wait(10)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", stuck)
    holder = threading.Thread(target=slow.spend, args=(PureEvent(0.75), "slow"))
    holder.start()
    try:
        assert writing.wait(10)
        with pytest.raises(LedgerError, match=r"in use by another process for over 0\.2 s"):
            impatient.spend(PureEvent(0.75), "impatient")
        with pytest.raises(LedgerError, match=r"longer timeout"):
            BudgetLedger.load(path, timeout=0.2)
    finally:
        go_on.set()
        holder.join()
    assert [s.label for s in impatient.spends] == ["slow"]
    with pytest.raises(BudgetExceededError):
        impatient.spend(PureEvent(0.75), "impatient")


def test_waits_for_a_ledger_that_is_soon_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.json"
    slow, patient = (BudgetLedger(Budget(1.0), path) for _ in range(2))
    writing, fsync = threading.Event(), os.fsync

    def slowed(handle: int) -> None:
        writing.set()
        time.sleep(0.05)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slowed)
    holder = threading.Thread(target=slow.spend, args=(PureEvent(0.5), "slow"))
    holder.start()
    assert writing.wait(10)
    patient.spend(PureEvent(0.5), "patient")
    holder.join()
    assert [s.label for s in patient.spends] == ["slow", "patient"]
