"""The points of a scorecard as rows of a table, for columns and for pairs of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairdp.algorithms.scorecard.cells import NumberCells
from pairdp.algorithms.scorecard.points import Points
from pairdp.estimators.bin_names import NONE, bin_names, end_of_bin
from pairdp.schema.features import FeatureColumn

Array = NDArray[np.float64]
Sources = Sequence[FeatureColumn | None]


class Entry(NamedTuple):
    """A bin of a scorecard: its points, the deviation of their noise, and its share of records."""

    column: str
    bin: str
    points: float
    noise: float
    share: float


def pandas() -> Any:
    """Return the module pandas."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            "a table of points is a pandas DataFrame: install pandas, or use to_json"
        ) from None
    return pd


def entries_of_columns(
    names: Sequence[str], points: Points, deviations: Array, counts: Array, sources: Sources
) -> Iterator[Entry]:
    """Yield the bins of columns that records can be in."""
    total = counts.sum() / len(points.columns)
    place = 0
    for column, (name, values) in enumerate(zip(names, points.points, strict=True)):
        for title, value in zip(_titles(points, column, sources), values.tolist(), strict=True):
            noise, share = float(deviations[place]), float(counts[place] / total)
            place += 1
            if title != NONE:
                yield Entry(name, title, value, noise, share)


def entries_of_pairs(
    names: Sequence[str], points: Points, deviations: Array, sources: Sources
) -> Iterator[Entry]:
    """Yield the joint bins of pairs of columns, in which the share of records is not known."""
    for i, j in points.pairs:
        title = name_of_pair(names, i, j)
        weight, noise = points.interactions[i, j], deviations[i, j]
        left = zip(_titles(points, i, sources), points.factors[i], strict=True)
        right = zip(_titles(points, j, sources), points.factors[j], strict=True)
        for (one, a), (other, b) in product(left, right):
            if NONE not in (one, other):
                size = float(abs(a * b) * noise)
                yield Entry(title, f"{one} x {other}", float(weight * a * b), size, float("nan"))


def by_importance(entries: Iterable[Entry]) -> list[Entry]:
    """Return bins in their order, columns by the standard deviation of their points over records.

    It is computed from released points and shares.
    """
    columns = [list(bins) for _, bins in groupby(entries, lambda one: one.column)]
    columns.sort(key=_importance, reverse=True)
    return [one for bins in columns for one in bins]


def _importance(bins: list[Entry]) -> float:
    points, shares = (np.array([getattr(one, of) for one in bins]) for of in ("points", "share"))
    shares = shares / max(float(shares.sum()), 1e-9)
    return float(shares @ (points - shares @ points) ** 2)


def name_of_pair(names: Sequence[str], i: int, j: int) -> str:
    """Return the name of a pair of columns."""
    return f"{names[i]} x {names[j]}"


def columns_as_json(
    names: Sequence[str], points: Points, deviations: Array, sources: Sources
) -> dict[str, list[dict[str, Any]]]:
    """Return the bins that records can be in, by column, with exact ends if they have ends."""
    found: dict[str, list[dict[str, Any]]] = {}
    noise = iter(deviations.tolist())
    for place, (name, values) in enumerate(zip(names, points.points, strict=True)):
        column, source = points.columns[place], sources[place]
        ends: list[dict[str, Any]] = [{} for _ in values]
        if isinstance(column, NumberCells):
            exact = [end_of_bin(column, int(end), source) for end in points.edges[place]]
            for limits, low, high in zip(ends, exact, exact[1:], strict=False):
                limits |= {"lower": low, "upper": high}
        rows = zip(_titles(points, place, sources), ends, values.tolist(), strict=True)
        listed = [
            {"bin": title, **limits, "points": value, "noise": next(noise)}
            for title, limits, value in rows
        ]
        found[name] = [one for one in listed if one["bin"] != NONE]
    return found


def pairs_as_json(names: Sequence[str], points: Points, sources: Sources) -> dict[str, Any]:
    """Return what products add to a score: weights of pairs, and the factor of every bin."""
    if not points.pairs:
        return {}
    used = sorted({column for pair in points.pairs for column in pair})
    factors = {}
    for column in used:
        titles = _titles(points, column, sources)
        listed = zip(titles, points.factors[column].tolist(), strict=True)
        factors[names[column]] = {title: value for title, value in listed if title != NONE}
    weights = [
        {"columns": [names[i], names[j]], "weight": float(points.interactions[i, j])}
        for i, j in points.pairs
    ]
    return {"interactions": weights, "factors": factors}


def _titles(points: Points, column: int, sources: Sources) -> list[str]:
    return bin_names(points.columns[column], points.edges[column], sources[column])
