"""A ledger in memory that is copied: by fork, by pickling, by `copy`, by scikit-learn.

What was tried: three children that were forked from a process with a ledger of ε = 1 in memory each
spent ε = 1 from their own copy of it.

What must hold: in another process a ledger without a file grants nothing, however it got there
(fork, spawn, forkserver, joblib), and says that it should be kept in a file. In its own process
every copy is the same ledger, threads included. A ledger with a file is shared by all of them.
"""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from pairdp import PrivateRanker
from pairdp.privacy import Budget, BudgetExceededError, BudgetLedger, LedgerError, PureEvent

# Some tests fork while threads run, which is what they are about.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

METHODS = multiprocessing.get_all_start_methods()
needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="needs fork")

USES: dict[str, Callable[[BudgetLedger], object]] = {
    "spend": lambda ledger: ledger.spend(PureEvent(0.1), "from a copy"),
    "check": lambda ledger: ledger.check(PureEvent(0.1)),
    "remaining": lambda ledger: ledger.remaining(),
    "spent": lambda ledger: ledger.spent(),
    "spends": lambda ledger: ledger.spends,
    "save a stream": lambda ledger: ledger.save_stream("token"),
    "resume a stream": lambda ledger: ledger.resume_stream("token"),
}


def outcome(ledger: BudgetLedger, name: str) -> str:
    try:
        USES[name](ledger)
    except (LedgerError, BudgetExceededError) as error:
        return f"{type(error).__name__}: {error}"
    return "granted"


def tell(ledger: BudgetLedger, names: list[str], answers: Connection) -> None:
    answers.send([outcome(ledger, name) for name in names])
    answers.close()


def in_child(ledger: BudgetLedger, names: list[str], method: str) -> list[str]:
    """Use a ledger in a child process, and return what came of it."""
    context = multiprocessing.get_context(method)
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=tell, args=(ledger, names, there))
    child.start()
    there.close()
    answers: list[str] = here.recv()
    child.join()
    return answers


@needs_fork
def test_forked_children_cannot_spend_a_ledger_in_memory() -> None:
    ledger = BudgetLedger(Budget(1.0))
    for _ in range(3):
        for answer in in_child(ledger, list(USES), "fork"):
            assert answer.startswith("LedgerError")
            assert "use a file, BudgetLedger(budget, path)" in answer
    ledger.spend(PureEvent(1.0), "the parent has it all")


@needs_fork
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_child_that_is_forked_while_a_thread_spends_does_not_hang(
    tmp_path: Path, on_disk: bool
) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json" if on_disk else None)
    holding, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger._store._lock:
            holding.set()
            go_on.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    try:
        (answer,) = in_child(ledger, ["spend"], "fork")
    finally:
        go_on.set()
        holder.join()
    assert answer == "granted" if on_disk else answer.startswith("LedgerError")


@pytest.mark.parametrize("method", [m for m in METHODS if m != "fork"])
def test_other_ways_to_start_a_process_are_refused_at_once(method: str) -> None:
    with pytest.raises(TypeError, match="use a file"):
        in_child(BudgetLedger(Budget(1.0)), ["spend"], method)


@pytest.mark.parametrize(
    "method", [pytest.param(m, marks=[pytest.mark.slow] * (m == "forkserver")) for m in METHODS]
)
def test_a_ledger_with_a_file_is_shared_by_all_processes(tmp_path: Path, method: str) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    ledger.spend(PureEvent(0.5), "parent")
    answers = in_child(ledger, ["spend", "check", "remaining"], method)
    assert answers == ["granted"] * 3
    assert len(ledger.spends) == 2


@needs_fork
def test_a_pool_of_forked_processes_overspends_nothing(tmp_path: Path) -> None:
    kept, lost = BudgetLedger(Budget(1.0), tmp_path / "ledger.json"), BudgetLedger(Budget(1.0))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        answers = list(pool.map(_half, [kept] * 5))
        with pytest.raises(TypeError, match="use a file"):
            pool.submit(_half, lost).result()
    assert sorted(answers) == [False] * 3 + [True] * 2


