"""Verification recomputes every number of a certificate by a second route."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    Budget,
    Certificate,
    CertificateError,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    Mechanism,
    NoMechanism,
    Part,
    PrivacyCurve,
    Release,
    Sensitivity,
)
from pairdp.privacy.certificates import recomputation
from pairdp.privacy.mechanisms import additive_noise
from pairdp.verification import Report, verify
from tests.privacy.certificates.kinds import (
    AVERAGE,
    HALF,
    KINDS,
    PURE,
    STATED,
    certify,
    gaussian,
)


@pytest.mark.parametrize("kind", KINDS)
def test_valid_certificates_pass_with_a_readable_report(kind: str) -> None:
    made = KINDS[kind]()
    report = verify(made)
    assert isinstance(report, Report)
    assert report.certificate == made
    assert report.checks
    assert all(check.ok for check in report.checks)
    text = str(report)
    assert made.budget is not None
    # No facts were stated that it could be planned from: nothing is said to hold.
    assert text.startswith("NOT PLANNED AGAIN: it stores no facts of a plan")
    assert f"the claim is ε = 1, δ = {made.budget.delta:g}" in text.split("\n")[0]
    assert not report.planned_again
    assert not report.holds
    for check in report.checks:
        assert f"  {check}" in text.split("\n")
        assert str(check).startswith("ok ")
    for release in made.releases:
        assert f"sensitivity of {release.name}" in text
    assert "claimed" in text


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("stated", "poisson, 1 step")])
def test_every_number_is_recomputed_by_another_route(kind: str) -> None:
    made = KINDS[kind]()
    routes = {check.route for check in verify(made).checks}
    if all(r.sensitivity is not None and r.sensitivity.bound != "stated" for r in made.releases):
        assert "its second route" in routes
    if made.budget is not None and not made.budget.is_pure:
        others = {"moment inversion", "enumeration", "the formula for one step", "dp-accounting"}
        assert routes & others


def test_the_second_route_is_close_to_the_first() -> None:
    for kind in ("gaussian", "without replacement, 50 steps", "poisson, 50 steps"):
        (check,) = (c for c in verify(KINDS[kind]()).checks if c.what.startswith("accounted"))
        assert check.recomputed == pytest.approx(check.stated, rel=0.02)


def test_a_baseline_is_in_order_and_claims_nothing() -> None:
    bare = Release("weights", NoMechanism(), None, 7)
    for release in (bare, gaussian()):
        report = verify(certify(release, budget=None, calibration="none"))
        assert str(report).startswith("NOT PLANNED AGAIN: ")
        assert "no privacy is claimed" in str(report).split("\n")[0]


def test_a_true_printed_claim_passes() -> None:
    budget = Budget(0.5, 1e-6)
    mechanism = GaussianMechanism.calibrate(
        budget, AVERAGE.value, dimension=7, calibration="printed"
    )
    release = Release("weights", mechanism, AVERAGE, 7)
    verify(certify(release, budget=budget, calibration="printed"))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.sampled_from(["gaussian", "k-norm", "laplace"]),
    st.floats(1e-3, 30.0),
    st.floats(-30.0, -3.0),
    st.sampled_from([1, 2, 3, 7, 30]),
)
def test_whatever_is_calibrated_passes(kind: str, epsilon: float, log: float, count: int) -> None:
    budget = Budget(epsilon, math.exp(log))
    mechanism: Mechanism
    if kind == "gaussian":
        mechanism = GaussianMechanism.calibrate(budget, AVERAGE.value, dimension=5, steps=count)
    elif kind == "k-norm":
        mechanism = KNormMechanism.calibrate(budget, AVERAGE.value, dimension=5, steps=count)
    else:
        mechanism = LaplaceMechanism.calibrate(budget, AVERAGE.value, dimension=5, steps=count)
    made = certify(Release("weights", mechanism, AVERAGE, 5, count), budget=budget)
    assert made.holds
    verify(made)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (0.0023429090775729275, 2.4376127942966425e-13),
        (0.0009442505830087219, 5.280022960492204e-13),
        (1e-4, 1e-15),
        (0.1, 1e-100),
        (100.0, 1e-6),
        (1.0, 0.3),
    ],
)
def test_extreme_gaussian_budgets_pass(epsilon: float, delta: float) -> None:
    budget = Budget(epsilon, delta)
    mechanism = GaussianMechanism.calibrate(budget, AVERAGE.value, dimension=5)
    verify(certify(Release("weights", mechanism, AVERAGE, 5), budget=budget))


def test_takes_certificates_texts_bytes_and_paths(tmp_path: Path) -> None:
    made = KINDS["gaussian"]()
    made.save(tmp_path / "certificate.json")
    text = made.to_json()
    reports = [verify(c) for c in (made, text, text.encode(), tmp_path / "certificate.json")]
    assert all(report == reports[0] for report in reports)


@pytest.mark.parametrize("other", [None, 5, 1.0, [], {}, object(), Certificate])
def test_other_types_are_refused(other: object) -> None:
    with pytest.raises(TypeError, match="certificate must be a Certificate"):
        verify(other)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="cannot be read"):
        verify(tmp_path / "missing.json")


def test_a_string_is_a_text_and_not_a_path(tmp_path: Path) -> None:
    KINDS["gaussian"]().save(tmp_path / "certificate.json")
    with pytest.raises(CertificateError, match="not a valid certificate"):
        verify(str(tmp_path / "certificate.json"))


def test_a_claim_over_a_release_without_noise_fails() -> None:
    bare = Release("the raw weights", NoMechanism(), None, 7)
    for releases in ((bare,), (gaussian(), bare)):
        with pytest.raises(CertificateError, match="the raw weights has no noise"):
            verify(certify(*releases))


def test_parts_beyond_n_cannot_be_disjoint() -> None:
    made = certify(
        gaussian(STATED, part=Part("first", 60)), gaussian(STATED, part=Part("second", 41))
    )
    with pytest.raises(CertificateError, match="101 records, more than n = 100"):
        verify(made)


def test_a_part_has_one_size() -> None:
    made = certify(
        gaussian(STATED, part=Part("first", 40), noise=2.0),
        gaussian(STATED, part=Part("first", 50), noise=2.0),
    )
    with pytest.raises(CertificateError, match="part first has two sizes"):
        verify(made)


def test_batches_come_from_the_records_that_are_touched() -> None:
    made = certify(gaussian(STATED, sampling=FixedSizeSampling(10, 200)))
    with pytest.raises(CertificateError, match=r"drawn from 200 records, .* uses 100"):
        verify(made)
    on_part = gaussian(STATED, sampling=FixedSizeSampling(10, 100), part=Part("half", 50))
    with pytest.raises(CertificateError, match=r"drawn from 100 records, .* uses 50"):
        verify(certify(on_part))


def test_gaussian_noise_is_never_pure() -> None:
    with pytest.raises(CertificateError, match="claimed ε at δ = 0"):
        verify(certify(gaussian(noise=1e6), budget=PURE))


@pytest.mark.parametrize("kind", ["gaussian", "k-norm", "laplace", "poisson, 1 step", "parts"])
@pytest.mark.parametrize("share", [0.0, 0.99])
def test_rounding_that_is_not_paid_for_is_found(
    kind: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second route does not use what the mechanisms say of themselves."""
    made = KINDS[kind]()
    (stated, *_) = made.releases
    paid = share * stated.mechanism.rounding
    monkeypatch.setattr(additive_noise, "rounding", lambda grid, dimension: paid)
    with pytest.raises(CertificateError, match="with rounding to the grid is stated as"):
        verify(certify(*made.releases, budget=made.budget))


