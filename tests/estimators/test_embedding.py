"""PrivateEmbedding: the contract of scikit-learn, files, tables, units and what it learns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairdp import Budget, BudgetLedger, NoSignalWarning, PrivateEmbedding, evaluate, load, verify
from pairdp.model_file import ModelFileError
from pairdp.report import write_report
from tests.estimators.data import FEW_RECORDS, three_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [PrivateEmbedding(1e3, hidden=(4,), n_steps=5, data_norm=8.0, random_state=0)]
)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_it_helps_nearest_neighbours_where_no_linear_map_does() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5000, 8)) / 8
    y = np.where(x[:, 0] * x[:, 1] > 0, "a", np.where(x[:, 2] > 0, "b", "c"))
    embedding = PrivateEmbedding(16.0, data_norm=1.0, n_steps=80, random_state=0)
    model = make_pipeline(embedding, KNeighborsClassifier(3)).fit(x[:4000], y[:4000])
    plain = KNeighborsClassifier(3).fit(x[:4000], y[:4000])
    assert embedding.transform(x).shape == (5000, 2)
    assert model.score(x[4000:], y[4000:]) > plain.score(x[4000:], y[4000:]) + 0.1


@pytest.fixture(scope="module")
def fitted() -> PrivateEmbedding:
    x, y = three_classes(300)
    return PrivateEmbedding(8.0, hidden=(4, 3), n_steps=5, data_norm=1.0, random_state=0).fit(x, y)


def test_files_keep_embeddings_and_certificate(fitted: PrivateEmbedding, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    x, _ = three_classes(50, seed=1)
    assert np.array_equal(loaded.transform(x), fitted.transform(x))
    assert loaded.certificate_ == fitted.certificate_
    assert verify(loaded.certificate_).holds
    assert "Embedding descent" in loaded.privacy_statement()
    assert "PrivateEmbedding" in write_report(loaded).html


def test_a_file_with_other_arrays_is_refused(fitted: PrivateEmbedding, tmp_path: Path) -> None:
    damaged = PrivateEmbedding(**fitted.get_params())
    damaged.__dict__.update(vars(fitted))
    damaged.class_points_ = np.ones((3, 3))
    damaged.save(tmp_path / "model.pairdp")
    with pytest.raises(ModelFileError, match="parameters"):
        load(tmp_path / "model.pairdp")


def test_distances_are_those_of_embeddings(fitted: PrivateEmbedding) -> None:
    x, _ = three_classes(60)
    pairs = np.stack([x[:30], x[30:]], axis=1)
    e = fitted.transform(x)
    apart = np.linalg.norm(e[:30] - e[30:], axis=1)
    np.testing.assert_allclose(fitted.pair_distance(pairs), apart)
    np.testing.assert_array_equal(fitted.pair_score(pairs), -fitted.pair_distance(pairs))
    assert fitted.get_metric()(x[0], x[30]) == pytest.approx(apart[0])
    assert list(fitted.get_feature_names_out()) == ["privateembedding0", "privateembedding1"]
    with pytest.raises(ValueError, match="shape"):
        fitted.pair_distance(pairs[:, :, :2])


def test_tables_units_null_records_and_ledgers() -> None:
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "ward": rng.choice(["A", "B"], n),
            "patient": rng.integers(0, 150, n),
            "kind": rng.choice(["x", "y", "z"], n),
        }
    )
    schema = {
        "age": [0, 120], "ward": ["A", "B"], "patient": "id", "kind": "ignore",
    }  # fmt: skip
    ledger = BudgetLedger(Budget(20.0, 1e-3))
    model = PrivateEmbedding(
        16.0, hidden=(3,), n_steps=4, schema=schema, unit="patient", max_records=2,
        invalid="null", ledger=ledger,
    )  # fmt: skip
    table.loc[3, "age"] = np.nan
    embedded = model.fit(table, table["kind"]).transform(table)
    assert np.isfinite(embedded).all(axis=1).sum() >= n - 1
    assert model.certificate_.unit.max_records == 2
    assert verify(model.certificate_).holds
    assert len(ledger.spends) == 1


def test_it_can_be_evaluated(fitted: PrivateEmbedding) -> None:
    x, y = three_classes(2000, seed=2)
    found = evaluate(fitted, x, y, 2.0, random_state=0)
    assert 0 <= found.auc_interval.lower < found.auc_interval.upper <= 1


def test_classes_that_do_not_stand_out_are_said(fitted: PrivateEmbedding) -> None:
    x, _ = three_classes(300)
    model = PrivateEmbedding(8.0, hidden=(3,), n_steps=2, data_norm=1.0, random_state=0)
    with pytest.warns(NoSignalWarning, match="no two classes"):
        model.fit(x, np.zeros(300))
    assert model.transform(x).shape == (300, 1)
    with pytest.raises(ValueError, match="set delta > 0, or use PrivateMetric"):
        PrivateEmbedding(delta=0.0, data_norm=1.0).fit(x, np.zeros(300))
