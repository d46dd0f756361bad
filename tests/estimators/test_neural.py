"""PrivateNeuralRanker: the contract of scikit-learn, files, tables, units and what it learns."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from pairdp import PrivateNeuralRanker, PrivateRanker, evaluate, load, verify
from pairdp.model_file import ModelFileError
from tests.estimators.data import FEW_RECORDS, two_classes

pytestmark = pytest.mark.filterwarnings(FEW_RECORDS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [PrivateNeuralRanker(1e3, hidden=(4,), n_steps=10, data_norm=8.0, random_state=0)]
)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def products(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return records whose class depends on the product of two rotated features."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 6))
    turned = z @ np.linalg.qr(np.random.default_rng(9).normal(size=(6, 6)))[0]
    odds = 4 * turned[:, 0] * turned[:, 1]
    return z / 8, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")


def test_it_learns_what_no_linear_model_can() -> None:
    x, y = products(6000)
    model = PrivateNeuralRanker(8.0, data_norm=1.0, n_steps=60, random_state=0).fit(
        x[:4000], y[:4000]
    )
    linear = PrivateRanker(8.0, data_norm=1.0, model="linear", random_state=0).fit(
        x[:4000], y[:4000]
    )
    assert model.score(x[4000:], y[4000:]) > 0.75
    assert linear.score(x[4000:], y[4000:]) < 0.6


@pytest.fixture(scope="module")
def fitted() -> PrivateNeuralRanker:
    x, y = two_classes(300)
    return PrivateNeuralRanker(4.0, hidden=(4, 3), n_steps=5, data_norm=1.0, random_state=0).fit(
        x, y
    )


def test_files_keep_scores_and_certificate(fitted: PrivateNeuralRanker, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    x, _ = two_classes(50, seed=1)
    assert np.array_equal(loaded.decision_function(x), fitted.decision_function(x))
    assert loaded.certificate_ == fitted.certificate_
    assert verify(loaded.certificate_).holds
    assert "Neural descent" in loaded.privacy_statement()


def test_a_file_with_other_arrays_is_refused(fitted: PrivateNeuralRanker, tmp_path: Path) -> None:
    damaged = PrivateNeuralRanker(**fitted.get_params())
    damaged.__dict__.update(vars(fitted))
    damaged.parameters_ = fitted.parameters_[:-1]
    damaged.save(tmp_path / "model.pairdp")
    with pytest.raises(ModelFileError, match="parameters"):
        load(tmp_path / "model.pairdp")


def test_tables_units_and_null_records() -> None:
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "ward": rng.choice(["A", "B"], n),
            "patient": rng.integers(0, 150, n),
            "died": rng.choice(["no", "yes"], n),
        }
    )
    schema = {
        "age": [0, 120], "ward": ["A", "B"], "patient": "id", "died": {"label": ["no", "yes"]},
    }  # fmt: skip
    model = PrivateNeuralRanker(
        4.0, hidden=(3,), n_steps=4, schema=schema, unit="patient", max_records=2, invalid="null",
        random_state=0,
    )  # fmt: skip
    table.loc[3, "age"] = np.nan
    scores = model.fit(table).decision_function(table)
    assert np.isfinite(scores).sum() >= n - 1
    assert model.certificate_.unit.max_records == 2
    assert verify(model.certificate_).holds


def test_it_can_be_evaluated(fitted: PrivateNeuralRanker) -> None:
    x, y = two_classes(2000, seed=2)
    found = evaluate(fitted, x, y, 2.0, random_state=0)
    assert found.auc_interval.lower <= fitted.score(x, y) <= found.auc_interval.upper


def test_without_torch_a_module_is_an_error_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pairdp\[torch\]'"):
        PrivateNeuralRanker(4.0, module=object(), data_norm=1.0).fit(*two_classes(60))


def test_mini_batches_are_stored_and_verified(tmp_path: Path) -> None:
    x, y = two_classes(300)
    model = PrivateNeuralRanker(4.0, hidden=(3,), n_steps=4, batch_size=50, data_norm=1.0)
    model.fit(x, y).save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    assert loaded.plan_.settings.batch_size == 50
    assert verify(loaded.certificate_).holds
    assert (
        "50 of 300 records drawn without replacement" in loaded.certificate_.releases[-1].describe()
    )


def test_pure_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match="set delta > 0, or use PrivateRanker"):
        PrivateNeuralRanker(delta=0.0, data_norm=1.0).fit(*two_classes(60))


def test_a_network_has_no_table_of_weights(fitted: PrivateNeuralRanker) -> None:
    assert fitted.parameter_noise_.kind == "unknown"
    assert not hasattr(fitted, "coef_")
