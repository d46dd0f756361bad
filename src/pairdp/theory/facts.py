"""The public facts that the papers' bounds depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pairdp._checks import integer, positive
from pairdp.losses import GradedRanking, Holder, MetricLoss, PairwiseLoss, RankingLoss
from pairdp.losses.trust import is_library_loss
from pairdp.privacy.accounting.budget import Budget, check_budget
from pairdp.problem import Problem
from pairdp.theory.utility_bound import Assumption


@dataclass(frozen=True)
class Facts:
    """The constants of a problem of pairs with n records.

    Attributes
    ----------
    n, features, dimension : int
        Number of records, of features, and of parameters (d(d+1)/2 for a metric).
    budget : Budget
        ε and δ.
    failure : float
        γ: statements "with high probability" hold with probability 1-γ.
    lipschitz : float
        G of the loss alone, which differences of gradients at one parameter depend on.
    regularized_lipschitz : float
        G + λ(B + |w₀|), the G of the papers; infinite on an unbounded set if λ > 0.
    smoothness, risk_smoothness : float
        L of one pair and of the risk over all pairs, both with λ.
    strong_convexity : float
        α; λ for a convex loss.
    holder : Holder
        Hölder continuity of one pair's gradient, with the regulariser.
    pair_diameter, record_diameter : float
        D_o and D_h.
    radius, diameter : float
        B and ‖C‖; infinite for an unbounded set.
    at_zero : float
        M, the largest loss at w = 0, with the regulariser; infinite if it is not known.
    center_norm : float
        |w₀|.
    data_norm, score_norm : float
        R, and the largest norm of what the parameter is multiplied by in a score: 2R, or 4R² for a
        metric.
    convex, nonnegative, is_ranking, is_metric : bool
        What is known of the loss; ranking and metric losses are functions of a linear score.
    solution_norm : float
        A bound on |w*|: the radius, or what the caller knows; infinite if nothing is known.
    """

    n: int
    features: int
    dimension: int
    budget: Budget
    failure: float
    lipschitz: float
    regularized_lipschitz: float
    smoothness: float
    risk_smoothness: float
    strong_convexity: float
    holder: Holder
    pair_diameter: float
    record_diameter: float
    radius: float
    diameter: float
    at_zero: float
    center_norm: float
    regularization: float
    data_norm: float
    score_norm: float
    convex: bool
    nonnegative: bool
    is_ranking: bool
    is_metric: bool
    solution_norm: float

    @classmethod
    def of(
        cls,
        problem: Problem,
        n: int,
        features: int,
        budget: Budget,
        *,
        failure: float = 0.05,
        solution_norm: float | None = None,
    ) -> Facts:
        """Return the facts of a problem of pairs.

        Parameters
        ----------
        problem : Problem
            Loss, constraint, regulariser and data norm.
        n, features : int
            The public size of the data.
        budget : Budget
            ε and δ.
        failure : float
            γ, the probability with which a bound may fail.
        solution_norm : float, optional
            A bound on the norm of the best parameters, where the set is unbounded.
        """
        loss = problem.loss
        # A graded loss is a function of the same score, with the value of two classes at zero.
        two_class = loss.two_class if isinstance(loss, GradedRanking) else loss
        if not isinstance(loss, PairwiseLoss):
            raise TypeError("pairdp.theory evaluates bounds for losses of pairs of records only")
        check_budget(budget)
        if not 0 < failure < 1:
            raise ValueError(f"failure must be between 0 and 1, got {failure!r}")
        n, features = integer("n", n, at_least=2), integer("features", features)
        problem.check_features(features)
        domain, added = problem.domain(), problem.regularization
        radius, center = problem.constraint.radius, float(np.linalg.norm(problem.center))
        diameter = problem.constraint.diameter(features)
        known = radius if solution_norm is None else positive("solution_norm", solution_norm)
        lipschitz = loss.lipschitz(domain)
        return cls(
            n=n,
            features=features,
            dimension=problem.constraint.dimension(features),
            budget=budget,
            failure=failure,
            lipschitz=lipschitz,
            regularized_lipschitz=lipschitz + (added * (radius + center) if added else 0.0),
            smoothness=loss.smoothness(domain) + added,
            risk_smoothness=loss.risk_smoothness(domain, n) + added,
            strong_convexity=problem.strong_convexity,
            holder=_holder(loss.holder(domain), added, diameter),
            pair_diameter=max(loss.pair_diameter(domain), lipschitz),
            record_diameter=problem.exact_record_diameter(domain),
            radius=radius,
            diameter=diameter,
            at_zero=_at_zero(two_class) + added / 2 * center**2,
            center_norm=center,
            regularization=added,
            data_norm=problem.data_norm,
            score_norm=domain.widest**2 if loss.matrix else domain.widest,
            convex=problem.is_convex,
            nonnegative=is_library_loss(loss) and isinstance(two_class, RankingLoss | MetricLoss),
            is_ranking=isinstance(two_class, RankingLoss),
            is_metric=isinstance(loss, MetricLoss),
            solution_norm=min(radius, known),
        )

    @property
    def linear_scores(self) -> bool:
        """Whether the loss is a function of a score that is linear in the parameter."""
        return self.is_ranking or self.is_metric

    @property
    def zero_excess(self) -> float:
        """The excess risk of w = 0 at most: no better bound on an excess risk says anything.

        The loss falls by at most G·|w*|, and by at most all of its value if it cannot be negative.
        If the problem is α-strongly convex, the risk falls by at most |∇F(0)|²/(2α).
        """
        falls = self.lipschitz * self.solution_norm + self._regularizer_at_zero
        if self.strong_convexity > 0:
            slope = self.lipschitz + self.regularization * self.center_norm
            falls = min(falls, slope**2 / (2 * self.strong_convexity))
        return min(self.at_zero, falls) if self.nonnegative else falls

    @property
    def start_excess(self) -> float:
        """The excess empirical risk of any starting point in the set, or of 0 if it is unbounded.

        At most the largest loss (if losses are not negative), and at most G times the diameter.
        """
        if not math.isfinite(self.radius):
            return self.zero_excess
        falls = self.regularized_lipschitz * self.diameter
        return min(self.largest_loss, falls) if self.nonnegative else falls

    @property
    def largest_loss(self) -> float:
        """The largest regularised loss on the set, M + GB of Yang 2021, Lemma A.6."""
        return self.at_zero + self.regularized_lipschitz * self.radius

    @property
    def loss_range(self) -> float:
        """The largest loss on the set without the regulariser, which losses lie below."""
        return self.loss_at_zero + self.lipschitz * self.radius

    @property
    def loss_at_zero(self) -> float:
        """The largest loss at w = 0 without the regulariser."""
        return self.at_zero - self._regularizer_at_zero

    @property
    def _regularizer_at_zero(self) -> float:
        return self.regularization / 2 * self.center_norm**2

    @property
    def log_delta(self) -> float:
        """ln(1/δ), infinite for pure ε."""
        return math.inf if self.budget.is_pure else math.log(1 / self.budget.delta)

    def is_convex(self) -> Assumption:
        """Return whether the loss is convex."""
        return Assumption("the loss is convex", self.convex)

    def is_smooth(self) -> Assumption:
        """Return whether the loss is smooth."""
        return Assumption("the loss is smooth", math.isfinite(self.smoothness))

    def is_lipschitz(self) -> Assumption:
        """Return whether the regularised loss is Lipschitz."""
        return Assumption(
            "the regularised loss is Lipschitz on the set",
            math.isfinite(self.regularized_lipschitz),
        )

    def is_strongly_convex(self) -> Assumption:
        """Return whether the problem is strongly convex."""
        return Assumption(
            "the problem is strongly convex: a convex loss with λ > 0", self.strong_convexity > 0
        )

    def is_bounded(self) -> Assumption:
        """Return whether the set is bounded."""
        return Assumption("the constraint set is bounded", math.isfinite(self.radius))

    def is_nonnegative(self) -> Assumption:
        """Return whether the loss is known not to be negative, and its largest value at 0."""
        return Assumption(
            "the loss is not negative, and its largest value at w = 0 is known",
            self.nonnegative and math.isfinite(self.at_zero),
        )

    def has_linear_scores(self) -> Assumption:
        """Return whether the loss is a function of a linear score of the pair."""
        return Assumption(
            "the loss is a function of a score that is linear in w", self.linear_scores
        )

    def is_approximate(self) -> Assumption:
        """Return whether δ > 0."""
        return Assumption("δ > 0", not self.budget.is_pure)


def _at_zero(loss: PairwiseLoss) -> float:
    """Return the largest loss at w = 0, where all scores are zero; infinite if it is not known."""
    if isinstance(loss, RankingLoss):
        return float(loss.phi(np.zeros(1))[0])
    if isinstance(loss, MetricLoss):
        return float(np.max(loss.of_distance(np.zeros(2), np.array([True, False]))))
    return math.inf


def _holder(holder: Holder, added: float, diameter: float) -> Holder:
    """Return the Hölder constants with a regulariser: λ|w-v| ≤ λ·‖C‖^(1-a)·|w-v|^a."""
    if added == 0:
        return holder
    factor = diameter ** (1 - holder.exponent) if holder.exponent < 1 else 1.0
    return Holder(holder.exponent, holder.constant + added * factor)
