"""
The shapes of a scorecard
=========================

A private scorecard of a table with numbers, a category and gaps. Each column adds points to the
score, by its bin. Bars are two standard deviations of the noise that privacy added.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from pairdp import PrivateScorecard

# %%
# A synthetic table: risk rises with age, is lowest at a medium weight, and differs between wards.

rng = np.random.default_rng(0)
n = 20_000
table = pd.DataFrame(
    {
        "age": rng.integers(18, 95, n),
        "bmi": np.where(rng.random(n) < 0.1, np.nan, rng.normal(26, 5, n).round(1)),
        "ward": rng.choice(["ICU", "Surgery", "Medicine"], n, p=[0.2, 0.4, 0.4]),
    }
)
risk = 0.05 * (table["age"] - 60) + 0.01 * (table["bmi"].fillna(26) - 26) ** 2
risk += table["ward"].map({"ICU": 1.0, "Surgery": 0.0, "Medicine": 0.3})
table["died"] = np.where(rng.random(n) < 1 / (1 + np.exp(1.5 - risk)), "yes", "no")

# %%
# The schema is public, and says all that the fit has to know about the columns.

schema = {
    "age": [0, 120],
    "bmi": {"range": [10, 60], "missing": "indicator"},
    "ward": ["ICU", "Surgery", "Medicine"],
    "died": {"label": ["no", "yes"]},
}
card = PrivateScorecard(epsilon=1.0, schema=schema, random_state=0).fit(table)
points = card.table()
print(points[points["column"] == "ward"].round(2).to_string(index=False))

# %%
# The points of each column.

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
for axis, (column, rows) in zip(axes, points.groupby("column", sort=False), strict=False):
    places = np.arange(len(rows))
    axis.bar(places, rows["points"], yerr=2 * rows["noise"], color="tab:blue", ecolor="0.4")
    axis.set_xticks(places, rows["bin"], rotation=90, fontsize=7)
    axis.axhline(0, color="0.4", linewidth=0.8)
    axis.set_title(column)
axes[0].set_ylabel("points (log-odds of dying)")
plt.show()
