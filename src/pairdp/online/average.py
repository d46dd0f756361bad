r"""The online-to-batch average of the models of a stream (Huai 2020, equation 6).

.. math:: \bar w = \frac{w_1 + … + w_{n-1}}{n-1}

Each of the records 2 … n counts the model that was released before it arrived, so that in batches a
model has the size of the next batch as its weight. For a convex loss the risk of the average
exceeds the least risk by at most the average generalised regret, R(n)/(n-1). It is a function of
released models, and costs nothing more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class OnlineToBatchAverage:
    """The running average of the models that served each record but the first.

    Parameters
    ----------
    model : array
        The model before the first record.

    Attributes
    ----------
    mean : array
        The average; the first model as long as there is at most one record.
    records : int
        Number of records so far.
    """

    def __init__(self, model: Array) -> None:
        self.mean, self.records = np.array(model), 0

    def serve(self, model: Array, records: int) -> None:
        """Count the model that was released before the next records."""
        weight = records if self.records else records - 1
        self.records += records
        if weight:
            self.mean = self.mean + weight / (self.records - 1) * (model - self.mean)
