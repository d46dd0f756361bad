"""Learning from a stream of pairs by descent: OnPairStrC and OnPairC (Huai 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, flag, integer, keep, keep_given, one_of
from pairdp.algorithms import printed
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.descent import regularized_radius
from pairdp.algorithms.noise import noise_to_signal
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import (
    Need,
    regularised,
    require_bounded,
    require_convex,
    require_smooth,
)
from pairdp.algorithms.task import Settings, Task
from pairdp.online.buffer import PartnerBuffer
from pairdp.online.descent_learner import DescentLearner, NoisyGradients, NoisyModels
from pairdp.online.learner import OnlineAlgorithm
from pairdp.privacy import GaussianMechanism, NoMechanism, Release, Sensitivity
from pairdp.privacy.bounds.stream_models import inverse_step_units, printed_steps, stream_drift
from pairdp.privacy.bounds.stream_schedule import StreamShape, stream_steps

Array = NDArray[np.float64]
GRADIENTS = "gradients on a stream of pairs"
MODELS = "models of a stream in units of their moves"
PRINTED = "models of a stream in units of 1/t"
_LARGEST_STEP = 1e100


Reading = Literal["gradients", "models"]


@dataclass(frozen=True)
class OnlineDescentSettings(Settings):
    """Where noise is added, the pairs of a step, and η of every step, or α, L and the largest step.

    ``burn_in`` is the number of random points that printed noise starts with.
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
    in the buffer, in both orders. There are two readings of Huai 2020, Algorithms 1 and 2:

    - ``noise="gradients"``: N(0, σ²I) is added to g_s, and the state is the released model. This
      needs neither smoothness nor convexity, and the privacy cost of the stream is that of one
      Gaussian release with sensitivity (D_h/2)√(1 + Σ1/j²) ≤ 0.6413·D_h, or about 1/b of that with
      batches of b (errata, H1).
    - ``noise="models"``: the state has no noise and is kept secret; each model is released with
      noise proportional to its sensitivity. The loss must be convex and smooth.

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
        α of the regulariser that is added to a problem without one. By default none for noise in
        gradients, and G/(B√n) for noise on models.
    step_size : float, optional
        η of every step for noise in gradients, the largest step for noise on models. By default
        min(2/(λt), 2/(L+λ)) for a regularised smooth problem, otherwise B/√(T(G² + pσ²)) for T
        steps.
    burn_in : bool
        Whether printed noise starts with the paper's random points. Without them the steps are
        those above, and the formula is used with T₁ = 0.
    name : str
        Name in certificates.

    Notes
    -----
    Printed noise (Algorithm 1): T₁ = max(16L²/α², 7) random points, then noise on models of
    σ_t² = 32G²(n-T₁)/(α²t²ρ), ρ + 2√(ρ ln(1/δ)) = ε.
    """

    buffer: int | None = None
    replacement: Literal["latest", "reservoir"] = "latest"
    batch_size: int = 1
    noise: Reading = "gradients"
    strong_convexity: float | None = None
    step_size: float | None = None
    burn_in: bool = True
    name: str = "Online descent on pairs"

    settings_type = OnlineDescentSettings
    is_printed: ClassVar[bool] = True
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
        flag("burn_in", self.burn_in)

    @property
    def needs(self) -> tuple[Need, ...]:
        """Bounded gradients; for noise on models also a convex and smooth loss."""
        more = (Need.CONVEX, Need.SMOOTH) if self.noise == "models" else ()
        return (*more, Need.LIPSCHITZ)

    def draft(self, task: Task) -> PlanDraft[OnlineDescentSettings]:
        """Decide the noise and the steps."""
        if task.problem.loss.label_bound is not None:
            raise ValueError(
                f"labels of a stream are classes, and those of {type(task.problem.loss).__name__} "
                "are numbers: use an algorithm that reads all records, such as NoisyGradientDescent"
            )
        if task.is_printed:
            return self._printed(task)
        return self._on_models(task) if self.noise == "models" else self._in_gradients(task)

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
        problem, reasons = regularised(self.name, task, self.strong_convexity)
        task = replace(task, problem=problem)
        shape, curvature = self._shape(task), _curvature(task)
        largest = {} if self.step_size is None else {"largest_step": self.step_size}
        inputs = {**shape, **curvature._asdict(), **largest, **task.diameter_input}
        inputs["record_diameter"] = _record_diameter(task, self.step_size)
        sensitivity = Sensitivity.of(MODELS, **inputs)
        release = _release("models in units of their moves", task, sensitivity, _steps(shape))
        settings = curvature.added_to(self._settings(task, "models"))
        settings = replace(settings, largest_step=self.step_size)
        reasons += ("steps are min(2/(αt), 2/(L+α)), which need no burn-in",)
        return PlanDraft((release,), settings, reasons, problem)

    def _printed(self, task: Task) -> PlanDraft[OnlineDescentSettings]:
        require_convex(self.name, task.problem)
        require_smooth(self.name, task.problem, "use certified noise in gradients")
        if self.buffer is not None or self.batch_size > 1:
            raise ValueError(
                "the printed noise is for one record per step, paired with all earlier ones: leave "
                "out buffer and batch_size, or use certified"
            )
        problem, reasons = regularised(self.name, task, self.strong_convexity)
        alpha = problem.regularization
        lipschitz = printed.huai2020.regularised_lipschitz(task, alpha)
        task = replace(task, problem=problem)
        curvature = _curvature(task)
        burn_in = printed.huai2020.burn_in(curvature.smoothness, alpha)
        random = math.ceil(burn_in) if self.burn_in else 0
        if random >= task.n:
            raise ValueError(
                f"the paper's burn-in T₁ = max(16L²/α², 7) = {burn_in:.4g} with L = "
                f"{curvature.smoothness:.4g} and α = {alpha:.4g} is at least as long as the stream "
                f"of {task.n} records: every model would be a random point. Use certified, which "
                "needs none; a stronger regularisation or a longer stream; or burn_in=False to "
                "study the printed noise without it"
            )
        inputs = {"n": task.n, "burn_in": random, **curvature._asdict(), **task.diameter_input}
        inputs["record_diameter"] = _record_diameter(task)
        sensitivity = Sensitivity.of(PRINTED, **inputs)
        scale = printed.huai2020.model_noise(lipschitz, alpha, task.n - random, task.budget)  # type: ignore[arg-type]
        release = Release(
            "models in units of 1/t",
            GaussianMechanism(sensitivity.value, scale, task.dimension * task.n),
            sensitivity,
            task.dimension * task.n,
        )
        settings = curvature.added_to(self._settings(task, "models"))
        settings = replace(settings, burn_in=random)
        omitted = "" if self.burn_in else " (omitted)"
        reasons += (
            "printed noise is added to models, not to the state",
            f"the paper's random burn-in{omitted} takes {burn_in:.4g} of {task.n} steps",
        )
        return PlanDraft((release,), settings, reasons, problem)

    def learner(
        self, plan: Plan[OnlineDescentSettings], generator: np.random.Generator
    ) -> DescentLearner:
        """Return the learner of a plan."""
        n, settings = plan.task.n, plan.settings
        shape = StreamShape(n, batch=settings.batch_size)
        sizes = (
            _step_sizes(plan.task, shape, settings.largest_step)
            if settings.step_size is None
            else np.full(shape.steps, settings.step_size)
        )
        buffer = PartnerBuffer(
            settings.buffer,
            settings.batch_size,
            plan.task.features,
            generator if settings.replacement == "reservoir" else None,
            n,
        )
        if settings.noise == "gradients":
            return NoisyGradients(plan, generator, buffer, sizes)
        (release,) = plan.certificate.releases
        inputs: dict[str, Any] = (
            {} if release.sensitivity is None else dict(release.sensitivity.inputs)
        )
        random = settings.burn_in
        if random is None:
            # A baseline without noise has no sensitivity bound.
            units = stream_drift(**inputs).moves() if inputs else np.zeros(shape.steps)
            return NoisyModels(plan, generator, buffer, sizes, units)
        if random:
            late = np.arange(random + 1, n + 1, dtype=np.float64)
            sizes[random:] = printed_steps(late, plan.problem.regularization)
        return NoisyModels(plan, generator, buffer, sizes, inverse_step_units(n), random)


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


def _record_diameter(task: Task, largest: float | None = None) -> float:
    """Return D_h with the rounding error of a stream, whose last step is the smallest."""
    sizes = _step_sizes(task, StreamShape(task.n), largest)
    radius = regularized_radius(task.problem)
    return task.problem.record_diameter(2 * task.n, radius, float(sizes[-1]), task.features)


def _step_sizes(task: Task, shape: StreamShape, largest: float | None) -> Array:
    """Return min(2/(αt), 2/(L+α), largest) of every step; a single first record takes none."""
    idle = int(shape.batch == 1)
    sizes = stream_steps(shape.steps + 1 - idle, *_curvature(task), largest or math.inf)
    return np.concatenate([np.zeros(idle), sizes])


ONPAIRSTRC = OnlineDescent(name="OnPairStrC (Huai 2020, Algorithm 1)")
"""Online pairwise GIGA, strongly convex."""

ONPAIRC = OnlineDescent(name="OnPairC (Huai 2020, Algorithm 2)")
"""Online pairwise GIGA, for convex problems."""

for _name, _algorithm in (("OnPairStrC", ONPAIRSTRC), ("OnPairC", ONPAIRC)):
    register_algorithm(_name, _algorithm, "stream", is_published=True)
