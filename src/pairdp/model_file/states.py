"""The state of a fitted estimator as JSON values and arrays, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from pairdp._sealed import fields_of
from pairdp.algorithms import Fit
from pairdp.algorithms.facts import n_is_counted
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.schema_rows import schema_of
from pairdp.algorithms.stored_plans import stored_plan
from pairdp.model_file.digest import released_digest
from pairdp.model_file.output_config import output_of, set_output
from pairdp.model_file.registry import Shape, find_stored, stored_class
from pairdp.privacy import Certificate
from pairdp.privacy.certificates.held_out import EVALUATION, TRAINING, certificate_of
from pairdp.schema import Schema
from pairdp.storage import Arrays, ModelFileError, Trusted, decode, encode

_NOT_STORED = ("random_state", "ledger")
_LABELS = {"i": "int", "u": "uint", "f": "float", "b": "bool", "U": "str"}
_KINDS: dict[str, type] = {
    "int": int, "uint": int, "float": float, "bool": bool, "str": str, "object": str,
}  # fmt: skip


def state_of(model: Any, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return the state of a fitted estimator, and add its arrays to ``arrays`` with a prefix."""
    stored = stored_class(type(model))
    if stored is None:
        from pairdp.model_file.transformer_states import transformer_state

        return transformer_state(model)
    stored_arrays = stored.arrays_of(model)
    check_is_fitted(model, list(stored_arrays))
    params = model.get_params(deep=False)
    for param in _NOT_STORED:
        if param in params:
            params[param] = None
    if "schema" in params and hasattr(model, "schema_"):
        params["schema"] = model.schema_  # the parameter may be a path
    try:
        state: dict[str, Any] = {
            "class": stored.name,
            "params": {key: encode(value) for key, value in params.items()},
            "features": int(model.n_features_in_),
            "names": None,
        }
        if hasattr(model, "plan_"):
            trained = certificate_of(model.certificate_, TRAINING)
            if trained is None or trained.plan is None:
                raise ValueError(
                    "a model file cannot store a plan with objects that are not dataclasses"
                )
            # The certificate has all of the plan except these, so no number is stored twice.
            state["certificate"] = json.loads(model.certificate_.to_json())
            state["reasons"] = list(model.plan_.reasons)
            state["departures"] = list(model.plan_.departures)
            if hasattr(model, "evaluation_"):
                state["evaluation"] = [list(part) for part in model.evaluation_.numbers()]
            if _states_noise(model):
                state["noise"] = model.parameter_noise_.to_dict()
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    if (output := output_of(model)) is not None:
        state["output"] = output
    if hasattr(model, "feature_names_in_"):
        state["names"] = [str(item) for item in model.feature_names_in_]
    if stored.has_classes and is_classifier(model):
        state["classes"] = _encode_labels(model.classes_)
    if hasattr(model, "calibration_"):
        state["calibration"] = json.loads(model.calibration_.to_json())
    for array in stored_arrays:
        arrays[prefix + array] = np.array(getattr(model, array), np.float64, order="C")
    return state


def with_state(state: dict[str, Any], prefix: str, arrays: Arrays, trusted: Trusted) -> Any:
    """Return the estimator with a state, and remove its arrays from ``arrays``."""
    if "transformer" in state:
        from pairdp.model_file.transformer_states import with_transformer_state

        return with_transformer_state(state, trusted)
    stored = find_stored(state.get("class"), trusted)
    required = {"class", "params", "features", "names"}
    if stored.has_certificate:
        required |= {"certificate", "reasons", "departures"}
    optional = {"output", "classes", "calibration"} if stored.has_classes else {"output"}
    if stored.has_certificate:
        optional |= {"noise", "evaluation"}
    fields = fields_of(stored.name, state, required=required, optional=optional)
    model = stored.kind()
    params = fields_of("params", fields["params"], required=set(model.get_params(deep=False)))
    decoded = {key: decode(value, trusted) for key, value in params.items()}
    if not isinstance(decoded.get("schema"), Schema | None):  # a path would be read
        raise ValueError("the schema is malformed")
    model.set_params(**decoded)
    if stored.has_classes and is_classifier(model) != ("classes" in fields):
        raise ValueError(f"{stored.name} lacks classes, or has them without being a classifier")
    d = fields["features"]
    if isinstance(d, bool) or not isinstance(d, int) or d < 1:
        raise ValueError(f"the number of features is {d!r}")
    model.n_features_in_ = d
    set_output(model, fields.get("output"))
    if fields["names"] is not None:
        model.feature_names_in_ = _names(fields["names"], d)
    schema = _schema(model)
    d = d if schema is None else schema.width
    if stored.has_certificate:
        model.certificate_ = Certificate.from_json(json.dumps(fields["certificate"]))
        reasons, departures = (_sentences(name, fields[name]) for name in ("reasons", "departures"))
        trained = _set_evaluation(model, fields.get("evaluation"))
        model.plan_ = stored_plan(trained, reasons, departures, trusted)
        if n_is_counted(trained):
            model.n_is_counted_ = True
        if _digest(schema_of(trained)) != _digest(schema):
            raise ValueError("its schema is not that of the certificate")
        columns = model._columns(d)  # an intercept adds one
        if model.plan_.task.features != columns:
            raise ValueError(f"the plan is for {model.plan_.task.features} features, not {columns}")
    stored_arrays = stored.arrays_of(model)
    for array, shape in stored_arrays.items():
        if prefix + array not in arrays:
            raise ValueError(f"it lacks the array {prefix + array!r}")
        found = arrays.pop(prefix + array)
        if not _fits(found.shape, shape, d):
            raise ValueError(f"{array} has the shape {found.shape}")
        if not np.all(np.isfinite(found)):
            raise ValueError(f"{array} is not finite")
        setattr(model, array, found if found.shape else float(found))
    if stored.check is not None:
        stored.check(model)
    if stored.has_certificate:
        _set_noise(model, trained, fields.get("noise"), stored_arrays)
    if "classes" in fields:
        model.classes_ = _decode_labels(fields["classes"])
        if schema is not None and schema.classes not in (None, tuple(model.classes_.tolist())):
            raise ValueError("its labels are not those of the schema")
    if "calibration" in fields:
        from pairdp.evaluation import Evaluation

        model.calibrate(Evaluation.from_json(json.dumps(fields["calibration"])))
    if hasattr(model, "evaluation_"):
        model.evaluation_ = replace(model.evaluation_, model=released_digest(model))
    return model


