"""Neighbours of a data set in which the most influential records are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp import diagnostics
from pairdp._checks import integer
from pairdp.audit.neighbours import Neighbours, canaries
from pairdp.problem import Problem

_DAMPING = 1e-3


def influential_canaries(
    problem: Problem,
    x: ArrayLike,
    y: ArrayLike,
    *,
    count: int = 3,
    null: bool = True,
    progress: bool | None = None,
) -> Iterator[Neighbours]:
    """Yield neighbours of a data set in which one of its most influential records is replaced.

    By `pairdp.diagnostics.influence`, these are the records whose removal moves the minimiser of
    the problem most. Each of them becomes null, or is replaced by a copy of the record whose
    influence differs most from its own; the first of them also moves to extreme points, as in
    `canaries`. Which records these are reveals something about the data: the neighbours are NOT
    private, unless the data is public.

    Parameters
    ----------
    problem : Problem
        The problem, with a smooth loss.
    x, y : array-like
        The data set, at least two records. Labels of a problem with two classes may be any two
        values; the larger is +1.
    count : int
        The number of influential records.
    null : bool
        Whether to include null records, for what is audited with ``invalid="null"``.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    """
    rows, labels = np.array(x, dtype=np.float64), np.asarray(y)
    integer("count", count)
    if not problem.is_smooth:
        raise ValueError(
            f"influence needs a smooth loss, and {type(problem.loss).__name__} is not smooth on "
            'this set: use canary="extreme" (--canary extreme), or a smooth loss'
        )
    records = problem.records(rows, _coded(problem, labels), invalid="null")
    damping = 0.0
    if not problem.is_strongly_convex:
        damping = _DAMPING * problem.constants(records.n).smoothness
    found = diagnostics.influence(problem, records, damping=damping, progress=progress)
    for place in map(int, found.most(min(count, records.n))):
        changes = found.packed_changes
        farthest = int(np.argmax(np.linalg.norm(changes - changes[place], axis=1)))
        yield Neighbours(rows, labels, place, rows[farthest], labels[farthest])
        if null:
            yield Neighbours(rows, labels, place, np.full(rows.shape[1], np.nan), labels[place])
    yield from canaries(rows, labels, problem.data_norm, int(found.most(1)[0]))


def _coded(problem: Problem, labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as the problem codes them: two classes are -1 and +1."""
    if not problem.loss.binary:
        return labels
    values = np.unique(labels)
    if values.size != 2:
        raise ValueError(f"the problem has two classes, but {values.size} labels occur")
    return np.where(labels == values[1], 1.0, -1.0)
