"""All statements for one problem, and the number of records that a bound needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pairdp._checks import positive
from pairdp.privacy.accounting.budget import Budget
from pairdp.problem import Problem
from pairdp.theory import huai2020, kang2021, wang2024, xue2021, yang2021
from pairdp.theory.facts import Facts
from pairdp.theory.utility_bound import UtilityBound

Statement = Callable[[Facts], UtilityBound]

EXCESS_RISKS: tuple[Statement, ...] = (
    huai2020.theorem_4,
    huai2020.theorem_5,
    xue2021.theorem_1,
    xue2021.theorem_2,
    xue2021.theorem_3,
    xue2021.theorem_4,
    kang2021.theorem_2,
    kang2021.theorem_3,
    yang2021.theorem_2,
    yang2021.theorem_3,
    yang2021.theorem_5,
    wang2024.theorem_6,
    wang2024.low_noise,
)
OTHERS: tuple[Statement, ...] = (
    huai2020.theorem_2,
    huai2020.theorem_3,
    xue2021.lemma_1,
    xue2021.lemma_7,
    yang2021.theorem_1,
    wang2024.lemma_19,
    xue2021.lemma_5_strongly_convex,
    xue2021.lemma_5_convex,
    wang2024.lemma_17,
    wang2024.lemma_20,
    yang2021.lemma_4,
    yang2021.lemma_5,
    yang2021.frobenius_ball,
)
_MOST_RECORDS = 10**15


def evaluate(
    problem: Problem,
    n: int,
    features: int,
    budget: Budget,
    *,
    failure: float = 0.05,
    solution_norm: float | None = None,
) -> tuple[UtilityBound, ...]:
    """Return every statement of the papers about accuracy, with the numbers of one problem.

    Nothing here depends on data. The excess risk is that of the regularised problem, over records
    drawn independently from any distribution.

    Parameters
    ----------
    problem : Problem
        Loss, constraint, regulariser and data norm.
    n, features : int
        The public size of the data.
    budget : Budget
        ε and δ.
    failure : float
        γ, the probability with which a bound may fail.
    solution_norm : float, optional
        A bound on the norm of the best parameters, where the set is unbounded.

    Examples
    --------
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticRanking
    >>> problem = Problem(LogisticRanking(), L2Ball(1.0), regularization=0.1)
    >>> bounds = evaluate(problem, 10_000, 5, Budget(1.0, 1e-6))
    >>> kang = next(b for b in bounds if (b.paper, b.statement) == ("Kang 2021", "Theorem 2"))
    >>> kang.applies, kang.vacuous
    (True, True)
    """
    facts = Facts.of(problem, n, features, budget, failure=failure, solution_norm=solution_norm)
    return tuple(statement(facts) for statement in (*EXCESS_RISKS, *OTHERS))


@dataclass(frozen=True)
class RecordsNeeded:
    """The number of records for which a bound on an excess risk is small enough.

    Attributes
    ----------
    paper, statement : str
        The statement.
    printed, proved : int or None
        n for the printed and for the proved number; None if there is no number, or if it is not
        small enough for any n up to 10¹⁵, with steps among those of `proved.tried_steps`.
    """

    paper: str
    statement: str
    printed: int | None
    proved: int | None


def records_needed(
    problem: Problem,
    features: int,
    budget: Budget,
    excess_risk: float,
    *,
    failure: float = 0.05,
    solution_norm: float | None = None,
) -> tuple[RecordsNeeded, ...]:
    """Return for each bound on an excess risk how many records make it at most ``excess_risk``.

    These are numbers of records that suffice; fewer may. They are found by bisection: bounds
    decrease in n but for the rounding of T, so n may be too large by a fraction of a per cent. At
    the n that is returned, the bound is small enough.

    Parameters
    ----------
    problem, features, budget, failure, solution_norm
        As for `evaluate`; δ is the same for all n.
    excess_risk : float
        r.

    Examples
    --------
    >>> from pairdp.constraints import L2Ball
    >>> from pairdp.losses import LogisticRanking
    >>> problem = Problem(LogisticRanking(), L2Ball(1.0))
    >>> needed = records_needed(problem, 5, Budget(1.0, 1e-9), 0.1)
    >>> {entry.statement: entry.proved for entry in needed}["Theorem 2 (DPGDC2)"] > 10_000
    True
    """
    target = positive("excess_risk", excess_risk)

    def bound(statement: Statement, n: int) -> UtilityBound:
        facts = Facts.of(problem, n, features, budget, failure=failure, solution_norm=solution_norm)
        return statement(facts)

    found = []
    for statement in EXCESS_RISKS:

        def printed(n: int, statement: Statement = statement) -> float | None:
            return bound(statement, n).value

        def own(n: int, statement: Statement = statement) -> float | None:
            proved = bound(statement, n).proved
            return proved.value if proved else None

        named = bound(statement, 100)
        needed = RecordsNeeded(
            named.paper, named.statement, _smallest(printed, target), _smallest(own, target)
        )
        if needed.printed or needed.proved:
            found.append(needed)
    return tuple(found)


def _smallest(value: Callable[[int], float | None], target: float) -> int | None:
    """Return an n with value(n) ≤ target by doubling and bisection; None if there is none."""

    def enough(n: int) -> bool:
        number = value(n)
        return number is not None and number <= target

    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_RECORDS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
