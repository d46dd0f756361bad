r"""A Rényi privacy filter: composition that stays valid when costs are chosen adaptively.

Composing privacy curves is valid if the costs of all releases are fixed in advance. If the
*amount* of noise of the next release may depend on earlier results, the total can exceed the
budget: one curve may be worst for one outcome and another curve for another outcome, each within
the budget, but not both together.

Rényi divergences of one fixed order α add up even then (Feldman and Zrnic 2021, Theorem 3.1): if
every step costs at most ρᵢ given the past, and the sum of the ρᵢ never exceeds B, then
:math:`E[\prod_i L_i^{\alpha-1}] \le e^{(\alpha-1)B}` for the likelihood ratios Lᵢ, by
induction from the last step. The order depends on the budget alone, and so does B:

.. math::
    B = \varepsilon - \log\frac{\alpha-1}{\alpha} + \frac{\log\delta + \log\alpha}{\alpha-1}

(Canonne, Kamath and Steinke 2020, Proposition 12).

For an average over repeated draws, the distribution of the draws is known except for a small mass
(`SumDistribution.slack` in `pairdp.privacy.accounting.appearances`), whose moment may be anything.
This mass is counted as δ, from a share r of δ that is reserved for it; the allowance B is that of
(1 - r)δ.

*Claim.* If along every path the costs ρᵢ add up to at most B and the unknown masses sᵢ to at most
rδ, the composition is (ε, δ)-DP.

*Proof.* Let step i, given the past, have the output distributions P_i and Q_i on two neighbouring
data sets. With probability :math:`p^*_j` the draw is j, and its release is Gaussian with a μ of at
most :math:`\mu_j`. The computed distribution has masses :math:`p_g` on groups g of draws (sums
rounded up), and the true masses :math:`p^*_g`, with the draws in no group, exceed them by at most
sᵢ. Let each draw of a group count with the weight :math:`\lambda_g = \min(1, p_g/p^*_g)`, and a
draw in no group with zero: this gives a measure :math:`P_i^0 \le P_i` of mass at least 1 - sᵢ. As
:math:`u^\alpha v^{1-\alpha}` is jointly convex and homogeneous, publishing the draw only raises

.. math::
    \int \Big(\frac{dP_i^0}{dQ_i}\Big)^\alpha dQ_i
      \le \sum_g p^*_g \lambda_g^\alpha e^{\alpha(\alpha-1)\mu_g^2/2}
      \le \sum_g p_g e^{\alpha(\alpha-1)\mu_g^2/2} = e^{(\alpha-1)\rho_i},

which is what is computed (λ ≤ 1, α > 1). Let P⁰ be the measure of all steps with the kernels
:math:`P_i^0`. By induction from the last step, as above,
:math:`\int (dP^0/dQ)^\alpha dQ \le e^{(\alpha-1)B}`, and in the same way P⁰ has a mass of at least
1 - rδ. Proposition 12 bounds :math:`(l - e^\varepsilon)_+` by a multiple of :math:`l^\alpha`, so it
needs no mass of one: :math:`P^0(S) \le e^\varepsilon Q(S) + (1-r)\delta` for every event S, hence
:math:`P(S) \le P^0(S) + r\delta \le e^\varepsilon Q(S) + \delta`. Neighbours are symmetric. ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairdp.privacy.accounting.budget import Budget
from pairdp.privacy.accounting.calibration import require_delta
from pairdp.privacy.accounting.events import (
    Event,
    GaussianEvent,
    ParallelEvent,
    PureEvent,
    SampledEvent,
    SequentialEvent,
)
from pairdp.privacy.accounting.log_moments import sampled_log_moment
from pairdp.privacy.accounting.sampling import RepeatedDraws, Sampling

_QUADRATURE = 1 + 1e-9
_LARGEST_MU = 30.0
_RESERVED = 2.0**-10


def _allowance(budget: Budget, order: float) -> float:
    return (
        budget.epsilon
        - math.log1p(-1 / order)
        + (math.log(budget.delta) + math.log1p(-_RESERVED) + math.log(order)) / (order - 1)
    )


@dataclass(frozen=True)
class RenyiFilter:
    """A privacy filter: one Rényi order, and the divergence that may be spent at it.

    Attributes
    ----------
    budget : Budget
        Its δ must be positive. (Pure ε adds up in any case and needs no filter.)
    order : float
        The order that admits the largest Gaussian μ.
    allowance : float
        The largest admissible sum of costs.
    """

    budget: Budget
    order: float
    allowance: float

    @classmethod
    def of(cls, budget: Budget) -> RenyiFilter:
        """Return the filter of a budget."""
        require_delta(budget)

        def loss(log_excess: float) -> float:
            order = 1 + math.exp(log_excess)
            return -_allowance(budget, order) / order

        from scipy.optimize import minimize_scalar  # which takes long to import

        best = minimize_scalar(loss, bounds=(-9.0, 14.0), method="bounded", options={"xatol": 1e-6})
        # Rounded, so that the order of a ledger does not depend on the optimiser's version.
        order = 1 + math.exp(round(float(best.x), 2))
        return cls(budget, order, _allowance(budget, order))

    def admits(self, event: Event) -> bool:
        """Return whether an event stays within the budget if it is the only one."""
        return self.cost(event) <= self.allowance and self.unknown(event) <= self.reserve

    @property
    def reserve(self) -> float:
        """The share of δ reserved for the unknown mass of repeated draws."""
        return self.budget.delta * _RESERVED

    def unknown(self, event: Event) -> float:
        """Return the probability mass that `cost` does not cover."""
        match event:
            case SampledEvent(_, sampling, steps) if isinstance(sampling, RepeatedDraws):
                return steps * sampling.distribution.slack
            case SequentialEvent(events):
                return math.fsum(self.unknown(e) for e in events)
            case ParallelEvent(parts):
                return max(self.unknown(e) for e in parts)
        return 0.0

    def cost(self, event: Event) -> float:
        """Return the Rényi divergence of an event at the filter's order, except for `unknown`."""
        match event:
            case GaussianEvent(mu):
                return self.order * mu * mu / 2
            case PureEvent(epsilon, count):
                return count * self._randomised_response(epsilon)
            case SampledEvent(mu, sampling, steps) if mu <= _LARGEST_MU:
                return self._sampled(mu, sampling, steps)
            case SequentialEvent(events):
                return math.fsum(self.cost(e) for e in events)
            case ParallelEvent(parts):
                return max(self.cost(e) for e in parts)
        return math.inf

    def _sampled(self, mu: float, sampling: Sampling, steps: int) -> float:
        a = self.order - 1
        with np.errstate(over="ignore", invalid="ignore"):
            log_moment = sampled_log_moment(mu, sampling, steps, a)(np.array([complex(a)]))
        cost = float(log_moment[0].real) / a * _QUADRATURE
        return cost if math.isfinite(cost) else math.inf

    def _randomised_response(self, epsilon: float) -> float:
        # Randomised response, the worst ε-DP release: log(p e^{aε} + q e^{-aε})/a, a = order - 1.
        # Without cancellation, p e^{aε} + q e^{-aε} - 1 = p (e^{aε} - 1)(1 - e^{-(1+a)ε}).
        a = self.order - 1
        log_p = -float(np.logaddexp(0.0, -epsilon))
        if a * epsilon > 30:
            return (log_p + a * epsilon + math.log1p(math.exp(-epsilon - 2 * a * epsilon))) / a
        raised = math.exp(log_p) * math.expm1(a * epsilon) * -math.expm1(-self.order * epsilon)
        return math.log1p(raised) / a

    def epsilon(self, cost: float) -> float:
        """Return the ε, at the budget's δ, of admitted releases with this total cost."""
        if cost == 0:
            return 0.0
        return max(0.0, self.budget.epsilon - self.allowance + cost)
