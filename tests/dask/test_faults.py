"""Workers that die, are slow or raise errors; parts that are lost; a driver that dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pairdp import Budget, BudgetExceededError, BudgetLedger
from pairdp.algorithms import NoisyGradientDescent, WithPairDesign
from pairdp.dask import DaskPrivateLinearClassifier, DaskPrivateMetric, DaskPrivateRanker
from pairdp.engines import DaskEngine, PartError
from pairdp.losses import LogisticPointwise, LogisticRanking

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own
STEPS = NoisyGradientDescent(steps=6, step_size=1.0)


def ranker(**parameters: Any) -> DaskPrivateRanker:
    given = {"data_norm": 1.0, "algorithm": STEPS, "random_state": 3, **parameters}
    return DaskPrivateRanker(**given)


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that arranges for the workers with a part to be killed in a step."""

    def arrange(call: int, then: Any = None) -> list[int]:
        killed: list[int] = []
        calls = [0]
        submit = DaskEngine._submit

        def submit_and_kill(self: DaskEngine, function: Any, parts: Any, shared: Any) -> Any:
            found = submit(self, function, parts, shared)
            calls[0] += 1
            if calls[0] == call:
                processes = self.client.run(os.getpid)
                if then is None:  # the scheduler may have copied a part
                    holders = self.client.who_has(parts)[parts[0].key]
                else:
                    then()
                    holders = list(processes)  # all, so that every part is read again
                killed.extend(processes[address] for address in holders)
                for process in killed:
                    os.kill(process, signal.SIGKILL)
            return found

        monkeypatch.setattr(DaskEngine, "_submit", submit_and_kill)
        return killed

    return arrange


def test_a_killed_worker_is_recovered_bit_for_bit(client: Any, arrays: Any, kill_at: Any) -> None:
    expected = ranker().fit(*arrays)
    killed = kill_at(10)  # in the middle of the steps: loading takes one call, and a step two
    found = ranker().fit(*arrays)
    assert killed
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)


def test_a_worker_that_is_killed_while_parts_exchange_records_is_recovered(
    client: Any, arrays: Any, kill_at: Any
) -> None:
    model = DaskPrivateMetric(
        data_norm=1.0, algorithm=WithPairDesign(STEPS, 4), random_state=3, client=client
    )
    expected = clone(model).fit(*arrays)
    killed = kill_at(4, lambda: None)  # all of them, when the pieces of the parts are joined
    found = clone(model).fit(*arrays)
    assert killed
    np.testing.assert_array_equal(found.components_, expected.components_)


def summed(part: Any) -> float:
    return float(part.sum())


@pytest.mark.parametrize("count", [2, 4, 7])
def test_tasks_run_where_their_parts_are(client: Any, count: int) -> None:
    """The scheduler takes many tasks of few parts for sources, unless every pass is a group."""
    engine = DaskEngine(client)
    parts = engine.map(np.ones, client.map(int, [100_000 + i for i in range(count)], pure=False))
    for _ in range(10):
        engine.map_sum(summed, parts)
    assert all(len(holders) == 1 for holders in client.who_has(parts).values())


def shared_length(part: Any, shared: bytes) -> int:
    return len(shared) + int(part)


@pytest.mark.parametrize("size", [10, 70_000, 3_000_000])
def test_what_is_shared_may_be_large(client: Any, size: int) -> None:
    parts = client.map(int, range(20), pure=False)
    found = DaskEngine(client).map_sum(shared_length, parts, bytes(size))
    assert found == 20 * size + 190


def read_rows(path: Path, start: int, stop: int) -> np.ndarray:
    return np.load(path)[start:stop]


def test_a_part_that_is_shorter_when_it_is_read_again_stops_the_fit(
    client: Any, table: Any, tmp_path: Path, kill_at: Any
) -> None:
    import dask
    import dask.array as da

    x, y = table
    path = tmp_path / "rows.npy"
    np.save(path, np.column_stack([x, y]))
    blocks = [
        da.from_delayed(
            dask.delayed(read_rows, pure=False)(path, start, start + 1500), (1500, 5), float
        )
        for start in range(0, 6000, 1500)
    ]
    rows = da.concatenate(blocks)
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    killed = kill_at(6, lambda: np.save(path, np.column_stack([x, y])[:100]))
    model = ranker(ledger=ledger, random_state=None)
    with pytest.raises(PartError, match="the parts do not have the n = 6000 records") as error:
        model.fit(rows[:, :4].rechunk({1: -1}), rows[:, 4])
    assert killed
    assert "was spent from the ledger" in error.value.__notes__[0]
    assert not hasattr(model, "coef_")


def slow_count(part: Any, seconds: float) -> int:
    if part == 0:
        time.sleep(seconds)
    return int(part)


