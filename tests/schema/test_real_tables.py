"""Mixed tables as people have them, through a schema, beside scikit-learn without privacy."""

from __future__ import annotations

import pytest

from pairdp import PrivateRanker, Schema
from pairdp.verification import verify_model
from tests.schema.real_tables import FILES, columns, parts, without_privacy
from tests.studies.data.places import needs_data


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "epsilon", "gap"), [("adult", 1.0, 0.03), ("adult", 5.0, 0.02), ("german", 8.0, 0.06)]
)
def test_the_private_auc_is_close_to_that_without_privacy(
    name: str, epsilon: float, gap: float
) -> None:
    schema = Schema.read(FILES / f"{name}.json")
    train, test = parts(name)
    model = PrivateRanker(epsilon, schema=schema, random_state=0).fit(train)
    reports = verify_model(model)
    assert reports[0].holds
    best = without_privacy(schema, train, test)
    assert model.score(test) > best - gap


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "german"])
def test_no_cell_is_unknown_to_the_schema(name: str) -> None:
    schema = Schema.read(FILES / f"{name}.json")
    counts = schema.outside(columns(name))
    for column, count in counts.items():
        assert count.unknown == 0 or column == "native_country"