def _half(ledger: BudgetLedger) -> bool:
    try:
        ledger.spend(PureEvent(0.5), "half")
    except BudgetExceededError:
        return False
    return True


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib_s_processes_refuse_it(backend: str) -> None:
    ledger = BudgetLedger(Budget(1.0))
    with pytest.raises((TypeError, pickle.PicklingError)) as caught:
        Parallel(n_jobs=2, backend=backend)(delayed(_half)(ledger) for _ in range(3))
    reasons = [caught.value, caught.value.__cause__]
    assert any("use a file" in str(reason) for reason in reasons)
    assert ledger.spends == ()


@pytest.mark.slow
def test_joblib_s_processes_share_a_file(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json")
    found = Parallel(n_jobs=2, backend="loky")(delayed(_half)(ledger) for _ in range(4))
    assert sum(found) == 2


def test_threads_share_a_ledger_in_memory() -> None:
    ledger = BudgetLedger(Budget(1.0))
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(_half, [ledger] * 8)) == 2
    with Parallel(n_jobs=2, backend="threading") as parallel:
        assert sum(parallel(delayed(_half)(ledger) for _ in range(4))) == 0


COPIES: dict[str, Callable[[BudgetLedger], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda ledger: copy.deepcopy([ledger])[0],
    "clone": lambda ledger: clone(ledger, safe=False),
    "clone of an estimator": lambda ledger: clone(PrivateRanker(ledger=ledger)).ledger,
    "clone of a pipeline": lambda ledger: (
        clone(Pipeline([("model", PrivateRanker(ledger=ledger))])).named_steps["model"].ledger
    ),
    "deepcopy of an estimator": lambda ledger: copy.deepcopy(PrivateRanker(ledger=ledger)).ledger,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_copy_in_the_same_process_is_the_same_ledger(
    tmp_path: Path, way: str, on_disk: bool
) -> None:
    ledger = BudgetLedger(Budget(1.0), tmp_path / "ledger.json" if on_disk else None)
    copied = COPIES[way](ledger)
    assert copied is ledger
    copied.spend(PureEvent(1.0), "all of it")
    with pytest.raises(BudgetExceededError):
        ledger.spend(PureEvent(1.0), "all of it again")


@pytest.mark.filterwarnings("ignore::pairdp.UncoveredSearchWarning")
def test_a_grid_search_spends_from_one_ledger() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = rng.normal(size=(60, 2)) / 4 + y[:, None] / 4
    ledger = BudgetLedger(Budget(10.0, 1e-3))
    ranker = PrivateRanker(
        1.0, 1e-5, algorithm="DPGDSC", threshold=0.0, classes=[0, 1], data_norm=1.0, ledger=ledger
    )
    search = GridSearchCV(
        ranker,
        {"regularization": [0.1, 0.2]},
        cv=2,
        n_jobs=1,
    )
    search.fit(x, y)
    assert len(ledger.spends) == 2 * 2 + 1


def test_a_ledger_in_memory_is_not_pickled() -> None:
    ledger = BudgetLedger(Budget(1.0))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="use a file"):
            pickle.dumps(ledger, protocol)
    with pytest.raises(TypeError, match="use a file"):
        pickle.dumps(PrivateRanker(ledger=ledger))


def test_a_pickle_remembers_what_was_spent(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = BudgetLedger(Budget(1.0), path)
    before = path.read_bytes()
    ledger.spend(PureEvent(0.9), "first")
    pickled = pickle.dumps(ledger)
    assert pickle.loads(pickled).spends == ledger.spends
    path.write_bytes(before)
    with pytest.raises(LedgerError, match="earlier state"):
        pickle.loads(pickled)
    BudgetLedger(Budget(1.0), tmp_path / "fresh.json")
    (tmp_path / "fresh.json").replace(path)
    with pytest.raises(LedgerError, match="created with this name"):
        pickle.loads(pickled)
