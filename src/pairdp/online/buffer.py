"""The earlier records that new ones meet: the latest, or a random sample of all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import LARGEST_INTEGER
from pairdp.records import Records

Array = NDArray[np.float64]


class PartnerBuffer:
    """At most ``size`` earlier records, with room for those that arrive beside them.

    Parameters
    ----------
    size : int
        How many records are kept.
    batch : int
        How many arrive together.
    features : int
        Number of features.
    reservoir : np.random.Generator, optional
        Without it the latest records are kept. With it they are a uniform sample of all so far:
        record t takes a random one of t places, and is dropped unless it is among the first
        ``size``. That choice sees the number of records and nothing of them, and no record ever
        has two places, as it may where places are drawn independently (Kar 2013, RS-x).
    horizon : int
        How many records will come at most.
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
        # The latest lie side by side, and move to the front once in a while.
        room = size + batch if reservoir is not None else min(2 * size, horizon) + batch
        self._x, self._y = np.empty((room, features)), np.empty(room)
        self._start = self._end = self._arrived = self.seen = 0

    @property
    def held(self) -> int:
        """How many records are kept."""
        return self._end - self._start

    def arrive(self, batch: Records) -> Records:
        """Put records beside those that are kept, and return all of them, the new ones last."""
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
        """Keep those that arrived, in the place of others where there is no more room."""
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
                    # Unbiased: numpy rejects words that would favour some places.
                    place = int(self._reservoir.integers(self.seen))
                if place < self.size:
                    self._x[place], self._y[place] = x, y
                    self._end = max(self._end, place + 1)
        self._arrived = 0

    @property
    def labels(self) -> Array:
        """The labels of those that are kept."""
        return self._y[self._start : self._end]

    def state(self) -> dict[str, Array]:
        """Return the records, and how many there were."""
        kept = slice(self._start, self._end)
        return {
            "buffer_x": self._x[kept].copy(),
            "buffer_y": self._y[kept].copy(),
            "buffer_seen": np.array([float(self.seen)]),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """Hold what `state` returned."""
        x, y, seen = state["buffer_x"], state["buffer_y"], state["buffer_seen"]
        if x.shape != (len(y), self._x.shape[1]) or y.ndim != 1 or seen.shape != (1,):
            raise ValueError("the buffer has another shape")
        if seen[0] != int(seen[0]) or len(y) != min(self.size, int(seen[0])):
            raise ValueError("the buffer does not have as many records as it should")
        self._start, self._end = 0, len(y)
        self._x[: len(y)], self._y[: len(y)] = x, y
        self.seen = int(seen[0])
