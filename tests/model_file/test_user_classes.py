"""Models with classes of users: stored by import path, and read only where they are trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from pairdp import (
    Budget,
    Certificate,
    CertificateError,
    ModelFileError,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateRanker,
    load,
    save,
    verify,
)
from pairdp._sealed import seal
from pairdp.algorithms import GradientDescent, WithThreshold
from pairdp.cli.main import main
from pairdp.losses import LogisticRanking
from pairdp.online import OnlineDescent, OnlineSession
from pairdp.problem import Problem
from pairdp.verification import verify_file
from tests.model_file.models import FRAME, X, Y, assert_same_release, forge, opened, ranker
from tests.model_file.own_losses import Bare, Outer, OwnBall, OwnDescent, Plain, Softer

HERE = "tests.model_file.own_losses"
BUDGET = Budget(1.0, 1e-5)
OWN: dict[str, tuple[dict[str, Any], type]] = {
    f"{HERE}:Softer": ({"loss": Softer(softness=2.0)}, Softer),
    f"{HERE}:Plain": ({"loss": Plain()}, Plain),
    f"{HERE}:Outer.Inner": ({"loss": Outer.Inner()}, Outer.Inner),
    f"{HERE}:OwnDescent": ({"algorithm": OwnDescent(steps=3)}, OwnDescent),
}


def saved(path: Path, **params: Any) -> PrivateRanker:
    model = ranker(**params).fit(FRAME, Y)
    save(model, path)
    return model


@pytest.mark.parametrize("name", OWN)
def test_what_is_trusted_comes_back(tmp_path: Path, name: str) -> None:
    params, kind = OWN[name]
    model = saved(tmp_path / "model", **params)
    for trusted in ([kind], [name], [Softer, Plain, name]):
        loaded = load(tmp_path / "model", trusted=trusted)
        if kind is not Plain:  # which has no equality
            assert loaded.plan_ == model.plan_
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        for key, value in params.items():
            assert type(getattr(loaded, key)) is type(value)
            assert vars(getattr(loaded, key)) == vars(value)


@pytest.mark.parametrize("name", OWN)
def test_what_is_not_trusted_is_not_read(tmp_path: Path, name: str) -> None:
    saved(tmp_path / "model", **OWN[name][0])
    for trusted in ([], [OnlineSession], ["tests.model_file.own_losses:OwnBall"]):
        with pytest.raises(ModelFileError, match=f"it uses {name}, which is not part of pairdp"):
            load(tmp_path / "model", trusted=trusted)


@pytest.mark.parametrize("name", OWN)
def test_verify_says_first_what_is_on_trust(tmp_path: Path, name: str) -> None:
    params, kind = OWN[name]
    model = saved(tmp_path / "model", **params)
    for reports in (
        verify_file(tmp_path / "model", trusted=[kind]),
        (verify(model.certificate_, trusted=[name]),),
    ):
        (report,) = reports
        assert report.holds
        assert report.on_trust == (name,)
        first = str(report).splitlines()[0]
        assert first.startswith("TAKEN ON TRUST, not derived by this library: the ")
        assert f"classes outside pairdp: {name}" in str(report)
    for reports in (verify_file(tmp_path / "model"), (verify(model.certificate_),)):
        (report,) = reports
        assert not report.planned_again
        first = str(report).splitlines()[0]
        assert first.startswith(f"NOT PLANNED AGAIN: it uses {name}")
        assert "holds" not in first


def test_a_loss_without_equality_and_without_state_is_stored(tmp_path: Path) -> None:
    model = PrivateLinearClassifier(
        loss=Bare(), algorithm="DPGDC", random_state=1, data_norm=1.0
    ).fit(X, Y)
    save(model, tmp_path / "model")
    assert type(load(tmp_path / "model", trusted=[Bare]).loss) is Bare
    (report,) = verify_file(tmp_path / "model", trusted=[Bare])
    assert report.holds
    assert str(report).startswith("TAKEN ON TRUST")


def test_forged_constants_are_refused_where_the_class_is_trusted() -> None:
    certificate = ranker(loss=Softer(), threshold=0.0).plan(100, 3).certificate
    document = certificate.to_dict()
    document["releases"][0]["scale"] /= 2  # type: ignore[index]
    with pytest.raises(CertificateError):
        verify(seal(document), trusted=[Softer])


def test_a_constraint_of_a_user_is_stored_too() -> None:
    problem = Problem(LogisticRanking(), OwnBall(1.0), 0.1)
    certificate = GradientDescent().plan(problem, 100, 3, BUDGET).certificate
    assert not verify(certificate).planned_again
    assert verify(certificate, trusted=[OwnBall]).on_trust == (f"{HERE}:OwnBall",)


def test_streams_ask_for_trust(tmp_path: Path) -> None:
    problem = Problem(Softer(), OwnBall(1.0), 0.1)
    session = OnlineSession(OnlineDescent(4).plan(problem, 30, 3, BUDGET))
    session.learn(X[:10], np.where(Y[:10], 1, -1))
    path = tmp_path / "stream"
    session.save(path)
    assert not verify_file(path)[0].planned_again
    assert verify_file(path, trusted=[Softer, OwnBall])[0].holds
    with pytest.raises(ModelFileError, match="it uses"):
        OnlineSession.resume(path, trusted=[Softer])
    assert OnlineSession.resume(path, trusted=[Softer, OwnBall]).seen == 10


def test_paused_estimators_ask_for_trust(tmp_path: Path) -> None:
    model = OnlinePrivateRanker(
        1.0, 1e-5, horizon=200, loss=Softer(), random_state=1, data_norm=1.0
    )
    model.partial_fit(X, Y, classes=[0, 1])
    path = tmp_path / "stream"
    model.pause(path)
    assert not verify_file(path)[0].planned_again
    assert verify_file(path, trusted=[Softer])[0].holds
    with pytest.raises(ModelFileError, match="it uses"):
        OnlinePrivateRanker.resume(path)
    assert OnlinePrivateRanker.resume(path, trusted=[Softer]).records_left_ == 80


def test_classes_without_a_path_are_trusted_by_themselves(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Local(LogisticRanking):
        pass

    model = saved(tmp_path / "model", loss=Local())
    assert_same_release(load(tmp_path / "model", trusted=[Local]), model)
    where = "test_classes_without_a_path_are_trusted_by_themselves.<locals>.Local"
    with pytest.raises(ModelFileError, match=where):
        load(tmp_path / "model")
    for name in (f"{__name__}:{where}", "__main__:Loss"):
        with pytest.raises(ValueError, match="pass the class itself"):
            load(tmp_path / "model", trusted=[name])


SCRIPT = """
import sys
from dataclasses import dataclass
import numpy as np
from pairdp import PrivateRanker, load, save
from pairdp.losses import LogisticRanking

