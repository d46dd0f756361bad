"""Certificates forged with a story that agrees with itself: none of them may pass as true.

The digest of a certificate protects against accidents. Who forges one computes it anew, so a
forgery must be found by what it says. `verify` used to recompute each number from the numbers
beside it, and believed any story that agreed with itself: sensitivity and noise both divided by a
thousand, a larger bound on the data, fifty noisy steps stated as one, a release left out, a
contraction that is none. Now a certificate carries all public facts of its plan, and `verify` plans
again from these.

What cannot be found is a certificate that was planned anew from other facts: it is true of those.
That a model was made by the plan that it comes with is what its maker says.
"""

from __future__ import annotations

import pytest

import pairdp
from pairdp import (
    Certificate,
    CertificateError,
    PrivateRanker,
    verify,
)
from pairdp._sealed import seal, unseal
from pairdp.algorithms import MinimizerRelease, MomentRelease, NoisyGradientDescent
from tests.attacks.honest_plans import (
    BUDGET,
    PLANS,
    D,
    Document,
    N,
    Path_,
    divided,
    forged,
    leaf_of,
    made,
)
from tests.audit.cases import RANKING, SQUARES, plan


def as_one_step(document: Document) -> None:
    (release,) = document["releases"]
    release["count"] = 1


def less_noise(certificate: Certificate) -> float:
    """Return the scale that one step would need."""
    (release,) = certificate.releases
    return float(release.mechanism.scale / release.count**0.5)


def test_sensitivity_and_noise_divided_by_a_thousand() -> None:
    made_by = MinimizerRelease().plan(RANKING, N, D, BUDGET)
    with pytest.raises(CertificateError, match="planning again gives"):
        verify(forged(made_by.certificate, divided))


def test_a_larger_bound_on_the_data() -> None:
    made_by = MinimizerRelease().plan(RANKING, N, D, BUDGET)

    def change(document: Document) -> None:
        document["problem"]["data_norm"] = 100.0
        document["assumptions"][0] = "Every record is clipped to norm 100, which is public."

    with pytest.raises(CertificateError, match=r"problem.data_norm is stated as 100"):
        verify(forged(made_by.certificate, change))

    def everywhere(document: Document) -> None:
        change(document)
        document["plan"]["problem"]["fields"]["data_norm"] = 100.0

    with pytest.raises(CertificateError, match=r"lipschitz|scale"):
        verify(forged(made_by.certificate, everywhere))


def test_fifty_steps_stated_as_one() -> None:
    made_by = NoisyGradientDescent(steps=50, step_size=0.1).plan(RANKING, N, D, BUDGET)
    scale = less_noise(made_by.certificate)

    def change(document: Document) -> None:
        as_one_step(document)
        document["releases"][0]["scale"] = scale

    with pytest.raises(CertificateError, match=r"count is stated as 1, and .* gives 50"):
        verify(forged(made_by.certificate, change))


@pytest.mark.parametrize("which", [0, 1])
def test_a_release_left_out(which: int) -> None:
    made_by = MomentRelease().plan(SQUARES, N, D, BUDGET)
    assert len(made_by.certificate.releases) == 2
    with pytest.raises(CertificateError, match=r"releases has 1 entries, and .* gives 2"):
        verify(forged(made_by.certificate, lambda document: document["releases"].pop(which)))


def test_a_contraction_that_is_none() -> None:
    made_by = made(PrivateRanker(1.0, 1e-5, algorithm="DPGDSC", threshold=0.0, data_norm=1.0))
    certificate = made_by.certificate
    (release,) = certificate.releases
    assert release.sensitivity is not None
    inputs = {**release.sensitivity.inputs, "contraction": 0.0}
    other = pairdp.privacy.Sensitivity.of(release.sensitivity.bound, **inputs)

    def change(document: Document) -> None:
        stated = document["releases"][0]
        stated["scale"] *= other.value / stated["sensitivity"]["value"]
        stated["sensitivity"]["inputs"]["contraction"] = 0.0
        stated["sensitivity"]["value"] = other.value

    with pytest.raises(CertificateError, match="contraction is stated as 0"):
        verify(forged(certificate, change))


GRIDS = ["DPGDSC", "DPGDC, pure", "printed, pure", "mini-batches", "permutations", "moments"]


@pytest.mark.parametrize("factor", [0.5, 2.0, 2.0**16])
@pytest.mark.parametrize("name", GRIDS)
def test_another_grid(name: str, factor: float) -> None:
    """A finer one would be a lie about the low bits, and a coarser one is not paid for."""

    def change(document: Document) -> None:
        document["releases"][0]["grid"] *= factor

    with pytest.raises(CertificateError, match=r"grid is stated as .* planning again gives"):
        verify(forged(PLANS[name]().certificate, change))


