"""Running jobs: each once, also when a study is killed and goes on; journals that stay whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pairdp.studies import journal as journal_module
from pairdp.studies.engine import default_workers, run_jobs
from pairdp.studies.jobs import RunResult
from pairdp.studies.journal import Journal, JournalError
from tests.studies.small import Count, Die, jobs, times_run

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let worker processes import the jobs of these tests."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])


def test_equal_jobs_are_run_once(tmp_path: Path) -> None:
    wanted = jobs(tmp_path / "ran", 3)
    with Journal(tmp_path) as journal:
        found = run_jobs([*wanted, *wanted], journal)
    assert [found[job.key].values["value"] for job in wanted] == [(0, 1), (1, 2), (2, 3)]
    assert [times_run(tmp_path / "ran", i) for i in range(3)] == [1, 1, 1]


def test_processes_find_the_same_and_share_the_work(tmp_path: Path) -> None:
    wanted = jobs(tmp_path / "ran", 8)
    with Journal(tmp_path) as journal:
        found = run_jobs(wanted, journal, workers=2)
    assert {key: outcome.values for key, outcome in found.items()} == {
        job.key: {"value": (job.number, job.number + 1)} for job in wanted
    }
    assert [times_run(tmp_path / "ran", i) for i in range(8)] == [1] * 8


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_that_failed_goes_on_and_repeats_nothing(tmp_path: Path, workers: int) -> None:
    ran = tmp_path / "ran"
    wanted = jobs(ran)
    broken = [*wanted[:3], Count(99, str(ran), "it broke", runs=2), *wanted[3:]]
    with Journal(tmp_path) as journal, pytest.raises(ValueError, match="it broke"):
        run_jobs(broken, journal, workers=workers)
    with Journal(tmp_path) as journal:
        before = set(journal.done)
        counts = {job.number: times_run(ran, job.number) for job in wanted if job.key in before}
        assert all(count == 1 for count in counts.values())
        found = run_jobs(wanted, journal, workers=workers)
    assert len(found) == 6
    assert all(times_run(ran, number) == 1 for number in counts)
    if workers == 1:
        assert len(counts) == 3


def test_an_interrupt_leaves_a_journal_to_go_on_with(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    wanted = jobs(ran, 4)
    with Journal(tmp_path) as journal, pytest.raises(KeyboardInterrupt):
        run_jobs([*wanted[:2], Count(99, str(ran), "interrupt", runs=2)], journal)
    with Journal(tmp_path) as journal:
        assert set(journal.done) == {job.key for job in wanted[:2]}
        run_jobs(wanted, journal)
    assert [times_run(ran, i) for i in range(4)] == [1, 1, 1, 1]


_SLOW = """
import sys, time
from pathlib import Path
from pairdp.studies import engine
from pairdp.studies.journal import Journal
from tests.studies.small import jobs
out = Path(sys.argv[1])
work = engine._work
def slow(job, data):
    time.sleep(0.15)
    return work(job, data)
engine._work = slow
with Journal(out) as journal:
    engine.run_jobs(jobs(out / "ran", 40), journal)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX systems do")
def test_a_killed_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", _SLOW, str(tmp_path)], cwd=root)
    _until(
        lambda: any(
            path.read_bytes().count(b"\n") >= 4 for path in tmp_path.glob("journal-*.jsonl")
        )
    )
    process.send_signal(signal.SIGKILL)
    process.wait()
    wanted = jobs(tmp_path / "ran", 40)
    with Journal(tmp_path) as journal:
        done = set(journal.done)
        assert 3 <= len(done) < 40
        found = run_jobs(wanted, journal)
    assert len(found) == 40
    for job in wanted:
        # The one that was running when the kill came may have been run twice, as it was not noted.
        most = 1 if job.key in done else 2
        assert 1 <= times_run(tmp_path / "ran", job.number) <= most


