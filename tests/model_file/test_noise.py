"""The noise of parameters in model files: it follows from the plan, or is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pairdp import ModelFileError, PrivateRanker, load
from tests.model_file.models import X, Y, fitted_ranker, forge, opened, ranker


def moments() -> PrivateRanker:
    return ranker(algorithm="moments").fit(X, Y)


def forged(path: Path, model: PrivateRanker, noise: Any) -> Path:
    model.save(path)
    header, arrays = opened(path)
    header["steps"][0].pop("noise", None)
    if noise is not None:
        header["steps"][0]["noise"] = noise
    forge(path, header, arrays)
    return path


@pytest.mark.parametrize("make", [fitted_ranker, moments])
def test_noise_comes_back(tmp_path: Path, make: Any) -> None:
    model, path = make(), tmp_path / "model"
    model.save(path)
    stored = opened(path)[0]["steps"][0]
    assert ("noise" in stored) == (make is moments)  # elsewhere it follows from the plan
    assert load(path).parameter_noise_.to_dict() == model.parameter_noise_.to_dict()


def test_a_file_without_it_is_read_and_the_noise_is_unknown(tmp_path: Path) -> None:
    loaded = load(forged(tmp_path / "model", moments(), None))
    assert loaded.weights_frame()["noise_std"].isna().all()


def test_noise_that_contradicts_the_plan_is_refused(tmp_path: Path) -> None:
    wrong = {"kind": "exact", "words": "hardly any", "deviation": 1e-9}
    with pytest.raises(ModelFileError, match="does not follow from its plan"):
        load(forged(tmp_path / "model", fitted_ranker(), wrong))


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "first order", "words": "too many", "deviation": [0.1] * 7},
        {"kind": "first order", "words": "negative", "deviation": [-0.1] * 3},
        {"kind": "first order", "words": "none", "deviation": None},
        {"kind": "first order", "words": "text", "deviation": "0.1"},
        "small",
        3,
    ],
)
def test_noise_that_makes_no_sense_is_refused(tmp_path: Path, noise: Any) -> None:
    with pytest.raises(ModelFileError, match="not valid"):
        load(forged(tmp_path / "model", moments(), noise))
