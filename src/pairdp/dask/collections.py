"""Dask arrays and DataFrames as blocks of rows, with what is public of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INSTALL = "install it with pip install 'pairdp[dask]'"


def client_of(client: Any) -> Any:
    """Return a client, by default the one that was started last; an error if there is none."""
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ImportError(f"pairdp.dask needs Dask: {_INSTALL}") from None
    if client is None:
        try:
            return distributed.default_client()
        except ValueError:
            raise ValueError(
                "there is no Dask client: start one with distributed.Client(), or pass client"
            ) from None
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a distributed.Client, got a {type(client).__name__}")
    if client.status == "closed":
        raise ValueError("the Dask client is closed: start another one with distributed.Client()")
    if client.asynchronous:
        raise TypeError("client must not be asynchronous: `fit` waits for its results")
    return client


def warn_without_workers(client: Any) -> None:
    """Warn if a cluster has no workers, for which a fit would wait without a word."""
    if not client.nthreads():
        warnings.warn(
            "the Dask cluster has no workers: the fit waits until some are started, with "
            "dask worker tcp://SCHEDULER:8786 or cluster.scale(2)",
            stacklevel=3,
        )


def is_collection(data: Any) -> bool:
    """Return whether data is a collection of Dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


@dataclass(frozen=True, eq=False)
class Blocks:
    """The rows of a collection and their labels, in blocks that are not computed yet.

    Attributes
    ----------
    rows, labels : sequences of Delayed
        One block each; a label is None if it is a column of the rows.
    n : int or None
        Number of rows, if Dask knows it without reading them.
    width : int
        Number of columns.
    names : array or None
        Their names, if they are strings.
    """

    rows: Sequence[Any] = field(repr=False)
    labels: Sequence[Any] = field(repr=False)
    n: int | None
    width: int
    names: NDArray[np.object_] | None

    @classmethod
    def of(cls, X: Any, y: Any) -> Blocks:
        """Return the blocks of a Dask array or DataFrame with its labels."""
        if not is_collection(X) or len(getattr(X, "shape", ())) != 2:
            raise TypeError(
                "X must be a Dask array with two dimensions or a Dask DataFrame, got a "
                f"{type(X).__name__}: for data in memory use the estimator without Dask"
            )
        if y is not None and not is_collection(y):
            raise TypeError(f"y must be a Dask array or Series, got a {type(y).__name__}")
        names = _names(X)
        chunks = getattr(X, "chunks", None)
        if chunks is not None:
            X = X.rechunk({1: -1}) if len(chunks[1]) > 1 else X
            y = _alike(y, X)
        rows = np.ravel(X.to_delayed()).tolist()
        labels = [None] * len(rows) if y is None else np.ravel(y.to_delayed()).tolist()
        if len(labels) != len(rows):
            # Optimised, a DataFrame of fewer columns may be read in fewer and larger partitions.
            rows, labels = (_not_optimised(data) for data in (X, y))
        if len(labels) != len(rows):
            raise ValueError(
                f"X has {len(rows)} blocks and y has {len(labels)}: use the same partitions or "
                "chunks of rows for both"
            )
        n = X.shape[0]
        known = isinstance(n, int | np.integer) or (isinstance(n, float) and not math.isnan(n))
        return cls(rows, labels, int(n) if known else None, int(X.shape[1]), names)


def _not_optimised(data: Any) -> list[Any]:
    return list(np.ravel(data.to_delayed(optimize_graph=False)))


def _alike(y: Any, X: Any) -> Any:
    """Return labels in the chunks of the rows, if the lengths of both are known."""
    chunks = getattr(y, "chunks", None)
    if chunks is None or chunks[0] == X.chunks[0]:
        return y
    lengths = (*chunks[0], *X.chunks[0])
    if any(math.isnan(length) for length in lengths) or sum(chunks[0]) != sum(X.chunks[0]):
        return y  # the numbers of blocks, or of rows in a block, will differ
    return y.rechunk({0: X.chunks[0]})


def _names(X: Any) -> NDArray[np.object_] | None:
    """Return the names of columns if all are strings, as scikit-learn does."""
    names = list(getattr(X, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        return np.array(names, dtype=object)
    return None
