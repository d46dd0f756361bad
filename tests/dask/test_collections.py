"""Collections as they occur: Parquet files, empty blocks, graded responses, odd labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, BudgetLedger
from pairdp.algorithms import NoisyGradientDescent, WithPairDesign
from pairdp.dask import DaskPrivateMetric, DaskPrivateRanker
from pairdp.dask import estimators as module
from pairdp.dask.collections import warn_without_workers
from pairdp.engines import DaskEngine, PartError

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own
STEPS = NoisyGradientDescent(steps=2, step_size=1.0)


def frame(rows: int = 3000) -> Any:
    import pandas as pd

    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, rows)
    x = (rng.normal(size=(rows, 8)) + y[:, None]) / 8
    return pd.DataFrame({**{f"x{i}": column for i, column in enumerate(x.T)}, "y": y})


def without_first(part: Any) -> Any:
    return part[part.index >= 1000]


def ranker(**parameters: Any) -> DaskPrivateRanker:
    given = {"data_norm": 1.0, "algorithm": "moments", "random_state": 3, **parameters}
    return DaskPrivateRanker(1.0, **given)


def test_columns_of_one_parquet_table_have_the_same_blocks(client: Any, tmp_path: Path) -> None:
    import dask.dataframe as dd

    table = frame()
    dd.from_pandas(table, npartitions=6).to_parquet(tmp_path)
    read = dd.read_parquet(tmp_path)
    found = ranker().fit(read.drop(columns="y"), read["y"], n=len(table))
    expected = ranker().to_local().fit(table.drop(columns="y"), table["y"])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)


def test_an_empty_block_is_fitted_and_predicted(client: Any) -> None:
    import dask.dataframe as dd

    table = dd.from_pandas(frame(), npartitions=3).map_partitions(without_first)
    rows, labels = table.drop(columns="y"), table["y"]
    model = ranker().fit(rows, labels)
    assert model.certificate_.n == 2000
    assert model.decision_function(rows).compute().shape == (2000,)
    assert model.predict(rows).compute().shape == (2000,)
    metric = DaskPrivateMetric(1.0, data_norm=1.0, random_state=0).fit(rows, labels)
    assert metric.transform(rows).compute().shape[0] == 2000


def test_labels_without_rows_are_an_error(client: Any) -> None:
    import dask
    import dask.array as da

    x, y = frame().to_numpy()[:, :8], frame()["y"].to_numpy()
    blocks = [(x[:0], y[:700]), (x[:1000], y[:1000])]
    rows = [da.from_delayed(dask.delayed(a), (np.nan, 8), float) for a, _ in blocks]
    labels = [da.from_delayed(dask.delayed(b), (np.nan,), int) for _, b in blocks]
    unknown = {"allow_unknown_chunksizes": True}
    with pytest.raises(ValueError, match="as many rows"):
        ranker().fit(da.concatenate(rows, **unknown), da.concatenate(labels, **unknown))


def test_graded_responses_stay_on_the_workers(
    client: Any, arrays: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def collected(*_: Any) -> None:
        raise AssertionError("responses were sent to the driver")

    monkeypatch.setattr(module, "occurring", collected)
    rows, labels = arrays
    graded = ranker(response_bounds=(0, 1), algorithm=WithPairDesign(STEPS, 4)).fit(
        rows, labels / 2
    )
    assert graded.coef_.size == 4


def test_a_label_that_does_not_equal_itself_is_a_class(client: Any, arrays: Any) -> None:
    import dask.array as da

    rows, labels = arrays
    named = np.array(["a", "b"], dtype=object)[labels.compute()]
    named[5] = ("SECRET", float("nan"))
    names = da.from_array(named, chunks=1300)
    model = DaskPrivateMetric(1.0, data_norm=1.0, invalid="null", algorithm="scatter")
    assert model.fit(rows, names).components_.shape[1] == 4


def test_messages_of_compiled_functions_are_withheld(client: Any) -> None:
    parts = client.map(str, ["1", "SECRET-17"], pure=False)
    with pytest.raises(PartError, match="withheld") as raised:
        DaskEngine(client).map_sum(int, parts)
    assert "SECRET" not in str(raised.value)


def test_a_loss_that_workers_cannot_import_costs_nothing(
    client: Any, arrays: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loss_of_the_driver.py").write_text(
        "from dataclasses import dataclass\n"
        "from pairdp.losses import LogisticRanking\n\n"
        "@dataclass(frozen=True)\n"
        "class Loss(LogisticRanking):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from loss_of_the_driver import Loss  # type: ignore[import-not-found]

    ledger = BudgetLedger(Budget(1.0, 1e-5))
    model = DaskPrivateRanker(0.5, 1e-6, data_norm=1.0, loss=Loss(), algorithm=STEPS, ledger=ledger)
    with pytest.raises(TypeError, match="a worker cannot read"):
        model.fit(*arrays)
    assert not ledger.spends
    sys.modules.pop("loss_of_the_driver")


def test_a_closed_client_is_named() -> None:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster:
        closed = Client(cluster, set_as_default=False)
        closed.close()
        with pytest.raises(ValueError, match="is closed"):
            module.client_of(closed)


def test_a_cluster_without_workers_is_named() -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster, set_as_default=False) as client,
        pytest.warns(UserWarning, match="has no workers"),
    ):
        warn_without_workers(client)


def test_errors_of_cells_name_their_block(client: Any) -> None:
    import dask.dataframe as dd

    table = frame()
    table["x0"] = table["x0"].astype(object)
    table.loc[1500, "x0"] = "SECRET"
    schema = {**{f"x{i}": [-1, 1] for i in range(8)}, "y": {"label": [0, 1]}}
    model = DaskPrivateRanker(1.0, schema=schema, algorithm="moments")
    with pytest.raises(ValueError, match="in block 1: ") as raised:
        model.fit(dd.from_pandas(table, npartitions=2), n=3000)
    assert "SECRET" not in str(raised.value)
