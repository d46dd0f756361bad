"""Certificates as JSON, pickles and files: what is written comes back, nothing else is read."""

from __future__ import annotations

import copy
import dataclasses
import errno
import json
import math
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairdp
from pairdp._sealed import digest, seal, unseal
from pairdp.privacy import (
    Budget,
    Certificate,
    CertificateError,
    NoiseSource,
    Sensitivity,
)
from tests.privacy.certificates.examples import CERTIFICATES, certify, gaussian

every_certificate = pytest.mark.parametrize("name", CERTIFICATES)


@every_certificate
def test_json_round_trip(name: str) -> None:
    made = CERTIFICATES[name]
    again = Certificate.from_json(made.to_json())
    assert again == made
    assert hash(again) == hash(made)
    assert again.event == made.event
    assert again.to_json() == made.to_json()
    assert Certificate.from_json(made.to_json().encode()) == made


@every_certificate
def test_pickle_and_copy_round_trip(name: str) -> None:
    made = CERTIFICATES[name]
    assert pickle.loads(pickle.dumps(made)) == made
    assert copy.deepcopy(made) == made
    assert made.releases == pickle.loads(pickle.dumps(made.releases))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.floats(1e-300, 1e300), st.floats(0, 1, exclude_max=True), st.integers(2, 10**9),
    st.floats(1e-100, 1e100), st.floats(1e-20, 1e100), st.integers(1, 10**6),
)  # fmt: skip
def test_numbers_survive_json_to_the_last_bit(
    epsilon: float, delta: float, n: int, diameter: float, multiplier: float, count: int
) -> None:
    sensitivity = Sensitivity.of("average over pairs", diameter=diameter, n=n)
    release = gaussian(multiplier * sensitivity.value, sensitivity=sensitivity, count=count)
    made = Certificate("learner", Budget(epsilon, delta), n, (release,))
    assert Certificate.from_json(made.to_json()) == made


@every_certificate
def test_json_is_strict_and_says_what_it_is(name: str) -> None:
    made = CERTIFICATES[name]

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(made.to_json(), parse_constant=refuse)
    assert document["format"] == "pairdp certificate"
    assert document["format_version"] == 3
    assert document["library_version"] == pairdp.__version__
    assert document["relation"] == "replace-one-or-null"
    assert document["n"] == 100
    claimed = made.budget
    assert document["claim"] == (
        None if claimed is None else {"epsilon": claimed.epsilon, "delta": claimed.delta}
    )
    assert len(document["releases"]) == len(made.releases)
    stated = document.pop("digest")
    assert stated == digest(document)


def test_json_keeps_the_facts() -> None:
    document = json.loads(CERTIFICATES["gaussian"].to_json())
    assert document["problem"] == {
        "loss": "hinge", "smooth": False, "margin": 0.1, "classes": 2, "strong": None,
    }  # fmt: skip
    assert document["assumptions"] == ["Records have norm at most 1.", "Labels are ±1."]
    assert document["noise_source"] == "ChaCha20 keyed by the operating system"
    assert document["releases"][0]["sensitivity"]["inputs"] == {"diameter": 4.0, "n": 100}


def test_the_same_certificate_has_the_same_text() -> None:
    one = certify(gaussian(), problem={"a": 1, "b": 2})
    other = certify(gaussian(), problem={"b": 2, "a": 1})
    assert one == other
    assert json.loads(one.to_json())["digest"] == json.loads(other.to_json())["digest"]


def test_certificates_that_differ_are_not_equal() -> None:
    texts = {made.to_json() for made in CERTIFICATES.values()}
    assert len(texts) == len(CERTIFICATES)
    made = CERTIFICATES["gaussian"]
    assert dataclasses.replace(made, problem={}) != made
    assert dataclasses.replace(made, assumptions=()) != made


def test_the_noise_source_is_named_and_nothing_else_changes() -> None:
    made = certify(gaussian())
    assert made.noise_source == "not drawn yet"
    secure, seeded = NoiseSource(), NoiseSource(seed=12345)
    drawn = made.with_noise_source(secure)
    assert drawn.noise_source == secure.description
    assert made.with_noise_source(seeded).noise_source == seeded.description
    assert "12345" not in made.with_noise_source(seeded).to_json()
    assert dataclasses.replace(drawn, noise_source="not drawn yet") == made


