"""One unusual record must not change what is said of the others.

Tried: a row with entries near the largest float, for which scikit-learn's check of finiteness
warns (an error under ``-W error``); such rows in predictions, whose scores overflow; numbers too
large for a float but not for an extended one; a CSV field longer than the 131 072 characters that
the csv module accepts; labels that differ in a NUL at the end, which arrays of text drop, so that
labels were counted apart and then merged.

What must hold: no warning and no failure depends on the values of a record that can be read, scores
of finite rows are finite, a long field is a field like any other, and a label is compared as it was
written, record by record.
"""

from __future__ import annotations

import csv
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from pairdp._reading import label_array
from pairdp.cli.main import main
from pairdp.clipping import clip_rows
from pairdp.estimators import (
    BoundsScaler,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
)
from pairdp.estimators.validation import products
from pairdp.records import Records
from pairdp.tables import open_table
from pairdp.tables.labels import TwoLabels

Array = NDArray[Any]
_HUGE = 1.7e308


@pytest.fixture(autouse=True)
def _no_warning_of_numpy() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def _data() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (60, 3))
    y = np.where(x[:, 0] + 0.1 * rng.normal(size=60) > 0, 1, -1)
    x[3] = [_HUGE, -_HUGE, _HUGE]
    x[4] = [_HUGE, _HUGE, -_HUGE]
    return x, y


_SETTINGS: dict[str, Any] = {"epsilon": 5.0, "delta": 1e-6, "data_norm": 1.0, "random_state": 0}
_ESTIMATORS: dict[str, Callable[[], Any]] = {
    "ranker": lambda: PrivateRanker(**_SETTINGS),
    "linear ranker": lambda: PrivateRanker(**_SETTINGS, model="linear"),
    "quadratic ranker": lambda: PrivateRanker(**_SETTINGS, model="quadratic"),
    "classifier": lambda: PrivateLinearClassifier(**_SETTINGS),
    "regressor": lambda: PrivateLinearRegressor(**_SETTINGS),
    "metric": lambda: PrivateMetric(**_SETTINGS),
    "online ranker": lambda: OnlinePrivateRanker(**_SETTINGS, horizon=60),
    "online metric": lambda: OnlinePrivateMetric(**_SETTINGS, horizon=60),
}


