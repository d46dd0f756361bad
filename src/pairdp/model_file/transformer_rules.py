"""The steps of scikit-learn that a model file can store, and why it refuses others.

A step is stored as its parameters, and fitted again to a row that is made from these parameters
alone (`pairdp.model_file.public_rows`). So a file contains nothing that a step learned from the
records, and a step whose fit depends on them cannot be stored. Each rule says which parameters make
the fit depend on the number and names of features alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
)

from pairdp.model_file.registry import stored_class

_MOST_DEGREES = 20
_BOUNDS = "use pairdp.BoundsScaler, with bounds that are known without the data"
_LEARNED = {
    "StandardScaler": _BOUNDS,
    "MinMaxScaler": _BOUNDS,
    "MaxAbsScaler": _BOUNDS,
    "RobustScaler": _BOUNDS,
    "QuantileTransformer": _BOUNDS,
    "PowerTransformer": _BOUNDS,
    "KBinsDiscretizer": "use SplineTransformer(knots=...) or OrdinalEncoder, with public knots or "
    "categories",
    "LabelEncoder": "use OrdinalEncoder(categories=...)",
    "LabelBinarizer": "use OneHotEncoder(categories=...)",
    "KNNImputer": 'use SimpleImputer(strategy="constant", fill_value=...)',
    "IterativeImputer": 'use SimpleImputer(strategy="constant", fill_value=...)',
    "MissingIndicator": "use a schema with missing: indicator",
}
"""What to use instead of steps that learn from the records."""


@dataclass(frozen=True)
class Rule:
    """How a class of steps is stored.

    Attributes
    ----------
    kind : type
        The class.
    refusal : callable
        From a step to the reason why its fit depends on the data, or why it cannot be stored;
        empty if it can be.
    fitted : tuple of str
        Fitted attributes that transformations use, for a comparison with the step that is fitted
        again.
    """

    kind: type
    refusal: Callable[[Any], str] = lambda step: ""
    fitted: tuple[str, ...] = ()


def _of_encoder(step: Any) -> str:
    name = type(step).__name__
    if isinstance(step.categories, str):
        return f"{name} learned its categories from the records: give categories=[[...], ...]"
    if getattr(step, "min_frequency", None) or getattr(step, "max_categories", None):
        return (
            f"{name} counted the categories of the records: leave out min_frequency and "
            "max_categories, and list the categories to keep"
        )
    return ""


def _of_imputer(step: Any) -> str:
    if step.strategy != "constant":
        return (
            f"SimpleImputer learned its {step.strategy} from the records: use "
            'strategy="constant" with a public fill_value'
        )
    if step.add_indicator:
        return (
            "SimpleImputer(add_indicator=True) has a column for each feature with missing cells, "
            "which depends on the records: use a schema with missing: indicator"
        )
    return ""


def _of_function(step: Any) -> str:
    if any(callable(f) for f in (step.func, step.inverse_func, step.feature_names_out)):
        return "FunctionTransformer has a function, which is code and not stored in model files"
    return ""


def _of_polynomial(step: Any) -> str:
    degrees = step.degree if isinstance(step.degree, tuple | list) else (step.degree,)
    if not all(isinstance(degree, int) and degree <= _MOST_DEGREES for degree in degrees):
        return f"PolynomialFeatures needs a degree of at most {_MOST_DEGREES}"
    return ""


def _of_splines(step: Any) -> str:
    if isinstance(step.knots, str):
        return (
            "SplineTransformer placed its knots by the records: give knots as an array of shape "
            "(n_knots, n_features), of public numbers"
        )
    return ""


def _of_columns(step: Any) -> str:
    if any(callable(columns) for _, _, columns in step.transformers):
        return (
            "ColumnTransformer selects columns by a function, which may depend on the records: "
            "name the columns"
        )
    if callable(step.verbose_feature_names_out):
        return "ColumnTransformer has a function for names, which is code: use True or False"
    children = [child for _, child, _ in step.transformers]
    if step.sparse_threshold > 0 and any(map(_is_sparse, children)):
        return (
            "ColumnTransformer decides by the density of the records whether its output is sparse: "
            "use OneHotEncoder(sparse_output=False), or sparse_threshold=0"
        )
    return ""


def _is_sparse(step: Any) -> bool:
    """Return whether a step, or any that it contains, makes sparse matrices."""
    if getattr(step, "sparse_output", False) is True:
        return True
    nested = [child for _, child, *_ in nested_steps(step)]
    return any(map(_is_sparse, nested))


def nested_steps(step: Any) -> list[tuple[Any, ...]]:
    """Return the named steps in a pipeline, a union or a transformer of columns."""
    if isinstance(step, Pipeline):
        return list(step.steps)
    if isinstance(step, FeatureUnion):
        return list(step.transformer_list)
    if isinstance(step, ColumnTransformer):
        return list(step.transformers)
    return []


RULES = {
    rule.kind.__name__: rule
    for rule in (
        Rule(OneHotEncoder, _of_encoder, ("categories_", "drop_idx_")),
        Rule(OrdinalEncoder, _of_encoder, ("categories_",)),
        Rule(SimpleImputer, _of_imputer, ("statistics_",)),
        Rule(FunctionTransformer, _of_function),
        Rule(PolynomialFeatures, _of_polynomial, ("n_output_features_",)),
        Rule(SplineTransformer, _of_splines, ("n_features_out_",)),
        Rule(Normalizer),
        Rule(Binarizer),
        Rule(ColumnTransformer, _of_columns, ("sparse_output_", "output_indices_")),
        Rule(FeatureUnion),
        Rule(Pipeline),
    )
}


def rule_of(step: object) -> Rule | None:
    """Return the rule of a step's class, None if it cannot be stored in a pipeline.

    Estimators of this library without a certificate, such as `BoundsScaler`, learn nothing. One
    with a schema, which may be a path, is stored as a step of the outermost pipeline only.
    """
    rule = RULES.get(type(step).__name__)
    if rule is not None and rule.kind is type(step):
        return rule
    stored = stored_class(type(step))
    if stored is None or stored.has_certificate or hasattr(step, "schema"):
        return None
    return Rule(type(step), fitted=tuple(stored.arrays_of(step)))


def refusal_of(step: object) -> str:
    """Return why a model file cannot store a step, or one that it contains; empty if it can."""
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return ""
    rule = rule_of(step)
    if rule is None:
        return _unknown(step)
    if found := rule.refusal(step):
        return found
    inner = [child for _, child, *_ in nested_steps(step)]
    if isinstance(step, ColumnTransformer):
        inner.append(step.remainder)
    return next((why for why in map(refusal_of, inner) if why), "")


def _unknown(step: object) -> str:
    name = type(step).__name__
    stored = stored_class(type(step))
    if stored is not None and stored.has_certificate:
        return f"{name} has a certificate: it must be a step of the outermost pipeline"
    if stored is not None:
        return f"{name} has a schema for whole tables: it must be a step of the outermost pipeline"
    of_sklearn = type(step).__module__.split(".")[0] == "sklearn"
    if of_sklearn and name in _LEARNED:
        return f"{name} learned from the records, which its model would reveal: {_LEARNED[name]}"
    if of_sklearn and isinstance(step, BaseEstimator) and hasattr(step, "transform"):
        return (
            f"{name} is not among the steps of scikit-learn that are known to learn nothing from "
            f"the records: {', '.join(sorted(RULES))}"
        )
    return (
        f"a model file cannot store a {name}: only estimators of pairdp, classes that are "
        "decorated with stored_in_model_files, steps of scikit-learn that learn nothing, and "
        "pipelines of these"
    )