@every_certificate
def test_saved_and_loaded(tmp_path: Path, name: str) -> None:
    made, path = CERTIFICATES[name], tmp_path / "certificate.json"
    made.save(path)
    assert path.read_text(encoding="utf-8") == made.to_json()
    assert Certificate.load(path) == made
    made.save(str(path))
    assert Certificate.load(str(path)) == made
    assert [entry.name for entry in tmp_path.iterdir()] == ["certificate.json"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_disk_leaves_the_old_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "certificate.json"
    CERTIFICATES["gaussian"].save(path)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, fail)
        with pytest.raises(OSError, match="No space left on device"):
            CERTIFICATES["k-norm"].save(path)
    assert Certificate.load(path) == CERTIFICATES["gaussian"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["certificate.json"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(CertificateError, match=re.escape(f"{path} cannot be read")):
            Certificate.load(path)


@every_certificate
def test_every_truncation_is_refused(tmp_path: Path, name: str) -> None:
    path, whole = tmp_path / "certificate.json", CERTIFICATES[name].to_json().encode()
    for length in range(0, len(whole.rstrip()), 50):
        path.write_bytes(whole[:length])
        with pytest.raises(CertificateError, match="not a valid certificate"):
            Certificate.load(path)


@every_certificate
def test_flipped_bytes_are_refused(tmp_path: Path, name: str) -> None:
    path, whole = tmp_path / "certificate.json", CERTIFICATES[name].to_json().encode()
    accepted = 0
    for position in range(0, len(whole) - 1, 5):
        for mask in (1, 0x80):
            flipped = bytearray(whole)
            flipped[position] ^= mask
            path.write_bytes(flipped)
            try:
                again = Certificate.load(path)
            except CertificateError:
                continue
            # Only the last of seventeen digits can change and leave the number as it was.
            assert again == CERTIFICATES[name]
            assert chr(whole[position]).isdigit()
            accepted += 1
    assert accepted <= 3


def changed(name: str, change: Callable[[dict[str, object]], object]) -> str:
    document = unseal(CERTIFICATES[name].to_json())
    change(document)
    return seal(document)


@pytest.mark.parametrize("version", [1, 2, 4])
def test_another_format_is_named(version: int) -> None:
    text = changed("gaussian", lambda document: document.update(format_version=version))
    reason = rf"format {version} is not known .* reads format 3: use the pairdp that made it"
    with pytest.raises(CertificateError, match=reason):
        Certificate.from_json(text)


PLANS = [{"a": [1, {"b": None}, "c"], "d": 0.5, "e": True}, {}]


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_a_plan_comes_back_and_cannot_be_changed(plan: dict[str, Any]) -> None:
    made = dataclasses.replace(CERTIFICATES["gaussian"], plan=plan)
    again = Certificate.from_json(made.to_json())
    assert again == made
    assert again.to_dict()["plan"] == plan
    assert made != CERTIFICATES["gaussian"]
    with pytest.raises(TypeError):
        made.plan["a"] = 1  # type: ignore[index]


@pytest.mark.parametrize("plan", [[], "x", 5, {"a": math.nan}, {"a": object()}, {1: 2}])
def test_a_plan_has_json_values_only(plan: Any) -> None:
    with pytest.raises(TypeError, match="plan"):
        dataclasses.replace(CERTIFICATES["gaussian"], plan=plan)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d.update(format="pairdp ledger"), "format is 'pairdp ledger'"),
        (lambda d: d.pop("format"), "not a certificate"),
        (lambda d: d.pop("format_version"), "format None"),
        (lambda d: d.update(format_version="3"), "format '3'"),
        (lambda d: d.pop("plan"), "lacks plan"),
        (lambda d: d.update(plan=[]), "plan must be a mapping"),
        (lambda d: d.update(relation="add-remove"), "neighbouring relation 'add-remove'"),
        (lambda d: d.update(relation=None), "neighbouring relation None"),
        (lambda d: d.update(comment="x"), "unknown fields comment"),
        (lambda d: d.pop("n"), "lacks n"),
        (lambda d: d.update(n="100"), "n must be an integer"),
        (lambda d: d.update(n=100.0), "n must be an integer"),
        (lambda d: d.update(algorithm=""), "algorithm must not be empty"),
        (lambda d: d.update(claim=[1.0, 0.0]), "claim must be a JSON object"),
        (lambda d: d["claim"].update(rho=1.0), "claim has unknown fields rho"),
        (lambda d: d["claim"].update(epsilon=-1.0), "epsilon must be positive"),
        (lambda d: d["claim"].update(epsilon=True), "epsilon must be a real number"),
        (lambda d: d["claim"].update(delta=1.0), "delta must be"),
        (lambda d: d["claim"].update(epsilon=10**400), "too large"),
        (lambda d: d.update(claim=None), "must be None if and only if"),
        (lambda d: d.update(calibration="none"), "must be None if and only if"),
        (lambda d: d.update(calibration=["certified"]), "calibration must be"),
        (lambda d: d.update(releases={}), "must be lists"),
        (lambda d: d.update(releases=[]), "at least one Release"),
        (lambda d: d.update(releases=[None]), "release must be a JSON object"),
        (lambda d: d.update(assumptions="none"), "must be lists"),
        (lambda d: d.update(assumptions=[1]), "assumption must be a string"),
        (lambda d: d.update(problem=[]), "problem must be a JSON object"),
        (lambda d: d.update(problem={"a": [1]}), "JSON scalar"),
        (lambda d: d["releases"][0].update(mechanism="uniform"), "unknown mechanism 'uniform'"),
        (lambda d: d["releases"][0].update(mechanism=None), "unknown mechanism None"),
        (lambda d: d["releases"][0].update(mechanism="none"), "must be None for a release"),
        (lambda d: d["releases"][0].update(comment="x"), "release has unknown fields comment"),
        (lambda d: d["releases"][0].pop("scale"), "needs its scale"),
        (lambda d: d["releases"][0].pop("grid"), "needs its scale, its grid"),
        (lambda d: d["releases"][0].update(grid=0.0), "grid must be positive"),
        (lambda d: d["releases"][0].update(grid=-0.25), "grid must be positive"),
        (lambda d: d["releases"][0].update(grid=0.3), "grid must be a power of two"),
        (lambda d: d["releases"][0].update(grid=True), "grid must be a real number"),
        (lambda d: d["releases"][0].update(grid=2.0**80), "from 2^-64 to 2^52 grid steps"),
        (lambda d: d["releases"][0].update(grid=2.0**-80), "from 2^-64 to 2^52 grid steps"),
        (lambda d: d["releases"][0].pop("sensitivity"), "its grid and its sensitivity"),
        (lambda d: d["releases"][0].pop("count"), "release lacks count"),
        (lambda d: d["releases"][0].update(count=0), "count must be at least 1"),
        (lambda d: d["releases"][0].update(scale=0.0), "scale must be positive"),
        (lambda d: d["releases"][0].update(scale="1"), "scale must be a real number"),
        (lambda d: d["releases"][0].update(part="first"), "part must be a JSON object"),
        (lambda d: d["releases"][0].update(part={"name": "a"}), "part lacks size"),
        (lambda d: d["releases"][0].update(sampling="poisson"), "not a sampling scheme"),
        (
            lambda d: d["releases"][0].update(sampling={"scheme": "poisson", "rate": 1.5}),
            "rate must be at most 1",
        ),
        (
            lambda d: d["releases"][0].update(
                sampling={"scheme": "without replacement", "size": 11, "population": 10}
            ),
            "size must be at most population",
        ),
        (lambda d: d["releases"][0]["sensitivity"].update(value=0), "sensitivity must be positive"),
        (lambda d: d["releases"][0]["sensitivity"].update(inputs=[4.0]), "inputs"),
        (
            lambda d: d["releases"][0]["sensitivity"]["inputs"].update(n="100"),
            "input n must be a real number",
        ),
        (lambda d: d["releases"][0]["sensitivity"].update(bound=7), "bound must be a string"),
        (lambda d: d["releases"][0]["sensitivity"].update(note="x"), "unknown fields note"),
    ],
)
def test_sealed_but_invalid_documents_are_refused_with_a_reason(
    change: Callable[[dict[str, object]], object], reason: str
) -> None:
    with pytest.raises(CertificateError, match=re.escape(reason)):
        Certificate.from_json(changed("gaussian", change))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "certificate", b"\xff\xfe\x00"])
def test_other_texts_are_not_read_as_certificates(text: str | bytes) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


def test_errors_carry_their_reasons() -> None:
    with pytest.raises(CertificateError) as caught:
        Certificate.from_json("{}")
    assert caught.value.reasons == (str(caught.value),)
    assert CertificateError("one", "two").reasons == ("one", "two")
    assert str(CertificateError("one", "two")) == "one; two"
    assert issubclass(CertificateError, ValueError)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        CERTIFICATES["gaussian"].save(tmp_path / "nowhere" / "certificate.json")
