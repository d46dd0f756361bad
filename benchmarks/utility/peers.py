"""Other methods: private ones by other authors, and scikit-learn without privacy."""

from __future__ import annotations

import math
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from benchmarks.utility.tables import DELTA, Columns, Split
from pairdp.demo.noisy_logistic import noisy_logistic
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.schema import NumberColumn

Array = NDArray[np.float64]
HAS_DPEBM = find_spec("interpret") is not None
CONFIDENCE = 0.05
"""The failure probability ρ of `adassp`, as published."""


def gradient_descent(split: Split, epsilon: float, seed: int) -> Array:
    """Return scores of logistic regression by noisy gradient descent (DP-GD) on all records."""
    rows, others = split.rows
    weights = noisy_logistic(rows, split.labels[0], (epsilon, DELTA), seed)
    return np.asarray(others @ weights[:-1])


def adassp(split: Split, epsilon: float, seed: int) -> Array:
    """Return scores of least squares on labels ±1 by AdaSSP (Wang 2018, algorithm 2).

    Three releases with equal shares of the budget: the least eigenvalue of XᵀX, which moves by 1 if
    a row of norm at most 1 is replaced, XᵀX, whose upper triangle moves by √2, and Xᵀy, which moves
    by 2. Noise is that of Gaussian differential privacy, instead of the published √ln(6/δ)/(ε/3)
    times a sensitivity for adding a row, so that all methods have the same guarantee.
    """
    (x, z), y = split.rows, np.where(split.labels[0], 1.0, -1.0)
    d, mu = x.shape[1], gdp_mu(epsilon, DELTA) / math.sqrt(3)
    rng = np.random.default_rng([seed, 2])
    moments, products = x.T @ x, x.T @ y
    margin = math.sqrt(math.log(6 / DELTA))
    least = max(0.0, np.linalg.eigvalsh(moments)[0] + (rng.normal() - margin) / mu)
    noise = np.triu(rng.normal(size=(d, d))) * math.sqrt(2) / mu
    moments = moments + noise + np.triu(noise, 1).T
    ridge = math.sqrt(2 * d * math.log(2 * d**2 / CONFIDENCE)) / mu - least
    products = products + 2 / mu * rng.normal(size=d)
    return np.asarray(z @ np.linalg.solve(moments + max(0.0, ridge) * np.eye(d), products))


def dpebm(split: Split, epsilon: float, seed: int) -> Array:
    """Return scores of DPEBM with its default parameters, and the ranges of the schema."""
    from interpret.privacy import DPExplainableBoostingClassifier

    features = [c for c in split.schema.feature_columns if isinstance(c, NumberColumn)]
    frames = [_without_gaps(_frame(split, table), features) for table in (split.train, split.test)]
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        random_state=seed,
        n_jobs=1,
        feature_types=["continuous" if c in split.numbers else "nominal" for c in frames[0]],
        privacy_bounds={c.name: (c.low, c.high) for c in features},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frames[0], split.labels[0].astype(int))
        return np.asarray(model.predict_proba(frames[1])[:, 1])


def _without_gaps(frame: Any, features: list[NumberColumn]) -> Any:
    """Fill missing numbers, which DPEBM refuses, by public ones; indicators are new columns."""
    for column in features:
        if column.has_indicator:
            frame[f"{column.name} missing"] = np.where(frame[column.name].isna(), "yes", "no")
        given = isinstance(column.missing, float)
        middle = column.missing if given else (column.low + column.high) / 2
        frame[column.name] = frame[column.name].fillna(middle)
    return frame


def logistic(split: Split) -> Array:
    """Return scores of logistic regression on standardised numbers and one-hot categories."""
    categories = [name for name in split.schema.features if name not in split.numbers]
    steps = (
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), list(split.numbers)),
        (OneHotEncoder(handle_unknown="ignore"), categories),
    )
    model = make_pipeline(make_column_transformer(*steps), LogisticRegression(max_iter=3000))
    model.fit(_frame(split, split.train), split.labels[0])
    return np.asarray(model.decision_function(_frame(split, split.test)))


def boosting(split: Split) -> Array:
    """Return scores of gradient boosting with its default parameters."""
    categories = [name for name in split.schema.features if name not in split.numbers]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    model = make_pipeline(
        make_column_transformer((encoder, categories), remainder="passthrough"),
        HistGradientBoostingClassifier(
            categorical_features=list(range(len(categories))), random_state=0
        ),
    )
    model.fit(_frame(split, split.train), split.labels[0])
    return np.asarray(model.predict_proba(_frame(split, split.test))[:, 1])


def _frame(split: Split, table: Columns) -> Any:
    """Return the features as a DataFrame: numbers, and words with one for missing cells."""
    import pandas as pd

    return pd.DataFrame(
        {
            name: table[name]
            if name in split.numbers
            else pd.Series(table[name], dtype=object).replace("", "missing").fillna("missing")
            for name in split.schema.features
        }
    )
