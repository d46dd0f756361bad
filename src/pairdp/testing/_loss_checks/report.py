"""The report of the checks of a loss."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One check, on one domain.

    Parameters
    ----------
    name : str
        What was checked.
    passed : bool
        Whether it passed.
    where : str
        The domain and the number of features.
    declared, found : float
        A declared constant and the largest value found; NaN if there is none.
    example : str
        A counterexample, if it failed.
    """

    name: str
    passed: bool
    where: str = ""
    declared: float = math.nan
    found: float = math.nan
    example: str = ""

    @property
    def ratio(self) -> float:
        """The ratio of the found to the declared value; NaN if there is none."""
        if self.declared > 0:
            return self.found / self.declared
        return self.found if math.isnan(self.found) or self.found == 0 else math.inf

    def line(self) -> str:
        """Return the check on one line, and its example when it failed."""
        text = f"{'ok' if self.passed else 'FAILED':<8}{self.name:<24}"
        if not math.isnan(self.declared):
            text += f"declared {self.declared:<10.6g} "
            if not (self.passed and math.isinf(self.declared)):
                text += f"found {self.found:<10.6g} ratio {self.ratio:.6f} "
        if self.where and not (self.passed and math.isnan(self.declared)):
            text += f"at {self.where}"
        if not self.passed and self.example:
            text += "\n" + "\n".join(f"          {row}" for row in self.example.splitlines())
        return text.rstrip()


def problem_check(name: str, where: object, problem: str) -> Check:
    """Return a check that passes if there is no problem."""
    return Check(name, not problem, str(where), example=problem)


@dataclass(frozen=True)
class CheckReport:
    """All checks of one loss; ``print(report)`` shows the worst of each kind.

    Parameters
    ----------
    loss : str
        The loss, as it prints itself.
    checks : tuple of Check
        Every check, on every domain.
    """

    loss: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> tuple[str, ...]:
        """The names of the checks that failed, each once."""
        return tuple(dict.fromkeys(check.name for check in self.checks if not check.passed))

    def worst(self, name: str) -> Check:
        """Return the check of this name that failed, or came closest to it."""
        return max((check for check in self.checks if check.name == name), key=_badness)

    def __str__(self) -> str:
        names = dict.fromkeys(check.name for check in self.checks)
        verdict = f"{len(self.failures)} of them FAILED" if self.failures else "all ok"
        lines: Iterable[str] = (f"  {self.worst(name).line()}" for name in names)
        return "\n".join([f"{self.loss}: {len(names)} kinds of checks, {verdict}", *lines])


def _badness(check: Check) -> tuple[bool, float]:
    return not check.passed, -1.0 if math.isnan(check.ratio) else check.ratio


class LossCheckError(AssertionError):
    """A loss failed its checks; ``report`` contains all of them.

    Parameters
    ----------
    report : CheckReport
        All checks.
    """

    def __init__(self, report: CheckReport) -> None:
        super().__init__(report)
        self.report = report
