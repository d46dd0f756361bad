"""Scores are computed from each record alone, whatever is in the cells of another one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pairdp import PrivateRanker
from pairdp.evaluation.scoring import ScoredModel, model_parts

N = 30
ROWS = np.random.default_rng(0).normal(size=(60, 5))
TABLE = pd.DataFrame(ROWS, columns=list("abcde")).assign(e=np.arange(60) % 7)
STEPS: dict[str, list[Any]] = {
    "none": [],
    "scaler": [StandardScaler()],
    "products": [StandardScaler(), PCA(3)],
    "imputer": [SimpleImputer(), StandardScaler()],
}
CELLS: list[Any] = [np.nan, np.inf, 1e308, "x", None, 10**400, 1 + 2j]


@cache
def fitted(name: str) -> ScoredModel:
    ranker = PrivateRanker(5.0, data_norm=3.0, model="linear", random_state=0)
    labels = (TABLE["a"] > 0).astype(int)
    return model_parts(make_pipeline(*STEPS[name], ranker).fit(TABLE, labels))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("cell", CELLS, ids=[repr(cell)[:10] for cell in CELLS])
@pytest.mark.parametrize("column", ["a", "e"])
def test_a_cell_changes_no_score_of_another_record(name: str, cell: Any, column: str) -> None:
    """It may change the type of its column, and so of the table."""
    model = fitted(name)
    before = model.scores(TABLE[:N], "null")
    for place in (0, N - 1):
        cells = TABLE[column][:N].tolist()
        cells[place] = cell
        after = model.scores(TABLE[:N].assign(**{column: pd.Series(cells)}), "null")
        others = np.arange(N) != place
        np.testing.assert_array_equal(after[others], before[others])
        if isinstance(cell, complex):
            assert np.isnan(after[place])


def test_complex_arrays_have_null_records() -> None:
    rows = ROWS[:N].astype(complex)
    rows[3, 1] += 1j
    after = fitted("scaler").scores(rows, "null")
    assert np.flatnonzero(np.isnan(after)).tolist() == [3]
