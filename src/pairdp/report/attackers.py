r"""What the curve of a certificate means for an attacker, as bounds that hold for every attack.

Let P and Q be the distributions of everything released from two neighbouring data sets: with the
record of a person, and with another record or none in its place. For every ε ≥ 0 the certificate
gives δ(ε) with P(S) ≤ e^ε Q(S) + δ(ε) for all sets S, and the same with P and Q exchanged. The
attacker may know all other records.

**Errors.** A test that accuses on S has the false positive rate α = Q(S) and the true positive rate
β = P(S). The inequality for S, and the one for its complement with P and Q exchanged, give

.. math:: β ≤ e^ε α + δ(ε), \qquad 1 - α ≤ e^ε (1 - β) + δ(ε),

so β is at most the smaller of e^ε α + δ(ε) and 1 - e^{-ε}(1 - δ(ε) - α), for each ε. The bound is
the least of them over a grid of ε, and a finer grid can only lower it. With a fair coin for "in the
data", a guess is right with probability (1 + β - α)/2 ≤ (1 + δ(0))/2.

**Odds.** By Bayes' rule the odds after the release are those before it times e^L, where L = ln
dP/dQ is the privacy loss. Since δ(ε) ≥ E_P max(0, 1 - e^{ε-L}) ≥ P(L ≥ ℓ)(1 - e^{ε-ℓ}) for ℓ > ε, L
reaches ℓ = ε - ln(1 - δ(ε)/t) with probability at most t, for every ε with δ(ε) < t. The same holds
with P and Q exchanged. If δ(ε) = 0, L exceeds ε never.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pairdp.drawing import Axis, Figure, Point, Series, Style
from pairdp.privacy import Certificate
from pairdp.privacy.certificates.curve_figure import CurveGrid, curve_grid

_LARGEST = 500.0
_DRAWN = 51


@dataclass(frozen=True)
class Attackers:
    """Bounds on attackers, from the curve of a certificate.

    Parameters
    ----------
    certificate : Certificate
        A certificate with a claim.
    """

    certificate: Certificate

    @cached_property
    def curve(self) -> CurveGrid:
        """A grid of ε, and δ at each."""
        return curve_grid(self.certificate)

    @property
    def except_with(self) -> float:
        """The probability t of a larger privacy loss: the δ of the claim."""
        return 0.0 if self.certificate.budget is None else self.certificate.budget.delta

    @property
    def guess(self) -> float:
        """The most that a guess with even odds is right: (1 + δ(0))/2."""
        return (1 + float(self.curve.delta[0])) / 2

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return the largest true positive rate of a test with this false positive rate."""
        epsilon, delta = self.curve
        accused = delta
        if false_positive_rate > 0:
            with np.errstate(over="ignore"):
                accused = np.exp(epsilon) * false_positive_rate + delta
        spared = 1 - np.exp(-epsilon) * (1 - delta - false_positive_rate)
        return float(min(1.0, accused.min(), spared.min()))

    @cached_property
    def privacy_loss(self) -> float:
        """A bound on the privacy loss that fails with probability `except_with` at most."""
        if self.except_with == 0:
            return self.certificate.epsilon(0.0)
        epsilon, delta = self.curve
        known = delta < self.except_with
        if not known.any():
            return math.inf
        return float(np.min(epsilon[known] - np.log1p(-delta[known] / self.except_with)))

    def posterior(self, prior: float) -> float:
        """Return the largest probability of a fact after the release, given the one before it."""
        odds = math.log(prior / (1 - prior)) + self.privacy_loss
        return 1 / (1 + math.exp(-odds)) if odds > -_LARGEST else 0.0

    def figure(self) -> Figure:
        """Return the figure of the largest true positive rates."""
        rates = np.linspace(0.0, 1.0, _DRAWN).tolist()
        most = tuple(Point(rate, self.true_positive_rate(rate)) for rate in rates)
        ends = (0.0, 1.0)
        return Figure(
            "The best possible attack",
            Axis("false accusations (false positive rate)", "FPR", scale="linear", include=ends),
            Axis("found (true positive rate)", "TPR", scale="linear", include=ends),
            (
                Series("at most", most, Style(color=0, marker=None)),
                Series(
                    "pure guessing",
                    (Point(0.0, 0.0), Point(1.0, 1.0)),
                    Style(color=7, marker=None, line="thin"),
                ),
            ),
            description="The largest share of persons in the data that a test can find, by the "
            "share of others whom it accuses falsely.",
        )
