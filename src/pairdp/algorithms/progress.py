"""A progress bar for long runs."""

from __future__ import annotations

import sys
from collections.abc import Generator
from dataclasses import dataclass

_DELAY = 2.0


@dataclass(frozen=True)
class Progress:
    """Whether and how to show progress.

    Parameters
    ----------
    show : bool or None
        None shows a bar on a terminal if a run takes more than two seconds.
    """

    show: bool | None = None

    def steps(self, count: int, what: str, *, counted: bool = True) -> Generator[int, None, None]:
        """Yield 0 … count-1, showing progress.

        The number of steps must be public. If it depends on the data, pass ``counted=False``: then
        only the elapsed time is shown.
        """
        if self.show is False or (self.show is None and not sys.stderr.isatty()):
            yield from range(count)
            return
        from tqdm import tqdm

        options = {} if counted else {"bar_format": "{desc}: {elapsed}"}
        delay = 0 if self.show else _DELAY
        yield from tqdm(range(count), desc=what, delay=delay, leave=False, **options)