def _fits(found: tuple[int, ...], shape: Shape, d: int) -> bool:
    """Return whether a shape is as declared; see `StoredEstimator`."""
    return len(found) == len(shape) and all(
        part == "*" or (1 <= size <= d if part == "k" else size == (d if part == "d" else part))
        for size, part in zip(found, shape, strict=True)
    )


def _digest(schema: Schema | None) -> str:
    # Schemas with 0 and 1 in the place of false and true are equal, but read other cells.
    return "" if schema is None else schema.digest


def _schema(model: Any) -> Schema | None:
    """Return the schema of a model, after checking that it describes the columns of the model."""
    schema: Schema | None = getattr(model, "schema", None)
    if schema is None:
        return None
    if list(schema.features) != list(getattr(model, "feature_names_in_", ())):
        raise ValueError("the names of features are not those of the schema")
    model.schema_ = schema
    return schema


def _states_noise(model: Any) -> bool:
    """Return whether the noise has to be stored, since it does not follow from the plan."""
    needed: bool = model.plan_.algorithm.noise_needs_statistics
    return needed and hasattr(model, "parameter_noise_")


def _set_evaluation(model: Any, released: object) -> Certificate:
    """Set the evaluation on records that were held out; return the certificate of the model."""
    trained = certificate_of(model.certificate_, TRAINING)
    tested = certificate_of(model.certificate_, EVALUATION)
    if trained is None or (tested is None) != (released is None):
        raise ValueError("its certificate is not that of a model, or of its evaluation")
    if tested is not None:
        from pairdp.evaluation import Evaluation

        model.evaluation_ = Evaluation.of_numbers(tested, released)
    return trained


def _set_noise(model: Any, trained: Certificate, stated: object, arrays: Iterable[str]) -> None:
    plan = model.plan_
    if plan.algorithm.noise_needs_statistics and plan.task.budget is not None:
        if stated is not None:
            model.parameter_noise_ = ParameterNoise.from_dict(stated)
            count = getattr(model, "parameters_", np.empty(plan.task.features)).size
            model.parameter_noise_.of_each(count)  # an error if there are others
        return
    statistics = {array.removesuffix("_"): getattr(model, array) for array in arrays}
    found = plan.algorithm.noise_of(plan, Fit(np.empty(0), trained, statistics))
    if stated is not None and stated != found.to_dict():
        raise ValueError("the noise of its parameters does not follow from its plan")
    model.parameter_noise_ = found


def _sentences(name: str, values: object) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"the {name} of the plan are malformed")
    return values


def _names(values: object, d: int) -> NDArray[np.object_]:
    if not isinstance(values, list) or len(values) != d:
        raise ValueError("the names of features are malformed")
    if not all(isinstance(value, str) for value in values):
        raise ValueError("the names of features are not strings")
    return np.array(values, dtype=object)


def _encode_labels(classes: NDArray[Any]) -> dict[str, Any]:
    kind = _LABELS.get(classes.dtype.kind)
    if kind is None and all(isinstance(label, str) for label in classes):
        kind = "object"
    if kind is None:
        raise ModelFileError(
            f"a model file cannot store labels of type {classes.dtype}: use numbers or strings"
        )
    return {"type": kind, "values": classes.tolist()}


def _decode_labels(values: object) -> NDArray[Any]:
    fields = fields_of("classes", values, required={"type", "values"})
    name, labels = fields["type"], fields["values"]
    if name not in _KINDS or not isinstance(labels, list) or len(labels) != 2:
        raise ValueError("the labels are malformed")
    kind = _KINDS[name]
    accepted = (int, float) if kind is float else (kind,)
    if not all(type(label) in accepted for label in labels):
        raise ValueError("the labels are of a wrong type")
    if labels[0] == labels[1]:
        raise ValueError("the labels are the same")
    found: NDArray[Any] = np.array(labels, dtype=name)
    return found
