"""Certificates for units: what they state, and what forged ones are refused for."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairdp import Budget, Certificate, CertificateError, Unit, verify
from pairdp._sealed import seal
from pairdp.algorithms import GradientDescent, NoisyGradientDescent, Plan, WithThreshold
from pairdp.constraints import L2Ball
from pairdp.losses import LogisticRanking
from pairdp.privacy import FixedSizeSampling, GaussianMechanism, Part, Release, Sensitivity
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.problem import Problem

PROBLEM = Problem(LogisticRanking(), L2Ball(1.0), 0.5)
UNIT = Unit("patient_id", 3)


def planned(algorithm: Any = None, unit: Unit | None = UNIT) -> Plan:
    algorithm = algorithm or GradientDescent(steps=4)
    return algorithm.plan(PROBLEM, 100, 3, Budget(1.0, 1e-6), unit=unit)


def changed(**changes: Any) -> str:
    """Return a certificate in which fields were changed, with the right digest."""
    values = json.loads(planned().certificate.to_json())
    values.pop("digest", None)
    for place, value in changes.items():
        *inside, last = place.split("__")
        where: Any = values
        for key in inside:
            where = where[int(key) if key.isdigit() else key]
        if value is None:
            del where[last]
        else:
            where[last] = value
    return seal(values)


@pytest.mark.parametrize(
    "algorithm",
    [
        GradientDescent(steps=4),
        NoisyGradientDescent(steps=4, step_size=0.1),
        NoisyGradientDescent("last", steps=400, step_size=0.1),
        WithThreshold(GradientDescent(steps=4)),
    ],
)
def test_a_certificate_of_units_is_planned_again_and_recomputed(algorithm: Any) -> None:
    certificate = planned(algorithm).certificate
    read = Certificate.from_json(certificate.to_json())
    assert read == certificate
    assert read.unit == UNIT
    assert read.relation == "replace-unit-or-null"
    assert verify(read).holds
    assert "for up to 3 records of each patient_id" in str(verify(read))
    assert pickle.loads(pickle.dumps(read)) == read
    assert all(release.sensitivity.records == 3 for release in read.releases)
    single = planned(algorithm, None).certificate
    assert single.relation == "replace-one-or-null"
    assert "unit" not in single.to_dict()
    assert "records" not in str(single.to_dict()["releases"])


def test_the_statement_says_what_is_protected() -> None:
    said = " ".join(planned().certificate.statement().split())
    for words in (
        "neighbours when all records of one unit (patient_id; at most 3 are used",
        "if all records of any one patient_id were another, or absent",
        "for 3 records and",
        "the rounding to the grid is added once",
        "used in the order of the table, at most 3 of each patient_id",
        "all records of each unit together",
    ):
        assert words in said
    assert "single record" not in said
    alone = " ".join(planned(unit=None).certificate.statement().split())
    assert "patient_id" not in alone
    assert "It protects each single record" in alone


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"unit__max_records": 30}, "planned|planning again|replaced records"),
        ({"unit__max_records": 2}, "planned|planning again|replaced records"),
        ({"unit__max_records": 0}, "at least 1"),
        ({"relation": "replace-one-or-null"}, "does not fit the unit"),
        ({"unit": None}, "does not fit the unit"),
        ({"relation": "replace-everything"}, "unknown neighbouring relation"),
        ({"relation": "replace-one-or-null", "unit": None}, "replaced records|planning again"),
        ({"releases__0__sensitivity__records": 1}, "records is missing"),
        ({"releases__0__sensitivity__records": 2}, "planning again|replaced records"),
        ({"unit__name": ""}, "must not be empty"),
    ],
)
def test_forged_units_are_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(CertificateError, match=reason):
        verify(changed(**changes))


def test_noise_for_fewer_records_is_refused_without_a_plan() -> None:
    sensitivity = Sensitivity.of("average over pairs", diameter=4.0, n=100)
    for records, ok in ((3, True), (2, False), (1, False)):
        stated = sensitivity.for_records(records)
        mechanism = GaussianMechanism.calibrate(Budget(1.0, 1e-6), stated.value, dimension=2)
        release = Release("gradient", mechanism, stated, 2)
        certificate = Certificate("by hand", Budget(1.0, 1e-6), 100, (release,), unit=UNIT)
        if ok:
            assert not verify(certificate).planned_again
        else:
            with pytest.raises(CertificateError, match="differ in up to 3"):
                verify(certificate)


def test_sampled_releases_and_parts_do_not_cover_units() -> None:
    stated = Sensitivity.of("average over pairs", diameter=4.0, n=10).for_records(3)
    budget = Budget(1.0, 1e-6)
    for more in ({"sampling": FixedSizeSampling(10, 100)}, {"part": Part("first", 10)}):
        mechanism = GaussianMechanism(stated.value, 50.0, 2)
        release = Release("gradient", mechanism, stated, 2, **more)
        certificate = Certificate("by hand", budget, 100, (release,), unit=UNIT)
        with pytest.raises(CertificateError, match=r"not for units|several parts"):
            verify(certificate)


@given(
    st.integers(1, 20),
    st.floats(0.01, 10.0),
    st.floats(0.0, 1.0),
    st.integers(1, 50),
    st.floats(0.01, 5.0),
)
def test_bounds_for_k_records_are_at_most_k_times_as_large_and_at_most_the_diameter(
    k: int, step: float, contraction: float, steps: int, diameter: float
) -> None:
    inputs = {
        "record_diameter": 2.0, "n": 20, "step_size": step, "contraction": contraction,
        "steps": steps, "diameter": diameter,
    }  # fmt: skip
    for name in ("last", "average"):
        one = Sensitivity.of(f"{name} iterate of gradient descent", **inputs)
        unit = one.for_records(k)
        assert one.value <= unit.value <= k * one.value * (1 + 1e-9)
        assert unit.value <= diameter * (1 + 1e-8)
    hidden = Sensitivity.of("last iterate of noisy gradient descent", **inputs)
    assert hidden.value <= hidden.for_records(k).value <= k * hidden.value * (1 + 1e-9)
    bound = find_bound("last iterate of noisy gradient descent")
    routes = [bound.for_records(route, inputs, k) for _, route in bound.routes()]
    assert routes[0] == pytest.approx(routes[1], rel=1e-9)


def test_wrong_units_are_refused() -> None:
    with pytest.raises(ValueError, match="max_records must be at least 1"):
        Unit("patient", 0)
    with pytest.raises(TypeError, match="max_records must be an integer"):
        Unit("patient", 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must not be empty"):
        Unit(" ", 2)
    with pytest.raises(TypeError, match="unit must be a Unit or None"):
        planned(unit="patient")  # type: ignore[arg-type]
