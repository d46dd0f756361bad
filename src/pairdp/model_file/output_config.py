"""What kind of table a step returns: the configuration of scikit-learn's ``set_output``."""

from __future__ import annotations

from typing import Any

_OUTPUTS = (None, "default", "pandas", "polars")


def output_of(step: Any) -> str | None:
    """Return the kind of table that a step returns, None if it was not set."""
    found: str | None = getattr(step, "_sklearn_output_config", {}).get("transform")
    return found


def set_output(step: Any, output: object) -> None:
    """Let a step, though none that it contains, return this kind of table; None leaves it."""
    if output not in _OUTPUTS:
        raise ValueError(f"the output of a step is {output!r}")
    if output is not None:
        step._sklearn_output_config = {"transform": output}
