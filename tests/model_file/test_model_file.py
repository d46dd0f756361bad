"""Model files: what is saved comes back, and nothing else gets in."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import os
import pickle
import struct
import time
import tracemalloc
import zipfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import pairdp
from pairdp import (
    BoundsScaler,
    Budget,
    BudgetLedger,
    ModelFileError,
    PrivateRanker,
    load,
    save,
    verify,
)
from pairdp._sealed import seal
from pairdp.algorithms import PUBLISHED, MinimizerRelease, MomentRelease, WithThreshold
from pairdp.losses import (
    HingeMetric,
    HingeRanking,
    LeastSquaresRanking,
    LogisticMetric,
    LogisticRanking,
    SquaredHingeRanking,
)
from pairdp.model_file import header_of
from tests.model_file.models import (
    D,
    X,
    Y,
    fitted_ranker,
    fitted_scaler,
    forge,
    metric,
    opened,
    ranker,
)

NAMES = ["age", "größe", "a,b\n\"c'"]
FRAME = pd.DataFrame(X, columns=NAMES)


def round_trip(model: BaseEstimator, tmp_path: Path) -> Any:
    save(model, tmp_path / "model.pairdp")
    return load(tmp_path / "model.pairdp")


def assert_same_release(loaded: Any, model: Any) -> None:
    """Check everything that a fit leaves, whatever the estimator."""
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            found = getattr(loaded, name)
            np.testing.assert_array_equal(found, value)
            assert found.dtype.kind == value.dtype.kind
    if hasattr(model, "plan_"):
        assert loaded.plan_ == model.plan_
        assert loaded.certificate_ == model.certificate_
        assert loaded.privacy_statement() == model.privacy_statement()
        assert verify(loaded.certificate_)


# Round trips


@pytest.mark.parametrize("algorithm", [*PUBLISHED, MomentRelease(), MinimizerRelease()], ids=str)
def test_rankers_of_every_algorithm_come_back(tmp_path: Path, algorithm: Any) -> None:
    model = ranker(algorithm=algorithm).fit(X, Y)
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.algorithm == algorithm


@pytest.mark.parametrize(
    "params",
    [
        {"epsilon": None, "algorithm": MomentRelease()},
        {"epsilon": None, "calibration": "printed", "regularization": 0.5},
        {"calibration": "printed", "epsilon": 0.5},
        {"delta": 0.0},
        {"epsilon": np.float32(0.5), "delta": np.float64(1e-6), "radius": np.int64(2)},
        {"regularization": 0.25, "data_norm": 2.0, "verbose": False},
        {"loss": "squared_hinge"},
        {"algorithm": "DPGDC", "loss": HingeRanking(width=0.25)},
        {"algorithm": MomentRelease(second_moments=False), "loss": LeastSquaresRanking()},
        {"loss": SquaredHingeRanking()},
        {"loss": LogisticRanking()},
        {"threshold": 0.125},
        {"threshold": np.float64(-1)},
        {"threshold": 0},
        {"algorithm": WithThreshold(PUBLISHED["DPGDC"], share=0.3), "threshold": 0.0},
        {"classes": [1, 0]},
        {"classes": (0, 1)},
        {"classes": np.array([1, 0])},
        {"classes": pd.Series([1, 0])},
        {"classes": pd.Index([1, 0])},
    ],
    ids=str,
)
def test_parameters_come_back(tmp_path: Path, params: dict[str, Any]) -> None:
    model = ranker(**params).fit(X, Y)
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for name, value in params.items():
        np.testing.assert_array_equal(getattr(loaded, name), value)
    # And it can be fitted anew, with the same result.
    again = loaded.set_params(random_state=1).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 5]),
        np.array([-(2**63), 2**63 - 1]),
        np.array([3, 5], dtype=np.uint8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([-1.0, 1.0]),
        np.array([-1.0, 1e15]),
        np.array([0.0, 1.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["no", "yes"]),
        np.array(["", " ä\n\"€'"]),
        np.array(["no", "yes"], dtype=object),
    ],
    ids=repr,
)
def test_labels_come_back(tmp_path: Path, labels: Any) -> None:
    model = ranker().fit(X, labels[Y])
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype.kind == model.predict(X).dtype.kind


def test_pandas_labels_come_back(tmp_path: Path) -> None:
    model = ranker().fit(FRAME, pd.Series(np.array(["no", "yes"])[Y]))
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    assert set(loaded.predict(FRAME)) <= {"no", "yes"}


def test_names_come_back_and_are_checked(tmp_path: Path) -> None:
    model = ranker().fit(FRAME, Y)
    loaded = round_trip(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(FRAME[NAMES[::-1]])


def test_no_names_stay_no_names(tmp_path: Path) -> None:
    assert not hasattr(round_trip(fitted_ranker(), tmp_path), "feature_names_in_")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"epsilon": None},
        {"algorithm": "DPGDSC", "loss": "logistic", "regularization": 0.5},
        {"loss": HingeMetric(width=0.25)},
        {"loss": LogisticMetric(), "radius": 3.0},
        {"algorithm": "DPEGD"},
    ],
    ids=str,
)
def test_metrics_come_back(tmp_path: Path, params: dict[str, Any]) -> None:
    model = metric(**params).fit(FRAME, Y)
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    np.testing.assert_array_equal(loaded.transform(FRAME), model.transform(FRAME))
    pairs = np.stack([X[:10], X[10:20]], axis=1)
    np.testing.assert_array_equal(loaded.pair_distance(pairs), model.pair_distance(pairs))
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


Point = namedtuple("Point", "x y z")


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-1, 1),
        (np.float32(-1.5), np.array(2.5)),
        ([-1, -2, -3], (1, 2, 3)),
        (Point(-1, -2, -3), Point(1, 2, 3)),
        (np.array([-1.0, -2, -3]), np.array([1, 2, 3])),
        (dict.fromkeys(NAMES, -2), {name: i + 1 for i, name in enumerate(NAMES)}),
        (pd.Series([-1.0, -2, -3], index=NAMES), pd.Series([1, 2, 3], index=NAMES)),
        (-1e308, 1e308),
    ],
    ids=["numbers", "numpy", "list", "named tuple", "array", "dict", "series", "huge"],
)
def test_scalers_come_back(tmp_path: Path, lower: Any, upper: Any) -> None:
    model = BoundsScaler(lower, upper).fit(FRAME)
    loaded = round_trip(model, tmp_path)
    assert_same_release(loaded, model)
    np.testing.assert_array_equal(loaded.transform(FRAME), model.transform(FRAME))
    np.testing.assert_array_equal(loaded.fit(FRAME).transform(FRAME), model.transform(FRAME))


@pytest.mark.parametrize("last", [ranker(), metric()], ids=["ranker", "metric"])
def test_pipelines_come_back(tmp_path: Path, last: Any) -> None:
    steps = [("scale it", BoundsScaler(dict.fromkeys(NAMES, -2), 2)), ("model", last)]
    model = Pipeline(steps).fit(FRAME, Y)
    loaded = round_trip(model, tmp_path)
    assert isinstance(loaded, Pipeline)
    assert [name for name, _ in loaded.steps] == ["scale it", "model"]
    for (_, found), (_, step) in zip(loaded.steps, model.steps, strict=True):
        assert_same_release(found, step)
    method = "decision_function" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(loaded, method)(FRAME), getattr(model, method)(FRAME))


def test_a_pipeline_of_two_private_steps_keeps_both_certificates(tmp_path: Path) -> None:
    model = make_pipeline(metric(), ranker()).fit(X, Y)
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    for i in (0, 1):
        assert_same_release(loaded[i], model[i])


def test_saving_twice_gives_the_same_bytes_and_saving_what_was_loaded_too(tmp_path: Path) -> None:
    model = fitted_ranker()
    model.save(tmp_path / "a")
    model.save(str(tmp_path / "b"))
    load(tmp_path / "a").save(tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_what_was_loaded_can_be_changed_and_the_file_stays(tmp_path: Path) -> None:
    loaded = round_trip(fitted_ranker(), tmp_path)
    before = (tmp_path / "model.pairdp").read_bytes()
    loaded.coef_[:] = 7.0
    assert (tmp_path / "model.pairdp").read_bytes() == before


def test_a_model_outlives_its_file(tmp_path: Path) -> None:
    loaded = round_trip(fitted_ranker(), tmp_path)
    (tmp_path / "model.pairdp").write_bytes(b"")
    np.testing.assert_array_equal(loaded.coef_, fitted_ranker().coef_)


def test_the_header_says_what_the_model_is(tmp_path: Path) -> None:
    save(make_pipeline(fitted_scaler(), fitted_ranker()), tmp_path / "model")
    header = header_of(tmp_path / "model")
    assert header["library_version"] == pairdp.__version__
    assert [step["class"] for step in header["steps"]] == ["BoundsScaler", "PrivateRanker"]
    assert set(header["arrays"]) == {"0.center_", "0.half_width_", "1.coef_", "1.intercept_"}


# What must not be in a file


@pytest.mark.parametrize("seed", [987654321, np.int64(987654321)])
def test_the_seed_is_not_in_the_file(tmp_path: Path, seed: Any) -> None:
    model = ranker(random_state=seed).fit(X, Y)
    loaded = round_trip(model, tmp_path)
    content = (tmp_path / "model.pairdp").read_bytes()
    assert b"987654321" not in content
    assert struct.pack("<q", 987654321) not in content
    assert loaded.random_state is None
    assert model.random_state == seed


@pytest.mark.parametrize("kept", ["on disk", "in memory"])
def test_the_ledger_is_not_in_the_file(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "secret-ledger-name" if kept == "on disk" else None
    ledger = BudgetLedger(Budget(5.0, 1e-4), path)
    loaded = round_trip(ranker(ledger=ledger, random_state=None).fit(X, Y), tmp_path)
    assert b"secret-ledger-name" not in (tmp_path / "model.pairdp").read_bytes()
    assert loaded.ledger is None
    assert len(ledger.spends) == 1


@pytest.mark.parametrize("last", [ranker(), metric(), ranker(algorithm="DPEGD")], ids=str)
def test_no_training_value_is_in_the_file(tmp_path: Path, last: Any) -> None:
    scaler = BoundsScaler(-2, 2)
    round_trip(make_pipeline(scaler, last).fit(X, Y), tmp_path)
    content = (tmp_path / "model.pairdp").read_bytes()
    for value in np.concatenate([X.ravel(), scaler.transform(X).ravel()]):
        assert struct.pack("<d", value) not in content
        assert repr(float(value)).encode()[:12] not in content


# Writing


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


@dataclasses.dataclass(frozen=True)
class OwnLoss(LogisticRanking):
    pass


class LookAlike(OwnLoss):
    pass


LookAlike.__name__ = "LogisticRanking"


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
    "a LogisticRegression: it holds PrivateRanker": lambda: LogisticRegression().fit(X, Y),
    "a OwnRanker": lambda: OwnRanker(algorithm="DPGDC").fit(X, Y),
    "a StandardScaler": lambda: make_pipeline(StandardScaler(), ranker()).fit(X, Y),
    "a str": lambda: make_pipeline("passthrough", ranker()).fit(X, Y),
    "a Pipeline": lambda: make_pipeline(make_pipeline(ranker())).fit(X, Y),
    "a pipeline without steps": lambda: Pipeline([]),
    "a OwnLoss: it holds plain values": lambda: ranker(loss=OwnLoss()).fit(X, Y),
    "a LogisticRanking": lambda: ranker(loss=LookAlike()).fit(X, Y),
    "a dict": dict,
    "a NoneType": lambda: None,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_file_cannot_hold_is_refused(tmp_path: Path, kind: str) -> None:
    model = REFUSED[kind]()
    with pytest.raises(ModelFileError, match=f"cannot hold {kind}") as error:
        save(model, tmp_path / "model")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_no_unicode_are_refused(tmp_path: Path) -> None:
    model = BoundsScaler().fit_columns(["\udc80"])
    with pytest.raises(ModelFileError, match="cannot be written"):
        save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


# Damaged files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "model"
    save(make_pipeline(BoundsScaler(-2, 2), ranker(classes=[0, 1])).fit(FRAME, Y), path)
    return path.read_bytes()


def test_a_truncated_file_is_refused_wherever_it_is_cut(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    for end in [0, 1, 7, 8, 9, *np.linspace(10, len(good) - 1, 30).astype(int)]:
        path.write_bytes(good[:end])
        with pytest.raises(ModelFileError, match="damaged or no pairdp model"):
            load(path)


def test_more_at_the_end_is_refused(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    for more in [b"\0", b" ", good]:
        path.write_bytes(good + more)
        with pytest.raises(ModelFileError, match="damaged"):
            load(path)


def test_a_changed_byte_is_refused_or_does_not_matter(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "model"
    path.write_bytes(good)
    saved, rng = load(path), np.random.default_rng(11)
    refused = 0
    header = int.from_bytes(good[:8], "little") + 8
    places = [*range(8), *rng.integers(8, header, 160), *rng.integers(header, len(good), 40)]
    for place in places:
        changed = bytearray(good)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            found = load(path)
        except ModelFileError as error:
            refused += str(path) in str(error)
        else:  # white space in JSON, say
            assert place < header
            np.testing.assert_array_equal(
                found.decision_function(FRAME), saved.decision_function(FRAME)
            )
            assert found[1].get_params() == saved[1].get_params()
            assert found[1].certificate_ == saved[1].certificate_
            assert found[1].plan_ == saved[1].plan_
    assert refused > 0.8 * len(places)


# Files of others


class Trap:
    """What a hostile pickle does when it is read."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("sprung",)


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("coef_.npy", b"\0" * 10_000_000)
        bomb.writestr("../../escaped", b"x")
    return buffer.getvalue()


