"""An estimator is one file: a user's module, or a new module of `pairdp.estimators`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.base import clone

import pairdp.estimators
from pairdp import Budget, DataNormWarning, ModelFileError, load, verify
from pairdp.algorithms import Algorithm, Fit
from pairdp.algorithms.choice import Choice, choose_ranker
from pairdp.cli.main import main
from pairdp.constraints import L2Ball
from pairdp.estimators import PrivateEstimator
from pairdp.losses import LogisticRanking, RankingLoss
from pairdp.model_file import registry
from pairdp.verification import verify_file
from tests.estimators.data import two_classes

SOURCE = '''
"""A ranker whose scores are capped."""

import numpy as np

from pairdp import PrivateRanker
from pairdp.model_file import stored_in_model_files


@stored_in_model_files({"coef_": (1, "d"), "intercept_": (1,), "directions_": ("d",)})
class CappedRanker(PrivateRanker):
    """Scores within ±1, and the signs of the weights."""

    def _set_fitted(self, fit):
        super()._set_fitted(fit)
        self.directions_ = np.sign(self.coef_[0])

    def decision_function(self, X):
        return np.clip(super().decision_function(X), -1, 1) + 10

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 10).astype(int)]
'''
X, Y = two_classes(300)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])


class RankingDirection(PrivateEstimator):
    """All that an estimator needs which is not derived from another."""

    _loss_kind = RankingLoss

    def __init__(self, epsilon: float = 1.0) -> None:
        self.epsilon = epsilon

    def _choose(self, n: int, features: int, budget: Budget | None, **facts: Any) -> Choice:
        return choose_ranker(n, features, budget, **facts)

    def _constraint(self) -> L2Ball:
        return L2Ball(self.radius)

    def _default_loss(self, algorithm: Algorithm) -> LogisticRanking:
        return LogisticRanking()

    def _set_fitted(self, fit: Fit) -> None:
        self.direction_ = fit.parameters


def imported(name: str) -> Any:
    importlib.invalidate_caches()
    return importlib.import_module(name).CappedRanker


@pytest.fixture
def written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[str]:
    """The name of a module that is written by a user, or into a package of this library."""
    monkeypatch.setattr(registry, "_STORED", dict(registry._STORED))
    folder = tmp_path / "modules"
    folder.mkdir()
    package = request.param
    if package:
        search = [*sys.modules[package].__path__, str(folder)]
        monkeypatch.setattr(sys.modules[package], "__path__", search)
    else:
        monkeypatch.syspath_prepend(folder)
    (folder / "capped_ranker.py").write_text(SOURCE)
    name = f"{package}.capped_ranker".lstrip(".")
    yield name
    sys.modules.pop(name, None)
    vars(pairdp.estimators).pop("capped_ranker", None)


def saved(module: str, path: Path) -> Any:
    model = imported(module)(5.0, model="linear", data_norm=1.0).fit(FRAME, Y)
    model.save(path)
    return model


def test_parameters_that_an_estimator_does_not_take_have_defaults() -> None:
    with pytest.warns(DataNormWarning):
        model = RankingDirection(5.0).fit(X, np.where(Y.max() == Y, 1, -1))
    assert model.direction_.shape == (4,)
    assert model.plan_.reasons[0].startswith("auto: ")
    assert verify(model.certificate_).holds
    assert clone(model).get_params() == {"epsilon": 5.0}


def test_an_estimator_that_lacks_a_part_says_which() -> None:
    class Incomplete(RankingDirection):
        _constraint = PrivateEstimator._constraint  # type: ignore[assignment]

    with pytest.raises(TypeError, match="_constraint"):
        Incomplete()


@pytest.mark.parametrize("written", [""], indirect=True)
def test_an_estimator_of_a_user_is_loaded_where_it_is_trusted(written: str, tmp_path: Path) -> None:
    model = saved(written, tmp_path / "model")
    path = f"{written}:CappedRanker"
    for trusted in ([], ["collections:Counter"]):
        with pytest.raises(ModelFileError, match=f"it uses {path}, which is not part of pairdp"):
            load(tmp_path / "model", trusted=trusted)
    for one in (path, type(model)):
        loaded = load(tmp_path / "model", trusted=[one])
        assert type(loaded) is type(model)
        np.testing.assert_array_equal(loaded.directions_, model.directions_)
        np.testing.assert_array_equal(
            loaded.decision_function(FRAME), model.decision_function(FRAME)
        )


@pytest.mark.parametrize("written", [""], indirect=True)
def test_an_estimator_of_a_user_is_verified_and_said_to_be_on_trust(
    written: str, tmp_path: Path
) -> None:
    saved(written, tmp_path / "model")
    path = f"{written}:CappedRanker"
    (report,) = verify_file(tmp_path / "model", trusted=[path])
    assert report.holds
    assert report.on_trust == (path,)
    assert path in str(report)
    (alone,) = verify_file(tmp_path / "model")
    assert not alone.planned_again
    assert path in alone.not_planned
    run = CliRunner()
    assert run.invoke(main, ["verify", str(tmp_path / "model"), "--trust", path]).exit_code == 0
    assert run.invoke(main, ["verify", str(tmp_path / "model")]).exit_code == 5


@pytest.mark.parametrize("written", [""], indirect=True)
def test_the_command_line_predicts_by_an_estimator_of_a_user(written: str, tmp_path: Path) -> None:
    model = saved(written, tmp_path / "model")
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "scores.csv"
    line = ["predict", str(tmp_path / "model"), str(tmp_path / "data.csv"), "-o", str(out)]
    refused = CliRunner().invoke(main, line)
    assert refused.exit_code == 1
    assert f"--trust {written}:CappedRanker" in refused.output
    assert not out.exists()
    done = CliRunner().invoke(main, [*line, "--trust", f"{written}:CappedRanker"])
    assert done.exit_code == 0, done.output
    found = pd.read_csv(out)
    np.testing.assert_allclose(found["score"], model.decision_function(FRAME))
    assert found["score"].between(9, 11).all()
    np.testing.assert_array_equal(found["label"], model.predict(FRAME))


@pytest.mark.parametrize("written", ["pairdp.estimators"], indirect=True)
def test_a_new_module_of_the_library_is_found_by_its_name(written: str, tmp_path: Path) -> None:
    model = saved(written, tmp_path / "model")
    # As in another process, which has not imported the module yet.
    del sys.modules[written]
    registry._STORED.pop("CappedRanker")
    loaded = load(tmp_path / "model")
    assert type(loaded).__module__ == written
    np.testing.assert_array_equal(loaded.directions_, model.directions_)
    (report,) = verify_file(tmp_path / "model")
    assert report.holds
    assert report.on_trust == ()


@pytest.mark.parametrize("written", [""], indirect=True)
def test_a_subclass_without_a_decorator_is_not_taken_for_its_base(
    written: str, tmp_path: Path
) -> None:
    base = imported(written)

    class Other(base):  # type: ignore[misc, valid-type]
        pass

    model = Other(5.0, model="linear", data_norm=1.0).fit(FRAME, Y)
    with pytest.raises(ModelFileError, match="cannot store a Other"):
        model.save(tmp_path / "model")
