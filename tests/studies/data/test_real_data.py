"""The real data sets, where they are at hand."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.studies.data import CATALOG, load
from pairdp.studies.data.public_ranges import PUBLIC_RANGES
from tests.studies.data.places import DATA, needs_data

POSITIVE = {
    "diabetes": 268,
    "retinopathy": 611,
    "hepatitis": 123,
    "cancer_original": 241,
    "cancer_wdbc": 212,
}
MISSING = {"hepatitis": 167, "cancer_original": 16}


@needs_data
@pytest.mark.parametrize("name", CATALOG)
def test_sizes_classes_and_missing_values(name: str) -> None:
    dataset = load(name, DATA)
    source = CATALOG[name]
    assert dataset.x.shape == (source.rows, len(source.columns))
    assert set(dataset.y) == {-1.0, 1.0}
    assert int((dataset.y > 0).sum()) == POSITIVE[name]
    assert int(np.isnan(dataset.x).sum()) == MISSING.get(name, 0)


@pytest.mark.parametrize("name", CATALOG)
def test_every_feature_has_a_public_range_in_order(name: str) -> None:
    ranges = PUBLIC_RANGES[name]
    assert tuple(ranges) == CATALOG[name].columns
    for each in ranges.values():
        assert each.lower < each.upper
        assert each.lower <= each.typical <= each.upper


def test_zeros_are_missing_only_where_zero_is_impossible() -> None:
    flagged = {
        (name, feature)
        for name, ranges in PUBLIC_RANGES.items()
        for feature, each in ranges.items()
        if each.zero_is_missing
    }
    names = ("glucose", "blood_pressure", "skin_thickness", "insulin", "bmi")
    assert flagged == {("diabetes", name) for name in names}
