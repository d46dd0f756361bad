"""
A private metric
================

Three classes differ in two of forty features. In the Euclidean metric the other features hide
this; a private metric learns which directions matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from pairdp import PrivateMetric

rng = np.random.default_rng(0)
n, d = 6000, 40
y = rng.integers(0, 3, n)
X = rng.normal(size=(n, d))
X[:, :2] += 2.0 * np.array([[1, 0], [-0.5, 0.9], [-0.5, -0.9]])[y]
X /= 8  # most rows have a norm below 1; the others are clipped

metric = PrivateMetric(epsilon=2.0, data_norm=1.0, random_state=0).fit(X[:4000], y[:4000])
print(f"{metric.n_directions_} directions stand out from the noise")

# %%
# The two axes of the metric with the largest eigenvalues, beside the first two axes of a rotation
# that knows nothing.

rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
views = {
    "two directions at random": X[4000:] @ rotation,
    "private metric": metric.transform(X[4000:]),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axis, (name, rows) in zip(axes, views.items(), strict=True):
    axis.scatter(rows[:, 0], rows[:, 1], c=y[4000:], s=6, cmap="viridis")
    axis.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# Nearest neighbours in both metrics, on other records. The metric is private; a nearest-neighbour
# model holds raw records, and is not.

for name, transform in {"Euclidean": lambda rows: rows, "private": metric.transform}.items():
    neighbours = KNeighborsClassifier(5).fit(transform(X[4000:5000]), y[4000:5000])
    print(f"{name:10s} accuracy {neighbours.score(transform(X[5000:]), y[5000:]):.3f}")
