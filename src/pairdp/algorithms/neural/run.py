"""A run of a neural descent: what it releases, in order, and the parameters that follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.conditioned.run import Run as PrivateCoordinates
from pairdp.algorithms.conditioned.run import RunFacts
from pairdp.algorithms.neural.clipped_sums import NetworkRecords
from pairdp.algorithms.neural.optimizer import Adam
from pairdp.algorithms.neural.reference_slopes import BINS, ReferenceSlopes, count_scores
from pairdp.algorithms.neural.score_network import ScoreNetwork
from pairdp.algorithms.neural.scores import NetworkScores
from pairdp.algorithms.neural.settings import NeuralSettings
from pairdp.algorithms.plan import Plan, Progress, RunResult
from pairdp.losses import LogisticPointwise
from pairdp.privacy import NoiseSource
from pairdp.records import Records

Array = NDArray[np.float64]
SCORES = "counts of scores"
LINEAR_GRADIENTS, GRADIENTS = "clipped gradients of the linear part", "clipped gradients of scores"
STEPS_PER_COUNT = 5
"""Scores are counted anew after this many steps."""
_LINEAR_RATE = 0.6
_LARGEST = 1e6
"""Parameters of plain steps stay within ± this, so that no sum over records overflows."""


@dataclass(frozen=True, eq=False)
class Run:
    """The records of a run, which enter what it returns through releases only."""

    network: ScoreNetwork
    plan: Plan[NeuralSettings]
    records: Records
    noise: NoiseSource

    def _release(self, name: str, values: Array, step: int) -> Array:
        release = next(one for one in self.plan.certificate.releases if one.name == name)
        return release.mechanism.release(values, self.noise.stream(name, step))

    def _standardized(self, parameters: Array) -> NetworkScores:
        """Return the network with the centre and the scales that are released for it."""
        records, d = self.records, self.network.features
        facts = RunFacts(
            loss=LogisticPointwise(),
            largest=self.plan.problem.data_norm,
            d=d,
            centred=True,
            constant=0.0,
            folded=False,
        )
        coordinates = PrivateCoordinates(facts, records, self.plan.certificate.releases, self.noise)
        numbers = coordinates.numbers()
        location, _, numbers = coordinates.locate(numbers)
        scales = coordinates.scales(location, numbers, records.n)
        return NetworkScores(self.network, location.centre, scales, parameters)

    def learn(self, initial: Array, progress: Progress) -> RunResult:
        """Return the parameters, and the released statistics that describe them."""
        settings, network = self.plan.settings, self.network
        standard = self._standardized(initial)
        records = NetworkRecords(network, standard.rows(self.records.x), self._labels())
        draws = self.noise.stream("batches") if settings.batch_size is not None else None
        steps = settings.linear_steps + settings.steps
        parameters = initial
        adam: Adam | None = None
        slopes: Callable[[Array, Array], Array] | None = None
        for step in progress.steps(steps, "learning a network"):
            linear = step < settings.linear_steps
            if settings.counts is not None and step % STEPS_PER_COUNT == 0:
                slopes = self._reference(records, parameters, step // STEPS_PER_COUNT).at
            used = records
            if draws is not None and not linear:
                b = settings.batch_size
                used = records.drawn(draws.choice(records.n, b, replace=False, shuffle=False))
            mean = self._mean(used, parameters, slopes, linear=linear)
            if linear:
                place = network.linear
                noisy = self._release(LINEAR_GRADIENTS, mean[place], step)
                parameters = parameters.copy()
                parameters[place] -= _LINEAR_RATE * network.features * noisy
                continue
            if adam is None:
                adam = Adam(parameters, settings.steps, settings.learning_rate)
            adam.step(self._release(GRADIENTS, mean, step - settings.linear_steps))
            parameters = adam.parameters
        found = parameters if adam is None else adam.average
        return RunResult(found, {"centre": standard.centre, "scales": standard.scales})

    def perturb(self, initial: Array, progress: Progress) -> RunResult:
        """Return the last iterate of plain steps on all records, as in Kang 2021, Algorithm 1.

        Rows are divided by the data norm, which is public; there is no other preparation.
        """
        settings, d = self.plan.settings, self.network.features
        scales = np.full(d, self.plan.problem.data_norm / math.sqrt(d))
        standard = NetworkScores(self.network, np.zeros(d), scales, initial)
        records = NetworkRecords(self.network, standard.rows(self.records.x), self._labels())
        parameters = initial
        for step in progress.steps(settings.steps, "learning a network"):
            mean = self._mean(records, parameters, None, linear=False)
            moved = parameters - settings.learning_rate * self._release(GRADIENTS, mean, step)
            parameters = np.clip(moved, -_LARGEST, _LARGEST)
        return RunResult(parameters, {"centre": standard.centre, "scales": standard.scales})

    def _labels(self) -> Array:
        return np.where(self.records.null, 0.0, self.records.y)

    def _reference(self, records: NetworkRecords, parameters: Array, step: int) -> ReferenceSlopes:
        counts = count_scores(records.scores(parameters), records.y)
        return ReferenceSlopes.of(self._release(SCORES, counts.ravel(), step).reshape(2, BINS))

    def _mean(
        self,
        records: NetworkRecords,
        parameters: Array,
        slopes: Callable[[Array, Array], Array] | None,
        *,
        linear: bool,
    ) -> Array:
        settings = self.plan.settings
        clip = settings.linear_clip if linear else settings.clip
        if slopes is not None:
            return records.mean_of_clipped(parameters, slopes, clip, only_linear=linear)
        loss = self.plan.problem.loss
        return records.mean_over_pairs(parameters, loss, clip, only_linear=linear)  # type: ignore[arg-type]
