"""Base classes of learners for streams, and of their algorithms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.algorithm import Algorithm
from pairdp.algorithms.plan import Plan, Progress, RunResult
from pairdp.algorithms.task import S
from pairdp.online.average import OnlineToBatchAverage
from pairdp.privacy import NoiseSource, Part, Release, Sensitivity
from pairdp.records import Records

Array = NDArray[np.float64]
NO_SEED = "a ledger accounts for independent noise, and a seed repeats it: leave out the seed"


class Learner(ABC):
    """Learns from a stream batch by batch; used by a session.

    Attributes
    ----------
    parameters : array
        The last released model; a property or an attribute.
    batch_size : int
        Number of records per step.
    """

    parameters: Array
    batch_size: int

    resumes_from_public: ClassVar[bool] = True
    """Whether the plan covers continuing without the secret state."""

    @abstractmethod
    def learn(self, batch: Records) -> None:
        """Take one step with the planned batch; the last one may be smaller."""

    @abstractmethod
    def public_state(self) -> dict[str, Array]:
        """Return functions of released values, as arrays of floats."""

    @abstractmethod
    def secret_state(self) -> dict[str, Array]:
        """Return everything that was not released: raw records, or sums without noise."""

    @abstractmethod
    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state.

        Without the secret state, continue from the public one: records so far are not used again.
        """

    @property
    @abstractmethod
    def holds_raw_records(self) -> bool:
        """Whether raw records can be read from the public and secret state."""

    def drawn(self) -> dict[str, Array]:
        """Return public random values that were drawn before the first record."""
        return {}

    def labels_held(self) -> Array | None:
        """Return the labels of the records in the buffer; None if all or none are kept."""
        return None


class OnlineAlgorithm(Algorithm[S]):
    """An algorithm that releases a model after every batch of a stream."""

    without_delta: ClassVar[str] = "fit all records at once, for example with PrivateRanker"
    why_no_units: ClassVar[str] = (
        "it would have to remember the units that it has seen, also while it is paused"
    )

    @abstractmethod
    def learner(self, plan: Plan[S], generator: np.random.Generator) -> Learner:
        """Return the learner of a plan, at the beginning of the stream."""

    def execute(
        self, plan: Plan[S], records: Records, noise: NoiseSource, progress: Progress
    ) -> RunResult:
        """Return the last model of the stream, all models, and their online-to-batch average."""
        learner = self.learner(plan, noise.stream("stream noise", 0))
        size = learner.batch_size
        steps = -(-records.n // size)
        models = np.empty((steps, *learner.parameters.shape))
        average = OnlineToBatchAverage(learner.parameters)
        for step in progress.steps(steps, self.name):
            batch = records.part(slice(step * size, (step + 1) * size))
            average.serve(learner.parameters, batch.n)
            learner.learn(batch)
            models[step] = learner.parameters
        statistics = {"models": models, "average": average.mean, **learner.drawn()}
        return RunResult(learner.parameters, statistics)

    def moved_by(self, release: Release, used: int) -> float:
        """Return the sensitivity of what was released for the first ``used`` records.

        If the release is on a part of the stream, ``used`` is the number of its records.
        """
        if used < 2 or release.sensitivity is None:
            return 0.0
        inputs = {**release.sensitivity.inputs, "n": used}
        if used <= inputs.get("burn_in", 0):  # random points so far
            return 0.0
        return Sensitivity.of(release.sensitivity.bound, **inputs).value


def used_by_part(releases: Iterable[Release], used: int) -> dict[Part | None, int]:
    """Return how many of the first ``used`` records of a stream are in each part.

    The parts of a stream follow one another, in the order of their releases. Releases on the whole
    stream have the part None.
    """
    found: dict[Part | None, int] = {}
    before = 0
    for part in dict.fromkeys(release.part for release in releases):
        found[part] = used if part is None else min(max(0, used - before), part.size)
        before += 0 if part is None else part.size
    return found
