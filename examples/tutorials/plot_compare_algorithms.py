"""
A researcher's comparison of algorithms
=======================================

Which algorithm ranks best at which budget, and how much of a paper's noise is needed?
``pairdp.compare`` fits algorithms over a grid of ε and scores them on other records. It takes
synthetic records, or records that are declared public.

These are public: lesions found in 1151 images of the retina (Antal and Hajdu, Diabetic Retinopathy
Debrecen, CC BY 4.0), which come with the library as a CSV file.
"""

import csv
from importlib.resources import files

import numpy as np

source = files("pairdp") / "studies" / "data" / "files" / "retinopathy.csv"
with source.open(encoding="utf-8", newline="") as file:
    header, *rows = csv.reader(file)
table = np.array(rows, dtype=float)
X, y = table[:, :-1], table[:, -1].astype(int)
print(X.shape)

# %%
# Rows are scaled by public bounds into the unit ball: how many lesions a picture may show, and so
# on. They were written down from the description of the data, not computed from it.

from pairdp import BoundsScaler, compare
from pairdp.studies.data.public_ranges import PUBLIC_RANGES

ranges = PUBLIC_RANGES["retinopathy"].values()
X = BoundsScaler([r.lower for r in ranges], [r.upper for r in ranges]).fit_transform(X)

# %%
# ``auto`` chooses from public facts; ``moments`` and ``conditioned`` are of this library; DPGDSC
# and DPEGD are algorithms of Xue 2021, here with noise that was derived again.

result = compare(
    ["auto", "moments", "conditioned", "DPGDSC", "DPEGD"],
    [0.5, 1.0, 2.0, 4.0, 8.0],
    public_data=(X, y),
    repeats=3,
)
print(result)

# %%
# The same as a figure, with two standard errors of the mean:

import matplotlib.pyplot as plt

frame = result.to_frame()
figure, axes = plt.subplots(figsize=(6, 4))
for name, part in frame.groupby("algorithm", sort=False):
    if part["epsilon"].notna().all() and len(part) > 1:
        axes.errorbar(part["epsilon"], part["mean"], 2 * part["standard_error"], label=name)
axes.set(xscale="log", xlabel="ε (smaller is more private)", ylabel="AUC on other records")
axes.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
axes.minorticks_off()
axes.legend()
plt.show()

# %%
# The noise that a paper prints
# -----------------------------
#
# ``calibration="printed"`` follows a paper's formula to the letter, for study. Here it prints
# several times the noise that the claim needs.

from pairdp import PrivateRanker

for calibration in ("certified", "printed"):
    ranker = PrivateRanker(1.0, 1e-6, data_norm=1.0, algorithm="DPGDSC", calibration=calibration)
    plan = ranker.plan(n=len(y), n_features=X.shape[1])
    noise = plan.certificate.releases[0].mechanism
    print(f"{calibration:9s} noise: standard deviation {noise.scale:.3f} in each weight")

# %%
# ``pairdp study xue2021`` reproduces the tables and figures of the paper in this way.