_PARALLEL = """
import sys
from pathlib import Path
from pairdp.studies import engine
from pairdp.studies.journal import Journal
from tests.studies.small import Sleep
if __name__ == "__main__":
    out = Path(sys.argv[1])
    with Journal(out) as journal:
        engine.run_jobs([Sleep(i, str(out), runs=2) for i in range(4)], journal, workers=2)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_workers_do_not_outlive_a_killed_study(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    script = tmp_path / "parallel.py"
    script.write_text(_PARALLEL)
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], env={**os.environ, "PYTHONPATH": str(root)}
    )
    _until(lambda: len(list(tmp_path.glob("worker-*"))) == 2)
    process.kill()
    process.wait()
    workers = [int(path.name.split("-")[1]) for path in tmp_path.glob("worker-*")]
    _until(lambda: not any(_is_alive(worker) for worker in workers))


def _until(true: Callable[[], bool]) -> None:
    """Wait for something to become true, and fail if it does not, instead of waiting for ever."""
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    pytest.fail("waited too long")


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_worker_that_was_ended_is_told(tmp_path: Path) -> None:
    wanted = [*jobs(tmp_path / "ran", 1), Die(runs=2)]
    with Journal(tmp_path) as journal, pytest.raises(RuntimeError, match="again to resume"):
        run_jobs(wanted, journal, workers=2)


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    wanted = jobs(tmp_path / "ran", 3)
    with Journal(tmp_path) as journal:
        run_jobs(wanted, journal)
        path = journal.path
    path.write_bytes(path.read_bytes()[:-20])
    with Journal(tmp_path) as journal:
        assert set(journal.done) == {job.key for job in wanted[:2]}
        run_jobs(wanted, journal)
    with Journal(tmp_path) as journal:
        assert set(journal.done) == {job.key for job in wanted}


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        run_jobs(jobs(tmp_path / "ran", 2), journal)
        path = journal.path
    head, first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join((head, first[:-5], second)) + b"\n")
    with pytest.raises(JournalError, match=r"line 2 of .* is damaged"), Journal(tmp_path):
        pass
    path.write_bytes(b"{}\n")
    with pytest.raises(JournalError, match="not a journal of this version"), Journal(tmp_path):
        pass


def test_another_version_has_a_journal_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = jobs(tmp_path / "ran", 1)
    with Journal(tmp_path) as journal:
        run_jobs(wanted, journal)
        first = journal.path
    monkeypatch.setattr(journal_module, "__version__", "999")
    with Journal(tmp_path) as journal:
        assert journal.path != first
        assert journal.done == {}


def test_only_one_study_writes_a_journal(tmp_path: Path) -> None:
    with (
        Journal(tmp_path),
        pytest.raises(JournalError, match="another study is writing"),
        Journal(tmp_path),
    ):
        pass
    with Journal(tmp_path):  # and it is free again
        pass


def test_outcomes_come_back_from_json() -> None:
    outcome = RunResult({"AUC": (0.1, 1 / 3)}, {"statement": "s"}, "")
    assert RunResult.from_dict(json.loads(json.dumps(outcome.to_dict()))) == outcome


def test_keys_tell_jobs_apart_and_noise_does_not_depend_on_how_many_runs(tmp_path: Path) -> None:
    one, same, other, more = (
        Count(1, "d", runs=2),
        Count(1, "d", runs=2),
        Count(2, "d", runs=2),
        Count(1, "d", runs=5),
    )
    assert one.key == same.key
    assert len({one.key, other.key, more.key}) == 3
    draws = [job.noise(i).stream("x").normal() for job in (one, more, other) for i in (0, 1)]
    assert draws[:2] == draws[2:4]
    assert len(set(draws)) == 4


def test_wrong_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="runs must be at least 2"):
        Count(1, "d", runs=1)
    with Journal(tmp_path) as journal, pytest.raises(ValueError, match="jobs must be at least 1"):
        run_jobs([], journal, workers=0)
    assert default_workers() >= 1
