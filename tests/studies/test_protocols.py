"""How records are prepared, and what the honest way must not depend on."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp.studies.data import CATALOG, Dataset, load
from pairdp.studies.protocols import (
    METRIC_PROTOCOLS,
    Prepared,
    by_public_ranges,
    permuted_split,
    prepare,
)
from pairdp.studies.readings import LARGEST_NORM, RAW_ROWS, READINGS
from tests.studies.data.places import DATA, needs_data


def some(name: str = "diabetes", n: int = 30, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.normal(50, 60, size=(n, len(CATALOG[name].columns)))
    x[rng.random(x.shape) < 0.2] = np.nan
    return Dataset(CATALOG[name], x, rng.choice([-1.0, 1.0], n))


@pytest.mark.parametrize("protocol", [*METRIC_PROTOCOLS, *READINGS])
@pytest.mark.parametrize("name", CATALOG)
def test_rows_are_finite_and_in_the_unit_ball(name: str, protocol: str) -> None:
    found = prepare(some(name), protocol)
    norms = np.linalg.norm(found.x, axis=1)
    assert np.all(norms <= 1 + 1e-12)
    assert norms.max() > 0.5


def _first_row_moves(protocol: str, name: str) -> bool:
    """Whether the first row changes when all the other records do."""
    dataset = some(name)
    changed = dataset.x.copy()
    changed[1:] = 3 * changed[1:] + 1e3
    other = Dataset(dataset.source, changed, dataset.y)
    return not np.array_equal(prepare(dataset, protocol).x[0], prepare(other, protocol).x[0])


@pytest.mark.parametrize("protocol", ["paper", "honest"])
@pytest.mark.parametrize("name", CATALOG)
def test_private_rows_depend_on_their_own_record_alone(name: str, protocol: str) -> None:
    assert not _first_row_moves(protocol, name)


def test_of_all_readings_only_the_papers_reads_the_record_alone() -> None:
    assert [name for name in READINGS if not _first_row_moves(name, "diabetes")] == [RAW_ROWS]
    assert _first_row_moves("standardised", "diabetes")


def test_raw_rows_by_hand() -> None:
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, -2.0]])
    np.testing.assert_allclose(READINGS[RAW_ROWS](rows), [[0.6, 0.8], [0, 0], [0, -1]])


def test_zeros_that_stand_for_missing_values_are_what_is_ordinary() -> None:
    source = CATALOG["diabetes"]
    rows = np.array([[3, 120, 75, 25, 100, 30, 0.5, 40], [3, 0, 0, 0, 0, 0, 0.5, 40]], float)
    found = by_public_ranges(Dataset(source, rows, np.array([1.0, -1.0])))
    np.testing.assert_array_equal(found[0], found[1])


def test_standardised_by_hand() -> None:
    x = np.array([[0.0, 5.0], [2.0, 5.0], [4.0, np.nan]])
    # The second feature is constant, and its missing value is its mean.
    found = prepare(Dataset(CATALOG["diabetes"], x, np.ones(3)), "standardised").x
    np.testing.assert_allclose(found, [[-1, 0], [0, 0], [1, 0]])
    largest = READINGS[LARGEST_NORM](np.array([[0.0, 5.0], [2.0, 6.0], [4.0, 7.0]]))
    np.testing.assert_allclose(np.linalg.norm(largest, axis=1), [1, 0, 1])


def test_splits_are_disjoint_complete_and_the_permutations() -> None:
    records = Prepared(np.arange(20.0).reshape(10, 2), np.tile([1.0, -1.0], 5))
    parts = [permuted_split(records, 7, seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(parts[0].x, parts[1].x)
    assert not np.array_equal(parts[0].x, parts[2].x)
    rows = np.vstack((parts[2].x, parts[2].x_test))
    np.testing.assert_array_equal(np.sort(rows[:, 0]), records.x[:, 0])
    assert parts[2].y_test.shape == (3,)


@pytest.mark.parametrize("n", [1, 10, 11])
def test_sizes_that_leave_nothing_to_judge_on_are_refused(n: int) -> None:
    records = Prepared(np.zeros((10, 2)), np.ones(10))
    with pytest.raises(ValueError, match="between 2 and 9"):
        permuted_split(records, n, 0)


def test_unknown_protocols_are_refused() -> None:
    with pytest.raises(ValueError, match="protocol must be"):
        prepare(some(), "other")


@needs_data
@pytest.mark.parametrize("name", CATALOG)
def test_real_data_is_in_the_unit_ball(name: str) -> None:
    for protocol in METRIC_PROTOCOLS:
        found = prepare(load(name, DATA), protocol)
        assert np.linalg.norm(found.x, axis=1).max() <= 1 + 1e-12
