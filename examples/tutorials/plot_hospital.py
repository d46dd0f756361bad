"""
A hospital's risk ranker, from the schema to the signed report
==============================================================

A hospital wants to rank patients by their risk of dying, and the model is to leave the hospital. So
it must be differentially private, and someone has to sign for it. This is the tutorial in Python;
:doc:`/tutorial_hospital` does the same on the command line.

The table is synthetic, and as messy as true ones: gaps, words, dates, remarks.
"""

import tempfile
from pathlib import Path

from pairdp.demo import write_patients

folder = Path(tempfile.mkdtemp())
table = folder / "patients.csv"
write_patients(table, rows=10_000, seed=1)
print("\n".join(table.read_text("utf-8").splitlines()[:4]))

# %%
# 1. Describe the columns
# -----------------------
#
# Whatever decides how much noise is needed must be public: known without looking at the data. The
# schema says so for each column, from the limits of the instruments, of the form and of the law.
# Cells outside a range are clipped, so that a wrong range costs accuracy and never privacy.

schema = {
    "patient_id": "id",
    "age": [0, 120],
    "sex": ["F", "M"],
    "systolic": {"range": [60, 260], "missing": "indicator"},
    "crp": {"range": [0.1, 500], "scale": "log", "missing": 5.0},
    "ward": {"categories": ["ICU", "Surgery", "Medicine, general"], "other": True},
    "admitted": {"date": ["2023-01-01", "2025-01-01"]},
    "remarks": "ignore",
    "died": {"label": ["no", "yes"]},
}

# %%
# 2. Plan, before the data is read
# --------------------------------
#
# The plan says what the budget buys: which model is taken and why, and how wide the interval of a
# private AUC will be. It needs the number of records, which is public, and nothing else.

from pairdp import PrivateRanker

ranker = PrivateRanker(epsilon=1.0, schema=schema, data_set="admissions 2023 and 2024")
plan = ranker.plan_with_evaluation(10_000, evaluation_share=0.2)
print(plan.evaluation)

# %%
# 3. Fit, with a budget that is kept in a ledger
# ----------------------------------------------
#
# The ledger allows ε = 2 for all releases of these records together. A fifth of the records is held
# out to evaluate the model: no record is used for both, so that the evaluation costs nothing more.
# No seed is given: the noise is secret, and the numbers below differ in each run.

import csv

from pairdp import Budget, BudgetLedger

with table.open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
patients = {name: [row[name] for row in rows] for name in rows[0]}

ledger = BudgetLedger(Budget(2.0, 1e-6), data_set="admissions 2023 and 2024")
ranker.set_params(ledger=ledger)
ranker.fit(patients, evaluation_share=0.2, evaluation_options={"roc": True})
print(ranker.evaluation_)

# %%
# 4. What the model says
# ----------------------
#
# The model is the sum of a function for each column. Bands are two standard deviations of the noise
# that was added for privacy, which is public.

import matplotlib.pyplot as plt

ranker.plot()
plt.show()

# %%
# 5. Verify
# ---------
#
# Anyone who has the model file can check the guarantee without the data: all noise is planned again
# from the public facts in the certificate, and every number is compared.

import pairdp

model_file = folder / "model.pairdp"
ranker.save(model_file)
received = pairdp.load(model_file)
print(str(pairdp.verify(received.certificate_)).splitlines()[0])

# %%
# 6. The report, to be signed
# ---------------------------
#
# One HTML page for the person who decides: what was released and what is protected, what an
# attacker can learn at most, how good the model is, what is left of the budget, what is not
# covered, the exact statement, and lines to sign on. Open it in a browser, and print it from
# there.

report = received.report(folder / "report.html", evaluation=received.evaluation_, ledger=ledger)
print(f"{len(report.html) / 1000:.0f} KB; warning: {report.warning}")

# %%
# 7. Score new patients
# ---------------------
#
# A score is the model's log-odds up to noise; a higher one is a higher risk. The labels of new
# patients are not needed.

write_patients(folder / "new.csv", rows=5, seed=2)
with (folder / "new.csv").open(encoding="utf-8", newline="") as file:
    new = list(csv.DictReader(file))
scores = received.decision_function({name: [row[name] for row in new] for name in new[0]})
for row, score in zip(new, scores, strict=True):
    print(row["patient_id"], f"{score:+.2f}")
