"""Of which model an evaluation is: the digest of what a model released, in memory and in files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from pairdp import (
    BoundsScaler,
    Evaluation,
    OnlinePrivateRanker,
    PrivateLinearClassifier,
    PrivateLinearRegressor,
    PrivateMetric,
    PrivateRanker,
    PrivateScorecard,
    PrivateSearch,
    evaluate,
    load,
    write_report,
)
from pairdp._sealed import seal
from pairdp.evaluation.result import digest_of

N = 1500
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 3)) + Y[:, None]) / 6
TARGETS = X @ [0.5, 0.2, -0.1]
COMMON: dict[str, Any] = {"epsilon": 2.0, "delta": 1e-6, "data_norm": 1.0, "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "linear": (PrivateRanker(**COMMON, model="linear"), Y),
    "additive": (PrivateRanker(**COMMON, model="additive"), Y),
    "graded": (PrivateRanker(**COMMON, response_bounds=(-1, 1)), TARGETS),
    "scorecard": (PrivateScorecard(**COMMON), Y),
    "classifier": (PrivateLinearClassifier(**COMMON), Y),
    "regressor": (PrivateLinearRegressor(**COMMON), TARGETS),
    "metric": (PrivateMetric(algorithm="scatter", **COMMON), Y),
    "pipeline": (make_pipeline(BoundsScaler(-1, 1), PrivateRanker(**COMMON)), Y),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_evaluation_knows_its_model(name: str, tmp_path: Path) -> None:
    made, labels = MODELS[name]
    model, other = clone(made).fit(X, labels), clone(made)
    seed = "privateranker__random_state" if name == "pipeline" else "random_state"
    other.set_params(**{seed: 1}).fit(X, labels)
    last, second = (getattr(one, "steps", [("", one)])[-1][1] for one in (model, other))
    assert digest_of(last) is not None
    assert digest_of(last) != digest_of(second)
    found = evaluate(model, X, labels, 5.0, random_state=0)
    again = Evaluation.from_json(found.to_json())
    assert again == found
    from pairdp.estimators import save

    save(model, tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    for one in (model, loaded):
        step = getattr(one, "steps", [("", one)])[-1][1]
        assert again.is_of(step) is True
        assert "states the digest of what this model" in write_report(one, evaluation=again).html
    assert again.is_of(second) is False
    with pytest.raises(ValueError, match=r"of another model: the digest .* this model is"):
        write_report(other, evaluation=again)


def test_old_files_do_not_say_of_which_model_they_are() -> None:
    model = clone(MODELS["linear"][0]).fit(X, Y)
    found = evaluate(model, X, Y, 5.0, roc=True, random_state=0)
    document = found.to_dict()
    del document["model"]
    old = Evaluation.from_json(seal(document))
    assert old == replace(found, model=None)
    assert old.is_of(model) is None
    assert "of this model cannot be checked" in write_report(model, evaluation=old).html
    assert model.calibrate(old).predict_proba(X[:1]).shape == (1, 2)


def test_a_calibration_is_of_the_same_model(tmp_path: Path) -> None:
    """Calibrating does not change the model that an evaluation is of; another model is refused."""
    model = clone(MODELS["additive"][0]).fit(X, Y)
    found = evaluate(model, X, Y, 5.0, roc=True, random_state=0)
    assert found.is_of(model.calibrate(found))
    model.save(tmp_path / "model.pairdp")
    assert load(tmp_path / "model.pairdp").calibration_ == found
    card = model.to_scorecard()
    card.save(tmp_path / "card.pairdp")
    loaded = load(tmp_path / "card.pairdp")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="of another model"):
        model.set_params(random_state=1).fit(X, Y).calibrate(found)


def test_the_own_evaluation_of_a_fit_is_of_it(tmp_path: Path) -> None:
    model = clone(MODELS["linear"][0]).fit(X, Y, evaluation_share=0.3)
    model.save(tmp_path / "model.pairdp")
    loaded = load(tmp_path / "model.pairdp")
    assert loaded.evaluation_ == model.evaluation_
    assert model.evaluation_.is_of(loaded) is True


def test_a_search_is_its_chosen_model(tmp_path: Path) -> None:
    sets = [{"features": [0, 1]}, {"features": [2]}]
    search = PrivateSearch(MODELS["linear"][0], sets, unpromising="ignore", random_state=0)
    found = evaluate(search.fit(X, Y), X, Y, 5.0, random_state=0)
    search.save(tmp_path / "model.pairdp")
    assert found.is_of(search) is found.is_of(load(tmp_path / "model.pairdp")) is True


def test_a_stream_that_goes_on_is_another_model() -> None:
    stream = OnlinePrivateRanker(
        5.0, 1e-6, horizon=N, data_norm=1.0, classes=[0, 1], random_state=0
    )
    stream.partial_fit(X[:1000], Y[:1000])
    found = evaluate(stream, X, Y, 5.0, random_state=0)
    assert found.is_of(stream) is True
    stream.partial_fit(X[1000:], Y[1000:])
    assert found.is_of(stream) is False


def test_models_that_hold_records_have_no_digest() -> None:
    """A digest of raw records would let others test guesses of them."""
    metric = clone(MODELS["metric"][0]).fit(X, Y)
    neighbours = make_pipeline(metric, KNeighborsClassifier(5)).fit(X, Y)
    assert evaluate(neighbours, X, Y, 5.0, random_state=0).model is None


def test_models_without_noise_have_no_digest() -> None:
    """Their parameters are an exact function of the records that they were fitted to."""
    exact = PrivateRanker(None, data_norm=1.0).fit(X, Y)
    assert digest_of(exact) is None
    assert evaluate(exact, X, Y, 5.0, random_state=0).model is None


@pytest.mark.parametrize("digest", ["", "0" * 63, "G" * 64, 5])
def test_malformed_digests_are_refused(digest: object) -> None:
    model = clone(MODELS["linear"][0]).fit(X, Y)
    document = evaluate(model, X, Y, 5.0, random_state=0).to_dict() | {"model": digest}
    with pytest.raises(ValueError, match="digest of its model is malformed"):
        Evaluation.from_json(seal(document))
