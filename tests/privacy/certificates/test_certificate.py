from __future__ import annotations

import copy
import dataclasses
import errno
import itertools
import json
import math
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pairdp
from pairdp._sealed import digest, seal, unseal
from pairdp.privacy import (
    Budget,
    Certificate,
    CertificateError,
    FixedSizeSampling,
    GaussianEvent,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    NoiseSource,
    NoMechanism,
    NonPrivateEvent,
    ParallelEvent,
    Part,
    PoissonSampling,
    PrivacyCurve,
    PureEvent,
    Release,
    Sampling,
    Sensitivity,
    SequentialEvent,
)

BUDGET = Budget(1.0, 1e-6)
AVERAGE = Sensitivity.of("average over pairs", diameter=4.0, n=100)
HALF = Sensitivity.of("average over pairs", diameter=4.0, n=50)


def gaussian(
    scale: float = 0.2,
    *,
    sensitivity: Sensitivity = AVERAGE,
    count: int = 1,
    sampling: Sampling | None = None,
    part: Part | None = None,
) -> Release:
    mechanism = GaussianMechanism(sensitivity.value, scale)
    return Release("weights", mechanism, sensitivity, 7, count, sampling, part)


def k_norm(epsilon: float, *, part: Part | None = None, count: int = 1) -> Release:
    sensitivity = AVERAGE if part is None else HALF
    mechanism = KNormMechanism(sensitivity.value, sensitivity.value / epsilon)
    return Release("matrix", mechanism, sensitivity, 6, count, None, part)


def laplace(epsilon: float) -> Release:
    mechanism = LaplaceMechanism.calibrate(Budget(epsilon), AVERAGE.value, dimension=3)
    return Release("histogram", mechanism, AVERAGE, 3)


def certify(*releases: Release, budget: Budget | None = BUDGET, **fields: object) -> Certificate:
    return Certificate("learner", budget, 100, releases, **fields)


CERTIFICATES: dict[str, Certificate] = {
    "gaussian": certify(
        gaussian(),
        problem={"loss": "hinge", "smooth": False, "margin": 0.1, "classes": 2, "strong": None},
        noise_source="ChaCha20 keyed by the operating system",
        assumptions=("Records have norm at most 1.", "Labels are ±1."),
    ),
    "gaussian, 50 times": certify(gaussian(2.0, count=50)),
    "k-norm": certify(k_norm(1.0), budget=Budget(1.0)),
    "laplace": certify(laplace(1.0), budget=Budget(1.0)),
    "without replacement": certify(
        gaussian(
            1.0,
            sensitivity=Sensitivity.of("average over pairs", diameter=4.0, n=10),
            count=20,
            sampling=FixedSizeSampling(10, 100),
        )
    ),
    "poisson": certify(
        gaussian(
            10.0, sensitivity=Sensitivity.stated(2.0), count=20, sampling=PoissonSampling(0.05)
        )
    ),
    "parts": certify(
        k_norm(0.5, part=Part("first", 50)),
        k_norm(0.25, part=Part("first", 50)),
        k_norm(0.6, part=Part("second", 50)),
        k_norm(0.25),
        budget=Budget(1.0),
    ),
    "mixture": certify(gaussian(0.5), k_norm(0.25), laplace(0.125)),
    "printed": certify(gaussian(0.04 * 2), calibration="printed"),
    "baseline": certify(
        Release("weights", NoMechanism(), None, 7), budget=None, calibration="none"
    ),
}
every_certificate = pytest.mark.parametrize("name", CERTIFICATES)


@pytest.mark.parametrize("n", [0, -1, 1.5, 100.0, True, "100", None])
def test_n_is_a_positive_whole_number(n: object) -> None:
    with pytest.raises((TypeError, ValueError), match="n must be"):
        Certificate("learner", BUDGET, n, (gaussian(),))


