"""`estimate_bounds`: tables of every kind, units, ledgers and seeds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from pairdp import Budget, BudgetExceededError, BudgetLedger, Unit, estimate_bounds, verify
from pairdp.ranges import WeakRangesWarning
from pairdp.schema import Schema

RNG = np.random.default_rng(0)
AGE, DOSE = RNG.normal(50, 10, 5000), RNG.lognormal(0, 1, 5000)
TABLE = {"age": AGE, "dose": DOSE}
BUDGET = Budget(2.0)


def ranges_of(table: Any, **options: Any) -> dict[str, list[float]]:
    return estimate_bounds(table, BUDGET, random_state=0, **options).schema


def test_ranges_hold_most_values_and_are_a_schema() -> None:
    found = estimate_bounds(TABLE, BUDGET, random_state=0)
    for name, values in TABLE.items():
        held = np.mean((found.lower[name] <= values) & (values <= found.upper[name]))
        assert held > 0.95
        width = found.upper[name] - found.lower[name]
        assert width < 2 * np.ptp(np.quantile(values, [0.01, 0.99]))
    assert Schema.of({**found.schema, "sex": ["F", "M"]}).feature_names_out[:2] == ("age", "dose")
    report = verify(found.certificate)
    assert report.holds
    assert "differentially private with ε" in found.privacy_statement()


@pytest.mark.parametrize(
    ("library", "kind"), [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")]
)
def test_frames_of_every_library_have_the_same_ranges(library: str, kind: str) -> None:
    frame = getattr(pytest.importorskip(library), kind)(TABLE)
    assert ranges_of(frame) == ranges_of(TABLE)


def test_records_and_arrays_have_the_same_ranges() -> None:
    records = [{"age": a, "dose": d} for a, d in zip(AGE.tolist(), DOSE.tolist(), strict=True)]
    assert ranges_of(records, columns=["age", "dose"]) == ranges_of(TABLE)
    with pytest.raises(ValueError, match="give columns"):
        ranges_of(records)
    rows = np.column_stack([AGE, DOSE])
    assert ranges_of(rows) == ranges_of(rows.tolist())
    assert list(ranges_of(rows)) == ["x0", "x1"]


def test_some_columns_only() -> None:
    assert list(ranges_of(TABLE, columns=["dose"])) == ["dose"]
    with pytest.raises(ValueError, match="weight"):
        ranges_of(TABLE, columns=["weight"])
    with pytest.raises(TypeError, match="sequence of names"):
        ranges_of(TABLE, columns="age")


def test_unreadable_cells_raise_nothing_and_affect_no_other() -> None:
    strange: list[Any] = [*AGE[:4000], *[None, "", "old", float("inf"), 10**400, [1]] * 100]
    clean = [*AGE[:4000], *[None] * 600]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ranges_of({"age": strange}) == ranges_of({"age": clean})
    text = [str(value) for value in AGE]
    assert ranges_of({"age": text}) == ranges_of({"age": AGE.tolist()})


@pytest.mark.parametrize("table", [[], np.empty((0, 2)), np.zeros(5), {"a": []}])
def test_tables_without_records_are_refused(table: Any) -> None:
    with pytest.raises(ValueError, match=r"X must be|no rows"):
        ranges_of(table)


def test_a_weak_budget_warns_from_public_facts() -> None:
    with pytest.warns(WeakRangesWarning, match="noise hides about"):
        estimate_bounds({"age": AGE[:100]}, Budget(0.01), random_state=0)


def test_a_ledger_pays_before_noise_is_drawn() -> None:
    ledger = BudgetLedger(Budget(1.0))
    found = estimate_bounds(TABLE, Budget(0.75), ledger=ledger)
    (spend,) = ledger.spends
    assert spend.label == found.certificate.algorithm
    assert ledger.remaining().pure_epsilon == pytest.approx(0.25, rel=1e-2)
    with pytest.raises(BudgetExceededError):
        estimate_bounds(TABLE, Budget(0.75), ledger=ledger)
    with pytest.raises(ValueError, match="seed repeats it"):
        estimate_bounds(TABLE, Budget(0.1), ledger=ledger, random_state=0)
    assert len(ledger.spends) == 1


def test_a_unit_is_protected_as_a_whole() -> None:
    people = np.arange(AGE.size) // 4
    found = estimate_bounds(
        TABLE, BUDGET, groups=people, max_records=2, unit="patient", random_state=0
    )
    assert found.certificate.unit == Unit("patient", 2)
    one = estimate_bounds(TABLE, BUDGET, random_state=0).certificate
    for release, single in zip(found.certificate.releases, one.releases, strict=True):
        ratio = release.mechanism.scale / single.mechanism.scale  # type: ignore[union-attr]
        assert ratio == pytest.approx(2, rel=1e-6)
    assert verify(found.certificate).holds
    # Only the first two rows of each unit are read.
    moved = {name: np.where(np.arange(AGE.size) % 4 < 2, v, 1e9) for name, v in TABLE.items()}
    again = estimate_bounds(
        moved, BUDGET, groups=people, max_records=2, unit="patient", random_state=0
    )
    assert again.schema == found.schema


def test_groups_and_their_limit_belong_together() -> None:
    with pytest.raises(ValueError, match="belong together"):
        ranges_of(TABLE, groups=np.arange(AGE.size))
    with pytest.raises(ValueError, match="belong together"):
        ranges_of(TABLE, max_records=2)


def test_noise_is_fresh_without_a_seed_and_differs_between_plans() -> None:
    sources = {estimate_bounds(TABLE, BUDGET).certificate.noise_source for _ in range(2)}
    assert all("operating system" in source for source in sources)