def test_a_slow_worker_changes_nothing(client: Any) -> None:
    parts = client.map(int, range(9), pure=False)
    assert DaskEngine(client).map_sum(slow_count, parts, 1.0) == 36


@dataclass(frozen=True)
class WithLock(LogisticRanking):
    """A loss that cannot be pickled."""

    lock: Any = field(default_factory=threading.Lock, compare=False)


def test_a_loss_that_cannot_be_sent_fails_at_once(client: Any, arrays: Any) -> None:
    ledger = BudgetLedger(Budget(2.0, 1e-5))
    start = time.monotonic()
    with pytest.raises(TypeError, match="cannot be sent to the workers"):
        ranker(loss=WithLock(), ledger=ledger, random_state=None).fit(*arrays)
    assert time.monotonic() - start < 30
    assert not ledger.spends


def a_lock(part: Any) -> Any:
    return threading.Lock()


def some_records(part: Any) -> Any:
    from pairdp.records import Records

    return Records([[0.5]], [1])


@pytest.mark.parametrize("function", [a_lock, some_records])
def test_a_result_that_cannot_be_sent_fails_at_once(client: Any, function: Any) -> None:
    parts = client.map(int, range(2), pure=False)
    start = time.monotonic()
    with pytest.raises(TypeError, match="the result of a task cannot be sent"):
        DaskEngine(client).map_sum(function, parts)
    assert time.monotonic() - start < 30


@dataclass(frozen=True)
class Talkative(LogisticPointwise):
    """A loss whose errors quote the data."""

    def gradient_sum(self, *arguments: Any) -> Any:
        raise ValueError(f"0.123456 is wrong in {arguments[1]}")


def test_errors_on_workers_do_not_quote_the_data(client: Any, table: Any) -> None:
    import dask.array as da

    x, y = table
    marked = x.copy()
    marked[:] = 0.123456
    data = da.from_array(marked, chunks=(3000, 4)), da.from_array(y, chunks=3000)
    model = DaskPrivateLinearClassifier(
        data_norm=1.0, loss=Talkative(), algorithm=STEPS, random_state=0
    )
    with pytest.raises(PartError, match="failed with ValueError") as error:
        model.fit(*data)
    shown = f"{error.value} {error.value.__cause__} {error.value.__context__}"
    logs = str(client.get_worker_logs())
    assert "0.123456" not in shown
    assert "0.123456" not in logs


def test_unreadable_rows_are_the_error_of_one_process(client: Any, table: Any) -> None:
    import dask.array as da

    x, y = table
    broken = x.copy()
    broken[4000, 1] = np.nan
    data = da.from_array(broken, chunks=(3000, 4)), da.from_array(y, chunks=3000)
    with pytest.raises(ValueError, match="x contains NaN or infinity"):
        ranker().fit(*data)
    found = ranker(invalid="null").fit(*data)
    expected = found.to_local().fit(broken, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


DRIVER = """
import os, signal, sys
import numpy as np
import dask.array as da
from distributed import Client
from pairdp import Budget, BudgetLedger
from pairdp.dask import DaskPrivateRanker
from pairdp.engines import DaskEngine

if __name__ == "__main__":
    client = Client(sys.argv[1])
    ledger = BudgetLedger(Budget(1.0, 1e-5), sys.argv[2])
    map_sum = DaskEngine.map_sum
    def die_when_paid(self, *arguments):
        if ledger.spends:
            os.kill(os.getpid(), signal.SIGKILL)
        return map_sum(self, *arguments)
    DaskEngine.map_sum = die_when_paid
    rng = np.random.default_rng(0)
    rows = da.from_array(rng.normal(size=(400, 3)), chunks=(200, 3))
    labels = da.from_array(np.repeat([0, 1], 200), chunks=200)
    model = DaskPrivateRanker(0.8, 1e-6, data_norm=1.0, algorithm="moments", ledger=ledger)
    model.fit(rows, labels)
"""


def test_a_driver_that_dies_has_spent(client: Any, arrays: Any, tmp_path: Path) -> None:
    script, path = tmp_path / "driver.py", tmp_path / "ledger.json"
    script.write_text(DRIVER)
    address = client.scheduler.address
    ran = subprocess.run(
        [sys.executable, str(script), address, str(path)], check=False, timeout=120
    )
    assert ran.returncode == -signal.SIGKILL
    ledger = BudgetLedger(Budget(1.0, 1e-5), path)
    assert len(ledger.spends) == 1
    with pytest.raises(BudgetExceededError, match="stay spent, also those of interrupted fits"):
        ranker(epsilon=0.8, delta=1e-6, ledger=ledger, random_state=None).fit(*arrays)
