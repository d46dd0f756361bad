"""The adapter to river."""

from __future__ import annotations

import numpy as np
import pytest

from pairdp import OnlinePrivateRanker

river = pytest.importorskip("river", reason="river is not installed")

from river import evaluate, metrics, stream  # noqa: E402

from pairdp.estimators.river import RiverRanker  # noqa: E402

NAMES = ["a", "b", "c"]


def ranker(**settings: object) -> RiverRanker:
    model = OnlinePrivateRanker(**{"epsilon": 5.0, "horizon": 400, **settings}, data_norm=1.0)  # type: ignore[arg-type]
    return RiverRanker(model, NAMES, [False, True])


def test_it_runs_in_rivers_own_evaluation() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    x = (rng.normal(size=(400, 3)) + y[:, None]) / 4
    model = ranker(random_state=0)
    assert model.predict_one(dict(zip(NAMES, x[0], strict=True))) is None
    data = stream.iter_array(x, y.tolist(), feature_names=NAMES)
    found = evaluate.progressive_val_score(data, model, metrics.ROCAUC())
    assert found.get() > 0.6
    assert model.model.records_left_ == 0
    with pytest.raises(ValueError, match="complete"):
        model.learn_one(dict(zip(NAMES, x[0], strict=True)), True)


def test_bad_records_are_refused_without_their_values() -> None:
    model = ranker()
    with pytest.raises(ValueError, match="lacks the feature 'c'"):
        model.learn_one({"a": 1, "b": 2}, True)
    with pytest.raises(ValueError, match="must be numbers") as error:
        model.learn_one({"a": "secret", "b": 2, "c": 3}, True)
    assert "secret" not in str(error.value)
    model.learn_one({"a": 1, "b": 2, "c": 3, "more": 4}, True)
    assert model.predict_one({"a": 1, "b": 2, "c": 3}) in (False, True)
