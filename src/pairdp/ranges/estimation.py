"""`estimate_bounds`: private ranges of the columns of a table."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairdp._arrow_tables import as_table
from pairdp._checks import did_you_mean
from pairdp._reading import read_targets
from pairdp.privacy import Budget, BudgetLedger, Certificate, NoiseSource, Unit
from pairdp.ranges.planning import RangeEstimation, RangePlan
from pairdp.schema.frames import columns_of, table_columns
from pairdp.unit_limit import UnitLimit

Array = NDArray[np.float64]


class WeakRangesWarning(UserWarning):
    """The noise hides a large share of the values, by public facts."""


@dataclass(frozen=True)
class PrivateRanges:
    """Released ranges of columns.

    Attributes
    ----------
    lower, upper : mapping of str to float
        The ends of the range of each column by name, in order. They are round numbers.
    certificate : Certificate
        What was released, and why it is private. `pairdp.verify` checks it.
    """

    lower: Mapping[str, float]
    upper: Mapping[str, float]
    certificate: Certificate

    @property
    def schema(self) -> dict[str, list[float]]:
        """The ranges as a schema, ``{"age": [0.0, 95.0], …}``, to be completed by other columns."""
        return {name: [low, self.upper[name]] for name, low in self.lower.items()}

    def privacy_statement(self) -> str:
        """Return what was released and why it is private, in words."""
        return self.certificate.statement()


def estimate_bounds(
    X: Any,
    budget: Budget,
    *,
    columns: Sequence[str] | None = None,
    coverage: float = 0.98,
    lowest: int = -6,
    highest: int = 12,
    groups: ArrayLike | None = None,
    max_records: int | None = None,
    unit: str = "unit",
    ledger: BudgetLedger | None = None,
    random_state: Any = None,
) -> PrivateRanges:
    """Release a range for each column that holds most of its values, with differential privacy.

    Use it where no limit of a column is known without the data. A range that is known, such as that
    of an instrument or of a form, costs nothing and is better.

    Parameters
    ----------
    X : DataFrame, table, mapping of columns, or array-like of shape (n, d)
        The records; their number n is public. Columns without names are called x0, x1, …. Cells
        that are not finite numbers count as missing, and change nothing else: no error or warning
        depends on them.
    budget : Budget
        What all ranges together cost, such as ``Budget(0.1)`` for pure ε = 0.1.
    columns : sequence of str, optional
        The columns that need a range; by default all. The noise grows with their number. A list
        of records, each a dict, needs them, since which keys occur may depend on the data.
    coverage : float, default=0.98
        The share of a column's values, those missing left out, that its range should hold. The
        range is the shortest one that does, as far as the noise can show; it may hold less if the
        noise hides many values.
    lowest, highest : int, default=-6 and 12
        Powers of ten: values are told apart down to 10^lowest, and ranges end at 10^highest.
    groups : array-like of shape (n,), optional
        The unit (person) of each record, with ``max_records``: the first so many rows of each unit
        are used, and the guarantee covers all records of a unit. The other rows, and those without
        a unit, count as missing.
    max_records : int, optional
        How many records of each unit are used. The noise is proportional to it.
    unit : str
        What a unit is, for the certificate.
    ledger : BudgetLedger, optional
        The ledger that pays, before any noise is drawn.
    random_state : int, RandomState or Generator, optional
        A seed, for studies and tests; leave it out for sensitive data.

    Returns
    -------
    PrivateRanges

    Warns
    -----
    WeakRangesWarning
        If noise hides a large share of the values, by public facts alone.

    Examples
    --------
    >>> import numpy as np
    >>> from pairdp import Budget, estimate_bounds
    >>> age = np.random.default_rng(0).normal(50, 10, 10_000)
    >>> ranges = estimate_bounds({"age": age}, Budget(1.0), random_state=0)
    >>> ranges.schema
    {'age': [25.0, 75.0]}
    >>> print(ranges.privacy_statement().splitlines()[0])
    Private ranges of columns, fitted on n = 10000 records, is differentially private with ε
    """
    names, cells = _cells(X, columns)
    if (groups is None) != (max_records is None):
        raise ValueError(
            "groups and max_records belong together: the unit of each row, and how many records of "
            "each unit are used"
        )
    protected = None if max_records is None else Unit(unit, max_records)
    estimation = RangeEstimation(tuple(names), coverage, lowest, highest)
    plan = estimation.plan(len(cells[0]), budget, protected)
    return run_plan(plan, cells, groups, ledger=ledger, random_state=random_state)


def run_plan(
    plan: RangePlan,
    cells: Sequence[ArrayLike],
    groups: ArrayLike | None = None,
    *,
    ledger: BudgetLedger | None = None,
    random_state: Any = None,
) -> PrivateRanges:
    """Read the cells of each column, pay for a plan and run it; see `estimate_bounds`."""
    protected = plan.certificate.unit
    if (groups is None) != (protected is None):
        raise ValueError("a plan for units needs the unit of each row, and no other plan does")
    if ledger is not None:
        _check_ledger(ledger, random_state)
        ledger.check(plan.certificate, plan.certificate.algorithm)
    for sentence in plan.warnings:
        warnings.warn(sentence, WeakRangesWarning, stacklevel=3)
    values = [read_targets(column) for column in cells]
    if groups is not None and protected is not None:
        unused = UnitLimit(protected.max_records).unused(groups, plan.certificate.n)
        values = [np.where(unused, np.nan, column) for column in values]
    source = _source(plan, random_state)
    if ledger is not None:
        ledger.spend(plan.certificate)
    ends = plan.run(values, source)
    names = plan.estimation.columns
    return PrivateRanges(
        dict(zip(names, ends[:, 0].tolist(), strict=True)),
        dict(zip(names, ends[:, 1].tolist(), strict=True)),
        plan.certificate.with_noise_source(source),
    )


def _cells(X: Any, columns: Sequence[str] | None) -> tuple[list[str], list[NDArray[Any]]]:
    """Return the names and the cells of the columns."""
    if isinstance(columns, str):
        raise TypeError("columns must be a sequence of names: put a single one into a list")
    X = as_table(X)
    known = table_columns(X)
    if known is None:
        table = np.asarray(X) if hasattr(X, "shape") else np.array(X, dtype=object)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"X must be a non-empty table of n rows, got shape {table.shape}")
        known = [f"x{j}" for j in range(table.shape[1])]
        X = dict(zip(known, table.T, strict=True))
    if not known and columns is None:
        raise ValueError("a list of records has no public names: give columns")
    names = [str(name) for name in known] if columns is None else list(columns)
    if known and (missing := [name for name in names if name not in map(str, known)]):
        raise ValueError(f"X has no column {missing[0]!r}{did_you_mean(missing[0], known)}")
    found, n = columns_of(X, known if columns is None else names)
    if n == 0:
        raise ValueError("X has no rows")
    return names, [np.asarray(found[name]) for name in found]


def _check_ledger(ledger: object, random_state: object) -> None:
    if not isinstance(ledger, BudgetLedger):
        raise TypeError(f"ledger must be a BudgetLedger or None, got {ledger!r}")
    if random_state is not None:
        raise ValueError(
            "a ledger pays for independent noise, but a seed repeats it: leave out random_state "
            "or the ledger"
        )


def _source(plan: RangePlan, random_state: Any) -> NoiseSource:
    # A seed gives different noise for each plan; that of two budgets would cancel otherwise.
    planned = json.dumps(plan.certificate.to_dict(), sort_keys=True)
    digest = hashlib.sha256(planned.encode()).hexdigest()
    return NoiseSource.from_random_state(random_state).child("ranges", digest)
