"""
ROC curves of private rankers
=============================

A private ranker at three budgets, on records that it was not fitted to. The breast-cancer data
are public, so that plain ROC curves may be shown; for sensitive test records see
:doc:`/evaluation`.
"""

# %%
# Features are scaled by bounds that are known without the data.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import RocCurveDisplay

from pairdp import BoundsScaler, PrivateRanker
from pairdp.demo import UPPER

data = load_breast_cancer()
X = BoundsScaler(0, UPPER).fit_transform(data.data)
y = data.target

# %%
# Smaller ε is more private and noisier. ``epsilon=None`` fits without noise, and without a
# guarantee.

figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for epsilon in (0.1, 1.0, None):
    ranker = PrivateRanker(epsilon, 1e-6, model="linear", data_norm=1.0, random_state=0)
    ranker.fit(X[:400], y[:400])
    name = "without noise" if epsilon is None else f"ε = {epsilon:g}"
    RocCurveDisplay.from_estimator(ranker, X[400:], y[400:], ax=axes, name=name)
axes.plot([0, 1], [0, 1], ":", color="grey")
axes.set_title("Private rankers, 400 training records")
plt.show()
