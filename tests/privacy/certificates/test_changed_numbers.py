"""Certificates with a number changed and sealed again: the recomputation notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pairdp._sealed import unseal
from pairdp.privacy import (
    Certificate,
    CertificateError,
    Part,
    Sensitivity,
)
from pairdp.verification import verify
from tests.privacy.certificates.kinds import (
    AVERAGE,
    AVERAGED,
    BATCH,
    CLASSES,
    DIAMETER,
    HALF,
    LAST,
    POISSON,
    PURE,
    STATED,
    WITHOUT_REPLACEMENT,
    Leaf,
    certify,
    gaussian,
    k_norm,
    laplace,
    leaves,
    moved,
    replaced,
    tight,
)

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
    "grid": "grid must be a power of two",
}


def has_noise_to_spare(made: Certificate) -> bool:
    budget = made.budget
    assert budget is not None
    if budget.is_pure:
        return made.epsilon() < budget.epsilon * (1 - 1e-5)
    return made.delta() < budget.delta * (1 - 1e-5)


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
        # One coordinate more is one more that is rounded.
        return not up or has_noise_to_spare(made)
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


def test_less_noise_with_a_matching_sensitivity_is_detected() -> None:
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
def test_consistent_changes_to_another_n_are_detected(factor: float) -> None:
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
def test_small_changes_are_detected(digits: float) -> None:
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
