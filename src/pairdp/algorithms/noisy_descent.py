"""Gradient descent with noise at every step: Xue 2021, Kang 2021, Wang 2024, and mini-batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import STEPS, between, flag, integer, keep
from pairdp.algorithms.algorithm import Algorithm, PlanDraft
from pairdp.algorithms.descent import contraction
from pairdp.algorithms.kernels import WHAT, Steps, take_steps
from pairdp.algorithms.noise import add_noise
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.printed import kang2021, wang2024, wang2024_steps, xue2021
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.registry import register_algorithm
from pairdp.algorithms.requirements import Need, require_bounded, require_smooth
from pairdp.algorithms.settings import Settings
from pairdp.algorithms.signal import noise_to_signal
from pairdp.algorithms.task import Task
from pairdp.privacy import (
    FixedSizeSampling,
    GaussianMechanism,
    Mechanism,
    NoiseSource,
    NoMechanism,
    Release,
    Sensitivity,
)
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.problem import Problem
from pairdp.records import Records

Array = NDArray[np.float64]
_MOST_STEPS = 2000
_STEPS = tuple(sorted({round(10 ** (i / 12)) for i in range(40)}))


@dataclass(frozen=True)
class NoisyDescentSettings(Settings):
    """What is released, T, η, b, whether steps are projected, and which pairs if not all."""

    output: Literal["average", "last"]
    steps: int
    step_size: float
    batch_size: int
    projected: bool
    pairing: Literal["disjoint"] | None = None


@dataclass(frozen=True)
class NoisyGradientDescent(Algorithm[NoisyDescentSettings]):
    r"""Gradient descent whose every gradient gets Gaussian noise, projected at every step.

    A gradient moves by D_h/n when a record is replaced, and T of them compose exactly as
    Gaussians: σ = √T·(D_h/n)·nm(ε, δ) for anything made of the iterates (errata,
    X3). That holds for any loss, convex or not: each noisy gradient is a release of its own, taken
    at a parameter that earlier releases decide. When only the last iterate is released and steps
    contract, earlier steps are forgotten, and less noise may do (3.5); the smaller of the two is
    taken. Steps contract for a convex smooth loss alone, so a loss that is not convex is always
    paid for by composition, regularised or not.

    With ``batch_size`` b, each step draws b records without replacement and uses all pairs
    inside the batch; a record of the batch moves that gradient by D_h/b, and the draw hides
    which records were in it (accounted by privacy-loss distributions). This never needs
    smoothness or convexity.

    With ``pairing="disjoint"`` the b = 2m records are m pairs instead, neighbours in the drawn
    order, and the gradient is the mean of ½h(w;z,z') over them, with h(w;z,z') = ∇ℓ(w;z,z') +
    ∇ℓ(w;z',z). It moves by at most D_h/b too: a record is in one of the m pairs, whose ½h it moves
    by at most D_h/2, and (D_h/2)/m = D_h/b. So disjoint pairs cost O(b) work a step for the noise
    that all pairs need, and more variance of the draw. A batch of two has one pair, so that either
    pairing is Wang 2024's Algorithm 2, with the mean of both orders where the paper draws one. For
    a loss of one record there are no pairs, and a batch of one is their Algorithm 1. The average
    has the last iterate too, which theirs leaves out.

    Many small steps on the built-in losses of a score run in compiled code if numba is installed
    (``pip install pairdp[fast]``), with the same result to rounding; see
    `pairdp.algorithms.kernels`.

    Parameters
    ----------
    output : {"average", "last"}
        What is released: the average of w_0 … w_T, or w_T.
    steps : int, optional
        T; by default where predicted error and noise balance.
    step_size : float, optional
        η; by default 1/L, or less where the noise asks for it.
    batch_size : int, optional
        b; all records by default. At least 2 for a loss of pairs, and even for disjoint ones.
    pairing : {"all", "disjoint"}
        Which pairs of a batch count.
    regime : {"general", "low-noise"}, optional
        Where T and η come from if they are not given: the theorems of Wang 2024 for any problem
        or for one whose best parameters have no loss (see
        `pairdp.algorithms.printed.wang2024_steps`); by default the predicted error.
    projected : bool
        Whether steps are projected. Without, the loss must be Lipschitz everywhere.
    printed_rule : {"xue", "kang", "wang"}
        Whose printed noise: σ = 4G√(1.25·T·ln(1/δ))/(nε) (Xue 2021, Algorithm 2),
        8G√(T·ln(1/δ))/(nε) (Kang 2021, Theorem 1), or that of Wang 2024 for a batch of one pair
        or one record, where it exists (see `pairdp.algorithms.printed.wang2024`).
    printed_lipschitz : float, optional
        The G that a paper states, for its printed noise: Kang 2021 has 2 for ranking and 1
        for metric learning, where the truth is twice and four times that.
    name : str
        What certificates call it.
    """

    output: Literal["average", "last"] = "average"
    steps: int | None = None
    step_size: float | None = None
    batch_size: int | None = None
    projected: bool = True
    printed_rule: Literal["xue", "kang", "wang"] = "xue"
    printed_lipschitz: float | None = None
    name: str = "Gradient descent with gradient noise"
    pairing: Literal["all", "disjoint"] = "all"
    regime: wang2024_steps.Regime | None = None

    settings_type = NoisyDescentSettings
    is_printed: ClassVar[bool] = True
    needs_delta: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, known in (
            ("output", ("last", "average")),
            ("printed_rule", ("xue", "kang", "wang")),
            ("pairing", ("all", "disjoint")),
            ("regime", ("general", "low-noise", None)),
        ):
            if getattr(self, name) not in known:
                words = " or ".join(f'"{word}"' if word else "None" for word in known)
                raise ValueError(f"{name} must be {words}, got {getattr(self, name)!r}")
        if self.steps is not None:
            keep(self, "steps", integer("steps", self.steps))
        if self.batch_size is not None:
            keep(self, "batch_size", integer("batch_size", self.batch_size))
        for name in ("step_size", "printed_lipschitz"):
            if getattr(self, name) is not None:
                keep(self, name, between(name, getattr(self, name), *STEPS))
        flag("projected", self.projected)

    @property
    def needs(self) -> tuple[Need, ...]:
        """Bounded gradients, and nothing else."""
        return (Need.LIPSCHITZ,)

    def draft(self, task: Task) -> PlanDraft[NoisyDescentSettings]:
        """Decide steps, step size and noise."""
        problem = self._problem(task)
        self._check_batch(task)
        task = Task(problem, task.n, task.features, task.budget, task.calibration)
        step_size, steps, reasons = self._schedule(task)
        if not self.projected and problem.is_smooth:
            bend = problem.constants(task.n).smoothness
            if step_size * bend > 2 * (1 + 1e-12):
                raise ValueError(
                    f"{self.name} without projection diverges for steps above 2/L = "
                    f"{2 / bend:.6g}, got {step_size:.6g}: take smaller steps, or projected=True"
                )
        release, more = self._release(task, step_size, steps)
        settings = NoisyDescentSettings(
            self.output,
            steps,
            step_size,
            self.batch_size or task.n,
            self.projected,
            "disjoint" if self.pairing == "disjoint" else None,
        )
        return PlanDraft((release,), settings, (*reasons, *more), problem)

    def noise_to_signal(self, plan: Plan[NoisyDescentSettings]) -> float:
        """Return the noise of all gradients against their largest sum."""
        # The sensitivity is in units of gradients, which the diameter of the set does not bound.
        return noise_to_signal(plan.certificate.releases[0], plan.task.n)

    def _check_batch(self, task: Task) -> None:
        """Refuse a batch that is larger than the data, or that makes no pairs."""
        batch = self.batch_size or task.n
        if batch > task.n:
            raise ValueError(f"batch_size must be at most n = {task.n}, got {batch}")
        if not _is_of_pairs(task.problem):
            if self.pairing == "disjoint":
                raise ValueError("a loss of one record has no pairs: leave pairing as it is")
        elif batch == 1:
            raise ValueError("batch_size must be at least 2 for a loss of pairs, got 1")
        elif self.pairing == "disjoint" and batch % 2:
            which = "batch_size" if self.batch_size else "n, where batch_size is not given,"
            raise ValueError(
                f"disjoint pairs need an even batch, and {which} is {batch}: set "
                f"batch_size={batch - 1}"
            )

    def _problem(self, task: Task) -> Problem:
        """Return the problem as it is run: without projection, on unbounded parameters."""
        problem = task.problem
        if self.projected:
            return problem
        free = _free(problem)
        if not free.is_lipschitz:
            raise ValueError(
                f"{self.name} without projection needs a loss that is Lipschitz everywhere, "
                f"and {type(problem.loss).__name__} is not: set projected=True"
            )
        return free

    def _release(self, task: Task, step_size: float, steps: int) -> tuple[Release, list[str]]:
        batch = self.batch_size or task.n
        sampling = FixedSizeSampling(batch, task.n) if batch < task.n else None
        what = "noisy gradient" if self.output == "average" else "noisy gradient (all of them)"
        if task.budget is None:
            return Release(f"{self.output} iterate", NoMechanism(), None, task.dimension), []
        step = Sensitivity.of(
            task.problem.average, diameter=task.problem.record_diameter(batch), n=batch
        )
        if task.is_printed:
            scale = self._printed_scale(task, steps)
            mechanism = GaussianMechanism(step.value, scale)
        else:
            mechanism = GaussianMechanism.calibrate(
                task.budget, step.value, steps=steps, sampling=sampling
            )
        composed = Release(what, mechanism, step, task.dimension, steps, sampling)
        last = self._last_iterate(task, step_size, steps, sampling)
        if last is None or last.value >= step.value * math.sqrt(steps):
            return composed, []
        scale = (
            mechanism.scale
            if task.is_printed
            else GaussianMechanism.calibrate(task.budget, last.value).scale
        )
        only = Release("last iterate", GaussianMechanism(last.value, scale), last, task.dimension)
        return only, ["only the last iterate is released, which forgets earlier steps"]

    def _last_iterate(
        self, task: Task, step_size: float, steps: int, sampling: FixedSizeSampling | None
    ) -> Sensitivity | None:
        """Return the sensitivity of the last iterate alone, where the bound holds."""
        problem = task.problem
        if self.output != "last" or sampling is not None:
            return None
        if not (problem.is_convex and problem.is_smooth):  # else a step may part two runs
            return None
        if self.pairing == "disjoint":  # whose steps bend as one pair does, not as the risk
            return None
        constants = problem.constants(task.n)
        c = contraction(step_size, constants.smoothness, constants.strong_convexity)
        if c > 1:
            return None
        inputs = {
            "record_diameter": problem.record_diameter(
                task.n, step_size=step_size, features=task.features
            ),
            "n": task.n,
            "step_size": step_size,
            "contraction": c,
            "steps": steps,
        }
        diameter = problem.constraint.diameter(task.features)
        if math.isfinite(diameter):
            inputs["diameter"] = diameter
        return Sensitivity.of("last iterate of noisy gradient descent", **inputs)

    def _printed_scale(self, task: Task, steps: int) -> float:
        budget = task.budget
        lipschitz = self.printed_lipschitz or task.printed_lipschitz
        if budget is not None and self.printed_rule == "wang":
            drawn = 2 if _is_of_pairs(task.problem) else 1
            if self.batch_size != drawn:
                raise ValueError(
                    f"Wang 2024 print noise for batch_size={drawn} alone here: use certified"
                )
            return lipschitz * wang2024.gradient_noise(task.n, steps, budget, drawn).multiplier
        if budget is None or self.batch_size is not None or self.pairing != "all":
            raise ValueError("the papers print no formula for mini-batches: use certified")
        if self.printed_rule == "xue":
            return xue2021.gradient_noise(lipschitz, task.n, steps, budget)
        return kang2021.gradient_noise(lipschitz, task.n, steps, budget)

    def _schedule(self, task: Task) -> tuple[float, int, tuple[str, ...]]:
        """Return step size and steps; what is not given minimises a predicted error."""
        if self.steps is not None and self.step_size is not None:
            return self.step_size, self.steps, ()
        if self.regime is not None:
            chosen = wang2024_steps.schedule(task, self.regime, self.steps, self.step_size)
            return chosen.step_size, chosen.steps, chosen.reasons
        problem = task.problem
        if self.step_size is None:
            instead = "give step_size; the guarantee does not need smoothness"
            require_smooth(self.name, problem, instead)
        constants = problem.constants(task.n)
        choices = (
            [self.steps] if self.steps is not None else [t for t in _STEPS if t <= _MOST_STEPS]
        )
        full = 1 / constants.smoothness
        best = min(
            ((self._predicted(task, eta, t), t, eta) for t in choices for eta in self._sizes(full)),
            key=lambda found: found[0],
        )
        named = "steps" if self.step_size is not None else "step_size"
        if self.steps is None and self.step_size is None:
            named = "steps and step_size"
        verb = "minimises" if named in ("steps", "step_size") else "minimise"
        return (
            best[2],
            best[1],
            (f"{named} {verb.rstrip('s') if named == 'steps' else verb} the predicted error",),
        )

    def _sizes(self, full: float) -> list[float]:
        if self.step_size is not None:
            return [self.step_size]
        return [full * 2.0**-i for i in range(12)]

    def _predicted(self, task: Task, step_size: float, steps: int) -> float:
        r"""Return a rough bound on the excess risk: what is left of the start, plus noise.

        For the average B²/(2ηT) + ηpσ²/2; for the last iterate of a strongly convex problem
        (L/2)(q^{2T}B² + η²pσ²Σq^{2i}). A mini-batch adds its own variance, ηG²/(2b). Where the loss
        is not convex no excess risk is predictable, and the mean squared gradient over 2L takes
        its place, by the descent lemma at most GB/(ηTL) + ηpσ²/2: a start is at most GB above the
        least risk.
        """
        problem, constants = task.problem, task.problem.constants(task.n)
        require_bounded(self.name, problem, "to choose its steps (or give steps and step_size)")
        radius, p = problem.constraint.radius, task.dimension
        sigma = 0.0 if task.budget is None else self._rough_scale(task, step_size, steps)
        sigma = min(sigma, 1e100)  # squares of the noise of tiny budgets would overflow
        bend = constants.smoothness
        q = contraction(step_size, bend, constants.strong_convexity)
        if self.output == "last" and q < 1:
            kept = q ** (2 * steps)
            noise = step_size**2 * p * sigma**2 * (1 - kept) / (1 - q * q)
            return bend / 2 * (kept * radius**2 + noise)
        batch = self.batch_size or task.n
        drawn = constants.lipschitz**2 / batch if batch < task.n else 0.0
        ahead = radius**2 / 2
        if not problem.is_convex and 0 < bend < math.inf:
            ahead = constants.lipschitz * radius / bend
        return ahead / (step_size * steps) + step_size * (p * sigma**2 + drawn) / 2

    def _rough_scale(self, task: Task, step_size: float, steps: int) -> float:
        if task.budget is None:
            return 0.0
        batch = self.batch_size or task.n
        mu = gdp_mu(task.budget.epsilon, task.budget.delta)
        if batch < task.n:
            return 2 * task.problem.record_diameter(batch) * math.sqrt(steps) / (task.n * mu)
        last = self._last_iterate(task, step_size, steps, None)
        composed = math.sqrt(steps) * task.problem.sensitivity(task.n)
        return min(composed, math.inf if last is None else last.value) / mu

    def execute(
        self,
        plan: Plan[NoisyDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the average or the last of the noisy iterates."""
        problem, settings = plan.problem, plan.settings
        step_size, steps = settings.step_size, settings.steps
        mechanism: Mechanism = plan.certificate.releases[0].mechanism
        batch = self.batch_size or records.n
        of_pairs = _is_of_pairs(problem)
        paired = of_pairs and (self.pairing == "disjoint" or batch == 2)
        if paired or (not of_pairs and batch < records.n):
            point, total = take_steps(
                Steps(problem, records, mechanism, step_size, steps, batch, paired), noise, progress
            )
            return total / (steps + 1) if self.output == "average" else point
        generator, draws = noise.stream("gradient noise"), noise.stream("batches")
        all_pairs = problem.risk(records)
        point = problem.constraint.initial(records.features)
        total = point.copy()
        for _ in progress.steps(steps, WHAT):
            of_batch = all_pairs
            if batch < records.n:
                drawn = draws.choice(records.n, batch, replace=False, shuffle=False)
                of_batch = problem.risk(records.rows(drawn))
            noisy = add_noise(mechanism, of_batch.gradient(point), generator)
            point = problem.constraint.project(point - step_size * (noisy + problem.pull(point)))
            total += point
        return total / (steps + 1) if self.output == "average" else point


def _is_of_pairs(problem: Problem) -> bool:
    """Return whether the loss is of pairs; else it is of one record."""
    return problem.average == "average over pairs"


def _free(problem: Problem) -> Problem:
    from pairdp.constraints import SymmetricMatrices, Unconstrained

    free = SymmetricMatrices() if problem.loss.matrix else Unconstrained()
    return replace(problem, constraint=free)


DPGDC2 = register_algorithm(
    "DPGDC2",
    NoisyGradientDescent(output="average", name="DPGDC2 (Xue 2021, Algorithm 2)"),
    is_published=True,
)
"""Gradient descent with gradient noise, average released."""

KANG = register_algorithm(
    "Kang2021",
    NoisyGradientDescent(
        output="last", printed_rule="kang", name="Gradient perturbation (Kang 2021, Algorithm 1)"
    ),
    is_published=True,
)
"""Gradient descent with gradient noise, last iterate released."""

WANG_PAIRWISE = register_algorithm(
    "Wang2024Pairwise",
    NoisyGradientDescent(
        output="average",
        batch_size=2,
        pairing="disjoint",
        regime="general",
        printed_rule="wang",
        name="DP-SGD-pairwise (Wang 2024, Algorithm 2)",
    ),
    is_published=True,
)
"""Steps on one pair with gradient noise, average released."""

WANG_POINTWISE = register_algorithm(
    "Wang2024Pointwise",
    NoisyGradientDescent(
        output="average",
        batch_size=1,
        regime="general",
        printed_rule="wang",
        name="DP-SGD (Wang 2024, Algorithm 1)",
    ),
    "records",
    is_published=True,
)
"""Steps on one record with gradient noise, average released; for losses of one record."""
