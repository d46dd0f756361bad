"""Learning from a stream of pairs with noise in every gradient: OnPairStrC and OnPairC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import keep, positive, whole
from pairdp.algorithms.base import Algorithm, Draft, Outcome, Plan
from pairdp.algorithms.progress import Progress
from pairdp.algorithms.requirements import Need, require_bounded
from pairdp.algorithms.task import Task
from pairdp.online.session import OnlineSession
from pairdp.privacy import GaussianMechanism, NoiseSource, NoMechanism, Release, Sensitivity
from pairdp.records import Records

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OnlineDescent(Algorithm):
    r"""A record arrives, meets the earlier ones, and the updated model is released.

    .. math::
        w_t = Π\Big(w_{t-1} - η_t\Big[\frac1{m_t}\sum_j g(w_{t-1}; z_t, z_j) + N(0, s^2 I) +
        λ(w_{t-1} - w_0)\Big]\Big)

    over the m_t earlier records that the buffer holds, g the mean of both orders of a pair. The
    noise is in the gradient and the state is what was released (Huai 2020, Algorithms 1 and 2, read
    so), so no smoothness or convexity is needed, and all n models together cost one Gaussian
    release of sensitivity (D_h/2)√(1 + Σ1/j²) ≤ 0.6413·D_h (privacy-constants 5.1).

    Parameters
    ----------
    buffer : int, optional
        How many records are kept, the latest; all of them by default.
    step_size : float, optional
        η of every step. By default min(2/(λt), 2/(L+λ)) for a regularised smooth problem, else
        B/√(n(G² + ps²)).
    name : str
        What certificates call it.
    """

    buffer: int | None = None
    step_size: float | None = None
    name: str = "Online descent on pairs"

    needs_delta: ClassVar[bool] = True
    only_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.buffer is not None:
            keep(self, "buffer", whole("buffer", self.buffer))
        if self.step_size is not None:
            keep(self, "step_size", positive("step_size", self.step_size))

    @property
    def needs(self) -> tuple[Need, ...]:
        """Bounded gradients, and nothing else."""
        return (Need.LIPSCHITZ,)

    def draft(self, task: Task) -> Draft:
        """Decide the noise and the steps."""
        if task.is_printed:
            raise ValueError(f"{self.name} has no printed noise: use certified")
        release = self._release(task)
        step_size, reasons = self._step_size(task, release)
        settings = {
            "buffer": task.n if self.buffer is None else min(self.buffer, task.n),
            "step_size": step_size,
            "decreasing": step_size == 0,
        }
        return Draft((release,), settings, reasons)

    def _release(self, task: Task) -> Release:
        name = "noisy gradients of the stream"
        if task.budget is None:
            return Release(name, NoMechanism(), None, task.dimension)
        # A step averages over at most n pairs, whose rounding counts as that of n records.
        inputs: dict[str, float | int] = {
            "one_record": task.problem.one_record(task.n),
            "n": task.n,
        }
        if self.buffer is not None:
            inputs["buffer"] = self.buffer
        moved = Sensitivity.of("gradients on a stream of pairs", **inputs)
        mechanism = GaussianMechanism.calibrate(task.budget, moved.value)
        return Release(name, mechanism, moved, task.dimension)

    def _step_size(self, task: Task, release: Release) -> tuple[float, tuple[str, ...]]:
        """Return a constant step size, 0 for decreasing steps, and why."""
        if self.step_size is not None:
            return self.step_size, ()
        problem = task.problem
        if problem.is_strongly_convex and problem.is_smooth:
            return 0.0, ("steps are min(2/(λt), 2/(L+λ))",)
        require_bounded(self.name, problem, "to choose its step size (or give step_size)")
        noise = getattr(release.mechanism, "scale", 0.0)
        lipschitz = problem.loss.lipschitz(problem.domain())
        size = math.sqrt(lipschitz**2 + task.dimension * noise**2)
        eta = problem.constraint.radius / (size * math.sqrt(task.n))
        return eta, ("step_size is that of least regret, B/√(n(G² + ps²))",)

    def execute(
        self, plan: Plan, records: Records, noise: NoiseSource, progress: Progress
    ) -> Outcome:
        """Return the last model of the stream, and all of them."""
        session = OnlineSession(plan, noise)
        models = np.empty((records.n, *session.parameters.shape))
        for t in progress.steps(records.n, "online descent"):
            models[t] = session.learn_records(records.part(slice(t, t + 1)))
        return Outcome(session.parameters, {"models": models})
