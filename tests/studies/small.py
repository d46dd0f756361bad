"""Small jobs that need no data, for the engine."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from pairdp.studies.jobs import Job, RunResult


@dataclass(frozen=True)
class Count(Job):
    """Leave a file for each time it is run, and return numbers; optionally fail."""

    number: int
    directory: str
    fails: str = ""

    def run(self, data: Path | None) -> RunResult:
        if self.fails == "interrupt":
            raise KeyboardInterrupt
        if self.fails:
            raise ValueError(self.fails)
        times = len(list(Path(self.directory).glob(f"{self.number}-*")))
        (Path(self.directory) / f"{self.number}-{times}-{os.getpid()}").touch()
        return RunResult({"value": tuple(float(self.number + i) for i in range(self.runs))})


@dataclass(frozen=True)
class Sleep(Job):
    """Say which process it is in, and stay there."""

    number: int
    directory: str

    def run(self, data: Path | None) -> RunResult:
        (Path(self.directory) / f"worker-{os.getpid()}").touch()
        time.sleep(120)
        return RunResult({"value": (0.0, 0.0)})


def jobs(directory: Path, count: int = 6) -> list[Count]:
    directory.mkdir(exist_ok=True)
    return [Count(i, str(directory), runs=2) for i in range(count)]


def times_run(directory: Path, number: int) -> int:
    return len(list(directory.glob(f"{number}-*")))


@dataclass(frozen=True)
class Die(Job):
    """End its process, as a system without memory does."""

    def run(self, data: Path | None) -> RunResult:
        os._exit(9)
