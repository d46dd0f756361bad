"""The steps of a model: those of a Pipeline, or the model itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Steps:
    """What a model file stores, without the import of scikit-learn's pipelines, which takes long.

    Attributes
    ----------
    named : list of tuple of str and estimator
        The steps with their names.
    in_pipeline : bool
        Whether they are those of a Pipeline.
    """

    named: list[tuple[str, Any]]
    in_pipeline: bool

    @staticmethod
    def of(model: Any) -> Steps:
        """Return the steps of a model."""
        pipelines = sys.modules.get("sklearn.pipeline")  # without it, no model is a Pipeline
        if pipelines is not None and isinstance(model, pipelines.Pipeline):
            return Steps(model.steps, True)
        return Steps([("model", model)], False)

    @property
    def estimators(self) -> list[Any]:
        """The steps without their names."""
        return [step for _, step in self.named]

    def model(self) -> Any:
        """Return the Pipeline, or the only step."""
        if not self.in_pipeline:
            return self.named[0][1]
        from sklearn.pipeline import Pipeline

        return Pipeline(self.named)
