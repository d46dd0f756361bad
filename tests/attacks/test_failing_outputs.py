"""Full disks and interrupts, at every call that may meet them.

What was tried: a disk that was full after the ledger had been charged lost the model without a word
on the budget that was gone with it.

What must hold: the budget is spent after the file is complete on disk and before it gets its name.
Nothing is released that was not paid for, and if something was paid for that was not released, the
one sentence says how much and where the file is.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import pairdp
from pairdp import Budget, BudgetLedger, OnlinePrivateRanker, PrivateRanker, load
from pairdp._files import Draft
from pairdp.algorithms.plan import Plan
from pairdp.cli.main import main
from pairdp.privacy import LedgerError, PureEvent
from tests.cli.helpers import BOUNDS, SECRET, refused, run, table, write


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(table())
    Path("bounds.json").write_text(json.dumps(BOUNDS))


PAID = [*SECRET, "--ledger", "ledger.json"]


@pytest.fixture
def ledger() -> BudgetLedger:
    return BudgetLedger(Budget(1.5, 1e-4), "ledger.json")


class Failing:
    """A function that fails at its k-th call, before or after it does what it is for."""

    def __init__(self, function: Callable[..., Any], call: int, error: Any, after: bool) -> None:
        self.function, self.call, self.error, self.after = function, call, error, after
        self.calls = 0

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.calls += 1
        if self.calls == self.call and not self.after:
            raise self.error
        found = self.function(*args, **more)
        if self.calls == self.call:
            raise self.error
        return found


ERRORS: dict[str, BaseException] = {
    "full disk": OSError(errno.ENOSPC, "No space left on device"),
    "interrupt": KeyboardInterrupt(),
}


def assert_true(error: str, spent: bool) -> None:
    """Check that what the command says of the budget and of the model is so."""
    words = r"ε = 1, δ = 1e-06 for DPGDSC .* was spent from the ledger|counts as spent"
    said_spent = re.search(words, error) is not None
    assert said_spent == spent, error
    drafts = list(Path().glob(".model.pairdp.*"))
    if Path("model.pairdp").exists():
        assert spent
        assert not drafts
        assert "is in place" in error
    elif "counts as spent" in error:
        assert not drafts
        assert "Nothing was released" in error
    elif spent:
        (kept,) = drafts
        assert str(kept.resolve()) in error
        load(kept)  # complete, and to be renamed by hand
    else:
        assert not drafts
        assert re.search(r"nothing was (spent|released)|cannot be written", error, re.IGNORECASE)


# How often a fit with a ledger calls each: the model, the ledger, its directory, the model's
# directory; two names; two modes each.
CALLS = {"fsync": 4, "replace": 2, "chmod": 4}
PLACES = [
    (kind, name, call, after)
    for kind in ERRORS
    for name, calls in CALLS.items()
    for call in range(1, calls + 2)
    for after in (False, True)
    if kind == "interrupt" or name == "fsync" or not after  # what was done did not fail
]


@pytest.mark.parametrize(("kind", "name", "call", "after"), PLACES)
def test_errors_report_the_spent_budget_wherever_a_fit_fails(
    ledger: BudgetLedger,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    name: str,
    call: int,
    after: bool,
) -> None:
    failing = Failing(getattr(os, name), call, ERRORS[kind], after)
    with monkeypatch.context() as broken:
        broken.setattr(os, name, failing)
        if name == "chmod":
            broken.setattr(Path, "chmod", lambda self, mode, **_: failing(self, mode))
        result = CliRunner().invoke(main, PAID)
    assert (result.exit_code != 0) == (call <= CALLS[name]), result.output
    if result.exit_code:
        assert result.stderr.count("\n") == 1
        assert_true(result.stderr, bool(ledger.spends))
    else:
        assert len(ledger.spends) == 1
        load("model.pairdp")


@pytest.mark.parametrize("kind", ERRORS)
def test_a_fit_that_fails_in_python_says_what_was_spent(
    ledger: BudgetLedger, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ERRORS[kind]

    monkeypatch.setattr(Plan, "run", fail)
    model = PrivateRanker(1.0, 1e-5, threshold=0.0, classes=[0, 1], data_norm=1.0, ledger=ledger)
    with pytest.raises(type(ERRORS[kind])) as caught:
        model.fit(np.ones((20, 2)) / 2, np.arange(20) % 2)
    assert "Budget(epsilon=1.0, delta=1e-05) was spent" in caught.value.__notes__[-1]
    assert len(ledger.spends) == 1


def test_a_release_in_memory_reports_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = BudgetLedger(Budget(1.0))
    draft = Draft(Path("output"), b"content")
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", Failing(os.replace, 1, ERRORS["full disk"], False))
        with pytest.raises(LedgerError, match=r"ε = 0\.75, δ = 0 for it was spent.*rename it to"):
            ledger.release(Budget(0.75), draft, "it")
    assert draft.beside.read_bytes() == b"content"
    with pytest.raises(ValueError, match="exceeds what is left"):
        ledger.release(PureEvent(0.5), draft, "again")
    assert not draft.beside.exists()
    for cost, label in ((PureEvent(0.1), ""), ("much", "text"), (PureEvent(0.1), None)):
        draft = Draft(Path("output"), b"content")
        with pytest.raises((ValueError, TypeError)):
            ledger.release(cost, draft, label)  # type: ignore[arg-type]
        assert not draft.beside.exists()
    ledger.release(PureEvent(0.25), Draft(Path("output"), b"content"), "the rest")
    assert Path("output").read_bytes() == b"content"


def limited() -> None:  # pragma: no cover - in a child process
    resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))


def true_command(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
    source = str(Path(pairdp.__file__).parents[1])
    code = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "from pairdp.cli.main import main; main(sys.argv[1:])"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": source}, **more,
    )  # fmt: skip


@pytest.mark.slow
def test_a_file_that_may_not_grow_costs_nothing(ledger: BudgetLedger) -> None:
    done = true_command(*PAID, preexec_fn=limited)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert ledger.spends == ()
    assert not list(Path().glob("*model.pairdp*"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a few pages, all of them taken."""
    place = tmp_path / "small"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        made = subprocess.run(["mount", *options], capture_output=True, check=False)  # noqa: S607
    except OSError:
        pytest.skip("there is no mount command")
    if made.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)  # noqa: S607


