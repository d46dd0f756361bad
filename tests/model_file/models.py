"""Fitted models to save, and files to break."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes

from pairdp import BoundsScaler, PrivateMetric, PrivateRanker, verify
from pairdp._sealed import seal, unseal

N, D = 120, 3


def data() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, N)
    return rng.normal(size=(N, D)) / 4 + 0.3 * y[:, None], y


X, Y = data()
NAMES = ["age", "größe", "a,b\n\"c'"]
FRAME = pd.DataFrame(X, columns=NAMES)


def ranker(**params: Any) -> PrivateRanker:
    return PrivateRanker(**{"algorithm": "DPGDSC", "random_state": 1, "data_norm": 1.0, **params})


def metric(**params: Any) -> PrivateMetric:
    return PrivateMetric(**{"algorithm": "DPGDC", "random_state": 1, "data_norm": 1.0, **params})


@cache
def fitted_ranker() -> PrivateRanker:
    return ranker().fit(X, Y)


def fitted_scaler() -> BoundsScaler:
    return BoundsScaler(-2.0, 2.0).fit(X)


def opened(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a model file."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    document = json.loads(content[8 : 8 + length])["__metadata__"]["pairdp"]
    return dict(unseal(document)), load_file(path)


def described(array: NDArray[Any]) -> dict[str, Any]:
    raw = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "sha256": hashlib.sha256(raw).hexdigest()}


def forge(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a file with right digests, whatever it says."""
    header = {**header, "arrays": {name: described(array) for name, array in arrays.items()}}
    path.write_bytes(to_bytes(arrays, metadata={"pairdp": seal(header)}))


def assert_same_release(loaded: Any, model: Any) -> None:
    """Check everything that a fit leaves, whatever the estimator."""
    assert type(loaded) is type(model)
    assert set(vars(loaded)) == set(vars(model))
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            found = getattr(loaded, name)
            np.testing.assert_array_equal(found, value)
            assert found.dtype.kind == value.dtype.kind
    if hasattr(model, "plan_"):
        assert loaded.plan_ == model.plan_
        assert loaded.certificate_ == model.certificate_
        assert loaded.privacy_statement() == model.privacy_statement()
        assert verify(loaded.certificate_)
