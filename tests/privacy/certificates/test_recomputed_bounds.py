"""Bounds that are registered are recomputed by both of their routes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pairdp.privacy import (
    Bound,
    CertificateError,
    Sensitivity,
    register_bound,
)
from pairdp.privacy.bounds import sensitivity
from pairdp.verification import verify
from tests.privacy.certificates.kinds import certify, gaussian, replaced


@pytest.fixture
def own_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what a test registers from other tests."""
    monkeypatch.setattr(sensitivity, "_BOUNDS", dict(sensitivity._BOUNDS))


def register(name: str, second_route: Callable[..., float] | None) -> Sensitivity:
    register_bound(Bound(name, "a sum over a square", lambda side: side * side, second_route))
    return Sensitivity.of(name, side=0.5)


@pytest.mark.usefixtures("own_bounds")
def test_a_registered_bound_is_recomputed_by_both_routes() -> None:
    bound = register("area of a test", lambda side: math.exp(2 * math.log(side)))
    report = verify(certify(gaussian(bound)))
    routes = [c.route for c in report.checks if "area of a test" in c.what]
    assert routes == ["its formula", "its second route"]


@pytest.mark.usefixtures("own_bounds")
@pytest.mark.parametrize("factor", [2.0, 0.5, 1 + 1e-6, 1 - 1e-6, math.inf, math.nan])
def test_a_bound_whose_routes_disagree_is_caught(factor: float) -> None:
    bound = register("disputed area of a test", lambda side: side * side * factor)
    with pytest.raises(CertificateError, match=r"disputed area of a test.*second route"):
        verify(certify(gaussian(bound)))


@pytest.mark.usefixtures("own_bounds")
@pytest.mark.parametrize("error", [ValueError("no such square"), ZeroDivisionError("by zero")])
def test_a_bound_whose_second_route_fails_is_caught(error: Exception) -> None:
    def fail(side: float) -> float:
        raise error

    bound = register("failing area of a test", fail)
    with pytest.raises(CertificateError, match=f"weights: .*{error}"):
        verify(certify(gaussian(bound)))


@pytest.mark.usefixtures("own_bounds")
def test_a_bound_without_second_route_is_checked_by_its_formula() -> None:
    bound = register("trusted area of a test", None)
    made = certify(gaussian(bound))
    routes = [c.route for c in verify(made).checks if "trusted area of a test" in c.what]
    assert routes == ["its formula"]
    path = ("releases", 0, "sensitivity", "inputs", "side")
    with pytest.raises(CertificateError, match="trusted area of a test"):
        verify(replaced(made, {path: 0.51}))


@pytest.mark.usefixtures("own_bounds")
def test_a_name_means_one_bound() -> None:
    register("area named twice in a test", None)
    with pytest.raises(ValueError, match="already registered"):
        register("area named twice in a test", None)