def test_numpy_whole_numbers_are_taken() -> None:
    size = np.int64(100)
    sensitivity = Sensitivity.of("average over pairs", diameter=np.float64(4.0), n=size)
    release = Release(
        "weights", GaussianMechanism(sensitivity.value, np.float64(0.5)), sensitivity, size
    )
    made = Certificate("learner", BUDGET, size, (release,))
    assert Certificate.from_json(made.to_json()) == made


def test_numpy_single_precision_inputs_are_taken() -> None:
    sensitivity = Sensitivity.of("average over pairs", diameter=np.float32(4.0), n=100)
    made = certify(gaussian(sensitivity=sensitivity))
    assert Certificate.from_json(made.to_json()) == made


@pytest.mark.parametrize("budget", [1.0, (1.0, 1e-6), "1", {"epsilon": 1.0}])
def test_the_budget_is_a_budget_or_none(budget: object) -> None:
    with pytest.raises(TypeError, match="budget must be a Budget"):
        Certificate("learner", budget, 100, (gaussian(),))


@pytest.mark.parametrize(
    ("budget", "calibration"), [(None, "certified"), (None, "printed"), (BUDGET, "none")]
)
def test_nothing_is_claimed_exactly_without_calibration(
    budget: Budget | None, calibration: str
) -> None:
    with pytest.raises(ValueError, match="claims no budget exactly when"):
        certify(gaussian(), budget=budget, calibration=calibration)


@pytest.mark.parametrize("calibration", ["", "Certified", None, "exact"])
def test_the_calibration_is_a_known_one(calibration: object) -> None:
    with pytest.raises(ValueError, match='calibration must be "certified"'):
        certify(gaussian(), calibration=calibration)


@pytest.mark.parametrize("releases", [(), [], (gaussian(), None), ("weights",)])
def test_there_is_at_least_one_release_and_nothing_else(releases: object) -> None:
    with pytest.raises(ValueError, match="at least one Release"):
        Certificate("learner", BUDGET, 100, releases)


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1,), object(), np.zeros(2), 1j])
def test_problem_values_are_json_scalars(value: object) -> None:
    with pytest.raises(TypeError, match="problem entry size must be a JSON scalar"):
        certify(gaussian(), problem={"size": value})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_problem_values_are_finite(value: float) -> None:
    with pytest.raises(ValueError, match="problem entry size must be finite"):
        certify(gaussian(), problem={"size": value})


@pytest.mark.parametrize("name", ["", " ", 3, None])
def test_problem_names_say_something(name: object) -> None:
    with pytest.raises((TypeError, ValueError), match="problem entry"):
        certify(gaussian(), problem={name: 1})


