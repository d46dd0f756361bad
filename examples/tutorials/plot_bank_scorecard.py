"""
A bank's scorecard
==================

Risk departments use scorecards: every column is divided into bins, each bin has points, and a
customer's score is the sum. A scorecard is fitted to what customers did, so it tells something
about them; this one is differentially private for each of them, points and bins included.

The table is synthetic. No customer of any bank is in it.
"""

import csv
import tempfile
from pathlib import Path

from pairdp.demo import write_loans

folder = Path(tempfile.mkdtemp())
write_loans(folder / "loans.csv", rows=20_000, seed=1)
with (folder / "loans.csv").open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
print(rows[0])

# %%
# The schema is what is known without the data: the limits of the form, of the law and of the bank's
# products. Income and amount vary over orders of magnitude, so their logarithms are used.

schema = {
    "loan_id": "id",
    "applied": "ignore",
    "age": [18, 100],
    "income": {"range": [5_000, 500_000], "scale": "log"},
    "employment": ["permanent", "temporary", "self-employed", "retired", "none"],
    "years_employed": {"range": [0, 50], "missing": "indicator"},
    "purpose": ["car", "home", "education", "business", "debts", "other"],
    "amount": {"range": [500, 100_000], "scale": "log"},
    "months": [6, 84],
    "card_use": {"range": [0, 150], "missing": "indicator"},
    "missed_payments": {"range": [0, 12], "integer": True},
    "defaulted": {"label": ["no", "yes"]},
}

# %%
# Points that must not decrease
# -----------------------------
#
# A regulator expects that missed payments never improve a score. Such a rule must be known without
# the data; it costs no budget. The seed makes this page reproducible: leave it out for customers.

from pairdp import PrivateScorecard

loans = {name: [row[name] for row in rows] for name in rows[0]}
card = PrivateScorecard(
    epsilon=1.0,
    schema=schema,
    monotone={"missed_payments": 1, "card_use": 1},
    random_state=0,
)
card.fit(loans, evaluation_share=0.25, evaluation_options={"roc": True})
print(card.evaluation_)

# %%
# The scorecard
# -------------
#
# 20 points double the odds of a default. ``noise`` is the standard deviation of the noise in the
# points of a bin: those of a rare bin may be nothing else. (The table needs pandas.)

table = card.table(points_to_double=20, base_points=600)
print(table[table["column"] == "missed_payments"].round(2).to_string(index=False))
print(table[table["column"] == "purpose"].round(2).to_string(index=False))

# %%
# The points of all columns, with bands of two standard deviations of the noise:

import matplotlib.pyplot as plt

card.plot()
plt.show()

# %%
# Why was this loan refused?
# --------------------------
#
# The points of one loan, column by column, add up to its score.

explained = card.explain(rows[0])
print(explained)

# %%
# Into production
# ---------------
#
# The model is a sum of CASE expressions, which every database computes.

print(card.to_sql()[:600])

# %%
# What leaves the bank is the model file, with its certificate; ``pairdp verify`` checks it without
# the data. The AUC above was released with a guarantee of its own, on loans that the card was not
# fitted to, and one certificate covers both.

from pairdp import verify

card.save(folder / "card.pairdp")
print(str(verify(card.certificate_)).splitlines()[0])
