"""Sessions: saved once, resumed once, and what was spent."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, ModelFileError, NoiseSource, _files, verify
from pairdp._sealed import seal
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LeastSquaresRanking, LogisticMetric, LogisticRanking
from pairdp.online import ONPAIRC, ONPAIRSTRC, OnlineDescent, OnlineMoments, OnlineSession
from pairdp.online.buffer import PartnerBuffer
from pairdp.online.state_file import _STREAM
from pairdp.problem import Problem

BUDGET = Budget(1.0, 1e-5)
RANKING = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
CONVEX = Problem(LogisticRanking(), L2Ball(1.0))
STRONG = Problem(LogisticRanking(temperature=4.0), L2Ball(1.0), 2.0)
SQUARES = Problem(LeastSquaresRanking(), L2Ball(1.0))
METRIC = Problem(LogisticMetric(), PSDFrobeniusBall(1.0), 0.1)
SHAPES = [
    {},
    {"buffer": 4},
    {"buffer": 4, "batch_size": 3},
    {"buffer": 4, "replacement": "reservoir"},
    {"noise": "models"},
    {"noise": "models", "batch_size": 4, "buffer": 5},
]


def data(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], n)
    return (rng.normal(size=(n, 2)) + y[:, None]) / 4, y


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_stream_goes_on_as_if_nothing_had_happened(
    shape: dict[str, object], tmp_path: Path
) -> None:
    # Without noise, so that both can be compared.
    if "replacement" in shape:
        pytest.skip("the reservoir draws other places after a stop")
    x, y = data()
    plan = OnlineDescent(**shape).plan(RANKING, 30, 2, None)  # type: ignore[arg-type]
    one, other = OnlineSession(plan, NoiseSource(0)), OnlineSession(plan, NoiseSource(0))
    one.learn(x, y)
    for start in range(0, 30, 10):
        other.learn(x[start : start + 10], y[start : start + 10])
        other.save(tmp_path / "stream")
        other = OnlineSession.resume(tmp_path / "stream", NoiseSource(start))
    np.testing.assert_allclose(other.parameters, one.parameters, atol=1e-12)
    assert other.left == 0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_files_say_what_they_hold(shape: dict[str, object], tmp_path: Path) -> None:
    x, y = data()
    marked = x.copy()
    marked[8] = [0.123456789, -0.2468013579]
    plan = OnlineDescent(**shape).plan(RANKING, 30, 2, BUDGET)  # type: ignore[arg-type]
    needle = marked[8].tobytes()
    session = OnlineSession(plan)
    session.learn(marked[:10], y[:10])
    session.save(tmp_path / "with")
    assert OnlineSession.header_of(tmp_path / "with")["holds_raw_records"] is True
    assert needle in (tmp_path / "with").read_bytes() or "replacement" in shape
    other = OnlineSession(plan)
    other.learn(marked[:10], y[:10])
    if shape.get("noise") == "models":
        with pytest.raises(ValueError, match="secrets=True"):
            other.save(tmp_path / "without", secrets=False)
        assert not (tmp_path / "without").exists()
        return
    other.save(tmp_path / "without", secrets=False)
    header = OnlineSession.header_of(tmp_path / "without")
    assert header["holds_raw_records"] is False
    assert header["holds_secrets"] is False
    written = (tmp_path / "without").read_bytes()
    assert all(row.tobytes() not in written for row in marked[:10])
    again = OnlineSession.resume(tmp_path / "without")
    assert again.left == 20
    again.learn(x[10:], y[10:])


def test_a_session_is_one_at_a_time(tmp_path: Path) -> None:
    x, y = data()
    plan = OnlineDescent().plan(RANKING, 30, 2, BUDGET)
    session = OnlineSession(plan)
    session.learn(x[:5], y[:5])
    path = tmp_path / "stream"
    session.save(path)
    for attempt in (lambda: session.learn(x[:1], y[:1]), lambda: session.save(tmp_path / "more")):
        with pytest.raises(ValueError, match="resume"):
            attempt()
    resumed = OnlineSession.resume(path)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ModelFileError, match="gone once it is resumed"):
        OnlineSession.resume(path)
    resumed.save(path)
    late = OnlineSession(plan)
    with pytest.raises(ModelFileError, match="exists"):
        late.save(path)
    late.learn(x[:1], y[:1])  # it was not saved, and goes on


def test_the_same_seed_gives_other_noise_after_a_stop(tmp_path: Path) -> None:
    x, y = data()
    plan = OnlineDescent().plan(RANKING, 30, 2, BUDGET)
    session = OnlineSession(plan, NoiseSource(0))
    session.learn(x[:2], y[:2])
    begun = session.parameters
    session.save(tmp_path / "stream")
    session = OnlineSession.resume(tmp_path / "stream", NoiseSource(0))
    first = session._learner._generator.normal(size=4)  # type: ignore[attr-defined]
    again = OnlineSession(plan, NoiseSource(0))._learner._generator.normal(size=4)  # type: ignore[attr-defined]
    assert not np.any(np.isclose(first, again))
    np.testing.assert_array_equal(session.parameters, begun)


def test_a_damaged_file_is_refused_and_stays(tmp_path: Path) -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:5], y[:5])
    path = tmp_path / "stream"
    session.save(path)
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"stream.*damaged"):
        OnlineSession.resume(path)
    assert path.read_bytes() == bytes(content)
    assert [p.name for p in tmp_path.iterdir()] == ["stream"]


def test_labels_keep_their_codes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)) / 3, np.array(list("abcbcabacbca"))
    plan = OnlineDescent().plan(METRIC, 12, 2, None)
    one, other = OnlineSession(plan), OnlineSession(plan)
    one.learn(x, y)
    other.learn(x[:5], y[:5])
    other.save(tmp_path / "stream")
    other = OnlineSession.resume(tmp_path / "stream")
    other.learn(x[5:], y[5:])
    np.testing.assert_allclose(other.parameters, one.parameters, atol=1e-12)


def test_a_certificate_that_took_a_seed_says_so_for_ever(tmp_path: Path) -> None:
    x, y = data()
    plan = OnlineDescent().plan(RANKING, 30, 2, BUDGET)
    for first, second in ((NoiseSource(0), NoiseSource()), (NoiseSource(), NoiseSource(0))):
        session = OnlineSession(plan, first)
        session.learn(x[:5], y[:5])
        session.save(tmp_path / "stream")
        session = OnlineSession.resume(tmp_path / "stream", second)
        assert "seed" in session.certificate.noise_source
        verify(session.certificate)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_was_spent_grows_up_to_the_budget(shape: dict[str, object]) -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent(**shape).plan(RANKING, 30, 2, BUDGET))  # type: ignore[arg-type]
    assert session.spent is None
    spent = []
    for start in range(0, 30, 6):
        session.learn(x[start : start + 6], y[start : start + 6])
        assert session.spent is not None
        assert session.spent.delta == BUDGET.delta
        spent.append(session.spent.epsilon)
    assert np.all(np.diff(spent) >= 0)
    assert spent[-1] == pytest.approx(BUDGET.epsilon, rel=1e-6)
    assert spent[-1] <= BUDGET.epsilon
    baseline = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, None))
    baseline.learn(x, y)
    assert baseline.spent is None


def test_bad_records_change_nothing() -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:5], y[:5])
    before = session.parameters
    broken = x[:3].copy()
    broken[1, 0] = np.nan
    for rows, labels, says in (
        (broken, y[:3], "NaN"),
        (x[:3, :1], y[:3], "2 features"),
        (x[:3], [0, 1, 1], "-1 and"),
        (x[:3], y[:2], "label for each"),
    ):
        with pytest.raises(ValueError, match=says):
            session.learn(rows, labels)
    assert session.seen == 5
    np.testing.assert_array_equal(session.parameters, before)


def test_an_interrupted_step_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Between the release of a model and the buffer: the next record would meet too few.
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:5], y[:5])

    def interrupted(self: PartnerBuffer) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartnerBuffer, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.learn(x[5:8], y[5:8])
    assert session.seen == 6
    assert not session.is_open
    for attempt in (lambda: session.learn(x[8:], y[8:]), lambda: session.save(tmp_path / "s")):
        with pytest.raises(ValueError, match="after the first 6"):
            attempt()


def test_a_file_that_might_not_last_ends_the_session_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:5], y[:5])

    def fails(directory: Path) -> None:
        raise _files.NotDurableError(5, "no luck")

    with monkeypatch.context() as patch:
        patch.setattr(_files, "_sync_directory", fails)
        with pytest.raises(ModelFileError, match="might not survive"):
            session.save(tmp_path / "stream")
    with pytest.raises(ValueError, match="resume"):
        session.learn(x[5:], y[5:])
    assert OnlineSession.resume(tmp_path / "stream").left == 25


def test_files_are_for_their_owner_and_links_are_followed(tmp_path: Path) -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:5], y[:5])
    session.save(tmp_path / "stream")
    assert (tmp_path / "stream").stat().st_mode & 0o077 == 0
    (tmp_path / "link").symlink_to(tmp_path / "stream")
    OnlineSession.resume(tmp_path / "link")
    with pytest.raises(ModelFileError, match="gone"):
        OnlineSession.resume(tmp_path / "stream")


def test_labels_of_records_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)) / 3, np.array([f"person {i}" for i in range(12)])
    session = OnlineSession(OnlineDescent(2).plan(METRIC, 20, 2, BUDGET))
    session.learn(x, y)
    session.save(tmp_path / "stream")
    content = (tmp_path / "stream").read_bytes()
    assert [f"person {i}".encode() in content for i in (0, 5, 9)] == [False] * 3
    assert b"person 10" in content
    session = OnlineSession.resume(tmp_path / "stream")
    session.learn(x[:2], ["person 11", "another"])
    session.save(tmp_path / "public", secrets=False)
    assert b"another" not in (tmp_path / "public").read_bytes()
    late = OnlineSession(OnlineDescent().plan(METRIC, 20, 2, BUDGET))
    late.learn(x[:2], [b"bytes", b"more"])
    with pytest.raises(ModelFileError, match="numbers or text"):
        late.save(tmp_path / "bytes")
    late.learn(x[:1], [b"bytes"])


def test_moments_say_that_their_secrets_tell_records(tmp_path: Path) -> None:
    x, y = data()
    for budget, secrets, tells in (
        (BUDGET, True, True),
        (BUDGET, False, False),
        (None, False, True),
    ):
        session = OnlineSession(OnlineMoments().plan(SQUARES, 30, 2, budget))
        session.learn(x[:1], y[:1])
        path = tmp_path / f"{budget is None} {secrets}"
        session.save(path, secrets=secrets)
        assert OnlineSession.header_of(path)["holds_raw_records"] is tells


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_session_stays_in_its_process() -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent().plan(RANKING, 30, 2, BUDGET))
    child = os.fork()
    if child == 0:
        try:
            session.learn(x, y)
        except ValueError as error:
            os._exit(0 if "another process" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    session.learn(x, y)


def resealed(path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]) -> None:
    """Write a file again with something changed, and all its digests right."""
    header, arrays = _STREAM.read(path)
    change(header, arrays)
    content = {key: value for key, value in header["certificate"].items() if key != "digest"}
    header["certificate"] = json.loads(seal(content))
    kept = {name: header[name] for name in _STREAM.fields}
    path.unlink()
    _STREAM.write(path, kept, arrays)


def planned(header: dict[str, Any]) -> dict[str, Any]:
    plan: dict[str, Any] = header["certificate"]["plan"]
    return plan


HOSTILE: dict[str, Callable[[dict[str, Any], dict[str, np.ndarray]], None]] = {
    "norm": lambda h, a: planned(h)["problem"]["fields"].update(data_norm=1000.0),
    "radius": lambda h, a: planned(h)["problem"]["fields"]["constraint"]["fields"].update(
        radius=1e6
    ),
    "buffer": lambda h, a: planned(h)["settings"].update(buffer=10**12),
    "batch": lambda h, a: planned(h)["settings"].update(batch_size=10**13),
    "replacement": lambda h, a: planned(h)["settings"].update(replacement="zzz"),
    "step": lambda h, a: planned(h)["settings"].update(smoothness=1.0),
    "scale": lambda h, a: h["certificate"]["releases"][0].update(scale=1e-3),
    "claim": lambda h, a: h["certificate"]["claim"].update(epsilon=1e-3),
    "no plan": lambda h, a: h["certificate"].update(plan=None),
    "seen": lambda h, a: h.update(seen=31),
    "flag": lambda h, a: h.update(holds_secrets="yes"),
    "secrets": lambda h, a: h.update(holds_secrets=False),
    "rows": lambda h, a: a.update({"secret.buffer_x": 1e6 * a["secret.buffer_x"]}),
    "labels": lambda h, a: a.update({"secret.buffer_y": 5 * a["secret.buffer_y"]}),
    "cut": lambda h, a: a.update({k: a[k][:1] for k in ("secret.buffer_x", "secret.buffer_y")}),
    "waiting": lambda h, a: a.update({"secret.waiting_x": 1e6 * a["secret.waiting_x"]}),
    "steps": lambda h, a: a.update({"public.steps": np.array([-1.0])}),
    "half": lambda h, a: a.update({"public.steps": np.array([1.5])}),
    "many": lambda h, a: a.update({"public.steps": np.array([1e9])}),
    "nan": lambda h, a: a.update({"public.parameters": np.full(2, np.nan)}),
    "shape": lambda h, a: a.update({"public.parameters": np.zeros(3)}),
    "more": lambda h, a: a.update({"public.more": np.zeros(3)}),
    "other": lambda h, a: a.update({"other": np.zeros(3)}),
    "less": lambda h, a: a.pop("secret.buffer_seen") is None,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_edited_files_are_refused_and_stay(name: str, tmp_path: Path) -> None:
    x, y = data()
    session = OnlineSession(OnlineDescent(5, batch_size=4).plan(RANKING, 30, 2, BUDGET))
    session.learn(x[:14], y[:14])
    path = tmp_path / "stream"
    session.save(path)
    resealed(path, lambda header, arrays: None)
    resealed(path, HOSTILE[name])
    with pytest.raises(ModelFileError):
        OnlineSession.resume(path)
    assert [p.name for p in tmp_path.iterdir()] == ["stream"]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_files_as_they_were_written_are_accepted(shape: dict[str, object], tmp_path: Path) -> None:
    for problem, calibration in (
        (RANKING, "certified"),
        (CONVEX, "certified"),
        (STRONG, "printed"),
    ):
        if calibration == "printed" and shape:
            continue
        algorithm = OnlineDescent(**shape)  # type: ignore[arg-type]
        if calibration == "printed":
            algorithm = ONPAIRC
        plan = algorithm.plan(problem, 60, 2, BUDGET, calibration=calibration)  # type: ignore[arg-type]
        OnlineSession(plan).save(tmp_path / "stream")
        assert OnlineSession.resume(tmp_path / "stream").left == 60


def test_printed_noise_spends_nothing_on_random_points() -> None:
    x, y = data(60)
    session = OnlineSession(ONPAIRSTRC.plan(STRONG, 60, 2, BUDGET, calibration="printed"))
    random = session.plan.settings.burn_in
    session.learn(x[:random], y[:random])
    assert session.spent is None
    session.learn(x[random:], y[random:])
    assert session.spent is not None
    assert session.spent.epsilon < BUDGET.epsilon
