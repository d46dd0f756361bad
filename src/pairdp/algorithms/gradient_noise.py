"""Gradient descent with noise in every gradient: its batches, its noise and its schedule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pairdp.algorithms import printed
from pairdp.algorithms.descent import contraction
from pairdp.algorithms.requirements import require_bounded, require_smooth
from pairdp.algorithms.task import Task
from pairdp.privacy import FixedSizeSampling, GaussianMechanism, NoMechanism, Release, Sensitivity
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.privacy.certificates.release import HIDDEN_ITERATES, rounded_dimension
from pairdp.problem import Problem

Pairing = Literal["all", "disjoint", "ordered"]


@dataclass(frozen=True)
class Batches:
    """b of n records, drawn without replacement at each step, and their pairs.

    Parameters
    ----------
    task : Task
        Gives n, and whether the loss is of pairs or of one record.
    batch_size : int, optional
        b; all records by default.
    pairing : {"all", "disjoint", "ordered"}
        All pairs of a batch, or pairs of consecutive draws, with both orders or the one drawn.

    Raises
    ------
    ValueError
        If the batch is larger than the data, or does not allow the pairing.
    """

    task: Task
    batch_size: int | None = None
    pairing: Pairing = "all"

    def __post_init__(self) -> None:
        if self.size > self.task.n:
            raise ValueError(f"batch_size must be at most n = {self.task.n}, got {self.size}")
        if not self.of_pairs:
            if self.pairing != "all":
                raise ValueError("a loss of one record has no pairs: leave pairing at its default")
        elif self.size == 1:
            raise ValueError("batch_size must be at least 2 for a pairwise loss, got 1")
        elif self.pairing != "all" and self.size % 2:
            which = "batch_size" if self.batch_size else "n, where batch_size is not given,"
            raise ValueError(
                f"disjoint pairs need an even batch, and {which} is {self.size}: set "
                f"batch_size={self.size - 1}"
            )

    @property
    def size(self) -> int:
        """B."""
        return self.batch_size or self.task.n

    @property
    def of_pairs(self) -> bool:
        """Whether the loss is pairwise; otherwise it is of one record."""
        return self.task.problem.average == "average over pairs"

    @property
    def disjoint(self) -> bool:
        """Whether a step uses disjoint pairs. Two records are one pair with either pairing."""
        return self.of_pairs and (self.pairing != "all" or self.size == 2)

    @property
    def diameter(self) -> float:
        """The sensitivity of a step's gradient times b: D_h, or 2D_o for one order of each pair."""
        problem = self.task.problem
        both = problem.record_diameter(self.size)
        if self.pairing != "ordered":
            return both
        rounding = both - problem.exact_record_diameter(problem.domain())
        return 2 * problem.constants(self.size).pair_diameter + rounding

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of the gradient of a step, when a record of the batch is replaced."""
        if self.pairing == "ordered":
            return self.task.sensitivity(
                "average over ordered pairs", diameter=self.diameter / 2, pairs=self.size // 2
            )
        return self.task.sensitivity(self.task.problem.average, diameter=self.diameter, n=self.size)

    @property
    def sampling(self) -> FixedSizeSampling | None:
        """The sampling that amplifies privacy; None if a step uses all records."""
        return FixedSizeSampling(self.size, self.task.n) if self.size < self.task.n else None


Output = Literal["average", "last"]
PrintedRule = Literal["xue", "kang", "wang"]


@dataclass(frozen=True)
class GradientNoise:
    """The noise of T steps of size η, depending on what is released.

    Parameters
    ----------
    task : Task
        The public facts.
    batches : Batches
        The records and pairs of a step.
    output : {"average", "last"}
        The average of all iterates, or the last one, which may need less noise.
    """

    task: Task
    batches: Batches
    output: Output

    def release(
        self, step_size: float, steps: int, printed_scale: float | None = None
    ) -> tuple[Release, tuple[str, ...]]:
        """Return the release that needs less noise, of all gradients or the last iterate, and why.

        Parameters
        ----------
        step_size, steps : float and int
            η and T.
        printed_scale : float, optional
            The noise of a printed formula, used instead of the certified noise.
        """
        task, sampling = self.task, self.batches.sampling
        budget = task.budget
        if budget is None:
            return Release(f"{self.output} iterate", NoMechanism(), None, task.dimension), ()
        one = self.batches.sensitivity
        last = self.last_iterate(step_size, steps)
        name = "noisy gradient" if self.output == "average" else "noisy gradient (all of them)"
        sensitivity = one
        reasons: tuple[str, ...] = ()
        if last is not None and last.value < one.value * math.sqrt(steps):
            name, sensitivity, steps = "last iterate", last, 1
            reasons = ("only the last iterate is released, and the effect of earlier steps decays",)
        dimension = rounded_dimension(task.dimension, sensitivity)
        mechanism = (
            GaussianMechanism.calibrate(
                budget, sensitivity.value, dimension=dimension, steps=steps, sampling=sampling
            )
            if printed_scale is None
            else GaussianMechanism(sensitivity.value, printed_scale, dimension)
        )
        return Release(name, mechanism, sensitivity, task.dimension, steps, sampling), reasons

    def last_iterate(self, step_size: float, steps: int) -> Sensitivity | None:
        """Return the sensitivity of the last iterate alone, or None if the bound does not apply."""
        task, problem = self.task, self.task.problem
        if self.output != "last" or self.batches.sampling is not None:
            return None
        if task.follows_theorem:  # as in the papers, every noisy gradient is accounted for
            return None
        if not (problem.is_convex and problem.is_smooth):  # steps may expand distances
            return None
        if self.batches.disjoint:  # as smooth as one pair, not as the risk
            return None
        if not problem.is_bounded:  # nor are the rounding errors of steps
            return None
        constants = problem.constants(task.n)
        c = contraction(step_size, constants.smoothness, constants.strong_convexity)
        if c > 1:
            return None
        inputs = {
            # Projecting a noisy point has a rounding error relative to the noisy point.
            "record_diameter": problem.record_diameter(
                task.n, step_size=step_size, features=_FAR * task.features
            ),
            "n": task.n,
            "step_size": step_size,
            "contraction": c,
            "steps": steps,
            **task.diameter_input,
        }
        return task.sensitivity(HIDDEN_ITERATES, **inputs)

    def predicted_scale(self, step_size: float, steps: int) -> float:
        """Return approximately σ, without the numerical accounting of sampling."""
        task, b, diameter = self.task, self.batches.size, self.batches.diameter
        if task.budget is None:
            return 0.0
        mu = gdp_mu(task.budget.epsilon, task.budget.delta)
        if b < task.n:
            return 2 * diameter * math.sqrt(steps) / (task.n * mu)
        last = self.last_iterate(step_size, steps)
        composed = math.sqrt(steps) * task.records * diameter / task.n
        return min(composed, math.inf if last is None else last.value) / mu


def farthest_point(problem: Problem, step_size: float) -> float:
    """Return the radius that noisy points are clipped to, 4(B + ηG), before they are projected.

    Clipping is a projection too, so the composition is still non-expansive. It bounds the rounding
    errors of the projection, which are relative to the noisy point for positive semidefinite sets.
    """
    gradient = problem.loss.lipschitz(problem.domain())
    return _FAR * (problem.constraint.radius + step_size * gradient)


def hides_iterates(release: Release) -> bool:
    """Return whether the proof of a release needs that only the last iterate is released."""
    return release.sensitivity is not None and release.sensitivity.bound == HIDDEN_ITERATES


def printed_scale(rule: PrintedRule, lipschitz: float, batches: Batches, steps: int) -> float:
    """Return σ of each gradient as printed in a paper; ValueError for batches without a formula."""
    n, budget = batches.task.n, batches.task.budget
    if budget is not None and rule == "wang":
        drawn = 2 if batches.of_pairs else 1
        if batches.batch_size != drawn:
            raise ValueError(f"Wang 2024 print noise for batch_size={drawn} alone: use 'certified'")
        return lipschitz * printed.wang2024.gradient_noise(n, steps, budget, drawn).multiplier
    if budget is None or batches.batch_size is not None or batches.pairing != "all":
        raise ValueError("the papers print no formula for mini-batches: use 'certified'")
    formula = printed.xue2021.gradient_noise if rule == "xue" else printed.kang2021.gradient_noise
    return formula(lipschitz, n, steps, budget)


_FAR = 4
_STEPS = tuple(sorted({round(10 ** (i / 12)) for i in range(40)}))
_HALVINGS = 12


def least_error_schedule(
    name: str, noise: GradientNoise, steps: int | None, step_size: float | None
) -> tuple[float, int, tuple[str, ...]]:
    """Return η, T and the reasons; what is None is chosen to minimise the predicted error.

    Parameters
    ----------
    name : str
        Name of the algorithm, for error messages.
    noise : GradientNoise
        The noise as a function of η and T.
    steps, step_size : optional
        T and η if they are fixed.
    """
    problem = noise.task.problem
    if step_size is None:
        instead = "give step_size; the guarantee does not need smoothness"
        require_smooth(name, problem, instead)
    require_bounded(name, problem, "to choose its steps (or give steps and step_size)")
    if step_size is None:
        largest = 1 / problem.constants(noise.task.n).smoothness
        sizes = [largest * 2.0**-i for i in range(_HALVINGS)]
        reason = "steps and step_size minimise" if steps is None else "step_size minimises"
    else:
        sizes, reason = [step_size], "steps minimise"
    choices = [(eta, t) for t in (_STEPS if steps is None else (steps,)) for eta in sizes]
    best = min(choices, key=lambda choice: predicted_error(noise, *choice))
    return *best, (f"{reason} the predicted error",)


def predicted_error(noise: GradientNoise, step_size: float, steps: int) -> float:
    r"""Return a rough bound on the excess risk: optimisation error plus noise.

    For the average B²/(2ηT) + ηpσ²/2; for the last iterate of a strongly convex problem
    (L/2)(q^{2T}B² + η²pσ²Σq^{2i}). A mini-batch adds its own variance, ηG²/(2b). If the loss is not
    convex, the excess risk cannot be predicted, and the mean squared gradient divided by 2L is used
    instead; by the descent lemma it is at most GB/(ηTL) + ηpσ²/2, because the initial excess risk
    is at most GB.
    """
    task, problem, b = noise.task, noise.task.problem, noise.batches.size
    constants, radius, p = problem.constants(task.n), problem.constraint.radius, task.dimension
    # For tiny budgets the square of the noise would overflow.
    sigma = min(noise.predicted_scale(step_size, steps), 1e100)
    smoothness = constants.smoothness
    q = contraction(step_size, smoothness, constants.strong_convexity)
    if noise.output == "last" and q < 1:
        decay = q ** (2 * steps)
        variance = step_size**2 * p * sigma**2 * (1 - decay) / (1 - q * q)
        return smoothness / 2 * (decay * radius**2 + variance)
    variance = p * sigma**2 + (constants.lipschitz**2 / b if b < task.n else 0.0)
    start = radius**2 / 2
    if not problem.is_convex and 0 < smoothness < math.inf:
        start = constants.lipschitz * radius / smoothness
    return start / (step_size * steps) + step_size * variance / 2
