"""Saving a model: written whole or not at all, and what is refused."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from pairdp import (
    BoundsScaler,
    Budget,
    ModelFileError,
    PrivateRanker,
    load,
    save,
)
from pairdp.algorithms import MinimizerRelease
from pairdp.losses import (
    LogisticRanking,
)
from pairdp.model_file import Steps, load_steps, save_steps
from tests.model_file.models import (
    X,
    Y,
    fitted_ranker,
    fitted_scaler,
    metric,
    ranker,
)

# Few records, and published algorithms that need many.
pytestmark = pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_write_leaves_the_old_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "model.pairdp"
    save(fitted_scaler(), path)
    before = path.read_bytes()
    with monkeypatch.context() as broken:
        broken.setattr(os, call, raising(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(ModelFileError, match=r"cannot be written: No space left on device$"):
            save(fitted_ranker(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    save(fitted_ranker(), path)
    assert isinstance(load(path), PrivateRanker)


def test_an_interrupted_write_leaves_the_old_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.pairdp"
    save(fitted_scaler(), path)
    monkeypatch.setattr(os, "replace", raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        save(fitted_ranker(), path)
    assert isinstance(load(path), BoundsScaler)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["nowhere/model", "file/model"])
def test_a_missing_directory_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ModelFileError, match="there is no directory"):
        save(fitted_ranker(), tmp_path / place)


def test_a_directory_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        save(fitted_ranker(), tmp_path)
    assert list(tmp_path.iterdir()) == []


class OwnRanker(PrivateRanker):
    pass


class WithState(LogisticRanking):
    """A loss whose fields do not tell all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.more = 1.0


@pytest.mark.parametrize("model", [ranker(), metric(), BoundsScaler(), make_pipeline(ranker())])
def test_unfitted_models_are_refused(tmp_path: Path, model: Any) -> None:
    with pytest.raises(NotFittedError):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [ranker, metric], ids=["ranker", "metric"])
def test_models_whose_fit_failed_are_refused(tmp_path: Path, kind: Callable[..., Any]) -> None:
    model = kind(algorithm=MinimizerRelease(), regularization=-1.0)
    with pytest.raises(ValueError, match="regularization"):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        save(model, tmp_path / "model")


REFUSED: dict[str, Callable[[], Any]] = {
    "a LogisticRegression: only estimators of pairdp": lambda: LogisticRegression().fit(X, Y),
    "a OwnRanker": lambda: OwnRanker(algorithm="DPGDC", data_norm=1.0).fit(X, Y),
    "StandardScaler learned": lambda: make_pipeline(StandardScaler(), ranker()).fit(X, Y),
    "a str": lambda: "passthrough",
    "PrivateRanker has a certificate": lambda: make_pipeline(make_pipeline(ranker())).fit(X, Y),
    "a pipeline without steps": lambda: Pipeline([]),
    "a WithState cannot be stored: only plain values": lambda: ranker(loss=WithState()).fit(X, Y),
    "a Budget cannot be stored": lambda: ranker().fit(X, Y).set_params(verbose=Budget(1.0)),
    "a object cannot be stored": lambda: ranker().fit(X, Y).set_params(verbose=object()),
    "a dict": dict,
    "a NoneType": lambda: None,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_file_cannot_hold_is_refused(tmp_path: Path, kind: str) -> None:
    model = REFUSED[kind]()
    with pytest.raises(ModelFileError, match=f"(cannot store )?{kind}") as error:
        save(model, tmp_path / "model")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_unicode_are_refused(tmp_path: Path) -> None:
    model = BoundsScaler().fit_columns(["\udc80"])
    with pytest.raises(ModelFileError, match="cannot be written"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_steps_are_stored_as_their_model(in_pipeline: bool, tmp_path: Path) -> None:
    model = PrivateRanker(data_norm=1.0, random_state=0).fit(X, Y)
    whole = make_pipeline(model) if in_pipeline else model
    steps = Steps.of(whole)
    assert steps.in_pipeline == in_pipeline
    assert steps.estimators == [model]
    save(whole, tmp_path / "whole")
    save_steps(steps, tmp_path / "steps")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "steps").read_bytes()
    loaded = load_steps(tmp_path / "whole")
    assert loaded.in_pipeline == in_pipeline
    assert type(loaded.model()) is type(load(tmp_path / "whole")) is type(whole)
    assert (loaded.model().decision_function(X) == whole.decision_function(X)).all()