@pytest.mark.parametrize("field", ["algorithm", "noise_source", "library_version"])
@pytest.mark.parametrize("value", ["", "  ", None, 3])
def test_texts_say_something(field: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        dataclasses.replace(CERTIFICATES["gaussian"], **{field: value})


@pytest.mark.parametrize("assumption", ["", None, 3])
def test_assumptions_say_something(assumption: object) -> None:
    with pytest.raises((TypeError, ValueError), match="assumption"):
        certify(gaussian(), assumptions=("true", assumption))


def test_mechanism_and_bound_must_agree_on_the_sensitivity() -> None:
    mechanism = GaussianMechanism(AVERAGE.value * (1 - 1e-12), 1.0)
    with pytest.raises(ValueError, match="has sensitivity"):
        Release("weights", mechanism, AVERAGE, 7)


def test_laplace_noise_is_for_one_dimension() -> None:
    mechanism = LaplaceMechanism.calibrate(Budget(1.0), AVERAGE.value, dimension=3)
    with pytest.raises(ValueError, match="has dimension 3, but the release has 4"):
        Release("histogram", mechanism, AVERAGE, 4)


@pytest.mark.parametrize(
    "mechanism",
    [GaussianMechanism(1.0, 1.0), KNormMechanism(1.0, 1.0), LaplaceMechanism(1.0, 3, 1.0)],
)
def test_noise_needs_its_sensitivity(mechanism: GaussianMechanism) -> None:
    with pytest.raises(ValueError, match="a release with noise needs a sensitivity"):
        Release("weights", mechanism, None, 3)


def test_no_noise_has_no_sensitivity() -> None:
    with pytest.raises(ValueError, match="must be None for a release without noise"):
        Release("weights", NoMechanism(), AVERAGE, 3)


@pytest.mark.parametrize(
    "mechanism", [KNormMechanism(AVERAGE.value, 1.0), LaplaceMechanism(AVERAGE.value, 7, 1.0)]
)
def test_sampling_goes_with_gaussian_noise_only(mechanism: KNormMechanism) -> None:
    with pytest.raises(ValueError, match="sampling is supported for Gaussian noise only"):
        Release("weights", mechanism, AVERAGE, 7, 5, FixedSizeSampling(10, 100))


@pytest.mark.parametrize(
    ("field", "value"),
    [("dimension", 0), ("dimension", 2.0), ("count", 0), ("count", True), ("name", "")],
)
def test_release_fields_are_checked(field: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=field):
        dataclasses.replace(gaussian(), **{field: value})


@pytest.mark.parametrize(("name", "size"), [("", 5), (None, 5), ("a", 0), ("a", 2.5), ("a", "5")])
def test_parts_have_a_name_and_a_size(name: object, size: object) -> None:
    with pytest.raises((TypeError, ValueError), match="part"):
        Part(name, size)


def test_a_release_needs_a_known_mechanism() -> None:
    class Silence(NoMechanism):
        pass

    for mechanism in (Silence(), "gaussian", None):
        with pytest.raises(TypeError, match="must be a Mechanism"):
            Release("weights", mechanism, None, 3)


def test_certificates_are_frozen_all_through() -> None:
    made = CERTIFICATES["gaussian"]
    (release,) = made.releases
    for thing, field in [(made, "n"), (made, "budget"), (release, "count"), (AVERAGE, "value")]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, field, getattr(thing, field))
    for mapping in (made.problem, AVERAGE.inputs):
        with pytest.raises(TypeError):
            mapping["n"] = 1
    assert isinstance(made.releases, tuple)
    assert isinstance(made.assumptions, tuple)


def test_changing_what_it_was_made_from_changes_nothing() -> None:
    problem: dict[str, object] = {"margin": 0.1}
    releases, assumptions = [gaussian()], ["true"]
    made = Certificate(
        "learner", BUDGET, 100, releases, problem=problem, assumptions=assumptions
    )  # fmt: skip
    text = made.to_json()
    problem["margin"] = 0.2
    releases.append(gaussian())
    assumptions.append("false")
    assert made.to_json() == text


def test_one_release_costs_its_event() -> None:
    assert CERTIFICATES["gaussian"].event == GaussianEvent(AVERAGE.value / 0.2)
    assert certify(k_norm(0.5, count=3)).event == PureEvent(
        AVERAGE.value / (AVERAGE.value / 0.5), 3
    )


def test_releases_compose_in_sequence() -> None:
    both = certify(k_norm(0.25), k_norm(0.5), budget=Budget(1.0))
    assert both.epsilon() == pytest.approx(0.75, rel=1e-12)


def test_parts_compose_in_parallel_and_each_part_in_sequence() -> None:
    made = CERTIFICATES["parts"]
    # In all records 0.25; in the first part 0.5 + 0.25 more, in the second 0.6.
    assert made.epsilon() == pytest.approx(1.0, rel=1e-12)
    assert isinstance(made.event, SequentialEvent)
    assert isinstance(made.event.events[-1], ParallelEvent)
    swapped = dataclasses.replace(made, releases=made.releases[2:] + made.releases[:2])
    assert swapped.epsilon() == made.epsilon()


