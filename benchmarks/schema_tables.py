"""AUC of private rankers on mixed tables, read through a schema, beside logistic regression."""

from __future__ import annotations

import numpy as np
from tests.schema.real_tables import FILES, parts, without_privacy
from tests.studies.data.places import DATA

from pairdp import PrivateRanker, Schema

EPSILONS, SEEDS = (0.5, 1.0, 2.0, 5.0), 10


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
        for epsilon in EPSILONS:
            models = (PrivateRanker(epsilon, schema=schema, random_state=i) for i in range(SEEDS))
            found = [model.fit(train).score(test) for model in models]
            print(f"  PrivateRanker, ε = {epsilon:<4g}: {np.mean(found):.3f} ± {np.std(found):.3f}")


if __name__ == "__main__":
    main()
