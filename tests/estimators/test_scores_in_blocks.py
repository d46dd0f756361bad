"""Tables that a schema encodes are scored block by block, as all rows together."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from pairdp import PrivateLinearRegressor, PrivateRanker, PrivateScorecard
from pairdp.estimators.schema_tables import _ROWS, encoded_rows
from pairdp.schema import Schema

N = 8 * _ROWS + 7
COLUMNS: dict[str, Any] = {f"x{j}": [-3, 3] for j in range(12)}
CLASSES = Schema.of({**COLUMNS, "y": {"label": ["no", "yes"]}})
TARGETS = Schema.of({**COLUMNS, "y": {"target": [-3, 3]}})
MODELS: dict[str, Any] = {
    "linear": lambda: PrivateRanker(None, model="linear", schema=CLASSES),
    "additive": lambda: PrivateRanker(None, model="additive", schema=CLASSES),
    "scorecard": lambda: PrivateScorecard(1.0, 1e-6, schema=CLASSES, random_state=0),
    "regressor": lambda: PrivateLinearRegressor(None, schema=TARGETS),
}


def table(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=n) for name in COLUMNS}


@pytest.mark.parametrize("name", MODELS)
def test_scores_of_a_table_are_those_of_its_rows_without_all_of_them_in_memory(name: str) -> None:
    model, small, large = MODELS[name](), table(500), table(N)
    response = small["x0"] if name == "regressor" else np.where(small["x0"] > 0, "yes", "no")
    model.fit(small, response)
    schema = TARGETS if name == "regressor" else CLASSES
    large["x3"][[5, N - 1]] = np.nan
    model.set_params(invalid="null")
    score = model.predict if name == "regressor" else model.decision_function
    score(large)
    tracemalloc.start()
    found = score(large)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows = encoded_rows(schema, large, "null")
    assert peak < 0.7 * rows.nbytes
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found)), [5, N - 1])
    known = ~np.isnan(found)
    weights = getattr(model, "coef_", None)
    if weights is not None:
        expected = rows[known] @ np.ravel(weights) + model.intercept_
    else:
        inner = model._fitted_points() if name == "scorecard" else model._score_function()
        expected = inner.scores(rows[known])
        expected = expected if name == "scorecard" else expected + model.intercept_[0]
    np.testing.assert_allclose(found[known], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_block_may_have_no_record_to_score(name: str) -> None:
    model, given = MODELS[name](), table(_ROWS + 1)
    response = given["x0"] if name == "regressor" else np.where(given["x0"] > 0, "yes", "no")
    model.fit(given, response).set_params(invalid="null")
    score = model.predict if name == "regressor" else model.decision_function
    expected = score(given)
    given["x3"][-1] = np.nan  # alone in the last block
    found = score(given)
    np.testing.assert_array_equal(found[:-1], expected[:-1])
    assert np.isnan(found[-1])
    none = {column: np.full(3, np.nan) for column in COLUMNS}
    np.testing.assert_array_equal(score(none), np.full(3, np.nan))
    assert score({column: cells[:0] for column, cells in given.items()}).shape == (0,)
