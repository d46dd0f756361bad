"""How much of a released parameter is noise, as a number for each parameter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairdp._checks import one_of, text
from pairdp._sealed import fields_of

Array = NDArray[np.float64]
Kind = Literal["exact", "bound", "first order", "unknown"]


@dataclass(frozen=True)
class ParameterNoise:
    """The standard deviation of the noise on released parameters.

    It is a function of the plan and of released values only, and therefore public.

    Attributes
    ----------
    kind : {"exact", "bound", "first order", "unknown"}
        What ``deviation`` is: that of the noise which is added to each parameter; a proved upper
        bound on its root mean square over the parameters; propagated to first order from noisy
        statistics to each parameter; or not available.
    words : str
        The same in a sentence.
    deviation : float, array or None
        One number for all parameters, or one for each. Those of a symmetric matrix are its
        diagonal; entries beside it have 1/√2 of that.
    """

    kind: Kind
    words: str
    deviation: float | Array | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, "exact", "bound", "first order", "unknown")
        text("words", self.words)
        if (self.deviation is None) != (self.kind == "unknown"):
            raise ValueError("only unknown noise has no deviation")
        if self.deviation is not None:
            values = np.array(self.deviation, np.float64)
            if values.ndim > 1 or not np.all(np.isfinite(values) & (values >= 0)):
                raise ValueError("deviations must be finite and at least 0")
            values.setflags(write=False)
            object.__setattr__(self, "deviation", values if values.ndim else float(values))

    def of_each(self, count: int) -> Array | None:
        """Return one number for each of ``count`` parameters; None if they are unknown."""
        return None if self.deviation is None else np.broadcast_to(self.deviation, (count,))

    def times(self, factor: float, why: str) -> ParameterNoise:
        """Return the noise of the parameters times a public factor."""
        if self.deviation is None:
            return self
        return replace(
            self, words=f"{self.words}; times {factor:g}, {why}", deviation=self.deviation * factor
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        known = self.deviation
        shown = known.tolist() if isinstance(known, np.ndarray) else known
        return {"kind": self.kind, "words": self.words, "deviation": shown}

    @classmethod
    def from_dict(cls, values: object) -> ParameterNoise:
        """Return what `to_dict` wrote; an error for anything else."""
        fields = fields_of("noise", values, {"kind", "words", "deviation"})
        found = fields["deviation"]
        numbers = found if isinstance(found, list) else [] if found is None else [found]
        if not all(type(number) in (int, float) for number in numbers):
            raise ValueError("deviations must be numbers")
        return cls(fields["kind"], fields["words"], found)


def unknown_noise(why: str) -> ParameterNoise:
    """Return noise of unknown size, and why."""
    return ParameterNoise("unknown", f"not available: {why}")
