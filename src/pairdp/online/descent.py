"""Learning from a stream of pairs by descent: OnPairStrC, OnPairC (Huai 2020), OnPairGradient."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, integer, keep, keep_given, one_of
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.descent import regularized_radius
from pairdp.algorithms.noise import noise_to_signal
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import (
    Need,
    Regularizer,
    regularised,
    require_bounded,
    require_strongly_convex,
)
from pairdp.algorithms.task import Settings, Task
from pairdp.online.buffer import PartnerBuffer
from pairdp.online.descent_learner import DescentLearner, NoisyGradients, NoisyModels
from pairdp.online.learner import OnlineAlgorithm
from pairdp.privacy import GaussianMechanism, NoMechanism, Release, Sensitivity
from pairdp.privacy.bounds.stream_models import inverse_step_units, stream_drift
from pairdp.privacy.bounds.stream_schedule import StreamShape, late_steps, stream_steps
from pairdp.problem import Problem

Array = NDArray[np.float64]
GRADIENTS = "gradients on a stream of pairs"
MODELS = "models of a stream in units of their moves"
PRINTED = "models of a stream in units of 1/t"
_LARGEST_STEP = 1e100


Reading = Literal["gradients", "models"]


@dataclass(frozen=True)
class OnlineDescentSettings(Settings):
    """Where noise is added, the pairs of a step, and η of every step, or α, L and the largest step.

    ``burn_in`` is the number of random points before the first step, where noise is proportional
    to 1/t.
    """

    noise: Reading
    buffer: int
    replacement: Literal["latest", "reservoir"]
    batch_size: int
    step_size: float | None = None
    strong_convexity: float | None = None
    smoothness: float | None = None
    largest_step: float | None = None
    burn_in: int | None = None


@dataclass(frozen=True)
class OnlineDescent(OnlineAlgorithm[OnlineDescentSettings]):
    r"""Online descent: new records are paired with earlier ones, and every model is released.

    .. math::
        w_s = Π\big(w_{s-1} - η_s[g_s(w_{s-1}) + λ(w_{s-1} - w_0)]\big),

    where g_s is the average over the pairs of the records of step s with each other and with those
    in the buffer, in both orders.

    - ``noise="models"``: the structure of Huai 2020, Algorithms 1 and 2 ("OnPairStrC", "OnPairC").
      The state has no noise and is kept secret; each model is released with noise proportional to
      its sensitivity. The loss must be convex and smooth.
    - ``noise="gradients"`` ("OnPairGradient"): N(0, σ²I) is added to g_s, and the state is the
      released model. This needs neither smoothness nor convexity, and the privacy cost of the
      stream is that of one Gaussian release with sensitivity (D_h/2)√(1 + Σ1/j²) ≤ 0.6413·D_h, or
      about 1/b of that with batches of b (errata, H1).

    Parameters
    ----------
    buffer : int, optional
        Number of earlier records that are kept; all of them by default.
    replacement : {"latest", "reservoir"}
        Whether the latest records are kept or a random sample of all. A record may stay in the
        sample until the end, which needs more noise if the stream is much longer than the squared
        buffer size.
    batch_size : int
        b, the number of records per step.
    noise : {"gradients", "models"}
        Where noise is added.
    strong_convexity : float, optional
        α of the regulariser that is added. By default none for noise in gradients; for noise on
        models n^(-1/4) with "theorem", otherwise G/(B√n).
    regularizer : {"needed", "theorem", "none"}
        Whether noise on models adds a regulariser: to a problem that is not strongly convex; to
        every problem, as in Algorithm 2; or to none, so that such a problem is refused, as in
        Algorithm 1.
    step_size : float, optional
        η of every step for noise in gradients, the largest step for noise on models. By default
        min(2/(λt), 2/(L+λ)) for a regularised smooth problem, otherwise B/√(T(G² + pσ²)) for T
        steps.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise (Algorithm 1) is σ_t² = 32G²(n-T₁)/(α²t²ρ) on models, ρ + 2√(ρ ln(1/δ)) = ε. With
    ``schedule="tuned"`` there is no burn-in, T₁ = 0.

    ``schedule="theorem"``: T₁ = max(16L²/α², 7) random points, then η_t = (t-1)/(t-2)·2/(αt), with
    noise proportional to 1/t on the models. The regulariser of Algorithm 2 is around a random point
    of the set, which is the statistic "center" of a run.
    """

    buffer: int | None = None
    replacement: Literal["latest", "reservoir"] = "latest"
    batch_size: int = 1
    noise: Reading = "gradients"
    strong_convexity: float | None = None
    regularizer: Regularizer = "needed"
    step_size: float | None = None
    name: str = "Online descent on pairs"

    settings_type = OnlineDescentSettings
    is_printed: ClassVar[bool] = True
    has_theorem: ClassVar[bool] = True
    needs_delta: ClassVar[bool] = True
    instead: ClassVar[str] = 'use noise="gradients", which needs no smoothness'
    only_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("noise", self.noise, "gradients", "models")
        one_of("replacement", self.replacement, "latest", "reservoir")
        if self.replacement == "reservoir" and self.buffer is None:
            raise ValueError("a reservoir needs a limited size: give buffer")
        keep_given(self, "buffer", integer)
        keep(self, "batch_size", integer("batch_size", self.batch_size))
        keep_given(self, "strong_convexity", between, *STEPS)
        keep_given(self, "step_size", between, *STEPS)
        if self.step_size is not None and self.step_size > _LARGEST_STEP:
            raise ValueError(f"step_size must be at most {_LARGEST_STEP:g}, got {self.step_size!r}")
        one_of("regularizer", self.regularizer, "needed", "theorem", "none")

    @property
    def needs(self) -> tuple[Need, ...]:
        """Bounded gradients; for noise on models also a convex and smooth loss."""
        if self.noise == "gradients":
            return (Need.LIPSCHITZ,)
        strongly = (Need.STRONGLY_CONVEX,) if self.regularizer == "none" else ()
        return (Need.CONVEX, Need.SMOOTH, Need.LIPSCHITZ, *strongly)

    def check(self, task: Task) -> None:
        """Raise ValueError if the task lacks what the algorithm needs."""
        if self.regularizer == "none" and task.problem.is_convex:
            require_strongly_convex(
                self.name, task.problem, "use OnPairC, which adds a regulariser"
            )
        super().check(task)

    def draft(self, task: Task) -> PlanDraft[OnlineDescentSettings]:
        """Decide the noise and the steps."""
        if task.problem.loss.label_bound is not None:
            raise ValueError(
                f"labels of a stream are classes, and those of {type(task.problem.loss).__name__} "
                "are numbers: use an algorithm that reads all records, such as NoisyGradientDescent"
            )
        if self.noise == "models":
            return self._on_models(task)
        if task.is_printed or task.follows_theorem:
            raise ValueError(
                f"{self.name} adds noise to gradients, and Huai 2020 states noise on models: use "
                '"OnPairStrC", "OnPairC" or noise="models"'
            )
        return self._in_gradients(task)

    def noise_to_signal(self, plan: Plan[OnlineDescentSettings]) -> float:
        """Return the ratio of the noise of all steps to their largest signal."""
        # The sensitivity is that of steps, which the diameter of the set does not bound.
        (release,) = plan.certificate.releases
        return noise_to_signal(release, plan.task.n)

    def _shape(self, task: Task) -> dict[str, float | int]:
        """Return the inputs of a bound that describe the pairs of a step, without defaults."""
        inputs: dict[str, float | int] = {"n": task.n}
        if self.buffer is not None and self.buffer < task.n:
            inputs["buffer"] = self.buffer
            if self.replacement == "reservoir":
                inputs["reservoir"] = 1
        if self.batch_size > 1:
            inputs["batch"] = min(self.batch_size, task.n)
        return inputs

    def _settings(self, task: Task, noise: Reading) -> OnlineDescentSettings:
        buffer = task.n if self.buffer is None else min(self.buffer, task.n)
        batch_size = min(self.batch_size, task.n)
        return OnlineDescentSettings(noise, buffer, self.replacement, batch_size)

    def _in_gradients(self, task: Task) -> PlanDraft[OnlineDescentSettings]:
        reasons: tuple[str, ...] = ()
        problem = task.problem
        if self.strong_convexity is not None:
            problem, reasons = regularised(self.name, task, self.strong_convexity)
            task = replace(task, problem=problem)
        shape = self._shape(task)
        steps = _steps(shape)
        # The rounding error of two averages over at most n pairs.
        inputs = {"record_diameter": problem.record_diameter(2 * task.n), **shape}
        release = _release(
            "noisy gradients of the stream", task, Sensitivity.of(GRADIENTS, **inputs), steps
        )
        settings = self._settings(task, "gradients")
        if self.step_size is not None:
            if not problem.is_bounded and self.step_size * problem.regularization > 2:
                raise ValueError(
                    f"steps of {self.step_size:g} diverge on an unbounded set: use at most 2/λ = "
                    f"{2 / problem.regularization:g}"
                )
            settings = replace(settings, step_size=self.step_size)
        elif problem.is_strongly_convex and problem.is_smooth:
            settings = _curvature(task).added_to(settings)
            reasons += ("steps are min(2/(λt), 2/(L+λ))",)
        else:
            require_bounded(self.name, problem, "to choose its step size (or give step_size)")
            scale = getattr(release.mechanism, "scale", 0.0)
            lipschitz = problem.loss.lipschitz(problem.domain())
            size = math.sqrt(lipschitz**2 + task.dimension * scale**2)
            step_size = problem.constraint.radius / (size * math.sqrt(steps))
            settings = replace(settings, step_size=step_size)
            reasons += ("step_size minimises the regret bound, B/√(T(G² + pσ²))",)
        return PlanDraft((release,), settings, reasons, problem)

    def _on_models(self, task: Task) -> PlanDraft[OnlineDescentSettings]:
        problem, reasons = self._regularised(task)
        solved = replace(task, problem=problem)
        curvature = _curvature(solved)
        settings = curvature.added_to(self._settings(task, "models"))
        if task.is_printed or task.follows_theorem:
            return self._as_in_paper(task, solved, settings, reasons)
        shape = self._shape(task)
        largest = {} if self.step_size is None else {"largest_step": self.step_size}
        inputs = {**shape, **curvature._asdict(), **largest, **task.diameter_input}
        last_step = float(_step_sizes(solved, StreamShape(task.n), self.step_size)[-1])
        radius = regularized_radius(problem)
        inputs["record_diameter"] = _record_diameter(task, problem, last_step, radius)
        sensitivity = Sensitivity.of(MODELS, **inputs)
        release = _release("models in units of their moves", task, sensitivity, _steps(shape))
        settings = replace(settings, largest_step=self.step_size)
        reasons += ("steps are min(2/(αt), 2/(L+α)), which need no burn-in",)
        return PlanDraft((release,), settings, reasons, problem)

    def _as_in_paper(
        self,
        task: Task,
        solved: Task,
        settings: OnlineDescentSettings,
        reasons: tuple[str, ...],
    ) -> PlanDraft[OnlineDescentSettings]:
        """Decide noise proportional to 1/t, with the burn-in of the theorem or without."""
        if self.buffer is not None or self.batch_size > 1 or self.step_size is not None:
            raise ValueError(
                "the paper's noise and schedule are for one record per step, paired with all "
                "earlier ones: leave out buffer, batch_size and step_size, or use certified noise "
                'and schedule="tuned"'
            )
        problem, n = solved.problem, task.n
        curvature = _curvature(solved)
        random, center = 0, problem.center
        radius: float | None = regularized_radius(problem)  # starting at zero
        departures: tuple[str, ...] = ()
        if task.follows_theorem:
            require_bounded(self.name, problem, "to draw random points in it")
            random = printed.huai2020.theorem_burn_in(
                n, lambda records: self._regularised(replace(task, n=records))[0]
            )
            departures = printed.huai2020.departures(
                task,
                problem,
                self.regularizer,
                self.strong_convexity,
                printed.huai2020.ONLINE_POWER,
            )
            if self.regularizer == "theorem":
                center = _farthest(problem, task.features)
            last_step, radius = float(late_steps(n, *curvature, random)[-1]), None
        else:
            omitted = printed.huai2020.burn_in(curvature.smoothness, curvature.strong_convexity)
            reasons += (f"the paper's random burn-in of {omitted:.4g} steps is omitted",)
            last_step = float(_step_sizes(solved, StreamShape(n), None)[-1])
        no_feedback = (
            'line 13 of Algorithm 1, "Output w_t = argmin …", can be read to replace w_t: here '
            "noise is added to released models, and the next step starts from w_t without noise"
        )
        if not task.follows_theorem:
            reasons += (no_feedback,)
        elif task.budget is not None:
            departures += (no_feedback,)
        inputs = {"n": n, "burn_in": random, **curvature._asdict(), **task.diameter_input}
        inputs["record_diameter"] = _record_diameter(
            task, replace(problem, center=center), last_step, radius
        )
        name, sensitivity = "models in units of 1/t", Sensitivity.of(PRINTED, **inputs)
        if task.is_printed:
            added = problem.regularization - task.problem.regularization
            lipschitz = printed.huai2020.regularised_lipschitz(task, added)
            scale = printed.huai2020.model_noise(
                lipschitz,
                problem.regularization,
                n - random,
                task.budget,  # type: ignore[arg-type]
            )
            dimension = task.dimension * (n - random)
            mechanism = GaussianMechanism(sensitivity.value, scale, dimension)
            release = Release(name, mechanism, sensitivity, dimension)
        else:
            release = _release(name, task, sensitivity, n - random)
        settings = replace(settings, burn_in=random)
        return PlanDraft((release,), settings, reasons, problem, departures)

    def _regularised(self, task: Task) -> tuple[Problem, tuple[str, ...]]:
        power = printed.huai2020.ONLINE_POWER
        return regularised(self.name, task, self.strong_convexity, self.regularizer, power)

    def random_share(self, plan: Plan[OnlineDescentSettings]) -> float:
        """Return the share of the regulariser that is around a random point."""
        if self.regularizer != "theorem" or not plan.task.follows_theorem:
            return 0.0
        alpha = self.strong_convexity or plan.task.n**-printed.huai2020.ONLINE_POWER
        return min(1.0, alpha / plan.problem.regularization)

    def step_sizes(self, plan: Plan[OnlineDescentSettings]) -> Array:
        """Return η of every step; 0 at steps without one."""
        n, settings = plan.task.n, plan.settings
        if settings.burn_in:
            return late_steps(n, *_curvature(plan.task), settings.burn_in)
        shape = StreamShape(n, batch=settings.batch_size)
        if settings.step_size is None:
            return _step_sizes(plan.task, shape, settings.largest_step)
        return np.full(shape.steps, settings.step_size)

    def units(self, plan: Plan[OnlineDescentSettings]) -> Array:
        """Return what the noise on each model is multiplied by, for noise on models."""
        if plan.settings.burn_in is not None:
            return inverse_step_units(plan.task.n)
        (release,) = plan.certificate.releases
        if release.sensitivity is None:  # a baseline without noise
            return np.zeros(StreamShape(plan.task.n, batch=plan.settings.batch_size).steps)
        inputs: dict[str, Any] = dict(release.sensitivity.inputs)
        return stream_drift(**inputs).moves()

    def learner(
        self, plan: Plan[OnlineDescentSettings], generator: np.random.Generator
    ) -> DescentLearner:
        """Return the learner of a plan."""
        settings, sizes = plan.settings, self.step_sizes(plan)
        buffer = PartnerBuffer(
            settings.buffer,
            settings.batch_size,
            plan.task.features,
            generator if settings.replacement == "reservoir" else None,
            plan.task.n,
        )
        if settings.noise == "gradients":
            return NoisyGradients(plan, generator, buffer, sizes)
        share = self.random_share(plan)
        units, random = self.units(plan), settings.burn_in or 0
        return NoisyModels(plan, generator, buffer, sizes, units, random, share)


def _release(name: str, task: Task, sensitivity: Sensitivity, steps: int) -> Release:
    dimension = task.dimension * steps
    if task.budget is None:
        return Release(name, NoMechanism(), None, dimension)
    mechanism = GaussianMechanism.calibrate(task.budget, sensitivity.value, dimension=dimension)
    return Release(name, mechanism, sensitivity, dimension)


def _steps(shape: dict[str, Any]) -> int:
    return StreamShape(shape["n"], batch=shape.get("batch", 1)).steps


class _Curvature(NamedTuple):
    """α and L of a regularised problem."""

    strong_convexity: float
    smoothness: float

    def added_to(self, settings: OnlineDescentSettings) -> OnlineDescentSettings:
        return replace(settings, strong_convexity=self.strong_convexity, smoothness=self.smoothness)


def _curvature(task: Task) -> _Curvature:
    alpha = task.problem.regularization
    return _Curvature(alpha, task.problem.loss.smoothness(task.problem.domain()) + alpha)


def _record_diameter(task: Task, problem: Problem, last_step: float, radius: float | None) -> float:
    """Return D_h with the rounding error of a stream, whose last step is the smallest."""
    return problem.record_diameter(2 * task.n, radius, last_step, task.features)


def _farthest(problem: Problem, features: int) -> Array:
    """Return a centre of the largest norm that a mean of a random point and of w₀ may have."""
    point = problem.constraint.initial(features)
    radius = max(problem.constraint.radius, float(np.linalg.norm(problem.center)))
    point[(0,) * point.ndim] = radius
    return point


def _step_sizes(task: Task, shape: StreamShape, largest: float | None) -> Array:
    """Return min(2/(αt), 2/(L+α), largest) of every step; a single first record takes none."""
    idle = int(shape.batch == 1)
    sizes = stream_steps(shape.steps + 1 - idle, *_curvature(task), largest or math.inf)
    return np.concatenate([np.zeros(idle), sizes])


ONPAIRSTRC = register_algorithm(
    "OnPairStrC",
    OnlineDescent(noise="models", regularizer="none", name="OnPairStrC (Huai 2020, Algorithm 1)"),
    "stream",
    is_published=True,
)
"""Online pairwise GIGA for strongly convex problems, with noise on models."""

ONPAIRC = register_algorithm(
    "OnPairC",
    OnlineDescent(noise="models", regularizer="theorem", name="OnPairC (Huai 2020, Algorithm 2)"),
    "stream",
    is_published=True,
)
"""Online pairwise GIGA for convex problems, with a regulariser of α = n^(-1/4)."""

ONPAIRGRADIENT = register_algorithm(
    "OnPairGradient", OnlineDescent(name="OnPairGradient, noise in gradients"), "stream"
)
"""The same descent with noise in gradients: less noise, and no convexity needed."""
