"""Comparing algorithms over ε."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from numpy.typing import ArrayLike

from pairdp._checks import integer, one_of, positive, probability
from pairdp.algorithms import find_algorithm
from pairdp.algorithms.plan import Progress
from pairdp.comparison.job import BASELINE, MEASURES, Cell, Task
from pairdp.comparison.records import PublicRecords, SyntheticRecords, public_records
from pairdp.comparison.result import Comparison, Score
from pairdp.privacy import default_delta

ALGORITHMS: dict[Task, tuple[str, ...]] = {
    "ranking": ("auto", "moments", "minimizer", "DPGDSC", "DPGDC2", "Kang2021"),
    "metric": ("auto", "fisher", "scatter", "DPGDSC", "DPGDC2"),
}
EPSILONS = (0.1, 0.3, 1.0, 3.0)
_N = 1000


def compare(
    algorithms: Iterable[str] | None = None,
    epsilons: Iterable[float] = EPSILONS,
    *,
    n: int | None = None,
    n_features: int | None = None,
    delta: float | None = None,
    task: str = "ranking",
    public_data: tuple[ArrayLike, ArrayLike] | None = None,
    repeats: int = 10,
    seed: int = 0,
    progress: bool | None = None,
) -> Comparison:
    """Compare private algorithms over ε, on synthetic or public data.

    Use it to choose an algorithm and a budget for a sensitive table *before* touching it: n, the
    number of features and δ are those of the table, and the records are synthetic. It is never run
    on records of which it was not stated that they are public, since scores are computed on them
    without noise.

    Parameters
    ----------
    algorithms : iterable of str, optional
        Names such as "auto", "moments" or "DPGDSC"; see ``pairdp.algorithms.algorithms()``.
    epsilons : iterable of float
        The values of ε.
    n : int, optional
        The number of records to fit to: 1000 by default, or two thirds of ``public_data``.
    n_features : int, optional
        The number of features of synthetic records, 10 by default.
    delta : float, optional
        δ; by default `pairdp.default_delta` of n. Algorithms that need δ > 0 are refused at 0, and
        the result says so.
    task : {"ranking", "metric"}
        A ranker is scored by its AUC, a metric by the accuracy of 3 nearest neighbours.
    public_data : tuple (X, y), optional
        Records that are **public**, instead of synthetic ones (`SyntheticRecords`). Rows are
        clipped to norm 1: scale them first, for instance with `BoundsScaler`.
    repeats : int
        How often records and noise are drawn, at least twice.
    seed : int
        The seed of records and noise: the same call gives the same numbers.
    progress : bool, optional
        Whether to show progress; by default on a terminal.

    Returns
    -------
    Comparison
        Printable; with ``to_frame``, ``figure``, ``save`` and ``to_dict``. Beside the algorithms it
        has baselines that are not private: logistic regression (for metrics, Euclidean nearest
        neighbours), and "auto" without noise.

    Examples
    --------
    >>> from pairdp import compare
    >>> result = compare(["moments", "DPGDSC"], [0.5, 5.0], n=500, n_features=5, repeats=3)
    >>> result.score("moments", 5.0).mean > result.score("moments", 0.5).mean
    True
    """
    one_of("task", task, "ranking", "metric")
    goal = cast(Task, task)
    if isinstance(algorithms, str):
        raise TypeError(f"algorithms must be several names, got the text {algorithms!r}")
    names = list(dict.fromkeys(ALGORITHMS[goal] if algorithms is None else algorithms))
    budgets = sorted({positive("epsilon", epsilon) for epsilon in epsilons})
    if not names or not budgets:
        raise ValueError("there must be at least one algorithm and one ε")
    for name in names:
        if name != "auto":
            find_algorithm(name)
    integer("repeats", repeats, at_least=2)
    records = _records(n, n_features, public_data, seed, goal)
    delta = default_delta(records.n) if delta is None else probability("delta", delta)
    cells: list[tuple[str, float | None]] = [(name, e) for name in names for e in budgets]
    cells += [(BASELINE[goal], None), ("auto", None)]
    scores = []
    for place in Progress(progress).steps(len(cells), "comparing"):
        name, epsilon = cells[place]
        found = Cell(goal, records, name, epsilon, delta, runs=repeats).run(None)
        values = found.values.get(MEASURES[goal], ())
        shown = "auto without noise" if (name, epsilon) == ("auto", None) else name
        scores.append(Score(shown, epsilon, values, found.refused))
    return Comparison(tuple(scores), MEASURES[goal], records.words, delta, repeats, seed)


def _records(
    n: int | None,
    n_features: int | None,
    public_data: tuple[ArrayLike, ArrayLike] | None,
    seed: int,
    task: Task,
) -> SyntheticRecords | PublicRecords:
    if public_data is None:
        given = {} if n_features is None else {"features": n_features}
        return SyntheticRecords(_N if n is None else n, seed=seed, **given)
    if n_features is not None:
        raise ValueError("public_data has its own number of features: leave out n_features")
    found = public_records(public_data, n, seed)
    if task == "ranking" and found.labels.size != 2:
        raise ValueError(f"ranking needs two labels, and public_data has {found.labels.size}")
    return found
