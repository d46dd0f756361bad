"""Pipelines with steps of scikit-learn: what is saved predicts the same, and holds no data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from pairdp import BoundsScaler, ModelFileError, PrivateRanker, SchemaEncoder, load, save
from pairdp.verification import verify_file
from tests.model_file.models import X, Y, opened, ranker

N = 150
RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 2, N)
FRAME = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, N),
        "sex": RNG.choice(["F", "M"], N),
        "ward": pd.Series(RNG.choice(["ICU", "Surgery", "none"], N)).replace("none", np.nan),
        "grade": RNG.integers(1, 4, N),
        "systolic": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(120, 15, N)),
    }
)
SEX = OneHotEncoder(categories=[["F", "M"]], sparse_output=False, drop="if_binary")
WARD = make_pipeline(
    SimpleImputer(strategy="constant", fill_value="none"),
    OneHotEncoder(categories=[["ICU", "Surgery", "none"]], sparse_output=False),
)
SYSTOLIC = make_pipeline(
    SimpleImputer(strategy="constant", fill_value=120.0), BoundsScaler(60, 260)
)


def columns(**options: Any) -> ColumnTransformer:
    return ColumnTransformer(
        [
            ("age", BoundsScaler([0], [120]), ["age"]),
            ("sex", SEX, ["sex"]),
            ("ward", WARD, ["ward"]),
            ("grade", OrdinalEncoder(categories=[[1, 2, 3]]), ["grade"]),
            ("systolic", SYSTOLIC, ["systolic"]),
        ],
        **options,
    )


def number(**options: Any) -> ColumnTransformer:
    return ColumnTransformer([("grade", "passthrough", ["grade"])], **options)


STEPS: dict[str, Any] = {
    "columns by name": columns(),
    "columns in pandas": columns().set_output(transform="pandas"),
    "names without prefix": columns(verbose_feature_names_out=False),
    "weights of columns": columns(transformer_weights={"age": 0.5}),
    "columns by position": ColumnTransformer(
        [("sex", SEX, [1]), ("age", "passthrough", [0]), ("ward", "drop", 2)]
    ),
    "a remainder": ColumnTransformer(
        [("sex", SEX, ["sex"]), ("ward", "drop", ["ward", "systolic"])], remainder="passthrough"
    ),
    "a transformed remainder": ColumnTransformer(
        [("sex", SEX, ["sex"]), ("rest", "drop", ["ward", "systolic"])], remainder=Binarizer()
    ),
    "slices and masks": ColumnTransformer(
        [
            ("age", "passthrough", slice("age", "age")),
            ("sex", SEX, [False, True, False, False, False]),
            ("grade", "passthrough", slice(3, 4)),
        ]
    ),
    "sparse categories made dense": ColumnTransformer(
        [("sex", OneHotEncoder(categories=[["F", "M"]]), ["sex"])], sparse_threshold=0
    ),
    "unknown categories": ColumnTransformer(
        [
            (
                "sex",
                OneHotEncoder(categories=[["F"]], handle_unknown="ignore", sparse_output=False),
                ["sex"],
            ),
            (
                "ward",
                OrdinalEncoder(
                    categories=[["ICU", "Surgery"]],
                    handle_unknown="use_encoded_value",
                    unknown_value=-1,
                    encoded_missing_value=-1,
                ),
                ["ward"],
            ),
        ]
    ),
    "polynomials": make_pipeline(number(), BoundsScaler(1, 3), PolynomialFeatures(3)),
    "splines": make_pipeline(number(), SplineTransformer(knots=[[0.0], [1.0], [2.0], [4.0]])),
    "a union": make_pipeline(
        number(),
        FeatureUnion([("raw", "passthrough"), ("above", Binarizer(threshold=2.0))]),
    ),
    "nothing": make_pipeline(number(), FunctionTransformer(), Normalizer(), "passthrough"),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_loaded_pipeline_predicts_the_same(name: str, tmp_path: Path) -> None:
    model = Pipeline([("prepare", STEPS[name]), ("rank", ranker())]).fit(FRAME, LABELS)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(FRAME), loaded.decision_function(FRAME))
    np.testing.assert_array_equal(model.predict(FRAME[::-1]), loaded.predict(FRAME[::-1]))
    assert repr(loaded[0]) == repr(model[0])
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_certificate_in_a_pipeline_is_verified(tmp_path: Path) -> None:
    save(make_pipeline(columns(), ranker()).fit(FRAME, LABELS), tmp_path / "model")
    (report,) = verify_file(tmp_path / "model")
    assert report.holds


def test_steps_fitted_to_arrays_are_saved_too(tmp_path: Path) -> None:
    model = make_pipeline(
        "passthrough", PolynomialFeatures(2), Normalizer(), BoundsScaler(), ranker()
    ).fit(X, Y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(
        model.decision_function(X), load(tmp_path / "model").decision_function(X)
    )


def test_the_output_of_every_step_is_kept(tmp_path: Path) -> None:
    numbers = FRAME[["age", "grade"]]
    chosen = ColumnTransformer([("age", "passthrough", ["age"])])
    model = make_pipeline(BoundsScaler(0, 120), chosen, ranker()).set_output(transform="pandas")
    save(model.fit(numbers, LABELS), tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(
        model.decision_function(numbers), loaded.decision_function(numbers)
    )


def test_names_of_outputs_are_kept(tmp_path: Path) -> None:
    model = make_pipeline(columns(), ranker()).fit(FRAME, LABELS)
    save(model, tmp_path / "model")
    names = load(tmp_path / "model")[0].get_feature_names_out()
    assert names.tolist() == model[0].get_feature_names_out().tolist()


def test_the_file_holds_parameters_and_names_and_no_data(tmp_path: Path) -> None:
    """Steps that are fitted to other records give the same header, up to the model itself."""
    found = []
    for shift in (0.0, 7.0):
        frame = FRAME.assign(age=FRAME["age"] + shift, grade=FRAME["grade"].to_numpy()[::-1])
        frame["ward"] = frame["ward"].fillna("ICU") if shift else frame["ward"]
        save(make_pipeline(columns(), ranker()).fit(frame, LABELS), tmp_path / "model")
        header, _ = opened(tmp_path / "model")
        found.append(header["steps"][0])
    assert found[0] == found[1]
    text = json.dumps(found[0])
    assert not any(repr(float(value)) in text for value in FRAME["age"])


REFUSED: dict[str, Any] = {
    "StandardScaler learned from the records": StandardScaler(),
    "MinMaxScaler learned from the records.*BoundsScaler": MinMaxScaler(),
    "RobustScaler learned": RobustScaler(),
    "KBinsDiscretizer learned": KBinsDiscretizer(2, encode="ordinal", strategy="uniform"),
    "OneHotEncoder learned its categories": OneHotEncoder(sparse_output=False),
    "OneHotEncoder counted the categories": OneHotEncoder(
        categories=[[1, 2, 3]], min_frequency=2, sparse_output=False
    ),
    "OrdinalEncoder learned its categories": OrdinalEncoder(),
    "SimpleImputer learned its mean": SimpleImputer(),
    "add_indicator": SimpleImputer(strategy="constant", fill_value=0, add_indicator=True),
    "SplineTransformer placed its knots": SplineTransformer(n_knots=3),
    "FunctionTransformer has a function": FunctionTransformer(np.log),
    "SelectKBest is not among the steps": SelectKBest(k=1),
    "a degree of at most": PolynomialFeatures(21),
    "selects columns by a function": ColumnTransformer(
        [("all", "passthrough", make_column_selector(dtype_include="number"))]
    ),
    "density of the records": ColumnTransformer(
        [("a", OneHotEncoder(categories=[[1, 2, 3]]), [0])]
    ),
    "QuantileTransformer|StandardScaler": FeatureUnion([("a", StandardScaler())]),
    "outermost pipeline": make_pipeline(ranker()),
    "SchemaEncoder has a schema": ColumnTransformer(
        [("grade", SchemaEncoder({"grade": [1, 3]}), ["grade"])]
    ),
    "OneHotEncoder cannot be stored": OneHotEncoder(
        categories=[[1, 2, 3]], sparse_output=False, feature_name_combiner=lambda *names: "x"
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_steps_that_learn_are_refused_with_the_reason(reason: str, tmp_path: Path) -> None:
    grades = FRAME[["grade"]]
    step = REFUSED[reason]
    model = make_pipeline(step) if isinstance(step, Pipeline) else make_pipeline(step, ranker())
    model.fit(grades, LABELS)
    with pytest.raises(ModelFileError, match=reason) as error:
        save(model, tmp_path / "model")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_fit_that_differs_from_the_public_one_is_refused(tmp_path: Path) -> None:
    """Someone set a fitted attribute from the data."""
    model = make_pipeline(number(), Binarizer(), ranker()).fit(FRAME, LABELS)
    encoder = OneHotEncoder(categories=[[1, 2, 3]], sparse_output=False).fit(FRAME[["grade"]])
    encoder.categories_ = [np.array([1, 2, 4])]
    model = Pipeline([("code", encoder), *model.steps[1:]])
    with pytest.raises(ModelFileError, match="depends on the records"):
        save(model, tmp_path / "model")


def test_a_private_estimator_within_a_union_is_refused(tmp_path: Path) -> None:
    union = FeatureUnion([("raw", "passthrough"), ("rank", PrivateRanker())])
    model = Pipeline([("union", union), ("rank", ranker().fit(X, Y))])
    with pytest.raises(ModelFileError, match="outermost pipeline"):
        save(model, tmp_path / "model")
