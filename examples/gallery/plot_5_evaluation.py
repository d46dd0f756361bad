"""
The interval of a private AUC
=============================

How good a model is on sensitive records is a release too. The interval covers both the noise of
privacy and the chance of sampling, and can be planned before anything is spent.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairdp import PrivateRanker, evaluate

rng = np.random.default_rng(0)


def records(n):
    """Return n records of two classes."""
    labels = rng.integers(0, 2, n)
    return (rng.normal(size=(n, 4)) + 0.5 * labels[:, None]) / 5, labels


model = PrivateRanker(1.0, data_norm=1.0, random_state=0).fit(*records(4000))
X, y = records(2000)  # the sensitive test records

# %%
# A small ε gives a wide interval. The dashed line is the AUC on the test records without privacy,
# which could not be published.

epsilons = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
found = [
    evaluate(model, X, y, epsilon=epsilon, random_state=i) for i, epsilon in enumerate(epsilons)
]
for epsilon, each in zip(epsilons, found, strict=True):
    low, high = each.auc_interval
    print(f"ε = {epsilon:<4g} AUC {each.auc:.3f}, 95 % interval {low:.3f} to {high:.3f}")

middle = np.array([each.auc for each in found])
ends = np.array([each.auc_interval for each in found])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(epsilons, middle, np.abs(ends.T - middle), fmt="o", capsize=4)
axes.axhline(model.score(X, y), linestyle="--", color="0.4")
axes.set(xscale="log", xlabel="ε of the evaluation", ylabel="AUC")
axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
plt.show()
