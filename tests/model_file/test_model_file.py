"""Model files: what is saved comes back, and nothing else gets in."""

from __future__ import annotations

import pickle
import struct
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline

import pairdp
from pairdp import (
    BoundsScaler,
    Budget,
    BudgetLedger,
    load,
    save,
)
from pairdp.algorithms import MinimizerRelease, MomentRelease, WithThreshold
from pairdp.algorithms.registry import algorithms
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
    FRAME,
    NAMES,
    X,
    Y,
    assert_same_release,
    fitted_ranker,
    fitted_scaler,
    metric,
    ranker,
)

# Few records, and published algorithms that need many.
pytestmark = pytest.mark.filterwarnings("ignore::pairdp.NoSignalWarning")


def round_trip(model: BaseEstimator, tmp_path: Path) -> Any:
    save(model, tmp_path / "model.pairdp")
    return load(tmp_path / "model.pairdp")


# Round trips


@pytest.mark.parametrize(
    "algorithm",
    [*algorithms("pairs", published=True), MomentRelease(), MinimizerRelease()],
    ids=str,
)
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
        {
            "algorithm": WithThreshold(algorithms("pairs", published=True)["DPGDC"], share=0.3),
            "threshold": 0.0,
        },
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


def test_changing_a_loaded_model_leaves_the_file_unchanged(tmp_path: Path) -> None:
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
