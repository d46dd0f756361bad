"""Mistakes that are easily made, written out so that audits can be seen to find them.

Nothing here is private. The claims are those that the mistaken code would make.
``python -m tests.audit.broken`` prints what audits find, the table of docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import positive
from pairdp.algorithms import Algorithm, GradientDescent, NoisyGradientDescent, Plan, Task
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.noise import add_noise
from pairdp.algorithms.noisy_descent import NoisyDescentSettings
from pairdp.algorithms.plan import Progress, RunResult
from pairdp.algorithms.requirements import Need
from pairdp.algorithms.task import Settings
from pairdp.audit import AuditReport, audit, audit_plan
from pairdp.audit.neighbours import Neighbours
from pairdp.privacy import Budget, GaussianMechanism, NoiseSource, NoMechanism, Release
from pairdp.privacy.accounting.gaussian import gdp_mu
from pairdp.records import Records
from tests.audit.cases import RANKING, TIGHT, D, N

Array = NDArray[np.float64]
Data = tuple[NDArray[Any], NDArray[Any]]


def with_noise_scaled(plan: Plan, factor: float) -> Plan:
    """Return the plan with so many times its noise, and its claim as it was: a wrong formula."""
    positive("factor", factor)
    releases = []
    for release in plan.certificate.releases:
        mechanism: Any = release.mechanism
        scaled = replace(mechanism, scale=factor * mechanism.scale)
        releases.append(replace(release, mechanism=scaled))
    return replace(plan, certificate=replace(plan.certificate, releases=tuple(releases)))


@dataclass(frozen=True)
class QuietNoise(Algorithm):
    """Another algorithm whose code draws less noise than its certificate says."""

    algorithm: Algorithm
    factor: float = 0.5
    name: str = "An algorithm with quiet noise"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the algorithm needs."""
        return self.algorithm.needs

    def draft(self, task: Task) -> PlanDraft:
        """Decide as the algorithm does."""
        return self.algorithm.draft(task)

    def settings_from(self, recorded: Mapping[str, Any]) -> Settings:
        """Return the settings of the algorithm."""
        return self.algorithm.settings_from(recorded)

    def execute(
        self, plan: Plan, records: Any, noise: NoiseSource, progress: Progress
    ) -> Array | RunResult:
        """Run the algorithm with mechanisms of less noise."""
        releases = tuple(_quieter(release, self.factor) for release in plan.certificate.releases)
        quiet = replace(plan.certificate, releases=releases)
        return self.algorithm.execute(replace(plan, certificate=quiet), records, noise, progress)


def _quieter(release: Release, factor: float) -> Release:
    # Copies, since audits put mechanisms of their own class in place of the plan's.
    changed, mechanism = copy(release), copy(release.mechanism)
    object.__setattr__(mechanism, "scale", factor * mechanism.scale)  # type: ignore[union-attr]
    object.__setattr__(changed, "mechanism", mechanism)
    return changed


def without_noise(plan: Plan) -> Plan:
    """Return the plan without noise and with its claim: Xue 2021, Algorithm 4, line 6 as printed.

    For δ = 0 that line returns the average iterate and forgets the noise it has drawn.
    """
    releases = tuple(
        Release(r.name, NoMechanism(), None, r.dimension, r.count, None, r.part)
        for r in plan.certificate.releases
    )
    return replace(plan, certificate=replace(plan.certificate, releases=releases))


@dataclass(frozen=True)
class RepeatedNoise(NoisyGradientDescent):
    """Gradient descent on all pairs that adds the same noise at every step.

    The noise cancels in the difference of two noisy gradients.
    """

    def execute(
        self,
        plan: Plan[NoisyDescentSettings],
        records: Records,
        noise: NoiseSource,
        progress: Progress,
    ) -> Array:
        """Return the average or the last of the iterates."""
        problem, settings = plan.problem, plan.settings
        step_size, steps = settings.step_size, settings.steps
        mechanism = plan.certificate.releases[0].mechanism
        key = int(noise.stream("gradient noise").integers(2**62))
        risk, point = problem.risk(records), problem.constraint.initial(records.features)
        total = point.copy()
        for _ in progress.steps(steps, "repeated noise"):
            noisy = add_noise(mechanism, risk.gradient(point), np.random.default_rng(key))
            point = problem.projected_step(point, step_size, noisy)
            total += point
        return total / (steps + 1) if self.output == "average" else point


