"""
Comparing algorithms before data is touched
===========================================

`pairdp.compare` fits algorithms to synthetic records with the size of your table. So a budget and
an algorithm can be chosen from public facts.
"""

import matplotlib.pyplot as plt

from pairdp import compare

result = compare(
    ["moments", "DPGDSC", "DPEGD"], [0.1, 0.5, 2.0, 8.0], n=800, n_features=6, repeats=3
)
print(result)

# %%
# Bars are two standard errors over the repeats. ``result.save("comparison.html")`` writes a page
# with the same figure.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, rows in result.to_frame().groupby("algorithm", sort=False):
    private = rows[rows["epsilon"].notna()]
    if len(private) > 1:
        axes.errorbar(
            private["epsilon"],
            private["mean"],
            2 * private["standard_error"],
            fmt="o-",
            capsize=3,
            label=name,
        )
axes.set(xscale="log", xlabel="ε", ylabel="AUC on other records")
axes.set_xticks([0.1, 0.5, 2, 8], ["0.1", "0.5", "2", "8"])
axes.legend()
plt.show()
