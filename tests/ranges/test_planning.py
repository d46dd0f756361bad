"""Plans of private ranges: their certificates, noise and refusals."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pairdp import Budget, Certificate, CertificateError, NoiseSource, verify
from pairdp._sealed import seal, unseal
from pairdp.privacy import GaussianMechanism, L1LaplaceMechanism, PrivacyCurve
from pairdp.ranges.planning import RangeEstimation, deviation

BUDGETS = [Budget(0.1), Budget(1.0), Budget(0.1, 1e-6), Budget(1.0, 1e-6), Budget(5.0, 1e-9)]
TWO = RangeEstimation(("age", "weight"))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("columns", [1, 12])
def test_a_certificate_holds_and_is_planned_again(budget: Budget, columns: int) -> None:
    estimation = RangeEstimation(tuple(f"x{j}" for j in range(columns)), 0.9, -3, 6, 10)
    certificate = estimation.certify(500, budget)
    report = verify(certificate.to_json())
    assert report.holds
    assert report.planned_again
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert PrivacyCurve(certificate.event).within(budget)


def test_nearly_all_of_the_budget_is_spent() -> None:
    assert TWO.certify(100, Budget(1.0)).epsilon(0.0) > 1 - 1e-7
    assert TWO.certify(100, Budget(1.0, 1e-6)).epsilon(1e-6) > 1 - 1e-6


@pytest.mark.parametrize(
    ("columns", "budget", "kind"),
    [
        (1, Budget(0.1), L1LaplaceMechanism),
        (50, Budget(0.1), L1LaplaceMechanism),
        (1, Budget(0.1, 1e-9), L1LaplaceMechanism),
        (50, Budget(0.1, 1e-6), GaussianMechanism),
    ],
)
def test_the_smaller_noise_is_taken(columns: int, budget: Budget, kind: type[object]) -> None:
    certificate = RangeEstimation(tuple(f"x{j}" for j in range(columns))).certify(1000, budget)
    assert all(type(release.mechanism) is kind for release in certificate.releases)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("releases", 0, "scale"), 1.0),
        (("releases", 2, "dimension"), 10),
        (("releases", 1, "sensitivity", "inputs", "columns"), 1),
        (("problem", "coverage"), 0.5),
        (("n",), 10_000),
        (("claim", "epsilon"), 0.5),
        (("plan", "statistic", "fields", "bins"), 30),
        (("plan", "statistic", "fields", "columns", "tuple"), ["age"]),
        (("assumptions",), []),
    ],
)
def test_a_changed_certificate_is_refused(place: tuple[str | int, ...], value: object) -> None:
    document = TWO.certify(100, Budget(1.0)).to_dict()
    inner = document
    for key in place[:-1]:
        inner = inner[key]  # type: ignore[index,assignment]
    inner[place[-1]] = value  # type: ignore[index]
    if place == ("n",):  # the noise does not depend on n, so this is another true certificate
        assert verify(seal(document)).holds
        return
    with pytest.raises(CertificateError):
        verify(seal(document))


def test_other_objects_in_place_of_a_statistic_are_refused() -> None:
    document = unseal(TWO.certify(100, Budget(1.0)).to_json())
    document["plan"] = {"statistic": {"object": "L2Ball", "fields": {"radius": 1.0}}}
    with pytest.raises(CertificateError):
        verify(seal(document))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"columns": ()}, "at least one column"),
        ({"columns": ("a", "a")}, "named twice"),
        ({"columns": "age"}, "a sequence of names"),
        ({"columns": ("a",), "coverage": 1.0}, "below 1"),
        ({"columns": ("a",), "coverage": 0.2}, "at least 0.5"),
        ({"columns": ("a",), "coverage": "all"}, "a number"),
        ({"columns": ("a",), "lowest": 3, "highest": 3}, "highest must be at least"),
        ({"columns": ("a",), "highest": 99}, "highest must be at most"),
        ({"columns": ("a",), "bins": 1}, "bins must be at least"),
    ],
)
def test_bad_facts_are_refused_with_a_reason(facts: dict[str, object], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        RangeEstimation(**facts)  # type: ignore[arg-type]


def test_warnings_are_from_public_facts() -> None:
    assert not RangeEstimation(("a",)).plan(10_000, Budget(1.0)).warnings
    (warning,) = RangeEstimation(("a",)).plan(100, Budget(0.1)).warnings
    assert "noise hides" in warning


def true_ends(values: NDArray[np.float64], coverage: float) -> tuple[float, float]:
    ordered = np.sort(values)
    held = math.ceil(coverage * ordered.size)
    widths = ordered[held - 1 :] - ordered[: ordered.size - held + 1]
    start = int(np.argmin(widths))
    return float(ordered[start]), float(ordered[start + held - 1])


@pytest.mark.parametrize("shift", [0.0, 50.0, -700.0])
def test_with_little_noise_ranges_are_near_the_shortest_that_hold_the_share(shift: float) -> None:
    values = np.random.default_rng(1).normal(shift, 10.0, 20_000)
    plan = RangeEstimation(("x",)).plan(values.size, Budget(50.0))
    ((lower, upper),) = plan.run([values], NoiseSource(3))
    low, high = true_ends(values, 0.98)
    assert np.mean((lower <= values) & (values <= upper)) >= 0.975
    assert upper - lower <= 1.5 * (high - low)


@pytest.mark.parametrize("budget", BUDGETS)
def test_any_column_has_a_range(budget: Budget) -> None:
    """Whatever the values are: the ends are finite and ordered, even if all are missing."""
    n = 200
    columns = [
        np.zeros(n),
        np.full(n, np.nan),
        np.full(n, np.inf),
        np.full(n, 7.0),
        np.full(n, -1e300),
        np.linspace(-1e-9, 1e-9, n),
        np.where(np.arange(n) % 2, 1e12, -1e12),
    ]
    plan = RangeEstimation(tuple(f"x{j}" for j in range(len(columns)))).plan(n, budget)
    for seed in range(5):
        ends = plan.run(columns, NoiseSource(seed))
        assert np.all(np.isfinite(ends))
        assert np.all(ends[:, 0] < ends[:, 1])
        assert np.all(np.abs(ends) <= 1e12)


def test_other_shapes_are_refused() -> None:
    plan = TWO.plan(10, Budget(1.0))
    with pytest.raises(ValueError, match="2 columns of 10 numbers"):
        plan.run([np.zeros(10)], NoiseSource(0))
    with pytest.raises(ValueError, match="2 columns of 10 numbers"):
        plan.run([np.zeros(10), np.zeros(9)], NoiseSource(0))


def test_the_deviation_is_that_of_the_noise() -> None:
    laplace, gaussian = (
        TWO.certify(100, budget).releases[0] for budget in (Budget(1.0), Budget(0.01, 0.01))
    )
    assert deviation(laplace) == math.sqrt(2) * laplace.mechanism.scale  # type: ignore[union-attr]
    assert deviation(gaussian) == gaussian.mechanism.scale  # type: ignore[union-attr]


def test_the_statement_names_columns_and_bounds() -> None:
    words = " ".join(TWO.certify(100, Budget(1.0)).statement().split())
    assert "public: age, weight." in words
    assert "at most 2·columns in ℓ1 norm" in words
    assert json.loads(TWO.certify(100, Budget(1.0)).to_json())["algorithm"].startswith("Private")
