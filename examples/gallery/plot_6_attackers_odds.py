"""
What an attacker can reach
==========================

A certificate knows the whole curve of ε and δ of a release. It bounds every attacker who wants to
find out whether a record was in the data, however much they know.
"""

import matplotlib.pyplot as plt
import numpy as np

from pairdp import PrivateRanker

certificates = {
    epsilon: PrivateRanker(epsilon, 1e-6, data_norm=1.0).plan(n=2000, n_features=8).certificate
    for epsilon in (0.5, 1.0, 4.0)
}

# %%
# For a share of false alarms, the largest share of true alarms that any test can have: at most
# e^ε times that share plus δ, for every valid pair of ε and δ. The diagonal is guessing.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
false_alarms = np.linspace(0, 1, 201)
for budget, certificate in certificates.items():
    pairs = [(epsilon, certificate.delta(epsilon)) for epsilon in np.linspace(0, 2 * budget, 40)]
    most = np.ones_like(false_alarms)
    for epsilon, delta in pairs:
        most = np.minimum(most, np.exp(epsilon) * false_alarms + delta)
        most = np.minimum(most, 1 - np.exp(-epsilon) * (1 - delta - false_alarms))
    axes.plot(false_alarms, np.clip(most, 0, 1), label=f"ε = {budget:g}, δ = 10⁻⁶")
axes.plot([0, 1], [0, 1], ":", color="grey")
axes.set(xlabel="false alarms", ylabel="true alarms, at most", title="Every test for one record")
axes.legend()
plt.show()

# %%
# With pure ε, what an attacker believes at most after the release, by what they believed before.

figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
prior = np.linspace(0.001, 0.999, 300)
for budget in certificates:
    odds = prior / (1 - prior) * np.exp(budget)
    axes.plot(prior, odds / (1 + odds), label=f"ε = {budget:g}")
axes.plot([0, 1], [0, 1], ":", color="grey")
axes.set(
    xlabel="believed before", ylabel="believed afterwards, at most", title="Belief about one record"
)
axes.legend()
plt.show()