def test_one_bad_part_is_enough() -> None:
    made = certify(
        gaussian(HALF, part=Part("first", 50)), gaussian(HALF, part=Part("second", 50), noise=0.9)
    )
    with pytest.raises(CertificateError, match="claimed δ"):
        verify(made)


def test_a_false_printed_claim_fails_with_the_true_numbers() -> None:
    scale = AVERAGE.value * math.sqrt(1.25 * math.log(1e5)) / 2
    release = Release("weights", GaussianMechanism(AVERAGE.value, scale, 7), AVERAGE, 7)
    claim = certify(release, budget=Budget(2.0, 1e-5), calibration="printed")
    true = claim.delta(2.0)
    assert true > 1e-5
    with pytest.raises(CertificateError) as caught:
        verify(claim)
    assert (
        f"claimed δ at ε = 2 is stated as 1e-05, but accounting gives {true:.9g}"
        in caught.value.reasons
    )


def test_everything_that_is_wrong_is_listed() -> None:
    made = certify(
        gaussian(Sensitivity("nowhere proved", {}, 1.0)),
        gaussian(Sensitivity("average over pairs", {"diameter": 4.0, "n": 99}, 0.5)),
        Release("raw", NoMechanism(), None, 7),
        gaussian(STATED, part=Part("big", 101)),
    )
    with pytest.raises(CertificateError) as caught:
        verify(made)
    for said in ("nowhere proved", "n = 99", "raw has no noise", "101 records", "stated as 0.5"):
        assert any(said in reason for reason in caught.value.reasons), said


class Lenient(PrivacyCurve):
    """An accounting with a mistake: it finds half of the δ that there is."""

    def delta(self, epsilon: float) -> float:
        return super().delta(epsilon) / 2


@pytest.mark.parametrize(
    "kind",
    [
        "gaussian",
        "gaussian and pure",
        "without replacement, 1 step",
        "without replacement, 50 steps",
        "poisson, 50 steps",
        "pure, 30 times, delta positive",
        "pure, 2000 times, delta positive",
        "pure, 200 times, tiny delta",
        "two pure kinds, delta positive",
    ],
)
def test_an_accounting_mistake_is_found_by_the_second_route(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = KINDS[kind]()
    verify(made)
    monkeypatch.setattr(recomputation, "PrivacyCurve", Lenient)
    with pytest.raises(CertificateError, match="accounted δ"):
        verify(made)


def test_failed_checks_are_marked() -> None:
    check = recomputation.Check("δ", 1e-6, 2e-6, "counting", ok=False)
    assert str(check) == "FAIL δ: 1e-06; counting: 2e-06"
    assert re.match("ok +δ", str(dataclasses.replace(check, ok=True)))


def test_problem_and_bound_must_agree() -> None:
    verify(certify(gaussian(), problem={"diameter": 4.0}))
    with pytest.raises(CertificateError, match=r"diameter = 4.0, but the problem has diameter = 8"):
        verify(certify(gaussian(), problem={"diameter": 8.0}))


def test_the_report_notes_what_no_arithmetic_checks() -> None:
    notes = "\n".join(verify(certify(gaussian(), noise_source="a coin")).notes)
    assert "rests on diameter = 4, n = 100" in notes
    assert "not part of this library: a coin" in notes
    assert "no noise has been drawn" in "\n".join(verify(certify(gaussian())).notes)


def test_a_path_given_as_text_gets_a_hint() -> None:
    with pytest.raises(CertificateError, match=r"pass a file as a pathlib\.Path"):
        verify("certificate.json")
