"""The releases of a neural descent: their sensitivities, and the noise of each share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pairdp.algorithms import printed
from pairdp.algorithms.conditioned.location import COUNTS as RADIUS_COUNTS
from pairdp.algorithms.conditioned.run import MEANS, RADIUS, SCALES
from pairdp.algorithms.neural.reference_slopes import BINS
from pairdp.algorithms.neural.run import GRADIENTS, LINEAR_GRADIENTS, SCORES
from pairdp.algorithms.noise import shared_release
from pairdp.algorithms.task import Task
from pairdp.losses.ranking import RankingLoss
from pairdp.privacy import FixedSizeSampling, GaussianMechanism, Release, Sensitivity
from pairdp.privacy.accounting.events import GaussianEvent
from pairdp.privacy.bounds.score_gradients import BOTH_SIGNS

_SHARES = {MEANS: 0.06, RADIUS: 0.03, SCALES: 0.06}
_SCORES, _LINEAR = 0.08, 0.12


@dataclass(frozen=True)
class NeuralReleases:
    """The releases of a descent for a task.

    Attributes
    ----------
    task : Task
        The public facts.
    of_pairs : bool
        Whether gradients are sums over pairs; otherwise slopes are reference slopes.
    batch_size : int, optional
        The number of records of a mini-batch; all records by default.
    """

    task: Task
    of_pairs: bool
    batch_size: int | None

    @property
    def drawn(self) -> int | None:
        """The number of records that are drawn for a gradient, None for all records."""
        return None if self.batch_size in (None, self.task.n) else self.batch_size

    def sensitivity(self, clip: float, size: int, used: int) -> Sensitivity:
        """Return the sensitivity of a gradient over so many records."""
        loss: RankingLoss = self.task.problem.loss  # type: ignore[assignment]
        if self.of_pairs and not loss.decreasing:
            return self.task.sensitivity(BOTH_SIGNS, clip=clip, n=used)
        bound = "clipped gradients of pairs" if self.of_pairs else "clipped gradients of rows"
        return self.task.sensitivity(bound, clip=clip, used=used, width=size, amplification=0.0)

    def preparation(self) -> list[Release]:
        """Return the releases that standardise rows."""
        task, n, d = self.task, self.task.n, self.task.features
        means = task.sensitivity("means of clipped rows", largest=task.problem.data_norm, used=n)
        counts = task.sensitivity("number of records in a set", sets=1)
        squares = task.sensitivity("mean squares of clipped rows", largest=1.0, used=n)
        radius = shared_release(RADIUS, task, counts, 1, _SHARES[RADIUS] / RADIUS_COUNTS)
        return [
            shared_release(MEANS, task, means, 2 * d + 1, _SHARES[MEANS]),
            replace(radius, count=RADIUS_COUNTS),
            shared_release(SCALES, task, squares, d, _SHARES[SCALES]),
        ]

    def before_gradients(
        self, times: int | None, linear_clip: float, linear_steps: int
    ) -> tuple[list[Release], float]:
        """Return all releases but the gradients in all parameters, and the share that is left.

        Parameters
        ----------
        times : int or None
            The number of histograms of scores.
        linear_clip, linear_steps : float and int
            The clipping and the number of gradients in the linear part.
        """
        task, releases = self.task, self.preparation()
        left = 1 - math.fsum(_SHARES.values())
        if times is not None:
            table = task.sensitivity("histograms of columns", columns=1)
            counts = shared_release(SCORES, task, table, 2 * BINS, _SCORES / times)
            releases.append(replace(counts, count=times))
            left -= _SCORES
        if linear_steps:
            width = task.features + 1
            moved = self.sensitivity(linear_clip, width, task.n)
            linear = shared_release(LINEAR_GRADIENTS, task, moved, width, _LINEAR / linear_steps)
            releases.append(replace(linear, count=linear_steps))
            left -= _LINEAR
        return releases, left

    def gradients(
        self, clip: float, size: int, steps: int, share: float, others: list[Release]
    ) -> Release:
        """Return the noisy gradients in all parameters, with what the others leave."""
        task, drawn = self.task, self.drawn
        sensitivity = self.sensitivity(clip, size, drawn or task.n)
        if drawn is None or task.budget is None:
            release = shared_release(GRADIENTS, task, sensitivity, size, share / steps)
            return replace(release, count=steps)
        sampling = FixedSizeSampling(drawn, task.n)
        mus = [one.event.mu for one in others if isinstance(one.event, GaussianEvent)]
        mechanism = GaussianMechanism.calibrate(
            task.budget,
            sensitivity.value,
            dimension=size,
            steps=steps,
            sampling=sampling,
            beside=math.hypot(*mus),
        )
        return Release(GRADIENTS, mechanism, sensitivity, size, steps, sampling)

    def gradients_of_paper(self, clip: float, size: int, steps: int) -> Release:
        """Return the noisy gradients of Kang 2021, with certified or printed noise."""
        task = self.task
        if task.budget is None or not task.is_printed:
            return self.gradients(clip, size, steps, 1.0, [])
        sensitivity = self.sensitivity(clip, size, task.n)
        scale = printed.kang2021.gradient_noise(2 * clip, task.n, steps, task.budget)
        mechanism = GaussianMechanism(sensitivity.value, scale, size)
        return Release(GRADIENTS, mechanism, sensitivity, size, steps)