@pytest.mark.parametrize("name", _ESTIMATORS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rows_of_the_largest_floats_fit_and_predict_without_a_warning(name: str) -> None:
    x, y = _data()
    model = _ESTIMATORS[name]().fit(x, y)
    if hasattr(model, "decision_function"):
        assert np.all(np.isfinite(model.decision_function(x)))
        assert set(model.predict(x)) <= {-1, 1}
        model.score(x, y)
    elif hasattr(model, "predict"):
        assert np.all(np.isfinite(model.predict(x)))
    if hasattr(model, "transform"):
        assert np.all(np.isfinite(model.transform(x)))
    if hasattr(model, "pair_distance"):
        pairs = np.stack([x, x[::-1]], axis=1)
        found = model.pair_distance(pairs)
        assert np.all(np.isfinite(found))
        expected = np.linalg.norm((x[10] - x[-11]) @ model.components_.T)
        np.testing.assert_allclose(found[10], expected, rtol=1e-12)


def test_scores_keep_their_sign_and_their_order_where_sums_overflow() -> None:
    rows = np.array([[_HUGE, _HUGE], [-_HUGE, -_HUGE], [_HUGE, -_HUGE], [1.0, 2.0]])
    found = products(rows, np.array([2.0, 1.0]))
    assert np.all(np.isfinite(found))
    np.testing.assert_array_equal(np.sign(found), [1, -1, 1, 1])
    np.testing.assert_allclose(found[2:], [_HUGE, 4.0])
    np.testing.assert_allclose(products(rows, np.eye(2)), rows)


def test_scaling_and_reading_of_the_largest_floats_is_silent() -> None:
    x, y = _data()
    scaler = BoundsScaler(-1.0, 1.0)
    assert np.all(np.abs(scaler.fit_transform(x)) <= 1)
    assert np.all(np.isfinite(scaler.inverse_transform(x)))
    clip_rows(x, 1.0)
    Records(x, 1e308 * y, target_bound=1.0)
    wide = np.array([[np.longdouble("1e4000"), 1]], dtype=np.longdouble)
    if np.isfinite(wide).all():  # where there are extended floats
        with pytest.raises(ValueError, match="NaN or infinity"):
            Records(wide, [1])


@pytest.mark.parametrize("invalid", ["error", "null"])
def test_long_fields_are_fields(tmp_path: Path, invalid: Any) -> None:
    path = tmp_path / "long.csv"
    note = "n" * 200_000
    path.write_text(f'a,note,"{note}",y\n0.1,{note},1,0\n0.2,"short",1,1\n', encoding="utf-8")
    limit = csv.field_size_limit()
    table = open_table(path)
    assert table.columns == ("a", "note", note, "y")
    assert table.count("y", invalid=invalid) == (2, (0, 1))
    (batch,) = table.batches(["a"], "y", invalid=invalid)
    np.testing.assert_array_equal(batch.features, [[0.1], [0.2]])
    assert csv.field_size_limit() == limit  # which is that of the whole process


def test_long_fields_in_many_threads(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = "".join(f"{i / 100},{'n' * 140_000}\n" for i in range(20))
    path.write_text("a,note\n" + lines, encoding="utf-8")
    limit, found = csv.field_size_limit(), []

    def read() -> None:
        found.append(open_table(path).count(None)[0])

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [20] * 6
    assert csv.field_size_limit() == limit


def test_labels_that_differ_in_a_last_nul_stay_apart() -> None:
    labels = ["a", "a\0", "b", "a"]
    assert label_array(labels).tolist() == labels
    x = np.zeros((4, 1))
    for given in (labels, np.array(labels, dtype=object), pd.Series(labels)):
        codes = Records(x, given, binary=False).y
        assert len(set(codes.tolist())) == 3
        assert codes[0] == codes[3]
    gathered = Records.gather([(x[:2], labels[:2]), (x[2:], labels[2:])], 4, 1, binary=False)
    assert len(set(gathered.y.tolist())) == 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_last_nul_makes_a_label_another_one_for_estimators() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (20, 2)), ["a", "b"] * 10
    odd = [*y[:-1], "b\0"]
    for given in (odd, np.array(odd, dtype=object), pd.Series(odd)):
        with pytest.raises(ValueError, match="not in classes"):
            PrivateRanker(**_SETTINGS, classes=("a", "b")).fit(x, given)
        PrivateRanker(**_SETTINGS, classes=("a", "b"), invalid="null").fit(x, given)
        with pytest.raises(ValueError, match="Only binary"):
            PrivateRanker(**_SETTINGS).fit(x, given)
    model = PrivateRanker(**_SETTINGS, classes=("a", "b")).fit(x, y)
    with pytest.raises(ValueError, match="labels that the model does not know"):
        model.score(x, odd)
    with pytest.raises(ValueError, match="must not end in NUL"):
        PrivateRanker(**_SETTINGS, classes=("a\0", "b")).fit(x, y)
    with pytest.raises(ValueError, match="must not end in NUL"):
        TwoLabels.named(["a", "a\0"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_last_nul_in_a_table_is_part_of_the_label(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"x": np.linspace(-1, 1, 12), "y": ["a", "b"] * 5 + ["a", "b\0"]})
    path = tmp_path / f"table.{ending}"
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    table = open_table(path)
    assert table.count("y") == (12, ("a", "b", "b\0"))
    (batch,) = table.batches(["x"], "y")
    assert batch.labels.tolist() == frame["y"].tolist()
    bounds = tmp_path / "bounds.json"
    bounds.write_text('{"x": [-1, 1]}', encoding="utf-8")
    options = ["--label", "y", "--bounds", str(bounds), "--epsilon", "1", "--delta", "1e-6"]
    runner = CliRunner()
    for more, code in (
        ([], 1),
        (["--classes", "a,b"], 1),
        (["--classes", "a,b", "--invalid", "null"], 0),
    ):
        out = tmp_path / f"{len(more)}.pairdp"
        result = runner.invoke(main, ["fit", str(path), *options, *more, "-o", str(out)])
        assert result.exit_code == code, result.output
