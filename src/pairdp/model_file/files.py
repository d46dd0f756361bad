"""One file for a model: arrays as raw numbers, all else as checked JSON, no code.

The container is safetensors: a JSON header and the arrays' bytes, which a reader checks before
it trusts a size. Its metadata holds one more JSON document with parameters, labels,
names, certificate and a digest of every array.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from pairdp._files import NotDurableError, write_atomically
from pairdp._sealed import fields_of, seal, unseal
from pairdp._version import __version__
from pairdp.model_file.errors import ModelFileError
from pairdp.model_file.states import Arrays, state_of, with_state

FORMAT = "pairdp model"
FORMAT_VERSION = 1
_KEY = "pairdp"
# What reading values of the wrong kind may raise.
_NOT_VALID = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
)  # fmt: skip


def save(model: BaseEstimator, path: str | Path) -> None:
    """Write a fitted model to one file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted `PrivateRanker`, `PrivateMetric`, `PrivateLinearClassifier`,
        `PrivateLinearRegressor` or `BoundsScaler`, or a Pipeline of these.
    path : path-like
        Where to. An existing file is replaced.

    Notes
    -----
    The file has no seed and no ledger: who has the model shall not be able to take off its noise
    or to spend from the budget.

    Raises
    ------
    ModelFileError
        If the model is of another kind, or has parameters of a user's own classes.
    """
    target = Path(path)
    if not target.resolve().parent.is_dir():
        raise ModelFileError(f"there is no directory {target.parent} to save into")
    arrays: Arrays = {}
    is_pipeline = isinstance(model, Pipeline)
    named = model.steps if is_pipeline else [("model", model)]
    if not named:
        raise ModelFileError("a model file cannot hold a pipeline without steps")
    steps = [
        {"name": name, **state_of(step, f"{place}.", arrays)}
        for place, (name, step) in enumerate(named)
    ]
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": __version__,
        "pipeline": is_pipeline,
        "steps": steps,
        "arrays": {name: _describe(array) for name, array in arrays.items()},
    }
    try:
        content = to_bytes(arrays, metadata={_KEY: seal(header)})
        write_atomically(target, content)
    except NotDurableError as error:
        raise ModelFileError(
            f"the model {target} was written but might not survive a crash: {error.strerror}"
        ) from None
    except OSError as error:
        raise ModelFileError(f"the model {target} cannot be written: {error.strerror}") from None
    except ValueError as error:  # text that is no Unicode, numbers that JSON has not
        raise ModelFileError(f"the model cannot be written: {error}") from None


def load(path: str | Path) -> Any:
    """Return the model of a file. It never runs code from the file.

    Parameters
    ----------
    path : path-like
        What `save` wrote.

    Raises
    ------
    ModelFileError
        If the file is damaged, of a newer version, or no model at all.
    """
    header, arrays = _read(Path(path))
    try:
        if not isinstance(header["steps"], list) or not header["steps"]:
            raise ValueError("it has no steps")
        steps = []
        for place, entry in enumerate(header["steps"]):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise ValueError("a step has no name")
            state = {key: value for key, value in entry.items() if key != "name"}
            steps.append((entry["name"], with_state(state, f"{place}.", arrays)))
        if len(steps) > 1 and not header["pipeline"]:
            raise ValueError("it has several models and is no pipeline")
        if arrays:
            raise ValueError(f"it has the unknown array {sorted(arrays)[0]!r}")
    except _NOT_VALID as error:
        raise ModelFileError(f"the model {path} is not valid: {error}") from None
    if header["pipeline"] is True:
        return Pipeline(steps)
    return steps[0][1]


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Return the checked header and the arrays of a file."""
    if not path.is_file():
        raise ModelFileError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            document = (file.metadata() or {}).get(_KEY)
            if document is None:
                raise ModelFileError(f"{path} is no pairdp model")
            header = _header(path, document)
            stated = header["arrays"]
            if set(file.keys()) != set(stated):
                raise ModelFileError(f"the model {path} is damaged: it lacks arrays or has others")
            for name in stated:
                if file.get_slice(name).get_dtype() != "F64":
                    raise ModelFileError(f"the model {path} has {name!r} of a wrong type")
            arrays = {name: file.get_tensor(name) for name in stated}
    except (SafetensorError, OSError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{path} is damaged or no pairdp model: {error}") from None
    for name, array in arrays.items():
        if _describe(array) != stated[name]:
            raise ModelFileError(f"the model {path} is damaged: {name!r} does not match its digest")
    return header, arrays


def _header(path: Path, document: str) -> dict[str, Any]:
    try:
        values = unseal(document)
        if values.get("format") != FORMAT:
            raise ValueError(f"its format is {values.get('format')!r}")
        version = values.get("format_version")
        if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT_VERSION:
            raise ModelFileError(
                f"the model {path} has format {version}, made by pairdp "
                f"{values.get('library_version')}; this version reads up to {FORMAT_VERSION}: "
                "use a newer pairdp"
            )
        if repr(version) != repr(FORMAT_VERSION):
            raise ValueError(f"format version {version!r} is unknown")
        fields = fields_of(
            "header",
            values,
            required={"format", "format_version", "library_version", "pipeline", "steps", "arrays"},
        )
        if not isinstance(fields["arrays"], Mapping) or not isinstance(fields["pipeline"], bool):
            raise ValueError("its header is malformed")
    except ModelFileError:
        raise
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"the model {path} is damaged: {error}") from None
    return fields


def _describe(array: NDArray[np.float64]) -> dict[str, Any]:
    raw = np.ascontiguousarray(array, dtype="<f8").tobytes()
    return {"shape": list(array.shape), "sha256": hashlib.sha256(raw).hexdigest()}


def header_of(path: str | Path) -> dict[str, Any]:
    """Return what a model file says of itself, without making the model."""
    header, _ = _read(Path(path))
    return json.loads(json.dumps(header))  # type: ignore[no-any-return]