@pytest.mark.parametrize("name", ["DPGDSC", "DPGDC, pure", "mini-batches", "permutations"])
def test_rounding_is_paid_for_whoever_planned(name: str) -> None:
    """Without facts to plan from, the arithmetic alone refuses a coarser grid."""

    def change(document: Document) -> None:
        document["plan"] = None
        document["releases"][0]["grid"] *= 2.0**16

    with pytest.raises(CertificateError, match="claimed"):
        verify(forged(PLANS[name]().certificate, change))


def test_a_dimension_whose_rounding_is_not_paid_for() -> None:
    def change(document: Document) -> None:
        document["plan"] = None
        document["releases"][0]["dimension"] = 1000

    with pytest.raises(CertificateError, match="claimed"):
        verify(forged(PLANS["DPGDSC"]().certificate, change))


@pytest.mark.parametrize("name", ["ranker", "classifier", "regressor"])
def test_an_assumption_left_out_or_added(name: str) -> None:
    certificate = PLANS[name]().certificate
    for place in range(len(certificate.assumptions)):
        with pytest.raises(CertificateError, match="assumptions has"):
            verify(forged(certificate, lambda document, at=place: document["assumptions"].pop(at)))
    with pytest.raises(CertificateError, match="assumptions has"):
        verify(forged(certificate, lambda document: document["assumptions"].append("All is well.")))


def test_a_constant_feature_must_be_in_the_bound_on_the_data() -> None:
    certificate = PLANS["classifier"]().certificate

    def change(document: Document) -> None:
        document["plan"]["conditions"][-1]["fields"]["data_norm"] = 5.0
        document["assumptions"][-1] = document["assumptions"][-1].replace("norm 1", "norm 5")

    with pytest.raises(CertificateError, match="cannot be planned from its own facts"):
        verify(forged(certificate, change))


# Facts that are missing, of another version, or of a class that nobody trusts


@pytest.mark.parametrize(
    "path",
    [("problem", "lipschitz"), ("problem", "regularization"), ("plan", "settings", "step_size")],
    ids=str,
)
def test_an_integer_beyond_all_floats_is_refused(path: Path_) -> None:
    document = unseal(plan("DPGDSC").certificate.to_json())
    leaf_of(document, path[:-1])[path[-1]] = 10**400
    with pytest.raises(CertificateError):
        verify(seal(document))


@pytest.mark.parametrize("name", ["algorithm", "library_version", "class"])
def test_no_text_of_a_certificate_overwrites_the_report(name: str) -> None:
    """A carriage return, an escape sequence or a line break could hide the first line."""
    text = "X\r\x1b[2KThe certificate of X holds: ε = 0.1\nThe certificate of X holds\u202e"
    document = unseal(plan("DPGDSC").certificate.to_json())
    if name == "class":
        document["plan"]["algorithm"] = {"class": text, "fields": {}}
    else:
        document[name] = text
        document["plan"] = None
    report = verify(seal(document))
    first, *others = str(report).splitlines()
    assert first.startswith("NOT PLANNED AGAIN: ")
    assert not any("holds" in line for line in others)
    for said in (str(report), report.headline, report.certificate.statement()):
        assert not set(said) & {"\r", "\x1b", "\u202e"}
    with pytest.raises(CertificateError) as refused:
        verify(seal({**document, text: 1}))
    assert str(refused.value).isprintable()


def test_a_certificate_without_facts_is_never_said_to_hold() -> None:
    certificate = PLANS["DPGDSC"]().certificate
    report = verify(forged(certificate, lambda document: document.update(plan=None)))
    assert not report.planned_again
    assert not report.holds
    first = str(report).splitlines()[0]
    assert first.startswith("NOT PLANNED AGAIN: it stores no facts of a plan")
    assert "holds" not in first


def test_another_version_with_the_same_numbers_holds_and_is_named() -> None:
    certificate = PLANS["DPGDSC"]().certificate
    report = verify(forged(certificate, lambda document: document.update(library_version="0.0.7")))
    assert report.holds
    assert "made by pairdp 0.0.7, planned again by" in str(report).splitlines()[0]


def test_another_version_with_other_numbers_is_not_planned_again() -> None:
    certificate = PLANS["DPGDSC"]().certificate

    def change(document: Document) -> None:
        document["library_version"] = "0.0.7"
        document["releases"][0]["scale"] *= 2

    report = verify(forged(certificate, change))
    assert not report.planned_again
    first = str(report).splitlines()[0]
    assert first.startswith("NOT PLANNED AGAIN: it was made by pairdp 0.0.7")


def test_less_noise_is_refused_whatever_the_version() -> None:
    certificate = PLANS["DPGDSC"]().certificate

    def change(document: Document) -> None:
        document["library_version"] = "0.0.7"
        document["releases"][0]["scale"] /= 2

    with pytest.raises(CertificateError, match="claimed"):
        verify(forged(certificate, change))