@dataclass(frozen=True)
class Mine(LogisticRanking):
    pass

if sys.argv[1] == "save":
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 50)
    model = PrivateRanker(algorithm="DPGDC", loss=Mine(), threshold=0.0, data_norm=1.0)
    save(model.fit(rng.normal(size=(50, 2)) / 4, y), sys.argv[2])
else:
    assert type(load(sys.argv[2], trusted=[Mine]).loss) is Mine
"""


def test_a_class_of_a_script_is_found_by_the_script_alone(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    for what in ("save", "load"):
        command = [sys.executable, str(tmp_path / "script.py"), what, str(tmp_path / "model")]
        subprocess.run(command, check=True)
    with pytest.raises(ModelFileError, match="it uses __main__:Mine"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("trusted", "reason"),
    [
        (["nowhere_at_all:Loss"], "cannot be imported"),
        ([f"{HERE}:Nothing"], "cannot be imported"),
        (["os:getcwd"], "is not a class"),
        (["mypackage.Loss"], "module:Class"),
        ([":Loss"], "module:Class"),
        ([5], "got 5"),
        (f"{HERE}:Softer", "put a single one into a list"),
        (Softer, "put a single one into a list"),
    ],
    ids=str,
)
def test_what_is_no_trusted_class_is_refused(tmp_path: Path, trusted: Any, reason: str) -> None:
    saved(tmp_path / "model")
    with pytest.raises((ValueError, TypeError), match=reason):
        load(tmp_path / "model", trusted=trusted)
    with pytest.raises((ValueError, TypeError), match=reason):
        verify("{}", trusted=trusted)


TRAP = """
from pathlib import Path
Path(__file__).with_name("sprung").touch()
"""


@pytest.mark.parametrize("where", ["params", "plan"])
def test_a_file_imports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    (tmp_path / "trap.py").write_text(TRAP)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "model"
    model = saved(path)
    header, arrays = opened(path)
    evil = {"class": "trap:Loss", "fields": {}}
    if where == "params":
        header["steps"][0]["params"]["loss"] = evil
    else:
        document = model.certificate_.to_dict()
        document["plan"]["problem"]["fields"]["loss"] = evil  # type: ignore[index]
        header["steps"][0]["certificate"] = json.loads(seal(document))
    forge(path, header, arrays)
    with pytest.raises(ModelFileError, match="it uses trap:Loss"):
        load(path)
    (report,) = verify_file(path)
    assert not report.planned_again
    assert str(report).startswith("NOT PLANNED AGAIN: it uses trap:Loss")
    assert not (tmp_path / "sprung").exists()
    assert "trap" not in sys.modules


def test_a_trusted_class_in_a_wrong_place_is_refused(tmp_path: Path) -> None:
    """A loss as an algorithm, say: the constructors of the library check what they get."""
    path = tmp_path / "model"
    model = saved(path)
    document: Any = model.certificate_.to_dict()
    document["plan"]["algorithm"] = {"class": f"{HERE}:Softer", "fields": {}}
    with pytest.raises(CertificateError, match="algorithm of its plan is not an Algorithm"):
        verify(seal(document), trusted=[Softer])
    with pytest.raises(TypeError, match="algorithm must be an Algorithm"):
        WithThreshold(Softer())  # type: ignore[arg-type]


def test_commands_take_trusted_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "model")
    saved(Path(path), loss=Softer())
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    run, name = CliRunner().invoke, f"{HERE}:Softer"
    done = run(main, ["verify", path])
    assert done.exit_code == 5
    assert done.stdout.startswith(f"NOT PLANNED AGAIN: it uses {name}")
    done = run(main, ["verify", path, "--trust", name])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("TAKEN ON TRUST")
    told = json.loads(run(main, ["verify", path, "--trust", name, "--json"]).stdout)
    assert told["certificates"][0]["on_trust"] == [name]
    data = str(tmp_path / "data.csv")
    done = run(main, ["predict", path, data])
    assert done.exit_code == 1
    assert f"--trust {name}" in done.stderr
    done = run(main, ["predict", path, data, "--trust", name])
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) >= len(X)


def test_a_loss_with_hidden_state_has_no_facts() -> None:
    class Hidden(LogisticRanking):
        def __init__(self) -> None:
            super().__init__()
            self.more = 1.0

    certificate = ranker(loss=Hidden(), threshold=0.0).plan(100, 3).certificate
    assert certificate.plan is None
    report = verify(Certificate.from_json(certificate.to_json()))
    assert str(report).startswith("NOT PLANNED AGAIN: it stores no facts")
