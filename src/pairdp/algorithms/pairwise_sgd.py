"""Pairwise SGD with noise on the average iterate (Yang 2021), also for losses with kinks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, integer, keep, keep_given, one_of
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import WITH_DRAWS, Algorithm, PlanDraft
from pairdp.algorithms.descent import known_radius, step_divergence, step_of_least_error
from pairdp.algorithms.noise import add_noise
from pairdp.algorithms.noise_propagation import output_noise
from pairdp.algorithms.parameter_noise import ParameterNoise
from pairdp.algorithms.plan import Fit, Plan, Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need, require_bounded
from pairdp.algorithms.task import Settings, Task
from pairdp.algorithms.theorem import ChosenSteps
from pairdp.pairs import one_against
from pairdp.privacy import (
    GaussianMechanism,
    KNormMechanism,
    Mechanism,
    NoiseSource,
    NoMechanism,
    Release,
    RepeatedDraws,
    Sensitivity,
    noise_multiplier,
)
from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.privacy.bounds.pairwise_sgd import beyond_appearances
from pairdp.records import Records

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairwiseSGDSettings(Settings):
    """T, η, the order in which records are drawn, and whether pairs are ordered."""

    steps: int
    step_size: float
    order: Literal["replacement", "permutation"]
    pairing: Literal["ordered"] | None = None


@dataclass(frozen=True)
class PairwiseSGD(Algorithm[PairwiseSGDSettings]):
    r"""SGD on the pairs of the current draw with all earlier ones; the average is released.

    .. math::
        w_{t+1} = Π\Big(w_t - \frac{η}{t} \sum_{k ≤ t} g(w_t; z_{i_{t+1}}, z_{i_k})\Big), \quad
        \bar w = \frac1T \sum_{t=1}^T w_t

    from w_1 = 0 (Yang 2021, Algorithms 1 and 2), with g the mean of a pair's gradient in both
    orders, or with ``schedule="theorem"`` its gradient with the current draw first, as in the
    paper. The loss must be convex and Lipschitz, and need not be smooth. Given the draws, the
    distance of two neighbouring runs satisfies

    .. math:: d_{t+1} ≤ \sqrt{d_t^2 + η^2G_0^2} + ηD^* Y_t,

    because the gradient of a convex loss is monotone, where Y_t is the fraction of pairs with the
    replaced record; so the distance of the averages is at most η(G₀·Q_T + D*·Σc_k), with c_k
    depending on the positions of the draws, and zero if the record was never drawn. The noise
    follows by averaging δ over the distribution of the draws, which are secret (errata, Y2), and
    not from the paper's equation (5), whose proof fails.

    G₀ = G and D* = G for ranking, G₀ = G and D* = 2G for metrics, 2G for other losses. If the
    loss is smooth and η ≤ 2/(L+λ), steps are non-expansive: then G₀ = 0, and D* = D_h/2 is that
    at one parameter. With ``schedule="theorem"``, D* = D_o instead of D_h/2, which differ for
    one-sided losses. A hinge smoothed with width h satisfies this if h ≥ (Lh)·η/2, where Lh does
    not depend on h.

    Parameters
    ----------
    steps : int, optional
        T; by default n, one pass, and with ``schedule="theorem"`` n², or n^(4/3) on an unbounded
        set. Must be a multiple of n for permutations.
    step_size : float, optional
        η; by default it minimises the sum of B²/(2ηT), ηG²/2 and the cost of noise, and is at most
        2/(L+λ) for smooth losses. With ``schedule="theorem"`` it is n^(-3/2), or 1/n on an
        unbounded set (see `pairdp.algorithms.printed.yang2021`).
    order : {"replacement", "permutation"}
        Independent draws as in the paper, or passes with a new random order each, which need less
        noise. Pure ε needs permutations.
    name : str
        Name in certificates.

    Notes
    -----
    A step takes one weighted sum over the records, for any T. Printed noise: equation (5),
    σ² = 8η²G²·ln(2.5/δ)/ε²·(T + 3T²·ln²(eT)·ln²(2/δ)/n²).
    """

    steps: int | None = None
    step_size: float | None = None
    order: Literal["replacement", "permutation"] = "permutation"
    name: str = "Pairwise SGD, averaged"

    settings_type = PairwiseSGDSettings
    is_printed: ClassVar[bool] = True
    has_theorem: ClassVar[bool] = True
    only_pairs: ClassVar[bool] = True
    why_no_units: ClassVar[str] = WITH_DRAWS

    def __post_init__(self) -> None:
        one_of("order", self.order, "replacement", "permutation")
        if self.steps is not None:
            keep(self, "steps", integer("steps", self.steps, at_least=2))
        keep_given(self, "step_size", between, *STEPS)

    @property
    def needs(self) -> tuple[Need, ...]:
        """A convex loss and bounded gradients."""
        return (Need.CONVEX, Need.LIPSCHITZ)

    def draft(self, task: Task) -> PlanDraft[PairwiseSGDSettings]:
        """Decide steps, step size and noise."""
        step_size, steps, reasons, departures = self._schedule(task)
        if step_size * task.problem.regularization > 1:
            raise ValueError(
                f"{self.name} is certified for step sizes up to 1/λ = "
                f"{1 / task.problem.regularization:.6g}, got {step_size:.6g}"
            )
        pairing: Literal["ordered"] | None = "ordered" if task.follows_theorem else None
        settings = PairwiseSGDSettings(steps, step_size, self.order, pairing)
        if step_divergence(task.problem, step_size).common == 0:
            reasons = (*reasons, "the loss is smooth enough that steps are non-expansive")
        release = self._release(task, step_size, steps)
        return PlanDraft((release,), settings, reasons, departures=departures)

    def _schedule(self, task: Task) -> ChosenSteps:
        """Return η and T, with reasons and departures."""
        if task.follows_theorem:
            found = printed.yang2021.schedule(self.name, task, self.steps, self.step_size)
            self._check_draws(task, found.steps)
            if self.order == "replacement":
                return found
            passes = "records are drawn in passes of random order, and the paper's with replacement"
            return found._replace(departures=(*found.departures, passes))
        steps = task.n if self.steps is None else self.steps
        self._check_draws(task, steps)
        step_size, reasons = self._step_size(task, steps)
        if self.steps is None:
            reasons = (*reasons, "steps are one pass over the records")
        return ChosenSteps(step_size, steps, reasons)

    def _check_draws(self, task: Task, steps: int) -> None:
        """Raise ValueError if the order of the draws does not admit T or the budget."""
        if self.order == "permutation" and steps % task.n:
            raise ValueError(
                f"steps must be a multiple of n = {task.n} for passes in random order, got "
                f'{steps}: use complete passes, or order="replacement"'
            )
        if task.budget is not None and task.budget.is_pure and self.order != "permutation":
            raise ValueError(
                f"{self.name} draws with replacement, which cannot be pure ε-DP: set delta > 0, "
                'or use order="permutation"'
            )

    def _draws(
        self, task: Task, step_size: float, steps: int
    ) -> tuple[RepeatedDraws, dict[str, float | int]]:
        """Return the draws for the accountant, and the inputs of the bound."""
        divergence = step_divergence(task.problem, step_size, ordered=task.follows_theorem)
        inputs: dict[str, float | int] = {
            "step_size": step_size,
            "moved": divergence.replaced,
            "common": divergence.common,
            # A bound on the rounding error of each of T gradients in two runs.
            "rounding": task.problem.gradient_rounding(
                step_size, task.features, known_radius(task.problem, step_size, steps)
            ),
            "steps": steps,
            **task.diameter_input,
        }
        base, most = beyond_appearances(**inputs)  # type: ignore[arg-type]
        return RepeatedDraws(task.n, steps, self.order, base, most), inputs

    def _release(self, task: Task, step_size: float, steps: int) -> Release:
        name = "average iterate"
        if task.budget is None:
            return Release(name, NoMechanism(), None, task.dimension)
        draws, inputs = self._draws(task, step_size, steps)
        one = Sensitivity.of("one step of pairwise SGD", **inputs)
        if task.budget.is_pure:
            return self._pure(task, draws, one)
        if task.is_printed:
            scale = self._printed(task, step_size, steps)
            mechanism = GaussianMechanism(one.value, scale, task.dimension)
        else:
            mechanism = GaussianMechanism.calibrate(
                task.budget, one.value, dimension=task.dimension, sampling=draws
            )
        return Release(name, mechanism, one, task.dimension, 1, draws)

    def _pure(self, task: Task, draws: RepeatedDraws, one: Sensitivity) -> Release:
        """Return the release for pure ε: the worst position in every pass."""
        if task.is_printed:
            raise ValueError("the paper prints no formula for pure ε: set delta > 0")
        worst = Sensitivity.of(
            "average of pairwise SGD in passes",
            one_step=one.value,
            n=task.n,
            passes=draws.draws // task.n,
            base=draws.base,
            **task.diameter_input,
        )
        mechanism: Mechanism = KNormMechanism.calibrate(
            task.budget,  # type: ignore[arg-type]
            worst.value,
            dimension=task.dimension,
        )
        return Release("average iterate", mechanism, worst, task.dimension)

    def _printed(self, task: Task, step_size: float, steps: int) -> float:
        budget = task.budget
        if budget is None:
            return 0.0
        if self.order != "replacement":
            raise ValueError(
                'equation (5) is for draws with replacement: use order="replacement", or '
                "calibration='certified'"
            )
        scale = printed.yang2021.average_noise(task.n, steps, budget)
        return step_size * task.printed_lipschitz * scale

    def _step_size(self, task: Task, steps: int) -> tuple[float, tuple[str, ...]]:
        """Return η and the reason for it."""
        if self.step_size is not None:
            return self.step_size, ()
        problem = task.problem
        require_bounded(self.name, problem, "to choose its step size (or give step_size)")
        noise = 0.0
        if task.budget is not None:
            smoothness = problem.loss.smoothness(problem.domain()) + problem.regularization
            # Much smaller than B/G: the noise of small steps is proportional to them.
            tiny = 1e-9 * problem.constraint.radius / problem.loss.lipschitz(problem.domain())
            tiny = min(2 / smoothness, tiny) if 0 < smoothness < math.inf else tiny
            draws, inputs = self._draws(task, tiny, steps)
            change = float(inputs["moved"])
            if task.budget.is_pure:
                passes = appearance_weights(steps).reshape(-1, task.n).max(axis=1).sum()
                noise = change * (passes + draws.base) * math.sqrt(task.dimension)
                noise /= task.budget.epsilon
            else:
                noise = change * noise_multiplier(task.budget, 1, draws)
        return step_of_least_error(problem, steps, noise, task.dimension)

    def _parameter_noise(self, plan: Plan[PairwiseSGDSettings], fit: Fit) -> ParameterNoise:
        return output_noise(plan)

    def execute(
        self,
        plan: Plan[PairwiseSGDSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the noisy average, projected."""
        problem = plan.problem
        steps, eta = plan.settings.steps, plan.settings.step_size
        ordered = plan.settings.pairing == "ordered"
        drawn = self._indices(records.n, steps, noise.stream("draws"))
        counts = np.zeros(records.n)
        point = problem.constraint.initial(records.features)
        total = point.copy()
        for t in progress.steps(steps - 1, "pairwise SGD"):
            counts[drawn[t]] += 1
            own = int(drawn[t + 1])
            gradient = one_against(
                problem.loss, point, records, own, records, counts, ordered=ordered
            )
            point = problem.projected_step(point, eta, gradient / (t + 1))
            total += point
        (release,) = plan.certificate.releases
        noisy = add_noise(release.mechanism, total / steps, noise.stream("output noise"))
        return problem.constraint.project(noisy)

    def _indices(self, n: int, steps: int, generator: np.random.Generator) -> NDArray[np.intp]:
        """Return i_1 … i_T."""
        if self.order == "replacement":
            return generator.integers(0, n, size=steps, dtype=np.intp)
        return np.concatenate([generator.permutation(n) for _ in range(steps // n)])


YANG = register_algorithm(
    "Yang2021",
    PairwiseSGD(order="replacement", name="Pairwise SGD (Yang 2021, Algorithm 2)"),
    is_published=True,
)
"""SGD on the pairs of the current draw with all earlier ones; needs no smoothness."""
