"""A run of an embedding descent: what it releases, in order, and the parameters that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.centering import TYPICAL_NORM, NoisyStatistics
from pairdp.algorithms.centering import standardized as standardized_records
from pairdp.algorithms.class_separation import ClassCode
from pairdp.algorithms.neural.embedding_function import LARGEST
from pairdp.algorithms.neural.embedding_network import EmbeddingNetwork
from pairdp.algorithms.neural.embedding_records import EmbeddingRecords
from pairdp.algorithms.neural.embedding_settings import EmbeddingSettings
from pairdp.algorithms.neural.optimizer import Adam
from pairdp.algorithms.neural.reference_points import reference_points, slopes
from pairdp.algorithms.neural.scores import standardized
from pairdp.algorithms.plan import Plan, Progress, RunResult
from pairdp.privacy import NoiseSource
from pairdp.records import Records

Array = NDArray[np.float64]
COUNTS, GRADIENTS = "counts of classes", "clipped gradients of embeddings"


@dataclass(frozen=True, eq=False)
class EmbeddingRun:
    """The records of a run, which enter what it returns through releases only."""

    network: EmbeddingNetwork
    plan: Plan[EmbeddingSettings]
    records: Records
    noise: NoiseSource

    def learn(self, seed: int, progress: Progress) -> RunResult:
        """Return the parameters, what standardises rows, and the points of the classes."""
        settings, records = self.plan.settings, self.records
        noisy = NoisyStatistics(self.plan.certificate.releases, self.noise, "embedding noise")
        rows = standardized_records(records, noisy)
        centre = np.zeros(records.features) if rows.center is None else rows.center
        width = TYPICAL_NORM * records.data_norm / math.sqrt(records.features)
        scales = width * np.broadcast_to(rows.unit, centre.shape)
        counts = noisy(COUNTS, rows.bucket_counts(settings.buckets))
        places = ClassCode.of(counts, noisy.sigma[COUNTS]).places
        points = reference_points(len(places), self.network.components)
        # Fewer dimensions suffice for few classes: the others are not learned, and not kept.
        network = EmbeddingNetwork(
            self.network.features, self.network.hidden, max(points.shape[1], 1)
        )
        given = EmbeddingRecords(
            network, standardized(records.x, centre, scales), self._classes(places), LARGEST
        )
        slopes_of = partial(slopes, points=points)
        adam = Adam(network.initial(seed), settings.steps, settings.learning_rate)
        for _ in progress.steps(settings.steps, "learning an embedding"):
            exact = np.zeros(settings.parameters)
            if len(places) and settings.gradient == "reference":
                found = given.mean_of_clipped(adam.parameters, slopes_of, settings.clip)
                exact[: network.size] = found
            elif len(places):
                found = given.mean_over_pairs(adam.parameters, len(places), settings.clip)
                exact[: network.size] = found
            adam.step(noisy(GRADIENTS, exact)[: network.size])
        statistics = {"centre": centre, "scales": np.asarray(scales), "points": points}
        return RunResult(adam.average, statistics)

    def _classes(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of the class of each record; -1 for null records and other buckets."""
        buckets = self.plan.settings.buckets
        numbers = np.full(buckets, -1, dtype=np.intp)
        numbers[places] = np.arange(len(places))
        return np.where(self.records.null, -1, numbers[self.records.buckets(buckets)])