def framed(header: bytes, rest: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + rest


def of_objects() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array([Trap()]), allow_pickle=True)
    return buffer.getvalue()


FOREIGN = {
    "empty": b"",
    "text": b"not a model at all, but long enough to be one of some kind",
    "json": json.dumps({"format": "pairdp model"}).encode(),
    "zip": zipped(),
    "pickle": pickle.dumps(Trap()),
    "pickle behind a frame": framed(pickle.dumps(Trap())),
    "numpy objects": of_objects(),
    "header of 2**63 bytes": struct.pack("<Q", 2**63) + b"{}",
    "header of 99 MB": struct.pack("<Q", 99_000_000) + b"{}",
    "no metadata": to_bytes({"coef_": np.zeros(2)}),
    "no arrays": framed(b"{}"),
    "other metadata": to_bytes({"coef_": np.zeros(2)}, metadata={"format": "pt"}),
    "document that is no JSON": to_bytes({}, metadata={"pairdp": "{"}),
    "document that is a list": to_bytes({}, metadata={"pairdp": "[]"}),
    "document without digest": to_bytes({}, metadata={"pairdp": '{"format": "pairdp model"}'}),
    "another sealed document": to_bytes({}, metadata={"pairdp": seal({"format": "x"})}),
    "nested deeply": to_bytes({}, metadata={"pairdp": "[" * 100_000}),
    "huge number": to_bytes({}, metadata={"pairdp": '{"n": ' + "9" * 5000 + "}"}),
    "bomb of a shape": framed(
        b'{"coef_": {"dtype": "F64", "shape": [1000000000000], "data_offsets": [0, 8]}}', b"\0" * 8
    ),
    "overflowing shape": framed(
        b'{"coef_": {"dtype": "F64", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}}'
    ),
    "overlapping arrays": framed(
        b'{"a": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},'
        b'"b": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}',
        b"\0" * 8,
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_others_are_refused_fast_and_run_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(FOREIGN[kind])
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(ModelFileError, match=r"^(the model )?file ") as error:
            load("file")
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 2
    assert len(str(error.value)) < 300
    assert list(Path().iterdir()) == [Path("file")]


def test_the_trap_would_spring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pickle.loads(FOREIGN["pickle"])
    assert list(Path().iterdir()) == [Path("sprung")]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in [tmp_path, tmp_path / "nowhere"]:
        with pytest.raises(ModelFileError, match="there is no file"):
            load(path)


# Forged files: every digest is right, and what they say is wrong


Change = Callable[[dict[str, Any], dict[str, Any]], None]


def setting(*path: Any, to: Any) -> Change:
    """Return a change of one entry of the header."""

    def change(header: dict[str, Any], _: dict[str, Any]) -> None:
        place: Any = header
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def array(name: str, to: Any) -> Change:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        if to is None:
            del arrays[name]
        else:
            arrays[name] = np.array(to)

    return change


def swap(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["0.coef_"], arrays["0.intercept_"] = arrays["0.intercept_"], arrays["0.coef_"]


def thing(name: str, **fields: Any) -> dict[str, Any]:
    return {"object": name, "fields": fields}


STEP = ("steps", 0)
FORGED: dict[str, tuple[Change, str]] = {
    "newer": (setting("format_version", to=2), "use a newer pairdp"),
    "much newer": (setting("format_version", to=10**30), "use a newer pairdp"),
    "version 0": (setting("format_version", to=0), "unknown"),
    "version true": (setting("format_version", to=True), "unknown"),
    "version 1.0": (setting("format_version", to=1.0), "unknown"),
    "version text": (setting("format_version", to="1"), "unknown"),
    "other format": (setting("format", to="pairdp certificate"), "its format is"),
    "unknown header": (setting("more", to=1), "unknown fields more"),
    "pipeline": (setting("pipeline", to=1), "malformed"),
    "no steps": (setting("steps", to=[]), "no steps"),
    "steps of numbers": (setting("steps", to=[1]), "a step has no name"),
    "steps by name": (setting("steps", to={"0": {}}), "no steps"),
    "step without name": (setting(*STEP, "name", to=None), "a step has no name"),
    "two steps": (
        lambda header, arrays: header["steps"].append(dict(header["steps"][0])),
        "lacks the array '1.coef_'",
    ),
    "unknown class": (setting(*STEP, "class", to="Pipeline"), "unknown model 'Pipeline'"),
    "class with a path": (setting(*STEP, "class", to="os.system"), "unknown model"),
    "class that is a list": (setting(*STEP, "class", to=["PrivateRanker"]), "unknown model"),
    "other class": (setting(*STEP, "class", to="PrivateMetric"), "classes"),
    "fewer params": (setting(*STEP, "params", to={}), "params lacks"),
    "more params": (setting(*STEP, "params", "__class__", to=1), "params has unknown"),
    "params of numbers": (setting(*STEP, "params", to=[]), "must be a JSON object"),
    "bare list": (setting(*STEP, "params", "epsilon", to=[1]), "not a parameter"),
    "unknown kind": (setting(*STEP, "params", "loss", to={"set": []}), "not a parameter"),
    "two kinds": (
        setting(*STEP, "params", "loss", to={"list": [], "tuple": []}),
        "not a parameter",
    ),
    "bad float": (setting(*STEP, "params", "epsilon", to={"float": "1.0"}), "not a parameter"),
    "unknown object": (setting(*STEP, "params", "loss", to=thing("Popen")), "unknown object"),
    "object that is a plan": (setting(*STEP, "params", "loss", to=thing("Plan")), "unknown"),
    "object that is abstract": (
        setting(*STEP, "params", "loss", to=thing("RankingLoss")),
        "unknown object|abstract",
    ),
    "wrong fields": (
        setting(*STEP, "params", "loss", to=thing("HingeRanking", code="x")),
        "unexpected keyword",
    ),
    "missing fields": (
        setting(*STEP, "params", "algorithm", to=thing("WithThreshold")),
        "missing",
    ),
    "fields of wrong type": (
        setting(*STEP, "params", "loss", to=thing("HingeRanking", width="wide")),
        "width",
    ),
    "fields out of range": (
        setting(*STEP, "params", "algorithm", to=thing("GradientDescent", steps=10**400)),
        "at most",
    ),
    "ragged array": (
        setting(*STEP, "params", "classes", to={"array": [{"list": [1]}, 2]}),
        "inhomogeneous",
    ),
    "no features": (setting(*STEP, "features", to=0), "number of features"),
    "features true": (setting(*STEP, "features", to=True), "number of features"),
    "features text": (setting(*STEP, "features", to="3"), "number of features"),
    "many features": (setting(*STEP, "features", to=10**12), "shape"),
    "fewer names": (setting(*STEP, "names", to=["a"]), "names of features"),
    "names of numbers": (setting(*STEP, "names", to=[1, 2, 3]), "not text"),
    "names that are text": (setting(*STEP, "names", to="abc"), "names of features"),
    "three labels": (setting(*STEP, "classes", "values", to=[0, 1, 2]), "malformed"),
    "equal labels": (setting(*STEP, "classes", "values", to=[1, 1]), "the same"),
    "labels of another type": (setting(*STEP, "classes", "values", to=["0", 1]), "wrong type"),
    "labels true": (setting(*STEP, "classes", "values", to=[False, True]), "wrong type"),
    "huge labels": (setting(*STEP, "classes", "values", to=[0, 10**40]), "too large"),
    "labels of objects": (setting(*STEP, "classes", "type", to="pickle"), "malformed"),
    "label type a list": (setting(*STEP, "classes", "type", to=[]), "unhashable"),
    "no certificate": (setting(*STEP, "certificate", to=None), "certificate"),
    "certificate without digest": (setting(*STEP, "certificate", to={}), "digest"),
    "changed certificate": (setting(*STEP, "certificate", "n", to=10), "changed or damaged"),
    "no plan": (setting(*STEP, "plan", to={}), "plan lacks"),
    "plan for more features": (setting(*STEP, "plan", "features", to=4), "plan is for 4"),
    "plan without algorithm": (setting(*STEP, "plan", "algorithm", to="DPGDSC"), "algorithm"),
    "plan with a loss for algorithm": (
        setting(*STEP, "plan", "algorithm", to=thing("LogisticRanking")),
        "algorithm",
    ),
    "plan with another calibration": (setting(*STEP, "plan", "calibration", to="x"), "calibration"),
    "plan with settings in a list": (setting(*STEP, "plan", "settings", to=[]), "settings"),
    "problem out of range": (
        setting(*STEP, "plan", "problem", "regularization", to=-1),
        "regularization",
    ),
    "problem without loss": (setting(*STEP, "plan", "problem", "loss", to=None), "loss"),
    "center of another size": (
        setting(*STEP, "plan", "problem", "center", to={"array": [0.0] * 7}),
        "center",
    ),
    "swapped arrays": (swap, "shape"),
    "no array": (array("0.coef_", None), "lacks the array"),
    "unknown array": (array("evil", [1.0]), "unknown array 'evil'"),
    "array with a path": (array("../../evil", [1.0]), "unknown array"),
    "NaN": (array("0.coef_", [[np.nan] * D]), "not finite"),
    "infinity": (array("0.intercept_", [np.inf]), "not finite"),
    "other shape": (array("0.coef_", [[1.0] * (D + 1)]), "shape"),
    "flat": (array("0.coef_", [1.0] * D), "shape"),
    "scalar": (array("0.intercept_", 1.0), "shape"),
    "no entries": (array("0.coef_", np.zeros((1, 0))), "shape"),
    "float32": (array("0.coef_", np.zeros((1, D), np.float32)), "wrong type"),
    "whole numbers": (array("0.coef_", np.zeros((1, D), np.int64)), "wrong type"),
    "bytes": (array("0.coef_", np.zeros((1, D), np.uint8)), "wrong type"),
    "truth values": (array("0.coef_", np.zeros((1, D), np.bool_)), "wrong type"),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "model"
    save(fitted_ranker(), path)
    change, reason = FORGED[kind]
    header, arrays = opened(path)
    change(header, arrays)
    forge(path, header, arrays)
    with pytest.raises(ModelFileError, match=reason) as error:
        load(path)
    assert str(path) in str(error.value)


def test_forging_changes_nothing_by_itself(tmp_path: Path) -> None:
    save(fitted_ranker(), tmp_path / "model")
    forge(tmp_path / "model", *opened(tmp_path / "model"))
    assert_same_release(load(tmp_path / "model"), fitted_ranker())


def test_an_array_that_does_not_match_its_digest_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(fitted_ranker(), path)
    header, arrays = opened(path)
    arrays["0.coef_"] = arrays["0.coef_"] + 1e-16 + 1e-9
    path.write_bytes(to_bytes(arrays, metadata={"pairdp": seal(header)}))
    with pytest.raises(ModelFileError, match=r"'0\.coef_' does not match its digest"):
        load(path)
    arrays["0.coef_"] = np.zeros((1, D + 1))
    path.write_bytes(to_bytes(arrays, metadata={"pairdp": seal(header)}))
    with pytest.raises(ModelFileError, match="does not match"):
        load(path)


def test_a_scaler_that_divides_by_zero_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save(fitted_scaler(), path)
    header, arrays = opened(path)
    for width in (0.0, -1.0):
        arrays["0.half_width_"] = np.full(D, width)
        forge(path, header, arrays)
        with pytest.raises(ModelFileError, match="half_width_"):
            load(path)


# Other ways to keep models


MODELS = {
    "ranker": lambda: ranker().fit(FRAME, Y),
    "epochs": lambda: ranker(algorithm="DPEGD", random_state=None).fit(X, Y),
    "moments": lambda: ranker(algorithm=MomentRelease(), threshold=0.5).fit(X, Y),
    "baseline": lambda: ranker(epsilon=None, regularization=0.5).fit(X, Y),
    "metric": lambda: metric(loss=HingeMetric(width=0.25)).fit(X, Y),
    "scaler": lambda: BoundsScaler(-2, dict.fromkeys(NAMES, 2)).fit(FRAME),
}


@pytest.mark.parametrize("kind", MODELS)
def test_pickles_come_back(kind: str) -> None:
    model: Any = MODELS[kind]()
    assert_same_release(pickle.loads(pickle.dumps(model)), model)


@pytest.mark.parametrize("kind", MODELS)
def test_skops_files_come_back(kind: str) -> None:
    model: Any = MODELS[kind]()
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith("pairdp.") for name in trusted)
    assert_same_release(skops.io.loads(content, trusted=trusted), model)
