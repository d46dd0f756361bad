"""AUC of private models on mixed tables, read through a schema, beside models without privacy.

With ``interpret-core`` installed, DPEBM is measured in the same run. Its guarantee is for adding or
removing a record, which is weaker than replacing one, and it is given the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from tests.schema.real_tables import FILES, parts, without_privacy
from tests.studies.data.places import DATA

from pairdp import PrivateRanker, PrivateScorecard, Schema
from pairdp.schema import NumberColumn

EPSILONS, SEEDS, DELTA = (0.5, 1.0, 2.0, 4.0, 8.0), 5, 1e-6
Table = dict[str, Any]


def _private(kind: Any, schema: Schema, train: Table, test: Table, epsilon: float, i: int) -> float:
    found: float = kind(epsilon, DELTA, schema=schema, random_state=i).fit(train).score(test)
    return found


def _frame(schema: Schema, table: Table) -> Any:
    """Return the features as a DataFrame: numbers, and words with one for missing cells."""
    import pandas as pd

    return pd.DataFrame(
        {
            c.name: pd.to_numeric(pd.Series(table[c.name]))
            if isinstance(c, NumberColumn)
            else pd.Series(table[c.name], dtype=object).replace("", "missing").fillna("missing")
            for c in schema.feature_columns
        }
    )


def _boosting(schema: Schema, train: Table, test: Table, epsilon: float, i: int) -> float:
    """Return the AUC of DPEBM with its default parameters, and the ranges of the schema."""
    from interpret.privacy import DPExplainableBoostingClassifier

    x, z = _frame(schema, train), _frame(schema, test)
    numbers = [c for c in schema.feature_columns if isinstance(c, NumberColumn)]
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        random_state=i,
        n_jobs=1,
        feature_types=["continuous" if c in numbers else "nominal" for c in schema.feature_columns],
        privacy_bounds={c.name: (c.low, c.high) for c in numbers},
    )
    labels = [np.array(t[schema.label]) == schema.classes[-1] for t in (train, test)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x, labels[0].astype(int))
        return float(roc_auc_score(labels[1], model.predict_proba(z)[:, 1]))


def _methods(
    schema: Schema, train: Table, test: Table
) -> Iterator[tuple[str, Callable[..., float]]]:
    for kind in (PrivateRanker, PrivateScorecard):
        yield kind.__name__, partial(_private, kind, schema, train, test)
    try:
        import interpret  # noqa: F401
    except ImportError:
        print("  DPEBM: skipped, interpret-core is not installed")
    else:
        yield "DPEBM (add/remove)", partial(_boosting, schema, train, test)


def main() -> None:
    """Print mean AUC over seeds of the noise, on the rows that were not used."""
    for name in ("adult", "german"):
        if not (DATA / f"{name}.csv").is_file():
            print(f"{name}: skipped, there is no {name}.csv in {DATA}")
            continue
        schema = Schema.read(FILES / f"{name}.json")
        train, test = parts(name)
        n = len(train[schema.features[0]])
        print(f"{name}: {n} records, {schema.width} features of {len(schema.features)} columns")
        print(f"  logistic regression, not private: {without_privacy(schema, train, test):.3f}")
        print(f"  {'δ = 1e-6, replace one; ε =':26s}", *(f"{e:<14g}" for e in EPSILONS))
        for title, auc in _methods(schema, train, test):
            cells = []
            for epsilon in EPSILONS:
                found = [auc(epsilon, i) for i in range(SEEDS)]
                error = np.std(found) / np.sqrt(SEEDS)
                cells.append(f"{np.mean(found):.3f} ± {error:.3f} ")
            print(f"  {title:26s}", *cells, flush=True)


if __name__ == "__main__":
    main()
