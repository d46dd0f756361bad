"""Averages over repeated draws: the distribution of appearances, its curve, its certificate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp import Budget, BudgetLedger, Certificate, CertificateError, verify
from pairdp.privacy import (
    GaussianEvent,
    GaussianMechanism,
    PrivacyCurve,
    Release,
    RepeatedDraws,
    SampledEvent,
    Sensitivity,
    noise_multiplier,
)
from pairdp.privacy.accounting import gaussian
from pairdp.privacy.accounting.appearances import appearance_weights
from pairdp.privacy.accounting.events import event_from_dict, event_to_dict
from pairdp.privacy.accounting.second_routes import cosine_series
from pairdp.privacy.accounting.second_routes.cosine_series import series_delta
from pairdp.privacy.accounting.second_routes.dp_accounting import accountant_delta
from pairdp.privacy.bounds.pairwise_sgd import beyond_appearances

BUDGET = Budget(1.0, 1e-5)


def direct_weights(steps: int) -> np.ndarray:
    """c_k by walking through the steps: step l has draw l + 1 and the draws 1 … l."""
    weights = np.zeros(steps)
    for l in range(1, steps):  # noqa: E741
        later = (steps - l) / steps  # iterates of the average that come after the step
        weights[l] += later
        weights[:l] += later / l
    return weights


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 57])
def test_weights_by_walking_through_the_steps(steps: int) -> None:
    np.testing.assert_allclose(appearance_weights(steps), direct_weights(steps), atol=1e-14)


def exact_sums(n: int, steps: int, order: str) -> dict[float, float]:
    """The law by enumeration of all draws."""
    weights = direct_weights(steps)
    law: dict[float, float] = {}
    if order == "replacement":
        for drawn in itertools.product((False, True), repeat=steps):
            chance = math.prod(1 / n if d else 1 - 1 / n for d in drawn)
            total = float(weights[np.array(drawn)].sum())
            law[total] = law.get(total, 0.0) + chance
    else:
        for places in itertools.product(range(n), repeat=steps // n):
            total = float(sum(weights[j * n + k] for j, k in enumerate(places)))
            law[total] = law.get(total, 0.0) + n ** -(steps // n)
    return law


CASES = [
    (2, 2, "replacement"), (3, 7, "replacement"), (30, 10, "replacement"), (4, 12, "replacement"),
    (4, 4, "permutation"), (5, 15, "permutation"), (2, 8, "permutation"),
]  # fmt: skip


@pytest.mark.parametrize(("n", "steps", "order"), CASES)
def test_the_law_by_enumeration(n: int, steps: int, order: str) -> None:
    draws = RepeatedDraws(n, steps, order)  # type: ignore[arg-type]
    law, exact = draws.distribution, exact_sums(n, steps, order)
    assert law.masses.sum() + law.slack == pytest.approx(1, abs=1e-9)
    assert law.masses.sum() + law.slack >= 1 - 1e-12
    sums, masses = np.array(list(exact)), np.array(list(exact.values()))
    far = sums.max()
    for x in np.linspace(0, far, 200):
        above = masses[sums > x].sum()
        # Rounded up, so never below the truth, and by no more than a little.
        assert law.masses[law.sums > x - 1e-12].sum() + law.slack >= above - 1e-12
        shifted = law.masses[law.sums > x + 0.006 * far].sum()
        assert shifted <= above + 1e-9


@pytest.mark.parametrize(("n", "steps", "order"), CASES)
@pytest.mark.parametrize("base", [0.0, 2.5])
def test_the_curve_by_enumeration(n: int, steps: int, order: str, base: float) -> None:
    draws = RepeatedDraws(n, steps, order, base)  # type: ignore[arg-type]
    for mu in (0.05, 0.3):
        for epsilon in (0.0, 0.3, 1.0):
            exact = sum(
                p * gaussian.delta(epsilon, mu * (s + base))
                for s, p in exact_sums(n, steps, order).items()
                if s > 0
            )
            found = PrivacyCurve(SampledEvent(mu, draws, 1)).delta(epsilon)
            assert exact <= found * (1 + 1e-9)
            assert found <= 1.1 * exact + 1e-11


# errata, Y2: σ/(ηG) at ε = 1, δ = 1e-5 for a generic loss, the hinge of ranking, and its
# rounded form; and rounded in one pass.
TABLE = [
    (100, 100, 74.1, 37.0, 19.1, 11.8),
    (100, 10_000, 1307, 653, 420, None),
    (1000, 1000, 171, 85.3, 21.0, 14.8),
    (1000, 10_000, 587, 293, 67.9, None),
    (10_000, 10_000, 497, 248, 21.6, 15.9),
]


@pytest.mark.parametrize(("n", "steps", "generic", "hinge", "rounded", "one_pass"), TABLE)
def test_the_multipliers_of_the_audit(
    n: int, steps: int, generic: float, hinge: float, rounded: float, one_pass: float | None
) -> None:
    base = float(np.mean(np.sqrt(np.arange(steps))))
    corner = noise_multiplier(BUDGET, 1, RepeatedDraws(n, steps, base=base))
    assert 2 * corner == pytest.approx(generic, rel=0.01)
    assert corner == pytest.approx(hinge, rel=0.01)
    assert noise_multiplier(BUDGET, 1, RepeatedDraws(n, steps)) == pytest.approx(rounded, rel=0.01)
    if one_pass is not None:
        draws = RepeatedDraws(n, steps, "permutation")
        assert noise_multiplier(BUDGET, 1, draws) == pytest.approx(one_pass, rel=0.01)


@given(
    n=st.integers(2, 200),
    passes=st.integers(1, 4),
    order=st.sampled_from(["replacement", "permutation"]),
    base=st.floats(0, 20),
    epsilon=st.floats(0.05, 5),
    log_delta=st.floats(-8, -2),
)
@settings(max_examples=40, deadline=None, derandomize=True)
@pytest.mark.slow
def test_calibration_against_another_route(
    n: int, passes: int, order: str, base: float, epsilon: float, log_delta: float
) -> None:
    draws = RepeatedDraws(n, n * passes, order, base)  # type: ignore[arg-type]
    delta = 10**log_delta
    mu = 1 / noise_multiplier(Budget(epsilon, delta), 1, draws)
    assert draws.profile(mu, epsilon) <= delta * (1 + 1e-9)
    series, error = series_delta(SampledEvent(mu, draws, 1), epsilon)
    assert series - error <= delta * (1 + 1e-6)
    assert series + error >= 0.9 * delta


@pytest.mark.parametrize("base", [0.0, 20.0])
def test_the_second_route_bounds_the_error_of_grouped_weights(
    base: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = SampledEvent(0.02, RepeatedDraws(40, 1600, base=base), 1)
    monkeypatch.setattr(cosine_series, "_WORK", 1e5)
    exact = series_delta(event, 1.0)
    monkeypatch.setattr(cosine_series, "_MOST_EXACT", 100)
    monkeypatch.setattr(cosine_series, "_HEAD", 128)
    grouped = series_delta(event, 1.0)
    apart = abs(grouped.delta - exact.delta)
    assert 1e-13 < apart <= grouped.error + exact.error
    assert grouped.error < 1e-3 * exact.delta


def test_a_limit_cuts_what_many_appearances_do() -> None:
    free, cut = RepeatedDraws(10, 100), RepeatedDraws(10, 100, most=5.0)
    assert noise_multiplier(BUDGET, 1, cut) < noise_multiplier(BUDGET, 1, free)
    one = 5 / gaussian.gdp_mu(1.0, 1e-5)
    assert noise_multiplier(BUDGET, 1, cut) <= one * (1 + 1e-6)


def test_it_composes_with_other_releases() -> None:
    draws = RepeatedDraws(50, 50)
    event = SampledEvent(0.05, draws, 1)
    both = PrivacyCurve(event, GaussianEvent(0.2)).delta(0.5)
    one, other = PrivacyCurve(event).delta(0.5), PrivacyCurve(GaussianEvent(0.2)).delta(0.5)
    assert max(one, other) < both
    # The pair, on a grid, against the explicit curve, and against another library.
    pair = PrivacyCurve(event, GaussianEvent(1e-9)).delta(0.5)
    assert pair == pytest.approx(one, rel=0.02)
    assert accountant_delta([event], 0.5, 1e-2) == pytest.approx(one, rel=0.05)


def certificate(order: str = "permutation", **changed: float) -> Certificate:
    inputs = {"step_size": 0.01, "moved": 4.0, "common": 0.3, "steps": 200, "diameter": 2.0}
    base, most = beyond_appearances(**inputs)  # type: ignore[arg-type]
    stated = {"draws": 200, "base": base, "most": most, **changed}
    draws = RepeatedDraws(100, order=order, **stated)  # type: ignore[arg-type]
    one = Sensitivity.of("one step of pairwise SGD", **inputs)
    mechanism = GaussianMechanism.calibrate(BUDGET, one.value, dimension=5, sampling=draws)
    release = Release("average", mechanism, one, 5, 1, draws)
    return Certificate("SGD", BUDGET, 100, (release,))


@pytest.mark.parametrize("order", ["replacement", "permutation"])
def test_certificates_round_trip_and_verify(order: str) -> None:
    made = certificate(order)
    again = Certificate.from_json(made.to_json())
    assert again == made
    report = verify(again)
    assert "a cosine series" in str(report)
    assert "common = 0.3" in str(report)
    assert event_from_dict(event_to_dict(made.event)) == made.event
    ledger = BudgetLedger(BUDGET)
    ledger.spend(made)
    assert ledger.spent() == pytest.approx(1.0, rel=1e-3)
    adaptive = BudgetLedger(Budget(5.0, 1e-5), adaptive=True)
    adaptive.spend(made)
    assert 0 < adaptive.spent() < 5.0


@pytest.mark.parametrize("changed", [{"base": 0.0}, {"most": 1.0}, {"draws": 100}])
def test_draws_that_the_bound_does_not_speak_of_are_refused(changed: dict[str, float]) -> None:
    with pytest.raises(CertificateError, match=r"base|most|draws"):
        verify(certificate(**changed))


@pytest.mark.parametrize(
    ("n", "steps", "order"),
    [
        (8, 4_000, "permutation"), (2, 400, "replacement"), (3, 30_000, "replacement"),
        (10, 200_000, "replacement"), (2, 800, "permutation"),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_many_appearances_do_not_wrap_around(n: int, steps: int, order: str) -> None:
    draws = RepeatedDraws(n, steps, order)  # type: ignore[arg-type]
    mean = float(appearance_weights(steps).sum()) / n
    assert mean <= float(draws.distribution.sums @ draws.distribution.masses) <= 1.02 * mean
    mu = 1 / noise_multiplier(BUDGET, 1, draws)
    assert mu * mean < gaussian.gdp_mu(1.0, 1e-5)


def test_too_many_appearances_are_refused() -> None:
    for draws in (RepeatedDraws(3, 400_000), RepeatedDraws(2, 20_000, "permutation")):
        with pytest.raises(ValueError, match="use fewer"):
            noise_multiplier(BUDGET, 1, draws)


def test_noise_has_a_floor_where_a_record_is_hardly_ever_drawn() -> None:
    assert noise_multiplier(Budget(1.0, 1e-3), 1, RepeatedDraws(10**5, 5)) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"population": 1}, "population"),
        ({"draws": 0}, "draws"),
        ({"draws": 1}, "draws must be at least 2"),
        ({"draws": 15, "order": "permutation"}, "multiple of the population 10"),
        ({"order": "sorted"}, "order"),
        ({"base": -1.0}, "base"),
        ({"most": 0.0}, "most"),
    ],
)
def test_wrong_draws_are_refused(wrong: dict[str, object], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        RepeatedDraws(**{"population": 10, "draws": 20, **wrong})  # type: ignore[arg-type]


def test_a_delta_below_the_accuracy_of_the_distribution_is_refused() -> None:
    with pytest.raises(ValueError, match="below the numerical accuracy"):
        noise_multiplier(Budget(1.0, 1e-15), 1, RepeatedDraws(100, 100))
