"""The buffer of earlier records that new ones are paired with: the latest, or a random sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import LARGEST_INTEGER
from pairdp.records import Records

Array = NDArray[np.float64]


class PartnerBuffer:
    """At most ``size`` earlier records, with space for an arriving batch.

    Parameters
    ----------
    size : int
        Largest number of records that are kept.
    batch : int
        Largest number of records that arrive together.
    features : int
        Number of features.
    reservoir : np.random.Generator, optional
        If None, the latest records are kept. Otherwise they are a uniform sample of all records so
        far: record t draws one of t positions, and is dropped unless it is one of the first
        ``size``. The choice depends on the number of records only, and no record ever has two
        positions, as it may with independent draws (Kar 2013, RS-x).
    horizon : int
        Largest number of records in the stream.
    """

    def __init__(
        self,
        size: int,
        batch: int,
        features: int,
        reservoir: np.random.Generator | None = None,
        horizon: int = LARGEST_INTEGER,
    ) -> None:
        self.size, self.batch, self._reservoir = size, batch, reservoir
        # The latest records are contiguous, and are moved to the front when the array is full.
        room = size + batch if reservoir is not None else min(2 * size, horizon) + batch
        self._x, self._y = np.empty((room, features)), np.empty(room)
        self._start = self._end = self._arrived = self.seen = 0

    @property
    def held(self) -> int:
        """Number of records in the buffer."""
        return self._end - self._start

    def arrive(self, batch: Records) -> Records:
        """Append a batch, and return all records of the buffer with the new ones last."""
        if self._end + batch.n > len(self._y):
            kept = slice(self._start, self._end)
            count = self.held
            self._x[:count], self._y[:count] = self._x[kept].copy(), self._y[kept].copy()
            self._start, self._end = 0, count
        stop = self._end + batch.n
        self._x[self._end : stop], self._y[self._end : stop] = batch.x, batch.y
        self._arrived = batch.n
        return batch.beside(self._x[self._start : stop], self._y[self._start : stop])

    def keep(self) -> None:
        """Keep the records that arrived, replacing others if the buffer is full."""
        if self._reservoir is None:
            self._end += self._arrived
            self._start = max(self._start, self._end - self.size)
            self.seen += self._arrived
        else:
            arrived = slice(self._end, self._end + self._arrived)
            for x, y in zip(self._x[arrived].copy(), self._y[arrived].copy(), strict=True):
                self.seen += 1
                place = self._end
                if place == self.size:
                    place = int(self._reservoir.integers(self.seen))
                if place < self.size:
                    self._x[place], self._y[place] = x, y
                    self._end = max(self._end, place + 1)
        self._arrived = 0

    @property
    def labels(self) -> Array:
        """The labels of the records in the buffer."""
        return self._y[self._start : self._end]

    def state(self) -> dict[str, Array]:
        """Return the records, and the number of records so far."""
        kept = slice(self._start, self._end)
        return {
            "buffer_x": self._x[kept].copy(),
            "buffer_y": self._y[kept].copy(),
            "buffer_seen": np.array([float(self.seen)]),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Restore the result of `state`."""
        x, y, seen = state["buffer_x"], state["buffer_y"], state["buffer_seen"]
        if x.shape != (len(y), self._x.shape[1]) or y.ndim != 1 or seen.shape != (1,):
            raise ValueError("the buffer has another shape")
        if seen[0] != int(seen[0]) or len(y) != min(self.size, int(seen[0])):
            raise ValueError("the buffer has the wrong number of records")
        self._start, self._end = 0, len(y)
        self._x[: len(y)], self._y[: len(y)] = x, y
        self.seen = int(seen[0])