@dataclass(frozen=True)
class PrivateNormaliser:
    """The mean difference of positives and negatives, with noise for the normaliser n(n-1).

    The sum over pairs is divided by n₊·n₋, as the AUC is, which is private. Where a class has one
    record, replacing that moves the mean by 2R, and not by 2R/n.
    """

    budget: Budget
    data_norm: float = 1.0

    def __call__(self, data: Data, seed: int) -> Array:
        """Return the noisy mean difference of records that are within the bound."""
        x, y = data
        means = [x[y == label].sum(axis=0) / max(1, int(np.sum(y == label))) for label in (1, -1)]
        noise = GaussianMechanism.calibrate(
            self.budget, 2 * self.data_norm / len(y), dimension=x.shape[1]
        )
        return noise.release(means[0] - means[1], np.random.default_rng(seed))

    def neighbours(self, n: int) -> Neighbours:
        """Return data with one positive, which moves."""
        x, y = np.tile([-self.data_norm, 0.0], (n, 1)), np.full(n, -1.0)
        x[0], y[0] = [self.data_norm, 0.0], 1.0
        return Neighbours(x, y, 0, np.array([-self.data_norm, 0.0]), 1.0)


@dataclass(frozen=True)
class StopsWhenFlat:
    """Descent on `TightLoss` that stops once the gradient is small, with noise for T steps.

    T steps of any data set drift by at most ηT·4G/n from those of a neighbour, which is what the
    noise is for. But when to stop is a decision of the data: one neighbour may stop at once and
    the other go on to the end.
    """

    budget: Budget
    flat: float = 0.55
    travel: float = 1.0

    def __call__(self, data: Data, seed: int) -> Array:
        """Return the noisy end of the descent."""
        _, y = data
        n = len(y)
        gradient = (float(y.sum()) ** 2 - n) / (n * (n - 1))
        end = 0.0 if abs(gradient) < self.flat else -self.travel * gradient
        scale = self.travel * 4 / n / gdp_mu(self.budget.epsilon, self.budget.delta)
        return np.array([end + np.random.default_rng(seed).normal(0.0, scale)])

    def neighbours(self, n: int = 20) -> Neighbours:
        """Return data at the edge of stopping: three labels of twenty differ, or two."""
        y = np.ones(n)
        y[: max(2, 3 * n // 20)] = -1.0
        return Neighbours(np.zeros((n, 1)), y, 0, np.zeros(1), 1.0)


def audits(runs: int = 4000) -> dict[str, AuditReport]:
    """Return an audit of every mistake above."""
    budget, sound = Budget(1.0, 1e-5), GradientDescent(steps=2)
    few: dict[str, Any] = {"steps": 2, "step_size": 0.2}
    scaled = with_noise_scaled(sound.plan(TIGHT, N, D, budget), 0.5)
    quiet = QuietNoise(sound).plan(TIGHT, N, D, Budget(8.0, 1e-5))
    repeated = RepeatedNoise(**few).plan(RANKING, N, D, budget)
    line_6 = GradientDescent("average", **few).plan(TIGHT, N, D, Budget(1.0))
    normaliser, stops = PrivateNormaliser(budget), StopsWhenFlat(budget)
    return {
        "half the noise, by formula": audit_plan(scaled, runs=10_000_000),
        "half the noise, in the code": audit_plan(quiet, full=True, runs=runs),
        "the same noise at two steps": audit_plan(repeated, full=True, runs=runs),
        "normaliser n₊·n₋": audit(normaliser, *normaliser.neighbours(20).both(), budget, runs=runs),
        "stopping rule of the data": audit(stops, *stops.neighbours().both(), budget, runs=20_000),
        "DPGDC line 6 as printed, no noise": audit_plan(without_noise(line_6), runs=runs),
    }


if __name__ == "__main__":
    for name, report in audits().items():
        claim = f"{report.claimed.epsilon:g}, {report.claimed.delta:g}"
        print(f"| {name} | {claim} | {report.lower_bound:.4g} | {report.verdict} |")  # noqa: T201
