"""
Learning from a stream
======================

Records arrive in batches, and a model is released after each. One budget covers all models of the
stream.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairdp import OnlinePrivateRanker

rng = np.random.default_rng(0)
weights = rng.normal(size=5)


def batch(n):
    """Return n records whose label depends on a weighted sum of the features."""
    rows = rng.normal(size=(n, 5)) / 4
    labels = (rows @ weights + rng.normal(size=n) / 4 > 0).astype(int)
    return rows, labels


test, stream = batch(4000), [batch(300) for _ in range(15)]

# %%
# The AUC on other records after each batch, for two budgets. The horizon, the number of records
# that the budget covers, is declared in advance.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for epsilon in (0.5, 2.0):
    model = OnlinePrivateRanker(epsilon, horizon=4500, data_norm=1.0, random_state=0)
    auc = []
    for rows, labels in stream:
        model.partial_fit(rows, labels, classes=[0, 1])
        auc.append(model.score(*test))
    print(f"ε = {epsilon:g}: {model.spent_.epsilon:.3g} spent, AUC {auc[-1]:.3f}")
    axes.plot(300 * np.arange(1, 16), auc, "o-", label=f"ε = {epsilon:g} for all models")
axes.set(xlabel="records so far", ylabel="AUC on other records")
axes.legend()
plt.show()
