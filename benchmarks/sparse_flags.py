"""AUC with many flags of which few are yes, with and without the schema's ``$sparse``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pairdp import PrivateRanker

N, FLAGS, YES, SEEDS = 5000, 200, 8, 3


def main() -> None:
    """Print the mean AUC at ε = 1, on a quarter of the records that is not used."""
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 1, FLAGS) * (rng.random(FLAGS) < 0.3)
    shares = rng.dirichlet(np.full(FLAGS, 0.5))
    flags = (rng.random((N, FLAGS)) < 1 - np.exp(-YES * shares)).astype(int)
    scores = flags @ weights
    label = rng.random(N) < 1 / (1 + np.exp(-2 * (scores - np.median(scores))))

    def table(rows: slice) -> dict[str, Any]:
        columns: dict[str, Any] = {f"w{j}": flags[rows, j] for j in range(FLAGS)}
        return columns | {"y": np.where(label[rows], "yes", "no")}

    schema: dict[str, Any] = {f"w{j}": "flag" for j in range(FLAGS)}
    schema["y"] = {"label": ["no", "yes"]}
    train, test = table(slice(0, N * 3 // 4)), table(slice(N * 3 // 4, N))
    print(f"{FLAGS} flags, about {YES} of them yes, {N * 3 // 4} records, ε = 1")
    for name, given in (("without", schema), ("with", schema | {"$sparse": YES})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [PrivateRanker(1.0, schema=given, random_state=i) for i in range(SEEDS)]
            found = [model.fit(train).score(test) for model in models]
        print(f"  AUC {name:7s} $sparse: {np.mean(found):.3f}")


if __name__ == "__main__":
    main()
