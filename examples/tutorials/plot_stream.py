"""
A stream of records under one budget
====================================

Loans are decided on month by month, and the model should follow. Fitting anew each month would
cost the budget each time. A stream releases an updated model after every batch, and one budget
covers all of these models together, up to a horizon that is declared in advance.

The table is synthetic, and in the order in which loans were applied for.
"""

import csv
import tempfile
from itertools import groupby
from pathlib import Path

from pairdp.demo import write_loans

folder = Path(tempfile.mkdtemp())
write_loans(folder / "loans.csv", rows=12_000, seed=1)
with (folder / "loans.csv").open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
months = [list(loans) for _, loans in groupby(rows, key=lambda row: row["applied"][:7])]
print(len(months), "months, the first with", len(months[0]), "loans")

# %%
# The schema is the same for the whole stream. Columns in which default risk is curved would be
# better served by a scorecard; models of streams are linear.

schema = {
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
# Learn month by month
# --------------------
#
# A model is released after every hundred loans. Each month's loans are scored by the model before
# it learns from them. As the table is synthetic we may look at the AUC; that of sensitive records
# would have to be paid for (``pairdp.evaluate``). The seed makes this page reproducible: leave it
# out for customers.

from pairdp import OnlinePrivateRanker


def by_column(loans):
    """Return the cells of some loans by column."""
    return {name: [row[name] for row in loans] for name in loans[0]}


model = OnlinePrivateRanker(
    epsilon=1.0, horizon=12_000, batch_size=100, schema=schema, random_state=0
)
aucs = []
for loans in months[:12]:
    if hasattr(model, "coef_"):
        aucs.append(model.score(by_column(loans)))
    model.partial_fit(by_column(loans))
print("AUC before each month:", [round(auc, 3) for auc in aucs])
print("spent:", model.spent_)

# %%
# In the first months there is nothing to see yet: the first loans give the centre and the radius of
# the records, which later models need, and every loan is used for one thing only.
#
# Pause and resume
# ----------------
#
# ``pause`` ends the stream in this process and writes what is needed to go on, which is secret:
# protect the file like the data. A stream exists in one place at a time, so ``resume`` removes the
# file.

model.pause(folder / "stream")
model = OnlinePrivateRanker.resume(folder / "stream")
for loans in months[12:]:
    aucs.append(model.score(by_column(loans)))
    model.partial_fit(by_column(loans))
print("spent:", model.spent_, "records left:", model.records_left_)

# %%
# The dashed line is logistic regression without privacy on all loans of the first 23 months,
# judged on the last one.

import matplotlib.pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from pairdp import SchemaEncoder

encode = SchemaEncoder(schema).transform
before = [row for loans in months[:-1] for row in loans]
other = LogisticRegression(C=1e3, max_iter=1000)
other.fit(encode(by_column(before)), [row["defaulted"] for row in before])
scores = other.decision_function(encode(by_column(months[-1])))
without = roc_auc_score([row["defaulted"] for row in months[-1]], scores)

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(
    range(len(months) - len(aucs) + 1, len(months) + 1), aucs, marker="o", label="private, ε = 1"
)
axes.axhline(without, linestyle="--", color="grey", label="not private, last month")
axes.set(xlabel="month", ylabel="AUC before learning from it")
axes.legend()
plt.show()

# %%
# The released model is saved without the secrets of the stream, with its certificate.

from pairdp import verify

model.save(folder / "model.pairdp")
print(str(verify(model.certificate_)).splitlines()[0])