def test_one_more_release_on_the_lighter_part_is_free() -> None:
    lighter, heavier = Part("lighter", 50), Part("heavier", 50)
    base = [k_norm(0.25, part=lighter), k_norm(0.75, part=heavier)]
    assert certify(*base, k_norm(0.25, part=lighter)).epsilon(0.0) == certify(*base).epsilon(0.0)
    assert certify(*base, k_norm(0.25, part=heavier)).epsilon(0.0) == pytest.approx(1.0)


def test_gaussian_parts_count_by_their_worst() -> None:
    first, second = Part("first", 50), Part("second", 50)
    made = certify(
        gaussian(1.0, sensitivity=HALF, part=first), gaussian(0.5, sensitivity=HALF, part=second)
    )
    alone = certify(gaussian(0.5, sensitivity=HALF))
    assert made.epsilon() == alone.epsilon()


@pytest.mark.parametrize("name", ["gaussian", "mixture", "without replacement"])
def test_epsilon_delta_and_curve_are_those_of_the_privacy_curve(name: str) -> None:
    made = CERTIFICATES[name]
    curve = PrivacyCurve(made.event)
    assert made.budget is not None
    assert made.epsilon() == curve.epsilon(made.budget.delta)
    assert made.delta() == curve.delta(made.budget.epsilon)
    assert made.epsilon(1e-4) == curve.epsilon(1e-4)
    assert made.delta(0.5) == curve.delta(0.5)
    deltas = [1e-8, 1e-2]
    points = made.curve(deltas)
    assert points.epsilon.tolist() == [curve.epsilon(d) for d in deltas]
    assert points.delta.tolist() == deltas


@pytest.mark.parametrize("name", ["gaussian", "gaussian, 50 times", "k-norm", "laplace"])
def test_the_curve_falls(name: str) -> None:
    points = CERTIFICATES[name].curve()
    assert points.epsilon.shape == points.delta.shape == (25,)
    assert points.delta[0] == pytest.approx(1e-12)
    assert points.delta[-1] == pytest.approx(0.1)
    assert np.all(np.diff(points.delta) > 0)
    assert np.all(np.diff(points.epsilon) <= 0)
    assert points.epsilon[0] > points.epsilon[-1] >= 0


@pytest.mark.parametrize("name", ["mixture", "without replacement", "poisson", "parts"])
def test_composed_curves_fall(name: str) -> None:
    made = CERTIFICATES[name]
    deltas = [made.delta(epsilon) for epsilon in (0.0, 0.2, 0.5, 0.8)]
    assert all(larger > smaller for larger, smaller in itertools.pairwise(deltas))
    assert made.epsilon(1e-9) > made.epsilon(1e-2)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_and_delta_are_inverse(delta: float) -> None:
    made = CERTIFICATES["gaussian"]
    assert made.delta(made.epsilon(delta)) == pytest.approx(delta, rel=1e-9)


def test_a_pure_claim_is_asked_at_delta_zero() -> None:
    assert CERTIFICATES["k-norm"].epsilon() == pytest.approx(1.0, rel=1e-15)
    assert CERTIFICATES["k-norm"].delta(1.0 + 1e-12) == 0
    assert CERTIFICATES["gaussian"].epsilon(0.0) == math.inf


def test_the_baseline_costs_everything() -> None:
    baseline = CERTIFICATES["baseline"]
    assert baseline.epsilon() == math.inf
    assert baseline.epsilon(0.1) == math.inf
    assert baseline.delta() == baseline.delta(100.0) == 1.0
    assert baseline.event in (NonPrivateEvent(), SequentialEvent((NonPrivateEvent(),) * 2))


def test_noise_that_nobody_vouches_for_is_a_baseline_too() -> None:
    noisy = certify(gaussian(1000.0), budget=None, calibration="none")
    assert noisy.epsilon(0.1) == math.inf
    assert noisy.holds


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 7, 30])
def test_calibrated_noise_holds_and_one_percent_less_does_not(epsilon: float, steps: int) -> None:
    budget, pure = Budget(epsilon, 1e-6), Budget(epsilon)
    exact = GaussianMechanism.calibrate(budget, AVERAGE.value, steps=steps)
    assert certify(gaussian(exact.scale, count=steps), budget=budget).holds
    assert not certify(gaussian(exact.scale * 0.99, count=steps), budget=budget).holds
    assert certify(k_norm(epsilon / steps, count=steps), budget=pure).holds
    assert not certify(k_norm(1.01 * epsilon / steps, count=steps), budget=pure).holds


