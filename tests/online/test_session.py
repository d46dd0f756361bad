"""Sessions: saved once, resumed once, and what was spent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pairdp import Budget, ModelFileError, NoiseSource, verify
from pairdp.constraints import L2Ball, PSDFrobeniusBall
from pairdp.losses import LogisticMetric, LogisticRanking
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.problem import Problem

BUDGET = Budget(1.0, 1e-5)
RANKING = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
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
    x, y = data()
    plan = OnlineDescent(**shape).plan(RANKING, 30, 2, None)  # type: ignore[arg-type]
    one, other = OnlineSession(plan, NoiseSource(0)), OnlineSession(plan, NoiseSource(0))
    if "replacement" in shape:
        pytest.skip("the reservoir draws other places after a stop")
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
