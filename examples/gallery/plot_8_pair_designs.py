"""
Some pairs instead of all
=========================

A metric loss over all pairs takes O(n²) time. A design uses m pairs of each record, fixed before
the data is read. The noise stays the same for every m: what changes is how well the average over
these pairs stands for that over all pairs.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairdp import Budget
from pairdp.constraints import PSDFrobeniusBall
from pairdp.losses import LogisticMetric
from pairdp.pairs import PairDesign
from pairdp.privacy import GaussianMechanism
from pairdp.problem import Problem

rng = np.random.default_rng(0)
n, d = 3000, 5
y = rng.integers(0, 3, n)
X = (rng.normal(size=(n, d)) + np.eye(3, d)[y] * 2) / 5

problem = Problem(LogisticMetric(), PSDFrobeniusBall(1.0))
records = problem.records(X, y)
point = np.eye(d) / np.sqrt(d)
full = problem.gradient(point, records)

# %%
# The error of the gradient, and the noise of one private gradient at ε = 1, which does not depend
# on m.

sizes = [2, 4, 8, 16, 32, 64]
errors = []
for m in sizes:
    designs = [PairDesign.draw(n, m, np.random.default_rng(seed)) for seed in range(5)]
    errors.append(
        [np.linalg.norm(problem.gradient(point, records, each) - full) for each in designs]
    )
mechanism = GaussianMechanism.calibrate(Budget(1.0, 1e-6), problem.sensitivity(n))
noise = mechanism.scale * np.sqrt(d * (d + 1) / 2)  # the norm of noise on a symmetric matrix

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.loglog(sizes, np.mean(errors, axis=1), "o-", label="error of the design")
axes.axhline(noise, linestyle="--", color="tab:red", label="noise at ε = 1")
axes.set(xlabel="pairs of each record, m", ylabel="norm of the difference of gradients")
axes.set_xticks(sizes, [str(m) for m in sizes])
axes.minorticks_off()
axes.legend()
plt.show()
