"""Steps of scikit-learn as JSON values, and back: parameters, and nothing that a fit computed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted

from pairdp._sealed import fields_of
from pairdp.model_file.output_config import output_of, set_output
from pairdp.model_file.public_rows import fitted_to_names
from pairdp.model_file.registry import find_stored, stored_class
from pairdp.model_file.transformer_rules import RULES, nested_steps, refusal_of, rule_of
from pairdp.storage import ModelFileError, Trusted, decode, encode
from pairdp.storage.codec import user_classes

_NOT_STORED = ("n_jobs", "memory")
_LISTS = {Pipeline: "steps", FeatureUnion: "transformer_list", ColumnTransformer: "transformers"}
_STRINGS = ("passthrough", "drop")
_DEEPEST = 20


def transformer_state(step: Any) -> dict[str, Any]:
    """Return the state of a fitted step that has learned nothing from the records.

    Raises
    ------
    ModelFileError
        If it may have learned something; the message says what to use instead.
    """
    if why := refusal_of(step):
        raise ModelFileError(why)
    if step is None or isinstance(step, str):
        return {"transformer": _step(step)}
    check_is_fitted(step)
    names = getattr(step, "feature_names_in_", None)
    listed = None if names is None else [str(name) for name in names]
    try:
        stored = _step(step)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{type(step).__name__} cannot be stored: {error}") from None
    try:
        features = int(step.n_features_in_)
        again = fitted_to_names(step, features, listed)
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{type(step).__name__} cannot be fitted again without the data: {error}"
        ) from None
    if not _same(step, again):
        raise ModelFileError(
            f"{type(step).__name__}, fitted again from its parameters alone, differs: its fit "
            "depends on the records"
        )
    return {
        "transformer": stored,
        "features": features,
        "names": listed,
        "scikit_learn": sklearn.__version__,
    }


def _step(step: Any) -> Any:
    """Return a step, and those that it contains, as JSON values."""
    if step is None or isinstance(step, str):
        return step
    params = step.get_params(deep=False)
    for param in _NOT_STORED:
        if param in params:
            params[param] = None
    nested = _LISTS.get(type(step))
    if nested is not None:
        params.pop(nested)
    remainder = params.pop("remainder", None)
    found: dict[str, Any] = {
        "class": _name(step),
        "params": {key: _param(key, value) for key, value in params.items()},
        "output": output_of(step),
    }
    if nested is not None:
        found["steps"] = [
            [name, _step(child), *map(_columns, columns)]
            for name, child, *columns in nested_steps(step)
        ]
    if isinstance(step, ColumnTransformer):
        found["remainder"] = _step(remainder)
    return found


def _name(step: Any) -> str:
    """Return the name of a class in files; the import path of a user-defined one."""
    stored = stored_class(type(step))
    return type(step).__name__ if stored is None else stored.name


def _param(key: str, value: Any) -> Any:
    if key == "dtype":
        return str(np.dtype(value).name)
    if key in ("categories", "knots") and not isinstance(value, str):
        # As lists: an array of numpy may convert cells of several types to one.
        value = [list(np.asarray(row, dtype=object)) for row in value]
    found = encode(value)
    if any(user_classes(found)):
        raise ValueError(f"its parameter {key} is neither a number nor text, nor a list of these")
    return found


def _columns(columns: Any) -> Any:
    if isinstance(columns, slice):
        return {"slice": [encode(columns.start), encode(columns.stop), encode(columns.step)]}
    return encode(list(columns) if isinstance(columns, np.ndarray) else columns)


def with_transformer_state(state: dict[str, Any], trusted: Trusted) -> Any:
    """Return the step with a state, fitted to a row that its parameters determine.

    Raises
    ------
    ValueError
        If it is malformed, or if the step depends on data.
    """
    if not isinstance(state.get("transformer"), dict):
        fields = fields_of("step", state, required={"transformer"})
        return _rebuilt(fields["transformer"], trusted, 0)
    fields = fields_of("step", state, required={"transformer", "features", "names", "scikit_learn"})
    try:
        step = _rebuilt(fields["transformer"], trusted, 0)
    except ValueError as error:
        made = fields["scikit_learn"]
        if made == sklearn.__version__:
            raise
        raise ValueError(
            f"{error} (made with scikit-learn {made}; this is {sklearn.__version__})"
        ) from None
    if why := refusal_of(step):
        raise ValueError(why)
    features, names = fields["features"], fields["names"]
    if isinstance(features, bool) or not isinstance(features, int):
        raise ValueError(f"the number of features is {features!r}")
    if names is not None:
        valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not valid or len(names) != features or len(set(names)) < len(names):
            raise ValueError("the names of features are malformed")
    return fitted_to_names(step, features, names)


def _rebuilt(found: Any, trusted: Trusted, depth: int) -> Any:
    """Return an unfitted step from JSON values."""
    if found is None or found in _STRINGS:
        return found
    if depth > _DEEPEST:
        raise ValueError("its steps are nested too deeply")
    fields = fields_of(
        "step", found, required={"class", "params", "output"}, optional={"steps", "remainder"}
    )
    kind = _class(fields["class"], trusted)
    nested = _LISTS.get(kind)
    if ("steps" in fields) != (nested is not None):
        raise ValueError(f"the steps of {kind.__name__} are malformed")
    if ("remainder" in fields) != (kind is ColumnTransformer):
        raise ValueError(f"the remainder of {kind.__name__} is malformed")
    step = kind() if nested is None else kind([])
    if not isinstance(fields["params"], dict):
        raise ValueError(f"the parameters of {kind.__name__} are malformed")
    known = set(step.get_params(deep=False)) - {nested, "remainder", *_NOT_STORED}
    given = {key: value for key, value in fields["params"].items() if key not in _NOT_STORED}
    if unknown := sorted(given.keys() - known):
        raise ValueError(f"{kind.__name__} has no parameter {unknown[0]!r}")
    values = {key: _decoded(key, value, trusted) for key, value in given.items()}
    if nested is not None:
        values[nested] = [_entry(entry, kind, trusted, depth) for entry in fields["steps"]]
    if kind is ColumnTransformer:
        values["remainder"] = _rebuilt(fields["remainder"], trusted, depth + 1)
    for key, value in values.items():
        setattr(step, key, value)
    set_output(step, fields["output"])
    return step


def _entry(entry: Any, kind: type, trusted: Trusted, depth: int) -> tuple[Any, ...]:
    size = 3 if kind is ColumnTransformer else 2
    if not isinstance(entry, list) or len(entry) != size or not isinstance(entry[0], str):
        raise ValueError(f"a step of {kind.__name__} is malformed")
    name, child, *columns = entry
    return (name, _rebuilt(child, trusted, depth + 1), *(map(_decoded_columns, columns)))


def _class(name: Any, trusted: Trusted) -> Any:
    if isinstance(name, str) and name in RULES:
        return RULES[name].kind
    stored = find_stored(name, trusted)
    if stored.has_certificate or "schema" in stored.kind().get_params(deep=False):
        raise ValueError(f"{name} is not a step without a certificate and schema")
    return stored.kind


def _decoded(key: str, value: Any, trusted: Trusted) -> Any:
    if key == "dtype":
        kind = np.dtype(value) if isinstance(value, str) else None
        if kind is None or kind.kind not in "biuf":
            raise ValueError(f"the type of a step is {value!r}")
        return kind.type
    return decode(value, trusted)


def _decoded_columns(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {"slice"}:
        ends = value["slice"]
        if not isinstance(ends, list) or len(ends) != 3:
            raise ValueError("the columns of a step are malformed")
        return slice(*(decode(end) for end in ends))
    return decode(value)


def _same(one: Any, other: Any) -> bool:
    """Return whether two fitted steps transform in the same way."""
    if one is None or isinstance(one, str):
        return bool(one == other)
    rule = rule_of(one)
    if rule is None or type(one) is not type(other):
        return False
    if getattr(one, "n_features_in_", None) != getattr(other, "n_features_in_", None):
        return False
    if not all(_equal(getattr(one, name), getattr(other, name)) for name in rule.fitted):
        return False
    return all(_same(a, b) for a, b in zip(_fitted(one), _fitted(other), strict=True))


def _fitted(step: Any) -> list[Any]:
    """Return the fitted steps in a step."""
    if isinstance(step, ColumnTransformer):
        return [child for _, child, _ in step.transformers_]
    return [child for _, child, *_ in nested_steps(step)]


def _equal(one: Any, other: Any) -> bool:
    """Return whether fitted values are equal, NaN to NaN, and numbers of different types."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray | list | tuple) and isinstance(other, np.ndarray | list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, float | np.floating) and isinstance(other, float | np.floating):
        return bool(one == other) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)
