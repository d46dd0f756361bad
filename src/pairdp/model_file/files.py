"""Files of fitted models: parameters, labels, names, certificate and arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from pairdp._files import Draft
from pairdp.model_file.states import state_of, with_state
from pairdp.model_file.steps import Steps
from pairdp.storage import NOT_VALID, Arrays, FileKind, Trusted
from pairdp.storage import ModelFileError as ModelFileError

FORMAT = "pairdp model"
FORMAT_VERSION = 2
_MODEL = FileKind(FORMAT, FORMAT_VERSION, "model", frozenset({"pipeline", "steps"}))


def save(model: BaseEstimator, path: str | Path) -> None:
    """Write a fitted model to a file atomically.

    Parameters
    ----------
    model : estimator
        A fitted estimator of pairdp, a user-defined one that is decorated with
        `pairdp.model_file.stored_in_model_files`, or a Pipeline of these and of steps of
        scikit-learn that learn nothing from the records, such as ``OneHotEncoder(categories=...)``
        or a ColumnTransformer of such steps.
    path : path-like
        The file to write. An existing file is replaced; links are followed.

    Notes
    -----
    The file contains neither the seed, with which the noise could be subtracted, nor the ledger.
    Of steps of scikit-learn it contains the parameters and the names of features. `load` fits them
    again to a row that is made from these, so nothing that they computed from records is stored;
    steps that learn from records are refused, with the reason
    (`pairdp.model_file.transformer_rules`).

    User-defined estimators are stored by the import path of their class; so are user-defined
    losses, constraints and algorithms, with their dataclass fields. Loading such a model needs the
    class, which must be passed as trusted. A class that is defined in a script has the path
    ``__main__:MyLoss``, which only a script that defines it can load: define it in a module.

    Raises
    ------
    ModelFileError
        If the model is of another kind or has parameters that cannot be stored, or if the path is
        something other than a regular file, such as a device.
    """
    steps = Steps.of(model)
    if not steps.named:
        raise ModelFileError("a model file cannot store a pipeline without steps")
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(f"a model file cannot store a {type(model).__name__}")
    save_steps(steps, path)


def save_steps(steps: Steps, path: str | Path) -> None:
    """Write the steps of a fitted model to a file atomically; see `save`."""
    _MODEL.publish(draft_of(steps, path), Path(path))


def draft_of(steps: Steps, path: str | Path) -> Draft:
    """Write the steps of a fitted model to disk under a temporary name; see `save`."""
    arrays: Arrays = {}
    states = [
        {"name": name, **state_of(step, f"{place}.", arrays)}
        for place, (name, step) in enumerate(steps.named)
    ]
    return _MODEL.draft(Path(path), {"pipeline": steps.in_pipeline, "steps": states}, arrays)


def load(path: str | Path, *, trusted: Iterable[type | str] = ()) -> Any:
    """Return the model in a file, without running code from the file.

    The numbers of its certificate are those in the file: ``pairdp verify``, or
    `pairdp.verification.verify_file`, plans again to check them.

    Parameters
    ----------
    path : path-like
        A file that `save` wrote.
    trusted : iterable of class or str, default=()
        Classes outside pairdp that the model may use, such as a user-defined loss or estimator, or
        their import paths (``"mypackage.losses:MyLoss"``). No other class that the file names is
        imported.

    Raises
    ------
    ModelFileError
        If the file is damaged, of an unknown version, not a model, or uses a class that is not
        trusted.
    """
    return load_steps(path, trusted=trusted).model()


def load_steps(path: str | Path, *, trusted: Iterable[type | str] = ()) -> Steps:
    """Return the steps of the model in a file; see `load`."""
    known = Trusted(trusted)
    header, arrays = _read(Path(path))
    try:
        if not isinstance(header["steps"], list) or not header["steps"]:
            raise ValueError("it has no steps")
        steps = []
        for place, entry in enumerate(header["steps"]):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise ValueError("a step has no name")
            state = {key: value for key, value in entry.items() if key != "name"}
            steps.append((entry["name"], with_state(state, f"{place}.", arrays, known)))
        if len(steps) > 1 and not header["pipeline"]:
            raise ValueError("it has several models but is not a pipeline")
        if arrays:
            raise ValueError(f"it has the unknown array {sorted(arrays)[0]!r}")
    except NOT_VALID as error:
        raise ModelFileError(f"the model {path} is not valid: {error}") from None
    return Steps(steps, header["pipeline"])


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    header, arrays = _MODEL.read(path)
    if not isinstance(header["pipeline"], bool):
        raise ModelFileError(f"the model {path} is damaged: its header is malformed")
    return header, arrays


def header_of(path: str | Path) -> dict[str, Any]:
    """Return the header of a model file, without constructing the model."""
    header, _ = _read(Path(path))
    return json.loads(json.dumps(header))  # type: ignore[no-any-return]
