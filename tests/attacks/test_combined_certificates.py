"""Certificates of several releases on parts of the records, changed to claim less than they cost.

Whichever field is edited and sealed again, `verify` refuses the certificate, or says first that it
was not planned again. Exceptions are those of `test_edited_certificates`, and a share of the
records that gives parts of the same sizes: then every number and sentence is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from pairdp import Budget, Certificate, CertificateError, PrivateRanker, plan_evaluation, verify
from pairdp.privacy import Part, Unit
from pairdp.privacy.certificates.combined import Split, certificates_in, combine
from pairdp.privacy.certificates.held_out import HeldOut
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED, UNDRAWN
from tests.attacks.honest_plans import Document, Path_, forged
from tests.attacks.test_edited_certificates import try_edits

SPLIT = HeldOut(0.25)


def ranker(n: int = 300, **parameters: Any) -> Certificate:
    chosen = PrivateRanker(1.0, 1e-5, algorithm="moments", data_norm=1.0)
    return chosen.set_params(**parameters).plan(n, 2).certificate


def whole(**parameters: int) -> Certificate:
    evaluation = plan_evaluation(100, 0.5, **parameters).certificate
    return combine(400, [("training", ranker(**parameters)), ("evaluation", evaluation)], SPLIT)


def apart_from_facts(certificate: Certificate) -> Document:
    return {key: value for key, value in certificate.to_dict().items() if key != "plan"}


def attack(original: Certificate, share: float) -> int:
    def excepted(path: Path_, report: Any) -> bool:
        found: Certificate = report.certificate
        if path == ("noise_source",):
            unknown = any("not part of this library" in note for note in report.notes)
            return unknown or found.noise_source in (SECURE, SEEDED, UNDRAWN)
        if path == ("library_version",):
            return "made by pairdp" in report.headline
        return path[-1] == "share" and apart_from_facts(found) == apart_from_facts(original)

    return try_edits(original, "combined", share, excepted)


def test_no_edit_of_any_field_passes() -> None:
    assert attack(whole(), 0.05) > 30


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{}, {"max_records": 3}])
def test_no_edit_passes_for_records_or_units(parameters: dict[str, int]) -> None:
    assert attack(whole(**parameters), 0.4) > 200


def refused(certificate: Certificate | str) -> str:
    with pytest.raises(CertificateError) as caught:
        verify(certificate)
    return str(caught.value)


def of_part(place: int, change: Callable[[Certificate], Certificate]) -> Certificate:
    """Return the whole with one certificate changed, and combined again as it should be."""
    entries = list(certificates_in(whole()))
    entries[place] = entries[place]._replace(certificate=change(entries[place].certificate))
    return combine(400, entries, SPLIT)


def less_noise(own: Certificate) -> Certificate:
    releases = tuple(
        replace(r, mechanism=replace(r.mechanism, scale=r.mechanism.scale * 0.9))  # type: ignore[type-var, union-attr]
        for r in own.releases
    )
    return replace(own, releases=releases)


@pytest.mark.parametrize("place", [0, 1])
def test_less_noise_in_one_part_is_found(place: int) -> None:
    """Although the whole is then exactly what its certificates combine to."""
    assert "scale" in refused(of_part(place, less_noise))


def test_smaller_claims_of_a_part_are_found() -> None:
    small = of_part(0, lambda own: replace(own, budget=Budget(0.25, 1e-5)))
    assert small.budget == Budget(0.5, 1e-5)
    refused(small)


def test_a_claim_below_that_of_the_parts_is_found() -> None:
    for claim in ({"epsilon": 0.9, "delta": 1e-5}, {"epsilon": 1.0, "delta": 1e-6}):

        def less(document: Document, claim: Any = claim) -> None:
            document["claim"] = claim

        def less_with_facts(document: Document, claim: Any = claim) -> None:
            document["claim"] = document["plan"]["combined"]["claim"] = claim

        assert "claim is not what" in refused(forged(whole(), less))
        assert "cannot be combined: the releases need" in refused(forged(whole(), less_with_facts))


def test_releases_on_one_part_do_not_pass_as_parallel() -> None:
    """A second model of the training records, stated to be of the others."""
    half = HeldOut(0.5)
    both = [("training", ranker(200)), ("training", ranker(200))]
    honest = combine(400, both, half)
    assert honest.budget == Budget(2.0, 2e-5)

    def moved(document: Document) -> None:
        releases = document["releases"]
        for release in releases[len(releases) // 2 :]:
            release["part"]["name"] = "evaluation"
        document["claim"] = {"epsilon": 1.0, "delta": 1e-5}

    assert "releases is not what its certificates combine to" in refused(forged(honest, moved))


def test_a_part_left_out_is_found() -> None:
    def without(document: Document) -> None:
        document["releases"] = document["releases"][:1]

    def without_facts(document: Document) -> None:
        del document["plan"]["combined"]["certificates"][0]

    for change in (without, without_facts):
        assert "combine" in refused(forged(whole(), change))


def test_the_cost_of_nested_splits_is_that_of_a_record_in_the_worst_part_of_each() -> None:
    """Parts of the same name, of two certificates, need not have the same records."""
    epochs = ranker(algorithm="DPEGD", threshold=0.0)
    swapped = replace(epochs, releases=epochs.releases[::-1])
    for pair in ((epochs, epochs), (epochs, swapped)):
        found = combine(300, [(None, own) for own in pair])
        single = epochs.epsilon(1e-5)
        assert found.epsilon(1e-5) > 1.3 * single


def test_units_in_several_parts_are_refused() -> None:
    def by_record(document: Document) -> None:
        for release in document["releases"]:
            del release["part"]["by_unit"]

    assert "combine" in refused(forged(whole(max_records=2), by_record))


@dataclass(frozen=True)
class Overlapping(Split):
    """A split that someone else wrote: both parts are all records."""

    def parts(self, n: int, unit: Unit | None = None) -> tuple[Part, ...]:
        return Part("training", n), Part("evaluation", n)

    def rule(self, n: int, unit: Unit | None = None) -> str:
        return "No record is in two parts."


def test_a_split_of_ones_own_is_not_believed() -> None:
    certificate = ranker(400)
    both = combine(400, [("training", certificate), ("evaluation", certificate)], Overlapping())
    assert "cannot be" in refused(both)


def test_facts_that_contain_themselves_are_refused() -> None:
    inner = whole()
    for _ in range(2):
        n = inner.n
        inner = combine(n, [(None, inner)])
    assert verify(inner).holds

    def deep(document: Document) -> None:
        entry = document["plan"]["combined"]["certificates"][0]["certificate"]
        entry["plan"]["combined"]["certificates"][0]["certificate"]["claim"]["epsilon"] = 0.1

    refused(forged(inner, deep))
