"""Estimators that protect all records of a unit together."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pairdp import (
    Budget,
    BudgetLedger,
    LedgerError,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    Unit,
    load,
)
from pairdp.algorithms import ConditionedDescent, NoisyGradientDescent
from pairdp.verification import verify_file

N, K = 240, 2
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 3)) + Y[:, None]) / 5
GROUPS = np.array([f"SECRET-{unit}" for unit in RNG.integers(0, 100, N)], dtype=object)
GROUPS[::40] = None
MODELS: dict[str, Any] = {
    "ranker": PrivateRanker,
    "metric": PrivateMetric,
    "classifier": PrivateLinearClassifier,
    "regressor": PrivateLinearRegressor,
}


def model(name: str, **more: Any) -> Any:
    return MODELS[name](2.0, data_norm=1.0, unit="patient_id", max_records=K, **more)


def numbers(fitted: Any) -> np.ndarray:
    if isinstance(fitted, PrivateRanker):
        return np.asarray(fitted.decision_function(X))
    return np.ravel(fitted.components_ if hasattr(fitted, "components_") else fitted.coef_)


def quiet(fit: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def used_rows() -> np.ndarray:
    used, seen = np.zeros(N, dtype=bool), {}
    for i, unit in enumerate(GROUPS):
        if unit is not None:
            seen[unit] = seen.get(unit, 0) + 1
            used[i] = seen[unit] <= K
    return used


@pytest.mark.parametrize("name", MODELS)
def test_rows_beyond_the_limit_contribute_nothing(name: str) -> None:
    fitted = quiet(lambda: model(name, random_state=0).fit(X, Y, groups=GROUPS))
    assert fitted.certificate_.unit == Unit("patient_id", K)
    assert fitted.plan_.algorithm.offers_units
    used = used_rows()
    assert 0 < np.count_nonzero(~used) < N
    other_x, other_y = X.copy(), Y.copy()
    other_x[~used], other_y[~used] = RNG.normal(size=(np.count_nonzero(~used), 3)), 1
    same = quiet(lambda: model(name, random_state=0).fit(other_x, other_y, groups=GROUPS))
    np.testing.assert_array_equal(numbers(same), numbers(fitted))
    # They are null records, which count in n.
    null_x = X.copy()
    null_x[~used] = np.nan
    as_null = model(name, random_state=0, invalid="null")
    alone = quiet(lambda: as_null.fit(null_x, Y, groups=np.arange(N)))
    np.testing.assert_array_equal(numbers(alone), numbers(fitted))


@pytest.mark.parametrize("name", ["ranker", "metric"])
def test_batches_are_one_data_set(name: str) -> None:
    labels = {"labels": [0, 1]} if name == "ranker" else {}
    whole = quiet(lambda: model(name, random_state=0).fit(X, Y, groups=GROUPS))
    cuts = [slice(0, 50), slice(50, 51), slice(51, N)]
    batches = [(X[cut], Y[cut], GROUPS[cut]) for cut in cuts]
    parts = quiet(lambda: model(name, random_state=0).fit_batches(batches, N, 3, **labels))
    np.testing.assert_allclose(numbers(parts), numbers(whole), rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="pass groups"):
        model(name).fit_batches([(X, Y)], N, 3, **labels)


@pytest.mark.parametrize("name", MODELS)
def test_units_are_in_no_fitted_object_or_file(name: str, tmp_path: Path) -> None:
    fitted = quiet(lambda: model(name).fit(X, Y, groups=GROUPS))
    fitted.save(tmp_path / "model")
    for stored in (pickle.dumps(fitted), (tmp_path / "model").read_bytes()):
        assert b"SECRET" not in stored
    assert "SECRET" not in f"{vars(fitted)} {fitted.privacy_statement()}"
    (report,) = verify_file(tmp_path / "model")
    assert report.holds
    read = load(tmp_path / "model")
    assert (read.unit, read.max_records) == ("patient_id", K)
    assert read.certificate_.unit == Unit("patient_id", K)
    assert clone(read).get_params()["max_records"] == K


def test_groups_and_max_records_belong_together() -> None:
    ranker = PrivateRanker(data_norm=1.0)
    with pytest.raises(ValueError, match="groups need max_records"):
        ranker.fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="max_records limits the records of each unit: pass"):
        model("ranker").fit(X, Y)
    with pytest.raises(ValueError, match="unit='patient_id' needs max_records"):
        PrivateRanker(data_norm=1.0, unit="patient_id").fit(X, Y)
    with pytest.raises(ValueError, match="a unit for each of 240 rows, got 239"):
        model("ranker").fit(X, Y, groups=GROUPS[1:])
    with pytest.raises(ValueError, match="max_records must be at least 1"):
        PrivateRanker(data_norm=1.0, max_records=0).fit(X, Y, groups=GROUPS)
    assert PrivateRanker(data_norm=1.0, max_records=2).plan(N, 3).task.unit == Unit("unit", 2)


def test_online_estimators_refuse_groups() -> None:
    with pytest.raises(ValueError, match="takes no groups: it would have to remember the units"):
        OnlinePrivateRanker(horizon=N, data_norm=1.0).fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [200, 30_000])
def test_auto_chooses_among_algorithms_that_offer_units(name: str, n: int) -> None:
    choice = model(name).choices(n, 3)
    assert all(candidate.algorithm.offers_units for candidate in choice.candidates)
    assert choice.plan().certificate.unit == Unit("patient_id", K)
    if name in ("classifier", "regressor"):
        assert isinstance(choice.best.algorithm, ConditionedDescent | NoisyGradientDescent)


def test_predicted_errors_are_for_the_noise_of_units() -> None:
    for name in MODELS:
        alone = MODELS[name](1.0, data_norm=1.0).choices(500, 3).best
        unit = MODELS[name](1.0, data_norm=1.0, max_records=5).choices(500, 3).best
        assert unit.error > alone.error


def test_a_ledger_for_patients_pays_for_patients_only() -> None:
    ledger = BudgetLedger(Budget(3.0, 1e-5), unit="patient_id")
    with pytest.raises(LedgerError, match="protects single records"):
        PrivateRanker(data_norm=1.0, ledger=ledger).fit(X, Y)
    quiet(lambda: model("ranker", ledger=ledger).fit(X, Y, groups=GROUPS))
    assert [spend.facts.unit for spend in ledger.spends] == ["patient_id"]


def test_the_unit_may_be_an_identifier_of_the_schema() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "patient_id": GROUPS, "died": Y})
    schema = {"patient_id": "id", "a": [-1, 2], "b": [-1, 2], "died": {"label": ["0", "1"]}}
    options = {"schema": schema, "unit": "patient_id", "max_records": K, "random_state": 0}
    by_column = quiet(lambda: PrivateRanker(2.0, **options).fit(frame))
    by_groups = quiet(lambda: PrivateRanker(2.0, **options).fit(frame, groups=GROUPS))
    np.testing.assert_array_equal(
        by_column.decision_function(frame), by_groups.decision_function(frame)
    )
    assert b"SECRET" not in pickle.dumps(by_column)
    with pytest.raises(ValueError, match="pass groups"):
        PrivateRanker(schema=schema, max_records=K).fit(frame)
