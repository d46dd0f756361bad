from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairdp._sealed import canonical, seal, unseal
from pairdp.privacy import (
    Bound,
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
    PoissonSampling,
    PrivacyCurve,
    Release,
    Sampling,
    Sensitivity,
    register_bound,
)
from pairdp.privacy.bounds import sensitivity
from pairdp.privacy.certificates import recomputation
from pairdp.verification import Report, verify

BUDGET = Budget(1.0, 1e-6)
PURE = Budget(1.0)
AVERAGE = Sensitivity.of("average over pairs", diameter=4.0, n=100)
BATCH = Sensitivity.of("average over pairs", diameter=4.0, n=10)
HALF = Sensitivity.of("average over pairs", diameter=4.0, n=50)
CLASSES = Sensitivity.of("difference of class sums", data_norm=1.5, n=100)
LAST = Sensitivity.of(
    "last iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=0.9, steps=30, diameter=5.0,
)  # fmt: skip
AVERAGED = Sensitivity.of(
    "average iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=1.0, steps=30,
)  # fmt: skip
DIAMETER = Sensitivity.of(
    "last iterate of gradient descent",
    record_diameter=10.0, n=100, step_size=0.2, contraction=1.0, steps=30, diameter=0.5,
)  # fmt: skip
STATED = Sensitivity.stated(2.0)
WITHOUT_REPLACEMENT = FixedSizeSampling(10, 100)
POISSON = PoissonSampling(0.05)


def gaussian(
    bound: Sensitivity = AVERAGE,
    *,
    count: int = 1,
    sampling: Sampling | None = None,
    part: Part | None = None,
    noise: float = 1.0,
) -> Release:
    exact = GaussianMechanism.calibrate(BUDGET, bound.value, steps=count, sampling=sampling)
    mechanism = GaussianMechanism(bound.value, exact.scale * noise)
    return Release("weights", mechanism, bound, 7, count, sampling, part)


def k_norm(epsilon: float, count: int = 1) -> Release:
    mechanism = KNormMechanism(AVERAGE.value, AVERAGE.value / epsilon)
    return Release("matrix", mechanism, AVERAGE, 6, count)


def laplace(epsilon: float, count: int = 1) -> Release:
    mechanism = LaplaceMechanism.calibrate(Budget(epsilon), AVERAGE.value, dimension=3, steps=count)
    return Release("histogram", mechanism, AVERAGE, 3, count)


def certify(*releases: Release, budget: Budget | None = BUDGET, **fields: object) -> Certificate:
    return Certificate("learner", budget, 100, releases, **fields)


def tight(*releases: Release) -> Certificate:
    """Claim exactly the δ that holds at ε = 1, so that nothing can be taken away."""
    made = certify(*releases)
    return dataclasses.replace(made, budget=Budget(1.0, made.delta(1.0)))


