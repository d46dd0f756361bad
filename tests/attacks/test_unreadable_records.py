"""What was tried: one record that cannot be read, to see whether anything tells that it was there.

One NaN, a CSV entry 1e309, an integer of 400 digits, a word among numbers, an unexpected label or a
broken line made a fit fail, a refusal that depends on one record. With ``invalid="null"``, for
every estimator and on the command line,

- the fit succeeds, and is to the last bit that of the data with the record null, however it came to
  be unreadable and in whatever container it came: other records are read as they were without it;
- nothing but the noisy numbers differs from a fit of clean data: certificate, statement, output,
  attributes and warnings are the same.

With ``invalid="error"`` the error quotes no value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    OnlinePrivateMetric,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
)
from pairdp.algorithms import ScatterMetric

# 60 records are too few for a Fisher metric: test_null_records compares what it releases.
METRICS = ("metric", "metric by scatter", "online metric")
FITS: dict[str, Callable[..., Any]] = {
    "ranker": lambda **p: PrivateRanker(classes=[0, 1], **p),
    "additive ranker": lambda **p: PrivateRanker(classes=[0, 1], model="additive", **p),
    "ranker by descent": lambda **p: PrivateRanker(classes=[0, 1], algorithm="DPGDSC", **p),
    "metric": lambda **p: PrivateMetric(algorithm="DPGDSC", **p),
    "metric by scatter": lambda **p: PrivateMetric(algorithm=ScatterMetric(), **p),
    "classifier": lambda **p: PrivateLinearClassifier(classes=[0, 1], **p),
    "least squares": lambda **p: PrivateLinearClassifier(
        classes=[0, 1], loss="least_squares", radius=1.0, **p
    ),
    "regressor": lambda **p: PrivateLinearRegressor(**p),
    "online ranker": lambda **p: OnlinePrivateRanker(classes=[0, 1], **p),
    "online descent": lambda **p: OnlinePrivateRanker(classes=[0, 1], algorithm="descent", **p),
    "online metric": lambda **p: OnlinePrivateMetric(**p),
}
PARAMS: dict[str, Any] = {
    "epsilon": 100.0, "delta": 1e-6, "data_norm": 1.0, "random_state": 0, "invalid": "null",
}  # fmt: skip
PLACE = 7
UNREADABLE = [np.nan, -np.inf, "secret", "1e309", 10**400, None, 2j, [1.0]]
RELEASED = (
    "coef_", "intercept_", "components_", "eigenvalues_",
    "parameters_", "bins_", "edges_", "counts_", "deviations_", "interactions_", "factors_",
    "product_deviations_",
)  # fmt: skip
LABELS = [None, np.nan, "secret", 10**400, [0, 1], 2]


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return (rng.normal(size=(n, 3)) + y[:, None]) / 4, y


def objects(rows: np.ndarray, entry: Any = None, place: tuple[int, ...] = ()) -> np.ndarray:
    """Return a copy that holds Python objects, one of them replaced."""
    table = rows.astype(object)
    if place:
        table[place] = entry
    return table


def released(model: Any) -> list[np.ndarray]:
    return [np.asarray(getattr(model, name)) for name in RELEASED if hasattr(model, name)]


def shown(model: Any) -> tuple[Any, ...]:
    """Return everything about a fitted model that is not a noisy number."""
    plain = {
        name: value
        for name, value in vars(model).items()
        if name not in (*RELEASED, "plan_", "certificate_")
        and name != "parameter_noise_"  # a function of the released values
        and not name.startswith("_")
    }
    # The number of bins is a function of released counts.
    shapes = [array.ndim if hasattr(model, "bins_") else array.shape for array in released(model)]
    certificate = model.certificate_.to_json()
    return repr(plain), shapes, certificate, model.privacy_statement(), sorted(vars(model))


def quiet(model: Any, x: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(x, y)


@pytest.mark.parametrize("name", FITS)
def test_one_unreadable_record_changes_nothing_but_noise(name: str) -> None:
    x, y = data()
    gone = x.copy()
    gone[PLACE] = np.nan
    null = quiet(FITS[name](**PARAMS), gone, y)
    clean = quiet(FITS[name](**PARAMS), x, y)
    default = quiet(FITS[name](**{**PARAMS, "invalid": "error"}), x, y)
    for one, other in zip(released(clean), released(default), strict=True):
        np.testing.assert_array_equal(one, other)
    assert shown(clean) == shown(null)
    assert any(
        not np.array_equal(a, b) for a, b in zip(released(clean), released(null), strict=True)
    )
    for i, entry in enumerate(UNREADABLE):
        table = objects(x, entry, (PLACE, i % 3))
        for given in (table, table.tolist(), pd.DataFrame(table))[i % 3 :: 2]:
            found = quiet(FITS[name](**PARAMS), given, y.tolist() if i % 2 else y)
            for one, other in zip(released(found), released(null), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FITS)
def test_an_unexpected_label_makes_a_null_record(name: str) -> None:
    x, y = data()
    gone = x.copy()
    gone[PLACE] = np.nan
    null = quiet(FITS[name](**PARAMS), gone, y)
    for i, label in enumerate(LABELS):
        if label == 2 and name in ("regressor", *METRICS):
            continue  # a target like any other, and a name of a class
        if name in METRICS and label in (
            "secret",
            10**400,
        ):
            continue
        labels = objects(y)
        labels[PLACE] = label
        found = quiet(FITS[name](**PARAMS), x, labels if i % 2 else labels.tolist())
        for one, other in zip(released(found), released(null), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", FITS)
def test_by_default_an_unreadable_record_is_an_error_that_quotes_nothing(name: str) -> None:
    x, y = data()
    for i, entry in enumerate(UNREADABLE):
        model = FITS[name](**{**PARAMS, "invalid": "error"})
        with pytest.raises((ValueError, TypeError, OverflowError)) as caught:
            model.fit(objects(x, entry, (PLACE, i % 3)), y)
        for secret in ("secret", "1e309", "1000000"):
            assert secret not in str(caught.value)
        assert not hasattr(model, "certificate_")
    with pytest.raises(ValueError, match='"error" or "null"'):
        FITS[name](**{**PARAMS, "invalid": "drop"}).fit(x, y)


@pytest.mark.parametrize(
    "name", ["ranker", "ranker by descent", "metric", "classifier", "regressor"]
)
def test_batches_are_read_record_by_record(name: str) -> None:
    x, y = data()
    gone = x.copy()
    gone[[PLACE, 20, 21, 40]] = np.nan
    null = quiet(FITS[name](**PARAMS), gone, y)
    rows, labels = objects(x).tolist(), y.tolist()
    rows[PLACE][0], rows[20], rows[21], labels[40] = "secret", [1.0], None, None
    cuts = [(0, 5), (5, 30), (30, 60)]
    model = FITS[name](**PARAMS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit_batches([(rows[i:j], labels[i:j]) for i, j in cuts], 60, 3)
    for one, other in zip(released(model), released(null), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["online ranker", "online descent", "online metric"])
def test_streams_go_on(name: str, tmp_path: Path) -> None:
    x, y = data()
    models = []
    for entry in (np.nan, "secret"):
        model = FITS[name](**PARAMS, horizon=60)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(objects(x, entry, (PLACE, 1))[:20].tolist(), y[:20])
            rows = objects(x)[20:].tolist()
            rows[3] = [entry]  # of another length
            model.partial_fit(rows, [*y[20:59], None])
        assert model.records_left_ == 0
        models.append(model)
    for one, other in zip(*map(released, models), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_error_says_what_to_do() -> None:
    x, y = data()
    x[PLACE] = np.nan
    way_out = r'^Input X contains NaN\. Fill in or drop such records first, or pass invalid="null"'
    with pytest.raises(ValueError, match=way_out):
        PrivateRanker(1.0, data_norm=1.0).fit(x, y)
    fitted = PrivateRanker(1.0, data_norm=1.0, random_state=0).fit(x[:PLACE], y[:PLACE])
    with pytest.raises(ValueError, match=r"^Input X contains NaN\. Fill in or drop such records"):
        fitted.predict(x)


def test_a_missing_label_of_pandas_is_refused_in_words() -> None:
    pandas = pytest.importorskip("pandas")
    x, y = data()
    names = pandas.Series(np.where(y, "yes", "no"), dtype="string")
    names[PLACE] = pandas.NA
    ranker = PrivateRanker(1.0, data_norm=1.0, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"y contains NA\. Fill in or drop such records"):
        ranker.fit(x, names)
    with pytest.raises(ValueError, match="labels that the model does not know"):
        ranker.fit(x, names.fillna("no")).score(x, names)


class Raising:
    """An entry whose own code fails."""

    __hash__ = object.__hash__

    def __float__(self) -> float:
        raise RuntimeError("secret")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("secret")


@pytest.mark.parametrize("name", FITS)
def test_an_entry_whose_own_code_fails_cannot_be_read(name: str) -> None:
    x, y = data()
    expected = quiet(FITS[name](**PARAMS), x, y)
    in_a_row = quiet(FITS[name](**PARAMS), objects(x, Raising(), (PLACE, 1)), y)
    as_a_label = quiet(FITS[name](**PARAMS), x, objects(y, Raising(), (PLACE,)))
    assert shown(in_a_row) == shown(as_a_label) == shown(expected)


def test_what_is_public_is_still_refused() -> None:
    x, y = data()
    for wrong_x, wrong_y, match in (
        (x[:, 0], y, "table"),
        (x[:1], y[:1], "minimum of 2"),
        (x, y[:-1], "inconsistent"),
        (x, None, "requires y"),
        (x, np.stack([y, y], axis=1), "one label (a|per) record"),
        ([*x.tolist(), [1.0]], [*y, 1], "same, public, number of entries"),
    ):
        with pytest.raises(ValueError, match=match):
            PrivateRanker(**PARAMS, classes=[0, 1]).fit(wrong_x, wrong_y)
    model = PrivateRanker(**PARAMS, classes=[0, 1]).fit(pd.DataFrame(x, columns=list("abc")), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="NaN"):
        model.predict(pd.DataFrame(np.full((1, 3), np.nan), columns=list("abc")))


def test_labels_that_occur_are_public_unless_they_are_given() -> None:
    x, y = data()
    labels = objects(y)
    labels[PLACE] = None
    assert PrivateRanker(**PARAMS).fit(x, labels).classes_.tolist() == [0, 1]
    labels[PLACE] = 2
    with pytest.raises(ValueError, match="Only binary"):
        PrivateRanker(**PARAMS).fit(x, labels)


def test_a_scaler_passes_them_on() -> None:
    x, y = data()
    gone = x.copy()
    gone[PLACE] = np.nan
    lower, upper = [-2, -1, -3], [3, 4, 2]

    def pipeline(invalid: str = "null") -> Any:
        return make_pipeline(
            BoundsScaler(lower, upper, invalid=invalid), PrivateRanker(**PARAMS, classes=[0, 1])
        )

    null = quiet(pipeline(), gone, y)
    for i, entry in enumerate(UNREADABLE):
        found = quiet(pipeline(), objects(x, entry, (PLACE, i % 3)), y)
        for one, other in zip(released(found[-1]), released(null[-1]), strict=True):
            np.testing.assert_array_equal(one, other)
    assert np.isnan(null[0].transform(gone)[PLACE]).all()
    with pytest.raises(ValueError, match="NaN"):
        pipeline("error").fit(gone, y)


def test_river_streams_go_on() -> None:
    river = pytest.importorskip("pairdp.estimators.river")
    x, y = data()
    coefficients = []
    for broken in ({}, {"a": "secret", "b": 1.0}, {"a": 10**400, "b": 0.0}):
        model = OnlinePrivateRanker(**PARAMS, horizon=60)
        ranker = river.RiverRanker(model, ["a", "b"], [0, 1])
        for i, (row, label) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            record = broken if i == PLACE else {"a": row[0], "b": row[1]}
            if i == PLACE:
                assert ranker.predict_one(record) is None
                assert ranker.predict_proba_one(record) == {}
            ranker.learn_one(record, "other" if i == 9 else label)
        assert model.records_left_ == 0
        coefficients.append(model.coef_)
    np.testing.assert_array_equal(coefficients[0], coefficients[1])
    np.testing.assert_array_equal(coefficients[0], coefficients[2])
    ranker = river.RiverRanker(OnlinePrivateRanker(horizon=9), ["a", "b"], [0, 1])
    with pytest.raises(ValueError, match="lacks the feature"):
        ranker.learn_one({"a": 1.0}, 0)
