"""Noisy running sums of class moments, and the buffers that encode and decode them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pairdp._sums import weighted_rows
from pairdp.algorithms.moments import from_classes, shrunk_means, unpacked_means
from pairdp.algorithms.noise import deviation
from pairdp.privacy import Release
from pairdp.privacy.mechanisms.matrix_mechanism import PrefixFactor, PrefixRelease
from pairdp.privacy.mechanisms.packing import pack_gram
from pairdp.records import Records

Array = NDArray[np.float64]


class RunningMoments:
    """Prefix sums of class moments, released after every batch by a matrix mechanism.

    Parameters
    ----------
    releases : sequence of Release
        The releases of first moments and, if they are used, of second moments.
    steps : int
        The number of batches that they cover.
    batch_size : int
        The number of records in a batch.
    weight : float
        β of the first moments Σ(yx, βx, βRy).
    data_norm : float
        R.
    generator : numpy.random.Generator
        The source of noise.

    Attributes
    ----------
    seen : int
        The number of records so far.
    """

    def __init__(
        self,
        releases: Sequence[Release],
        steps: int,
        batch_size: int,
        weight: float,
        data_norm: float,
        generator: np.random.Generator,
    ) -> None:
        self._releases, self._batch_size, self._generator = releases, batch_size, generator
        self._weight, self._data_norm = weight, data_norm
        self._factor = PrefixFactor.of(steps)
        self._sums = [np.zeros(release.dimension // steps) for release in releases]
        self._prefixes = self._new_prefixes()
        self.seen, self._steps, self._steps_of_noise, self._earlier_variance = 0, 0, 0, 0.0

    def _new_prefixes(self) -> list[PrefixRelease]:
        return [
            PrefixRelease(self._factor, release.mechanism, sums.size)
            for release, sums in zip(self._releases, self._sums, strict=True)
        ]

    def add(self, batch: Records) -> None:
        """Add a batch, and release the sums with it."""
        if self._steps == self._factor.steps:
            raise ValueError(f"the plan covers {self._factor.steps} steps: plan a longer horizon")
        values = [first_sums(batch, self._weight, self._data_norm), _second_sums(batch)]
        # Second moments come last, and are left out if they are not planned.
        for sums, value, prefixes in zip(self._sums, values, self._prefixes, strict=False):
            sums += prefixes.increment(value, self._generator)
        self.seen += batch.n
        self._steps += 1
        self._steps_of_noise += 1

    def quadratic(self) -> tuple[Array, Array | None]:
        """Return v and S of the records so far (`pairdp.algorithms.MomentRelease`)."""
        packed = self._sums[0] / self.seen
        means = unpacked_means(packed, self._weight, self._weight * self._data_norm)
        means = shrunk_means(means, self.noise_of_means() / self._weight)
        squares = self._sums[1] / self.seen if len(self._sums) > 1 else None
        return from_classes(means, squares, self.seen)

    def noise_of_means(self) -> float:
        """Return the standard deviation of the noise in the mean of yx."""
        return deviation(self._releases[0]) * self._unit_deviation() / self.seen

    def size_of_noise(self) -> float:
        """Return the size σ√(2d) of the noise in S, the default ridge; 0 without S."""
        spread = self._unit_deviation() / self.seen
        d = self._sums[0].size // 2
        return sum(deviation(r) for r in self._releases[1:]) * spread * math.sqrt(2 * d)

    def _unit_deviation(self) -> float:
        """Return the standard deviation of the noise in the sums, for unit draws."""
        return math.hypot(
            math.sqrt(self._earlier_variance), self._factor.deviation(self._steps_of_noise)
        )

    def public_state(self) -> dict[str, Array]:
        """Return the noisy sums, the decoder, and the numbers of records, steps and noise draws."""
        counts = np.array([self.seen, self._steps, self._steps_of_noise], dtype=np.float64)
        variance = np.array([self._earlier_variance])
        state = {"counts": counts, "earlier_variance": variance}
        for i, (sums, prefixes) in enumerate(zip(self._sums, self._prefixes, strict=True)):
            state |= {f"sums_{i}": sums.copy(), f"decoder_{i}": prefixes.decoder.state}
        return state

    def secret_state(self) -> dict[str, Array]:
        """Return the encoder: weighted sums of batches without noise."""
        return {f"encoder_{i}": one.encoder.state for i, one in enumerate(self._prefixes)}

    def restore(self, public: Mapping[str, Array], secret: Mapping[str, Array] | None) -> None:
        """Continue from a saved state.

        Without the secret state, a new encoder and decoder add to the noisy sums so far. Earlier
        records are only in the old sums and later records only in the new ones, so no record is
        used twice.
        """
        counts = checked_array(public, "counts", (3,))
        variance = float(checked_array(public, "earlier_variance", (1,))[0])
        seen, steps, of_noise = (int(count) for count in counts)
        fits = 0 <= of_noise <= steps <= self._factor.steps and steps <= seen
        if not fits or variance < 0 or seen > steps * self._batch_size:
            raise ValueError("the state does not belong to a stream of this plan")
        sums = [checked_array(public, f"sums_{i}", s.shape) for i, s in enumerate(self._sums)]
        prefixes = self._new_prefixes()
        for i, one in enumerate(prefixes):
            decoder = checked_array(public, f"decoder_{i}", one.decoder.state.shape)
            if secret is not None:
                one.decoder.restore(decoder)
                one.encoder.restore(checked_array(secret, f"encoder_{i}", decoder.shape))
        if secret is None:
            variance += self._factor.deviation(of_noise) ** 2
            of_noise = 0
        self._sums, self._prefixes = sums, prefixes
        self.seen, self._steps, self._steps_of_noise = seen, steps, of_noise
        self._earlier_variance = variance


def checked_array(state: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """Return a copy of an array of a saved state; raise ValueError if it does not fit."""
    if name not in state:
        raise ValueError(f"the state lacks {name}")
    values = np.array(state[name], dtype=np.float64)
    if values.shape != shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{name} must be finite and of shape {shape}, got shape {values.shape}")
    return values


def first_sums(batch: Records, weight: float, data_norm: float) -> Array:
    """Return Σ(yx, βx, βRy)."""
    plain = weighted_rows(batch.x, np.ones(batch.n))
    balance = np.array([weight * data_norm * float(batch.y.sum())])
    return np.concatenate([weighted_rows(batch.x, batch.y), weight * plain, balance])


def _second_sums(batch: Records) -> Array:
    """Return Σ₊xxᵀ and Σ₋xxᵀ, each packed into a vector of the same norm."""
    return np.concatenate([pack_gram(batch.x[batch.y == label]) for label in (1, -1)])
