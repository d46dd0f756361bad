"""Texts of certificates with characters, bits or fields changed: refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp._sealed import canonical, unseal
from pairdp.privacy import (
    Certificate,
    CertificateError,
    GaussianMechanism,
    Part,
    Release,
    Sensitivity,
)
from pairdp.verification import verify
from tests.privacy.certificates.kinds import (
    BATCH,
    KINDS,
    WITHOUT_REPLACEMENT,
    Leaf,
    certify,
    gaussian,
    leaves,
    moved,
    replaced,
)


def refused_or_the_same(document: str | bytes, made: Certificate) -> None:
    try:
        again = Certificate.from_json(document)
    except CertificateError:
        with pytest.raises(CertificateError):
            verify(document)
        return
    assert again == made
    assert canonical(json.loads(document)) == canonical(json.loads(made.to_json()))


SHORT = KINDS["gaussian"]()
CHARACTERS = st.sampled_from(sorted(set(SHORT.to_json()) | set("\x00'/\\u+é9E")))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_every_changed_character_is_detected(data: st.DataObject) -> None:
    text = SHORT.to_json()
    position = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
    new = "" if kind == "delete" else data.draw(CHARACTERS)
    rest = text[position:] if kind == "insert" else text[position + 1 :]
    refused_or_the_same(text[:position] + new + rest, SHORT)


def test_every_flipped_bit_is_detected() -> None:
    content = SHORT.to_json().encode()
    for position in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            refused_or_the_same(bytes(flipped), SHORT)


def test_spaces_may_change() -> None:
    document = json.loads(SHORT.to_json())
    for indent in (None, 0, 4):
        assert verify(json.dumps(document, indent=indent)).certificate == SHORT
    assert verify("\n\t " + SHORT.to_json() + "\n").certificate == SHORT


@pytest.mark.parametrize("as_bytes", [True, False])
def test_truncation_at_any_length_is_refused(as_bytes: bool) -> None:
    text = SHORT.to_json()
    for length in range(len(text.rstrip())):
        with pytest.raises(CertificateError):
            verify(text[:length].encode() if as_bytes else text[:length])


def test_changes_without_a_new_digest_are_reported_as_such() -> None:
    for path, value in leaves(unseal(SHORT.to_json())):
        document = json.loads(replaced(SHORT, {path: moved(value, True)}))
        document["digest"] = json.loads(SHORT.to_json())["digest"]
        with pytest.raises(CertificateError, match="changed or damaged"):
            verify(json.dumps(document))


def test_an_unknown_bound_is_named() -> None:
    foreign = Sensitivity("bound of another installation", {"size": 3}, 0.5)
    release = Release("weights", GaussianMechanism(0.5, 10.0, 7), foreign, 7)
    with pytest.raises(CertificateError, match="'bound of another installation'"):
        verify(certify(release))


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"diameter": 4.0}, "n"),
        ({"diameter": 4.0, "n": 100, "luck": 7}, "luck"),
        ({"diameter": 4.0, "n": 100.5}, "n"),
        ({"diameter": -4.0, "n": 100}, "diameter"),
        ({}, "diameter"),
    ],
)
def test_wrong_inputs_of_a_bound_are_named(inputs: dict[str, float], reason: str) -> None:
    bound = Sensitivity("average over pairs", inputs, 0.04)
    release = Release("weights", GaussianMechanism(0.04, 10.0, 7), bound, 7)
    with pytest.raises(CertificateError, match=f"weights: .*{reason}"):
        verify(certify(release))


@pytest.mark.parametrize(
    "path",
    [
        ("comment",),
        ("claim", "comment"),
        ("releases", 0, "comment"),
        ("releases", 0, "sensitivity", "comment"),
        ("releases", 0, "sampling", "comment"),
        ("releases", 0, "part", "comment"),
    ],
)
def test_unknown_fields_are_named(path: Leaf) -> None:
    part = Part("all", 100)
    made = certify(gaussian(BATCH, sampling=WITHOUT_REPLACEMENT, part=part))
    verify(made)
    with pytest.raises(CertificateError, match=r"unknown fields.*comment"):
        verify(replaced(made, {path: "hello"}))