def fill(place: Path) -> Path:
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    return filler


def test_a_full_disk_for_the_model_costs_nothing(ledger: BudgetLedger, small_disk: Path) -> None:
    filler = fill(small_disk)
    args = [*PAID[: PAID.index("-o")], "-o", str(small_disk / "model"), *PAID[-2:]]
    assert "No space left on device" in refused(*args)
    assert ledger.spends == ()
    assert list(small_disk.iterdir()) == [filler]
    filler.unlink()
    run(*args)
    assert len(ledger.spends) == 1
    load(small_disk / "model")


def test_a_full_disk_for_the_ledger_releases_nothing(small_disk: Path) -> None:
    ledger = BudgetLedger(Budget(1.5, 1e-4), small_disk / "ledger.json")
    filler = fill(small_disk)
    args = [*SECRET, "--ledger", str(small_disk / "ledger.json")]
    assert "No space left on device. Nothing was spent" in refused(*args)
    assert not list(Path().glob("*model.pairdp*"))
    filler.unlink()
    run(*args)
    assert len(ledger.spends) == 1


def test_a_stream_on_a_full_disk_goes_on(small_disk: Path) -> None:
    ledger = BudgetLedger(Budget(1.5, 1e-4), "ledger.json")
    model = OnlinePrivateRanker(1.0, 1e-6, horizon=20, classes=[0, 1], data_norm=1.0, ledger=ledger)
    model.partial_fit(np.ones((2, 2)) / 2, [0, 1])
    filler = fill(small_disk)
    with pytest.raises(ValueError, match="No space left"):
        model.pause(small_disk / "stream")
    filler.unlink()
    model.partial_fit(np.ones((2, 2)) / 2, [0, 1]).pause(small_disk / "stream")
    OnlinePrivateRanker.resume(small_disk / "stream", ledger=ledger)


def test_a_seed_is_still_not_paid_for(ledger: BudgetLedger) -> None:
    assert "independent noise" in refused(*PAID, "--seed", "1")
    assert ledger.spends == ()
