"""Files of streams, and the ledgers that pay for them, put back, copied or replaced.

What was tried: a copy of a stream's file was resumed a second time, and the resumed estimator had
lost its ledger.

What must hold: a stream that a ledger pays for is resumed once, with that ledger.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import NoiseSource, OnlinePrivateMetric, OnlinePrivateRanker
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.model_file import ModelFileError
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.privacy import Budget, BudgetExceededError, BudgetLedger, LedgerError
from pairdp.problem import Problem

N = 40
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(N, 3)) / 3, np.arange(N) % 2


def paused(path: Path, ledger: BudgetLedger | None) -> OnlinePrivateRanker:
    model = OnlinePrivateRanker(0.5, 1e-6, horizon=N, classes=[0, 1], data_norm=1.0, ledger=ledger)
    model.partial_fit(X[:10], Y[:10])
    model.pause(path)
    return model


@pytest.fixture
def ledger(tmp_path: Path) -> BudgetLedger:
    return BudgetLedger(Budget(1.0, 1e-5), tmp_path / "ledger.json")


def test_a_copied_stream_is_not_resumed_twice(tmp_path: Path, ledger: BudgetLedger) -> None:
    path, copied = tmp_path / "stream", tmp_path / "copy"
    paused(path, ledger)
    shutil.copy(path, copied)
    again = BudgetLedger.load(tmp_path / "ledger.json")
    model = OnlinePrivateRanker.resume(path, ledger=again)
    assert model.ledger is again
    for given_ledger in (ledger, again, BudgetLedger.load(tmp_path / "ledger.json")):
        with pytest.raises(LedgerError, match="resumed before"):
            OnlinePrivateRanker.resume(copied, ledger=given_ledger)
    assert copied.exists()
    # Not after the next pause either, whose file is another one.
    model.partial_fit(X[10:20], Y[10:20])
    model.pause(path)
    with pytest.raises(LedgerError, match="resumed before"):
        OnlinePrivateRanker.resume(copied, ledger=ledger)
    OnlinePrivateRanker.resume(path, ledger=ledger).partial_fit(X[20:], Y[20:])
    assert len(ledger.spends) == 1


def test_a_stream_asks_for_its_ledger(tmp_path: Path, ledger: BudgetLedger) -> None:
    path = tmp_path / "stream"
    paused(path, ledger)
    other = BudgetLedger(Budget(1.0, 1e-5), tmp_path / "other.json")
    with pytest.raises(LedgerError, match="give that ledger"):
        OnlinePrivateRanker.resume(path)
    with pytest.raises(LedgerError, match="another ledger"):
        OnlinePrivateRanker.resume(path, ledger=other)
    with pytest.raises(ModelFileError, match="saved by"):
        OnlinePrivateMetric.resume(path.with_name("session"), ledger=_saved(tmp_path))
    OnlinePrivateRanker.resume(path, ledger=ledger)


def _saved(tmp_path: Path) -> BudgetLedger:
    ledger = BudgetLedger(Budget(1.0, 1e-5))
    session(ledger).save(tmp_path / "session")
    return ledger


def test_a_resume_that_fails_uses_nothing_up(tmp_path: Path, ledger: BudgetLedger) -> None:
    path = tmp_path / "stream"
    paused(path, ledger)
    with pytest.raises(ModelFileError, match="OnlinePrivateRanker"):
        OnlinePrivateMetric.resume(path, ledger=ledger)
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(ModelFileError):
        OnlinePrivateRanker.resume(path, ledger=ledger)
    path.write_bytes(whole)
    OnlinePrivateRanker.resume(path, ledger=ledger)


def test_a_ledger_that_was_put_back_resumes_nothing(tmp_path: Path, ledger: BudgetLedger) -> None:
    path, file = tmp_path / "stream", tmp_path / "ledger.json"
    paused(path, ledger)
    shutil.copy(path, tmp_path / "copy")
    old = file.read_bytes()
    OnlinePrivateRanker.resume(path, ledger=ledger)
    file.write_bytes(old)
    with pytest.raises(LedgerError, match="earlier state"):
        OnlinePrivateRanker.resume(tmp_path / "copy", ledger=ledger)


def test_a_copied_token_is_accepted_once(tmp_path: Path, ledger: BudgetLedger) -> None:
    paused(tmp_path / "stream", ledger)
    copies = [tmp_path / f"copy {number}" for number in range(6)]
    for copied in copies:
        shutil.copy(tmp_path / "stream", copied)

    def resume(path: Path) -> bool:
        try:
            OnlinePrivateRanker.resume(path, ledger=BudgetLedger.load(tmp_path / "ledger.json"))
        except LedgerError:
            return False
        return True

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(resume, copies)) == 1


def session(ledger: BudgetLedger | None, **more: Any) -> OnlineSession:
    problem = Problem(LogisticRanking(), L2Ball(1.0))
    plan = OnlineDescent(buffer=8, batch_size=5).plan(problem, N, 3, Budget(0.5, 1e-6))
    return OnlineSession(plan, ledger=ledger, **more)


def test_sessions_pay_and_are_resumed_with_their_ledger(tmp_path: Path) -> None:
    ledger = BudgetLedger(Budget(0.6, 1e-5))
    first = session(ledger)
    assert len(ledger.spends) == 1
    with pytest.raises(BudgetExceededError):
        session(ledger)
    first.learn(X[:12], 2 * Y[:12] - 1)
    first.save(tmp_path / "stream")
    shutil.copy(tmp_path / "stream", tmp_path / "copy")
    with pytest.raises(LedgerError, match="give that ledger"):
        OnlineSession.resume(tmp_path / "stream")
    second = OnlineSession.resume(tmp_path / "stream", ledger=ledger)
    assert second.left == N - 12
    with pytest.raises(LedgerError, match="resumed before"):
        OnlineSession.resume(tmp_path / "copy", ledger=ledger)
    second.save(tmp_path / "stream")
    with pytest.raises(LedgerError, match="leave out the seed"):
        OnlineSession.resume(tmp_path / "stream", NoiseSource(0), ledger=ledger)
    with pytest.raises(ValueError, match="leave out the seed"):
        session(BudgetLedger(Budget(1.0, 1e-5)), noise=NoiseSource(0))


def test_a_stream_without_a_ledger_is_resumed_without_one(tmp_path: Path) -> None:
    path = tmp_path / "stream"
    paused(path, None)
    with pytest.raises(LedgerError, match="began without a ledger"):
        OnlinePrivateRanker.resume(path, ledger=BudgetLedger(Budget(1.0, 1e-5)))
    assert OnlinePrivateRanker.resume(path).ledger is None
    with pytest.raises(ModelFileError, match="gone once it is resumed"):
        OnlinePrivateRanker.resume(path)


@pytest.mark.parametrize("at", ["the ledger", "the file"])
def test_a_stream_that_cannot_be_saved_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    ledger = BudgetLedger(Budget(1.0, 1e-5), tmp_path / "ledger.json")
    stream, path = session(ledger), tmp_path / "stream"

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        # The file of a stream is linked to its name, that of a ledger is renamed.
        broken.setattr(os, "replace" if at == "the ledger" else "link", full)
        with pytest.raises((LedgerError, ModelFileError), match="No space left"):
            stream.save(path)
    assert not [entry for entry in tmp_path.iterdir() if "stream" in entry.name]
    stream.learn(X[:5], 2 * Y[:5] - 1)
    stream.save(path)
    assert OnlineSession.resume(path, ledger=ledger).seen == 5
