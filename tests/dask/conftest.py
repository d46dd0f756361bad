"""A cluster of two worker processes, for all tests of this folder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
INSTALLED = find_spec("distributed") is not None
NOT_INSTALLED = pytest.mark.skip(reason="Dask is not installed: make test-dask installs it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave these tests to ``make test-dask``, and skip them without Dask."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
            if not INSTALLED:
                item.add_marker(NOT_INSTALLED)


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            yield client


@pytest.fixture(autouse=True)
def _two_workers(client: Any) -> None:
    """Wait for the worker that a test may have killed."""
    client.wait_for_workers(2, timeout=60)


@pytest.fixture(scope="session")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 6000)
    return (rng.normal(size=(6000, 4)) + y[:, None]) / 5, y


@pytest.fixture
def arrays(table: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
    import dask.array as da

    x, y = table
    return da.from_array(x, chunks=(1300, 2)), da.from_array(y, chunks=1300)