KINDS: dict[str, Callable[[], Certificate]] = {
    "gaussian": lambda: certify(gaussian()),
    "gaussian, 50 times": lambda: certify(gaussian(count=50)),
    "k-norm": lambda: certify(k_norm(1.0), budget=PURE),
    "k-norm, delta positive": lambda: certify(k_norm(1.0)),
    "laplace": lambda: certify(laplace(1.0), budget=PURE),
    "laplace, 7 times": lambda: certify(laplace(1.0, 7), budget=PURE),
    "without replacement, 1 step": lambda: certify(gaussian(BATCH, sampling=WITHOUT_REPLACEMENT)),
    "without replacement, 50 steps": lambda: certify(
        gaussian(BATCH, count=50, sampling=WITHOUT_REPLACEMENT)
    ),
    "without replacement, 1000 steps": lambda: certify(
        gaussian(BATCH, count=1000, sampling=WITHOUT_REPLACEMENT)
    ),
    "all records, called a batch": lambda: certify(
        gaussian(AVERAGE, count=5, sampling=FixedSizeSampling(100, 100))
    ),
    "poisson, 1 step": lambda: certify(gaussian(STATED, sampling=POISSON)),
    "poisson, 50 steps": lambda: certify(gaussian(STATED, count=50, sampling=POISSON)),
    "parts": lambda: certify(
        gaussian(HALF, part=Part("first", 50)), gaussian(HALF, count=3, part=Part("second", 50))
    ),
    "parts and all": lambda: certify(
        gaussian(HALF, part=Part("first", 50), noise=1.5), gaussian(AVERAGE, noise=1.5)
    ),
    "one part twice": lambda: certify(
        *[gaussian(HALF, part=Part("first", 50), noise=1.42)] * 2,
        gaussian(HALF, part=Part("second", 50)),
    ),
    "gaussian and pure": lambda: certify(k_norm(0.3), gaussian(noise=1.6)),
    "sampled and pure": lambda: certify(
        k_norm(0.3), gaussian(BATCH, count=200, sampling=WITHOUT_REPLACEMENT, noise=2.0)
    ),
    "pure, 30 times, delta positive": lambda: tight(k_norm(0.07, 30)),
    "pure, 500 times, delta positive": lambda: tight(k_norm(0.01, 500)),
    "pure, 2000 times, delta positive": lambda: tight(k_norm(0.004, 2000)),
    "pure, 200 times, tiny delta": lambda: tight(k_norm(0.01, 200)),
    "two pure kinds, delta positive": lambda: tight(k_norm(0.1, 12), laplace(0.6, 10)),
    "class sums": lambda: certify(gaussian(CLASSES)),
    "last iterate": lambda: certify(gaussian(LAST)),
    "average iterate": lambda: certify(gaussian(AVERAGED)),
    "diameter": lambda: certify(gaussian(DIAMETER)),
    "stated": lambda: certify(gaussian(STATED)),
    "far too much noise": lambda: certify(gaussian(noise=1e6)),
    "tiny delta": lambda: dataclasses.replace(
        certify(gaussian(noise=4.0)), budget=Budget(1.0, 1e-60)
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_holds_passes_with_a_readable_report(kind: str) -> None:
    made = KINDS[kind]()
    report = verify(made)
    assert isinstance(report, Report)
    assert report.certificate == made
    assert report.checks
    assert all(check.ok for check in report.checks)
    text = str(report)
    assert made.budget is not None
    # No facts were stated that it could be planned from: nothing is said to hold.
    assert text.startswith("NOT PLANNED AGAIN: it carries no facts of a plan")
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
    mechanism = GaussianMechanism.calibrate(budget, AVERAGE.value, calibration="printed")
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
        mechanism = GaussianMechanism.calibrate(budget, AVERAGE.value, steps=count)
    elif kind == "k-norm":
        mechanism = KNormMechanism.calibrate(budget, AVERAGE.value, steps=count)
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
    mechanism = GaussianMechanism.calibrate(budget, AVERAGE.value)
    verify(certify(Release("weights", mechanism, AVERAGE, 5), budget=budget))


def test_takes_certificates_texts_bytes_and_paths(tmp_path: Path) -> None:
    made = KINDS["gaussian"]()
    made.save(tmp_path / "certificate.json")
    text = made.to_json()
    reports = [verify(c) for c in (made, text, text.encode(), tmp_path / "certificate.json")]
    assert all(report == reports[0] for report in reports)


@pytest.mark.parametrize("other", [None, 5, 1.0, [], {}, object(), Certificate])
def test_other_types_are_refused(other: object) -> None:
    with pytest.raises(TypeError, match="verify takes a Certificate"):
        verify(other)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match="cannot be read"):
        verify(tmp_path / "missing.json")


def test_a_string_is_a_text_and_not_a_path(tmp_path: Path) -> None:
    KINDS["gaussian"]().save(tmp_path / "certificate.json")
    with pytest.raises(CertificateError, match="not a valid certificate"):
        verify(str(tmp_path / "certificate.json"))


Leaf = tuple[str | int, ...]

SAMPLES: dict[str, Callable[[], Certificate]] = {
    "gaussian": lambda: tight(gaussian(AVERAGE, count=2)),
    "stated": lambda: tight(gaussian(STATED)),
    "k-norm": lambda: certify(k_norm(0.5, 2), budget=PURE),
    "laplace": lambda: certify(laplace(1.0), budget=PURE),
    "pure, delta positive": lambda: tight(k_norm(0.07, 30)),
    "class sums": lambda: tight(gaussian(CLASSES)),
    "last iterate": lambda: tight(gaussian(LAST)),
    "average iterate": lambda: tight(gaussian(AVERAGED)),
    "diameter": lambda: tight(gaussian(DIAMETER)),
    "without replacement": lambda: tight(gaussian(STATED, count=200, sampling=WITHOUT_REPLACEMENT)),
    "poisson": lambda: tight(gaussian(STATED, count=200, sampling=POISSON)),
    "parts": lambda: tight(
        gaussian(HALF, part=Part("first", 50)), gaussian(HALF, part=Part("second", 50))
    ),
    "stated parts": lambda: tight(
        gaussian(STATED, part=Part("first", 40)), gaussian(STATED, part=Part("second", 60))
    ),
    "mixture": lambda: tight(k_norm(0.3), gaussian(noise=1.5)),
}

# Nothing in these says how many records a value is over.
UNTIED = ("stated", "poisson")

# What a wrong number must be blamed for, by its name.
BLAMED = {
    "epsilon": "claimed",
    "delta": "claimed|delta must be",
    "scale": "claimed",
    "count": "claimed|count must be",
    "dimension": "claimed|dimension must be",
    "rate": "claimed",
    "n": "its sensitivity is for n|batches are drawn from|the parts have",
    "population": "batches are drawn from",
    "size": "claimed|its sensitivity is for n|the parts have",
    "format_version": "certificate format",
}


def leaves(values: object, path: Leaf = ()) -> Iterator[tuple[Leaf, float]]:
    if isinstance(values, dict):
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    elif isinstance(values, list):
        for position, value in enumerate(values):
            yield from leaves(value, (*path, position))
    elif isinstance(values, int | float):
        yield path, values


def moved(value: float, up: bool) -> float:
    sign = 1 if up else -1
    if isinstance(value, int):
        return value + sign
    return value * (1 + sign * 0.01) if value else sign * 1e-3


def replaced(certificate: Certificate, changes: dict[Leaf, object]) -> str:
    document = unseal(certificate.to_json())
    for path, value in changes.items():
        inner: object = document
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
    return seal(document)


def still_true(sample: str, made: Certificate, path: Leaf, value: float, up: bool) -> bool:
    """Whether a certificate holds after one number of it went up or down."""
    leaf = path[-1]
    if path[0] == "claim":
        return up
    if path == ("n",):
        return sample in UNTIED or (sample in ("parts", "stated parts") and up)
    if path[0] != "releases":
        return False
    release = made.releases[int(path[1])]
    stated = release.sensitivity is not None and release.sensitivity.bound == "stated"
    if leaf == "scale":
        return up
    if leaf == "count":
        return not up and value > 1
    if leaf == "dimension":
        return not up or release.mechanism_name != "laplace"
    if leaf in ("size", "rate"):
        return not up and stated
    if leaf == "n":
        return False
    if "inputs" in path:
        # The smaller of drift and diameter counts, and the other may change.
        return (sample, leaf == "diameter") in (("last iterate", True), ("diameter", False))
    return False


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.slow
def test_no_number_can_be_changed_against_the_claim(sample: str) -> None:
    made = SAMPLES[sample]()
    verify(made)
    tried = {True: 0, False: 0}
    for path, value in leaves(unseal(made.to_json())):
        for up in (True, False):
            text = replaced(made, {path: moved(value, up)})
            true = still_true(sample, made, path, value, up)
            tried[true] += 1
            if true:
                assert verify(text).certificate != made, path
                continue
            blamed = BLAMED.get(str(path[-1]), "sensitivity of .* is stated as")
            with pytest.raises(CertificateError, match=blamed):
                pytest.fail(f"{path} {'up' if up else 'down'} passed: {verify(text)}")
    assert tried[False] >= 10
    assert tried[True] >= 3


@pytest.mark.parametrize(
    ("path", "blamed"),
    [
        (("claim", "epsilon"), "claimed"),
        (("claim", "delta"), "claimed"),
        (("releases", 0, "scale"), "claimed"),
        (("n",), "batches are drawn from"),
        (("releases", 0, "sampling", "population"), "batches are drawn from"),
        (("releases", 0, "sampling", "size"), "its sensitivity is for n = 10"),
        (("releases", 0, "sensitivity", "inputs", "n"), "its sensitivity is for n = 9"),
    ],
    ids=str,
)
def test_no_number_of_a_single_batch_can_be_lowered(path: Leaf, blamed: str) -> None:
    made = tight(gaussian(BATCH, sampling=WITHOUT_REPLACEMENT))
    verify(made)
    value = dict(leaves(unseal(made.to_json())))[path]
    with pytest.raises(CertificateError, match=blamed):
        verify(replaced(made, {path: moved(value, up=False)}))


def test_less_noise_with_a_smaller_sensitivity_to_match_is_noticed() -> None:
    made = SAMPLES["gaussian"]()
    (release,) = made.releases
    assert release.sensitivity is not None
    text = replaced(
        made,
        {
            ("releases", 0, "scale"): release.mechanism.scale * 0.99,
            ("releases", 0, "sensitivity", "value"): release.sensitivity.value * 0.99,
        },
    )
    with pytest.raises(CertificateError, match="sensitivity of weights"):
        verify(text)


@pytest.mark.parametrize("factor", [0.99, 0.5, 1.01])
def test_a_consistent_story_about_another_n_is_noticed(factor: float) -> None:
    n = round(100 * factor)
    other = Sensitivity.of("average over pairs", diameter=4.0, n=n)
    with pytest.raises(CertificateError, match=f"its sensitivity is for n = {n}"):
        verify(certify(gaussian(other)))
    verify(dataclasses.replace(certify(gaussian(other)), n=n))


def test_a_batch_moves_more_than_all_records() -> None:
    release = gaussian(AVERAGE, count=20, sampling=WITHOUT_REPLACEMENT)
    with pytest.raises(CertificateError, match="its sensitivity is for n = 100"):
        verify(certify(release))


def test_an_average_over_pairs_is_not_for_batches_of_random_size() -> None:
    with pytest.raises(CertificateError, match="random size"):
        verify(certify(gaussian(AVERAGE, count=20, sampling=POISSON)))


@pytest.mark.parametrize("digits", [1e-8, 1e-6])
def test_small_changes_are_noticed_too(digits: float) -> None:
    made = SAMPLES["gaussian"]()
    document = unseal(made.to_json())
    for path, value in leaves(document):
        if path[-1] in ("value", "diameter"):
            with pytest.raises(CertificateError, match="sensitivity of"):
                verify(replaced(made, {path: value * (1 + digits)}))
        if path[-1] in ("scale", "epsilon", "delta"):
            with pytest.raises(CertificateError, match="claimed"):
                verify(replaced(made, {path: value * (1 - digits)}))


@pytest.mark.parametrize(
    ("sample", "path", "value"),
    [
        ("gaussian", ("releases", 0, "count"), 10**400),
        ("gaussian", ("releases", 0, "count"), 10**30),
        ("gaussian", ("releases", 0, "scale"), 1e-320),
        ("gaussian", ("n",), 10**400),
        ("gaussian", ("releases", 0, "sensitivity", "inputs", "n"), 10**400),
        ("gaussian", ("releases", 0, "sensitivity", "inputs", "diameter"), 5e-324),
        ("k-norm", ("releases", 0, "count"), 10**400),
        ("k-norm", ("releases", 0, "scale"), 1e-320),
        ("laplace", ("releases", 0, "dimension"), 10**400),
        ("laplace", ("releases", 0, "scale"), 1e-320),
        ("pure, delta positive", ("releases", 0, "count"), 10**400),
        ("pure, delta positive", ("releases", 0, "count"), 3000),
        ("pure, delta positive", ("releases", 0, "scale"), 1e-320),
        ("last iterate", ("releases", 0, "sensitivity", "inputs", "contraction"), 1e300),
        ("last iterate", ("releases", 0, "sensitivity", "inputs", "contraction"), 1e12),
        ("average iterate", ("releases", 0, "sensitivity", "inputs", "step_size"), 1e308),
        ("without replacement", ("releases", 0, "scale"), 1e-320),
        ("without replacement", ("releases", 0, "scale"), 0.1),
        ("poisson", ("releases", 0, "scale"), 0.1),
        ("poisson", ("releases", 0, "count"), 10**400),
        ("poisson", ("releases", 0, "sampling", "rate"), 1.0),
        ("mixture", ("releases", 0, "scale"), 1e-6),
        ("mixture", ("releases", 1, "scale"), 1e-6),
    ],
    ids=lambda value: str(value)[:60],
)
def test_absurd_numbers_are_refused_as_a_certificate(sample: str, path: Leaf, value: float) -> None:
    with pytest.raises(CertificateError):
        verify(replaced(SAMPLES[sample](), {path: value}))


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
def test_no_character_can_be_changed_unnoticed(data: st.DataObject) -> None:
    text = SHORT.to_json()
    position = data.draw(st.integers(0, len(text) - 1))
    kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
    new = "" if kind == "delete" else data.draw(CHARACTERS)
    rest = text[position:] if kind == "insert" else text[position + 1 :]
    refused_or_the_same(text[:position] + new + rest, SHORT)


def test_no_bit_can_be_flipped_unnoticed() -> None:
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


def test_changes_without_a_new_digest_are_called_changes() -> None:
    for path, value in leaves(unseal(SHORT.to_json())):
        document = json.loads(replaced(SHORT, {path: moved(value, True)}))
        document["digest"] = json.loads(SHORT.to_json())["digest"]
        with pytest.raises(CertificateError, match="changed or damaged"):
            verify(json.dumps(document))


def test_an_unknown_bound_is_named() -> None:
    foreign = Sensitivity("bound of another installation", {"size": 3}, 0.5)
    release = Release("weights", GaussianMechanism(0.5, 10.0), foreign, 7)
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
    release = Release("weights", GaussianMechanism(0.04, 10.0), bound, 7)
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


def test_a_claim_over_a_release_without_noise_fails() -> None:
    bare = Release("the raw weights", NoMechanism(), None, 7)
    for releases in ((bare,), (gaussian(), bare)):
        with pytest.raises(CertificateError, match="the raw weights has no noise"):
            verify(certify(*releases))


def test_parts_beyond_n_cannot_be_disjoint() -> None:
    made = certify(
        gaussian(STATED, part=Part("first", 60)), gaussian(STATED, part=Part("second", 41))
    )
    with pytest.raises(CertificateError, match="101 records in all, more than n = 100"):
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


def test_one_bad_part_is_enough() -> None:
    made = certify(
        gaussian(HALF, part=Part("first", 50)), gaussian(HALF, part=Part("second", 50), noise=0.9)
    )
    with pytest.raises(CertificateError, match="claimed δ"):
        verify(made)


def test_a_false_printed_claim_fails_with_the_true_numbers() -> None:
    scale = AVERAGE.value * math.sqrt(1.25 * math.log(1e5)) / 2
    release = Release("weights", GaussianMechanism(AVERAGE.value, scale), AVERAGE, 7)
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
def test_a_mistake_in_the_accounting_is_found_by_the_other_route(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = KINDS[kind]()
    verify(made)
    monkeypatch.setattr(recomputation, "PrivacyCurve", Lenient)
    with pytest.raises(CertificateError, match="accounted δ"):
        verify(made)


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
    with pytest.raises(CertificateError, match=r"given as a pathlib\.Path"):
        verify("certificate.json")
