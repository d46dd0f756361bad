"""Fits on a cluster of processes: the same models and certificates as in one process."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pairdp import (
    PrivateLinearClassifier,
    PrivateMetric,
    PrivateRanker,
    PrivateScorecard,
    Schema,
    load,
)
from pairdp.algorithms import (
    GradientDescent,
    MinimizerRelease,
    MomentRelease,
    NoisyGradientDescent,
    WithPairDesign,
)
from pairdp.dask import (
    DaskPrivateLinearClassifier,
    DaskPrivateMetric,
    DaskPrivateRanker,
    DaskPrivateScorecard,
)
from pairdp.engines import PartError
from pairdp.verification import verify_model

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own
Table = tuple[np.ndarray, np.ndarray]
LOCAL = {
    DaskPrivateRanker: PrivateRanker,
    DaskPrivateLinearClassifier: PrivateLinearClassifier,
    DaskPrivateMetric: PrivateMetric,
    DaskPrivateScorecard: PrivateScorecard,
}
CASES: dict[str, tuple[type, dict[str, Any]]] = {
    "moments": (DaskPrivateRanker, {"algorithm": MomentRelease()}),
    "gradient descent": (DaskPrivateRanker, {"algorithm": GradientDescent(steps=4, step_size=0.5)}),
    "noisy descent": (
        DaskPrivateRanker,
        {"algorithm": NoisyGradientDescent(steps=4, step_size=0.5)},
    ),
    "minimiser": (
        DaskPrivateRanker,
        {"algorithm": "minimizer", "regularization": 0.1, "loss": "logistic"},
    ),
    "auto ranker": (DaskPrivateRanker, {}),
    "linear ranker": (DaskPrivateRanker, {"model": "linear"}),
    "auto classifier": (DaskPrivateLinearClassifier, {}),
    "minimised classifier": (
        DaskPrivateLinearClassifier,
        {"algorithm": "minimizer", "regularization": 0.1},
    ),
    "auto metric": (DaskPrivateMetric, {}),
    "scatter": (DaskPrivateMetric, {"algorithm": "scatter"}),
    "metric of a design": (
        DaskPrivateMetric,
        {"algorithm": WithPairDesign(GradientDescent("average", 5, 0.1), 4)},
    ),
    "noisy metric of a design": (
        DaskPrivateMetric,
        {"algorithm": WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 4)},
    ),
    "minimised metric of a design": (
        DaskPrivateMetric,
        {"algorithm": WithPairDesign(MinimizerRelease(), 4), "regularization": 0.2},
    ),
    "hinge of a design": (
        DaskPrivateRanker,
        {
            "algorithm": WithPairDesign(NoisyGradientDescent(steps=5, step_size=0.1), 4),
            "loss": "hinge",
        },
    ),
}


def fitted_arrays(model: Any) -> dict[str, np.ndarray]:
    names = ("coef_", "intercept_", "components_", "parameters_", "classes_")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def check_same(found: Any, expected: Any) -> None:
    assert found.certificate_ == expected.certificate_
    arrays = fitted_arrays(expected)
    assert arrays
    for name, value in arrays.items():
        other = fitted_arrays(found)[name]
        if value.dtype.kind == "f":
            np.testing.assert_allclose(other, value, rtol=1e-7, atol=1e-9, err_msg=name)
        else:
            np.testing.assert_array_equal(other, value)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("epsilon", [None, 1.0], ids=["exact", "noisy"])
def test_the_model_and_certificate_are_those_of_one_process(
    client: Any, table: Table, arrays: Any, name: str, epsilon: float | None
) -> None:
    kind, parameters = CASES[name]
    given = {"epsilon": epsilon, "data_norm": 1.0, "random_state": 3, **parameters}
    found = kind(client=client, **given).fit(*arrays)
    check_same(found, LOCAL[kind](**given).fit(*table))


def patients() -> tuple[Any, Schema]:
    import pandas as pd

    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.uniform(18, 90, 3000), "size": rng.uniform(0, 2, 3000)})
    frame["ill"] = np.where(frame["age"] + 30 * frame["size"] > 80, "yes", "no")
    schema = Schema.of({"age": [18, 90], "size": [0, 2], "ill": {"label": ["no", "yes"]}})
    return frame, schema


def test_a_frame_with_a_schema_is_encoded_on_the_workers(client: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    frame, schema = patients()
    given = {"schema": schema, "algorithm": MomentRelease(), "random_state": 3}
    collection = dd.from_pandas(frame, npartitions=4)
    found = DaskPrivateRanker(**given).fit(collection, n=3000)
    check_same(found, PrivateRanker(**given).fit(frame))
    scores = found.decision_function(collection).compute()
    np.testing.assert_array_equal(scores, found.to_local().decision_function(frame))
    found.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    assert type(loaded) is PrivateRanker
    check_same(loaded, found)


def test_a_scorecard_has_the_same_points(client: Any) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame, schema = patients()
    given = {"schema": schema, "interactions": True, "random_state": 3}
    found = DaskPrivateScorecard(**given).fit(dd.from_pandas(frame, npartitions=4), n=3000)
    expected = PrivateScorecard(**given).fit(frame)
    assert found.certificate_ == expected.certificate_
    pd.testing.assert_frame_equal(found.to_local().scorecard_, expected.scorecard_)
    collection = dd.from_pandas(frame, npartitions=2)
    np.testing.assert_allclose(
        found.decision_function(collection).compute(), expected.decision_function(frame)
    )


def test_the_certificate_says_whether_n_was_counted(
    client: Any, table: Table, tmp_path: Path
) -> None:
    import dask.dataframe as dd
    import pandas as pd

    x, y = table
    frame = pd.DataFrame(x, columns=list("abcd"))
    rows, labels = (dd.from_pandas(one, npartitions=3) for one in (frame, pd.Series(y)))
    model = DaskPrivateRanker(data_norm=1.0, algorithm="moments", random_state=0)
    declared = clone(model).fit(rows, labels, n=len(y))
    counted = clone(model).fit(rows, labels)
    sentence = "The number of records n was counted in the data, and is public."
    assert sentence in counted.certificate_.assumptions
    assert sentence not in declared.certificate_.assumptions
    assert counted.feature_names_in_.tolist() == list("abcd")
    for one in (declared, counted):
        verify_model(one)
        one.save(tmp_path / "model.pairdp")
        verify_model(load(tmp_path / "model.pairdp"))


@pytest.mark.parametrize("n", [300.5, "300", True])
def test_n_must_be_an_integer(client: Any, arrays: Any, n: Any) -> None:
    with pytest.raises(TypeError, match="n must be an integer"):
        DaskPrivateRanker(1.0, data_norm=1.0).fit(*arrays, n=n)


def test_another_number_of_records_fails_before_anything_is_paid(client: Any, arrays: Any) -> None:
    from pairdp import Budget, BudgetLedger

    ledger = BudgetLedger(Budget(1.0, 1e-5))
    model = DaskPrivateRanker(data_norm=1.0, algorithm="moments", ledger=ledger)
    for n in (5999, 6001):
        with pytest.raises(PartError, match=f"n = {n}") as error:
            model.fit(*arrays, n=n)
        assert "6000" not in str(error.value)
    assert not ledger.spends
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"algorithm": "DPEGD"}, "needs all records in one place"),
        ({"algorithm": NoisyGradientDescent(steps=3, step_size=0.1), "loss": "hinge"}, "Logistic"),
        ({"max_records": 2}, "fit_batches"),
    ],
    ids=["parts", "hinge", "units"],
)
def test_what_cannot_be_distributed_is_refused(
    client: Any, arrays: Any, parameters: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        DaskPrivateRanker(data_norm=1.0, **parameters).fit(*arrays)


def test_data_in_memory_is_refused(client: Any, table: Table) -> None:
    with pytest.raises(TypeError, match="for data in memory use the estimator without Dask"):
        DaskPrivateRanker(data_norm=1.0).fit(*table)


def test_predictions_of_collections_are_lazy_and_the_same(
    client: Any, table: Table, arrays: Any
) -> None:
    model = DaskPrivateRanker(data_norm=1.0, algorithm="moments", random_state=0).fit(*arrays)
    np.testing.assert_array_equal(model.predict(arrays[0]).compute(), model.predict(table[0]))
    metric = DaskPrivateMetric(data_norm=1.0, random_state=0).fit(*arrays)
    found = metric.transform(arrays[0])
    assert found.shape == (6000, 4)
    np.testing.assert_allclose(found.compute(), metric.transform(table[0]))


def test_parameters_are_those_of_scikit_learn(client: Any, arrays: Any) -> None:
    model = DaskPrivateRanker(2.0, client=client, data_norm=1.0)
    assert model.get_params()["epsilon"] == 2.0
    assert clone(model).client is client
    assert set(model.get_params()) == {*PrivateRanker().get_params(), "client"}
    model.set_params(algorithm="moments").fit(*arrays)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.coef_, model.coef_)