@pytest.mark.parametrize("steps", [1, 3, 7, 30])
@pytest.mark.parametrize("delta", [0.0, 1e-15, 1e-11, 1e-6])
def test_calibrated_pure_noise_holds_whatever_delta(delta: float, steps: int) -> None:
    false = []
    for hundredths in range(5, 300, 7):
        budget = Budget(hundredths / 100, delta)
        mechanism = KNormMechanism.calibrate(budget, AVERAGE.value, steps=steps)
        release = Release("matrix", mechanism, AVERAGE, 6, steps)
        if not certify(release, budget=budget).holds:
            false.append(budget.epsilon)
    assert false == []


def test_gaussian_noise_does_not_hold_for_a_pure_claim() -> None:
    assert not certify(gaussian(1e6), budget=Budget(1.0)).holds


def test_a_claim_over_a_release_without_noise_does_not_hold() -> None:
    assert not certify(gaussian(), Release("weights", NoMechanism(), None, 7)).holds


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
    st.floats(1e-100, 1e100), st.floats(1e-100, 1e100), st.integers(1, 10**6),
)  # fmt: skip
def test_numbers_survive_json_to_the_last_bit(
    epsilon: float, delta: float, n: int, diameter: float, scale: float, count: int
) -> None:
    sensitivity = Sensitivity.of("average over pairs", diameter=diameter, n=n)
    release = gaussian(scale, sensitivity=sensitivity, count=count)
    made = Certificate("learner", Budget(epsilon, delta), n, (release,))
    assert Certificate.from_json(made.to_json()) == made


@every_certificate
def test_json_is_strict_and_says_what_it_is(name: str) -> None:
    made = CERTIFICATES[name]

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document = json.loads(made.to_json(), parse_constant=refuse)
    assert document["format"] == "pairdp certificate"
    assert document["format_version"] == 2
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


@pytest.mark.parametrize("version", [1, 3])
def test_another_format_is_named(version: int) -> None:
    text = changed("gaussian", lambda document: document.update(format_version=version))
    reason = rf"format {version} is not known .* reads format 2: use the pairdp that made it"
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
        (lambda d: d.update(format_version="2"), "format '2'"),
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
        (lambda d: d.update(claim=None), "claims no budget exactly when"),
        (lambda d: d.update(calibration="none"), "claims no budget exactly when"),
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
        (
            lambda d: d["releases"][0].update(mechanism="none"),
            "must be None for a release without noise",
        ),
        (lambda d: d["releases"][0].update(comment="x"), "release has unknown fields comment"),
        (lambda d: d["releases"][0].pop("scale"), "needs its scale"),
        (lambda d: d["releases"][0].pop("sensitivity"), "needs its scale and its sensitivity"),
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
def test_sealed_nonsense_is_refused_with_its_reason(
    change: Callable[[dict[str, object]], object], reason: str
) -> None:
    with pytest.raises(CertificateError, match=re.escape(reason)):
        Certificate.from_json(changed("gaussian", change))


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "certificate", b"\xff\xfe\x00"])
def test_what_is_no_certificate_is_refused(text: str | bytes) -> None:
    with pytest.raises(CertificateError):
        Certificate.from_json(text)


def test_errors_carry_their_reasons() -> None:
    with pytest.raises(CertificateError) as caught:
        Certificate.from_json("{}")
    assert caught.value.reasons == (str(caught.value),)
    assert CertificateError("one", "two").reasons == ("one", "two")
    assert str(CertificateError("one", "two")) == "one; two"
    assert issubclass(CertificateError, ValueError)
