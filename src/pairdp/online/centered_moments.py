"""Running class moments of records that are centred and clipped to a learned radius."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

import numpy as np

from pairdp._checks import integer, keep_given
from pairdp.algorithms.algorithm import PlanDraft
from pairdp.algorithms.noise import shared_release
from pairdp.algorithms.plan import Plan
from pairdp.algorithms.task import Task
from pairdp.online.centered_learner import (
    CENTER_WEIGHT,
    RADII,
    CenteredLearner,
    CenteredMomentSettings,
)
from pairdp.online.moments import OnlineMoments, OnlineMomentSettings, noise_of_last_sum
from pairdp.privacy import Part, Release, Sensitivity
from pairdp.privacy.accounting.gaussian import gdp_mu

_CENTER_ERROR, _RADIUS_COUNTS = 50.0, 30.0
_CENTER_SHARE, _RADIUS_SHARE = 0.15, 0.1
_LEAST, _PRECISE = 20.0, 2000.0


@dataclass(frozen=True)
class CenteredMoments(OnlineMoments):
    r"""Online least squares from moments of records that are centred, and clipped to a radius.

    Rows of real tables fill a part of the ball of radius R that they are clipped to, away from its
    centre. Moments of (x - m) clipped to a smaller radius r need R/r and (R/r)² times less noise,
    and a ranking by ⟨w, x⟩ does not depend on m. The stream has three parts, in this order:

    1. n₁ records: the class sums Σ(yx, βx, βRy), released once, give the centre m, and a first
       model.
    2. n₂ records: their numbers by |x - m|, on a public grid of radii from 2R down to R/64,
       released once, give r: the smallest radius of the grid above which there is at most half of
       these records, times a public factor.
    3. The others: running moments of (x - m)·R/r, clipped to norm R, from which every model is
       computed; see `OnlineMoments`.

    **Privacy.** n₁ and n₂ are public, and so is the part of each record: neighbouring streams
    differ in a record of one part. What is released on parts before it has the same distribution
    for both streams. The release on the part itself is, given everything released before, a
    Gaussian mechanism whose value changes by at most its stated sensitivity: the bounds hold for
    every m and r, as rows are clipped to norm R after they were centred and scaled. What is
    released on later parts depends on this record through released values only: given them, it has
    the same distribution. So each part may spend the whole budget, and the stream costs as much as
    the most expensive part (parallel composition, adaptive in released values). A null record adds
    zero to the sums of parts 1 and 3 (it is not centred) and is counted nowhere in part 2.

    Parameters
    ----------
    batch_size, second_moments, share, weight, ridge
        As for `OnlineMoments`.
    center_records : int, optional
        n₁, rounded up to full batches. By default 50(1 + √d/μ), at which the noise of the centre
        has a norm of 0.06R, but at most 15 % of the horizon.
    radius_records : int, optional
        n₂, rounded up to full batches. By default 30(1 + 1/μ), at most 10 % of the horizon.
    name : str
        Name in certificates.

    Notes
    -----
    If neither number is given, both are 0, and this is `OnlineMoments`, for a horizon below 20√d/μ
    or ten batches, and without noise. The constants were chosen on synthetic data;
    ``python -m benchmarks stream_auc`` measures the gain on other families.
    """

    name: str = "Online least squares from centred moments"
    center_records: int | None = None
    radius_records: int | None = None

    settings_type = CenteredMomentSettings

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_given(self, "center_records", integer)
        keep_given(self, "radius_records", integer)

    def draft(self, task: Task) -> PlanDraft[CenteredMomentSettings]:
        """Decide the parts of the stream, and the noise of each release."""
        center, radius, reasons = self._sizes(task)  # 0 and 0 for no preparation
        rest = task.n - center - radius
        # A full batch must be left: smaller ones would not end where the first parts do.
        least = max(2, min(self.batch_size, task.n) if center else 0)
        if rest < least:
            raise ValueError(
                f"{self.name} uses {center} records for the centre and {radius} for the radius, "
                f"which leaves {max(rest, 0)} of {task.n}, and {least} are needed: plan a longer "
                "horizon, smaller batches or fewer such records"
            )
        drafted = super().draft(replace(task, n=rest))
        given = {one.name: getattr(drafted.settings, one.name) for one in fields(drafted.settings)}
        settings = CenteredMomentSettings(**given, center_records=center, radius_records=radius)
        reasons += drafted.reasons
        if not center:
            return PlanDraft(drafted.releases, settings, reasons)
        part = Part("the running moments", rest)
        releases = (
            self._center(task, center),
            self._radius(task, radius),
            *(replace(release, part=part) for release in drafted.releases),
        )
        settings = replace(settings, factor=self._factor(task))
        return PlanDraft(releases, settings, reasons)

    def _sizes(self, task: Task) -> tuple[int, int, tuple[str, ...]]:
        """Return n₁ and n₂, and the reason for them."""
        given = (self.center_records, self.radius_records)
        size, signal = min(self.batch_size, task.n), _signal(task)
        if given == (None, None) and (not _LEAST <= signal < math.inf or task.n < 10 * size):
            why = "there is no noise" if signal == math.inf else "the horizon is too short for them"
            return 0, 0, (f"no records for a centre and a radius: {why}",)
        noise, root = task.n / signal, math.sqrt(task.features)  # noise is √d/μ
        defaults = (
            min(_CENTER_ERROR * (1 + noise), _CENTER_SHARE * task.n),
            min(_RADIUS_COUNTS * (1 + noise / root), _RADIUS_SHARE * task.n),
        )
        center, radius = (
            math.ceil((default if count is None else count) / size) * size
            for count, default in zip(given, defaults, strict=True)
        )
        reason = (
            "records for the centre and the radius: 50(1 + √d/μ) and 30(1 + 1/μ), at most 15 % "
            "and 10 % of the horizon, in full batches"
        )
        return center, radius, (reason,) if None in given else ()

    def _factor(self, task: Task) -> float:
        # Little noise: clipping half of the records costs more than it gains.
        return 1.0 if _signal(task) < _PRECISE else 2.0

    def _center(self, task: Task, count: int) -> Release:
        sensitivity = Sensitivity.of(
            "prefix sums of class means",
            data_norm=task.problem.data_norm,
            n=count,
            weight=CENTER_WEIGHT,
            batch_size=count,
        )
        dimension = 2 * task.features + 1
        release = shared_release("sums of classes, once", task, sensitivity, dimension, 1.0)
        return replace(release, part=Part("the centre", count))

    def _radius(self, task: Task, count: int) -> Release:
        sensitivity = Sensitivity.of("histograms of columns", columns=1)
        release = shared_release("numbers of records by radius", task, sensitivity, RADII, 1.0)
        return replace(release, part=Part("the radius", count))

    def noise_to_signal(self, plan: Plan[OnlineMomentSettings]) -> float:
        """Return the ratio of the noise in the last sum of class means to the largest such sum."""
        means = plan.certificate.releases[-2 if self.second_moments else -1]
        n = plan.task.n if means.part is None else means.part.size
        return noise_of_last_sum(means, plan.settings.steps, n)

    def moved_by(self, release: Release, used: int) -> float:
        """Return the sensitivity of what was released for the first ``used`` records of a part."""
        if release.part is None or release.part.name == "the running moments":
            return super().moved_by(release, used)
        if release.sensitivity is None or used < release.part.size:
            return 0.0
        return release.sensitivity.value

    def learner(
        self, plan: Plan[OnlineMomentSettings], generator: np.random.Generator
    ) -> CenteredLearner:
        """Return the learner of a plan, at the beginning of the stream."""
        return CenteredLearner(self, plan, generator)


def _signal(task: Task) -> float:
    """Return n·μ/√d: the number of records over the length of the noise of a sum of them."""
    if task.budget is None:
        return math.inf
    mu = gdp_mu(task.budget.epsilon, task.budget.delta)
    return task.n * mu / math.sqrt(task.features)
