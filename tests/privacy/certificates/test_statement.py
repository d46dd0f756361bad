from __future__ import annotations

import dataclasses
import math
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairdp.privacy import (
    Budget,
    Certificate,
    FixedSizeSampling,
    GaussianMechanism,
    KNormMechanism,
    LaplaceMechanism,
    NoiseSource,
    NoMechanism,
    Part,
    PoissonSampling,
    Release,
    Sampling,
    Sensitivity,
)

BUDGET = Budget(1.0, 1e-6)
AVERAGE = Sensitivity.of("average over pairs", diameter=4.0, n=100)
STATED = Sensitivity.stated(2.0)
NOISY = Release(
    "weights", GaussianMechanism.calibrate(BUDGET, AVERAGE.value, dimension=7), AVERAGE, 7
)
ASSUMPTIONS = (
    "Every record has norm at most 1, which the learner enforces by scaling records down.",
    "Labels are +1 or -1.",
)
CERTIFICATE = Certificate("A learner", BUDGET, 100, (NOISY,), assumptions=ASSUMPTIONS)


def flat(certificate: Certificate) -> str:
    return re.sub(r"\s+", " ", certificate.statement())


def with_releases(*releases: Release, budget: Budget = BUDGET) -> Certificate:
    return dataclasses.replace(CERTIFICATE, releases=releases, budget=budget)


def sampled(sampling: Sampling) -> Release:
    mechanism = GaussianMechanism(STATED.value, 40.0, 7)
    return Release("batch gradient", mechanism, STATED, 7, 10, sampling)


def test_the_claim_comes_first() -> None:
    text = flat(CERTIFICATE)
    assert text.startswith(
        "A learner, planned for n = 100 records, is differentially private with ε = 1 and δ = 1e-06"
    )
    assert "FALSE" not in text
    assert "NOT PRIVATE" not in text


def test_the_relation_is_said_in_words() -> None:
    assert (
        "two data sets are neighbours when one record, with its label, is replaced by another or "
        "by a null record (absent, unreadable); n is the public capacity"
    ) in flat(CERTIFICATE)


def test_what_epsilon_and_delta_mean_is_said() -> None:
    text = flat(CERTIFICATE)
    assert "within a factor of e^1 = 2.72, up to a probability of 1e-06" in text


def test_a_pure_claim_has_no_delta() -> None:
    release = Release(
        "matrix", KNormMechanism.calibrate(Budget(0.5), AVERAGE.value, dimension=6), AVERAGE, 6
    )
    text = flat(with_releases(release, budget=Budget(0.5)))
    assert "differentially private with ε = 0.5, where" in text
    assert "within a factor of e^0.5 = 1.65)" in text
    assert "δ =" not in text
    assert "up to a probability" not in text


def test_a_huge_epsilon_does_not_break_the_statement() -> None:
    release = Release(
        "matrix", KNormMechanism.calibrate(Budget(1e5), AVERAGE.value, dimension=6), AVERAGE, 6
    )
    assert "more than 1e130" in flat(with_releases(release, budget=Budget(1e5)))


def test_every_release_is_listed() -> None:
    laplace = LaplaceMechanism(AVERAGE.value, 3.5, 3)
    releases = (
        Release("weights", GaussianMechanism(AVERAGE.value, 1.25, 7), AVERAGE, 7),
        Release("matrix", KNormMechanism(AVERAGE.value, 2.5, 6), AVERAGE, 6, 3),
        Release("histogram", laplace, AVERAGE, 3, part=Part("the held-out fold", 40)),
    )
    text = flat(with_releases(*releases, budget=Budget(2.0, 1e-6)))
    assert "weights (7 numbers): Gaussian noise of standard deviation 1.25, on multiples of" in text
    assert "matrix (6 numbers, 3 times): K-norm noise" in text
    assert "of scale s = 2.5, on multiples of 2^-27; sensitivity 0.04 and 1.83e-08 for rou" in text
    assert "histogram (3 numbers): Laplace noise in each coordinate, of scale 3.5, " in text
    assert "; on the 40 records of the held-out fold." in text
    for release in releases:
        assert release.describe() in text


def test_every_bound_is_explained_once() -> None:
    other = Release("batch", GaussianMechanism(STATED.value, 1e3, 7), STATED, 7)
    text = flat(with_releases(NOISY, other, NOISY, budget=Budget(3.0, 1e-6)))
    assert "Why this much noise:" in text
    assert text.count("average over pairs:") == 1
    assert "one record is in 2(n-1) of the pairs" in text
    assert "stated: stated by the author of the plan, and not derived by this library" in text


def test_a_bound_from_elsewhere_is_called_unknown() -> None:
    foreign = Sensitivity("bound of another installation", {"size": 3}, 0.5)
    release = Release("weights", GaussianMechanism(0.5, 10.0, 7), foreign, 7)
    text = flat(with_releases(release))
    assert "bound of another installation: a bound that is not registered in this process" in text


def test_every_assumption_is_listed() -> None:
    for assumption in ASSUMPTIONS:
        assert f"- {assumption}" in flat(CERTIFICATE)


def test_what_always_limits_the_guarantee_is_said() -> None:
    text = flat(CERTIFICATE)
    for said in (
        "fixed before the records were read",
        "Preparation of the records before they reach the algorithm is not covered",
        "rounded to a public grid, which the sensitivities include",
        "the timing or memory of the machine are not covered",
        "other releases of the same records",
        "not facts that many records show together",
    ):
        assert said in text


def test_the_noise_source_and_version_are_said() -> None:
    assert "Noise: not drawn yet." in flat(CERTIFICATE)
    drawn = CERTIFICATE.with_noise_source(NoiseSource(seed=3))
    assert f"Noise: {NoiseSource(seed=3).description}." in flat(drawn)
    assert f"pairdp {CERTIFICATE.library_version}; check it with pairdp.verify" in flat(drawn)


def test_a_false_printed_claim_is_called_false_with_the_true_epsilon() -> None:
    scale = AVERAGE.value * math.sqrt(1.25 * math.log(1e5)) / 2
    release = Release("weights", GaussianMechanism(AVERAGE.value, scale, 7), AVERAGE, 7)
    claim = Certificate("A learner", Budget(2.0, 1e-5), 100, (release,), calibration="printed")
    assert not claim.holds
    assert claim.epsilon() == pytest.approx(2.115, abs=5e-4)
    text = flat(claim)
    assert text.startswith("FALSE CLAIM. A learner, planned for n = 100 records,")
    assert "published as differentially private with ε = 2 and δ = 1e-05" in text
    assert "its noise gives ε = 2.115 at that δ" in text
    assert "Do not release it as private." in text
    assert "Any conclusion" not in text


def test_a_false_pure_claim_is_called_false() -> None:
    release = Release("weights", GaussianMechanism(AVERAGE.value, 1e6, 7), AVERAGE, 7)
    text = flat(with_releases(release, budget=Budget(1.0)))
    assert text.startswith("FALSE CLAIM.")
    assert "ε = inf at that δ" in text


def test_a_true_printed_claim_says_that_it_is_printed() -> None:
    mechanism = GaussianMechanism.calibrate(
        Budget(0.5, 1e-6), AVERAGE.value, dimension=7, calibration="printed"
    )
    release = Release("weights", mechanism, AVERAGE, 7)
    claim = Certificate("A learner", Budget(0.5, 1e-6), 100, (release,), calibration="printed")
    assert claim.holds
    assert "Its noise follows a published formula, for study." in flat(claim)
    assert "published formula" not in flat(CERTIFICATE)


@pytest.mark.parametrize(
    "release", [NOISY, Release("weights", NoMechanism(), None, 7)], ids=["noise", "no noise"]
)
def test_a_baseline_is_called_not_private(release: Release) -> None:
    baseline = Certificate("A baseline", None, 100, (release,), calibration="none")
    text = flat(baseline)
    assert text.startswith("NOT PRIVATE. A baseline, planned for n = 100 records,")
    assert "gives no privacy guarantee" in text
    assert "differentially private" not in text
    assert "The guarantee" not in text


def test_a_release_without_noise_is_called_so() -> None:
    bare = Release("weights", NoMechanism(), None, 7)
    baseline = Certificate("A baseline", None, 100, (bare,), calibration="none")
    assert "weights (7 numbers): without noise." in flat(baseline)
    assert "Why this much noise" not in flat(baseline)
    assert flat(with_releases(NOISY, bare)).startswith("FALSE CLAIM.")


@pytest.mark.parametrize(("delta", "warns"), [(0.02, True), (0.01, True), (0.0099, False)])
def test_a_delta_of_one_over_n_is_warned_of(delta: float, warns: bool) -> None:
    assert ("is not below 1/n" in flat(with_releases(NOISY, budget=Budget(1.0, delta)))) == warns
    if warns:
        assert f"δ = {delta:g} is not below 1/n" in flat(
            with_releases(NOISY, budget=Budget(1.0, delta))
        )


def test_a_stated_sensitivity_is_on_trust() -> None:
    stated = Release("weights", GaussianMechanism(STATED.value, 100.0, 7), STATED, 7)
    said = "The stated sensitivity is taken on trust."
    assert said in flat(with_releases(stated))
    assert said in flat(with_releases(NOISY, stated, budget=Budget(3.0, 1e-6)))
    assert said not in flat(CERTIFICATE)


@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        (FixedSizeSampling(10, 100), "10 of 100 records drawn without replacement at each step"),
        (PoissonSampling(0.05), "every record drawn with probability 0.05 at each step"),
    ],
)
def test_sampling_rests_on_secret_draws(sampling: Sampling, words: str) -> None:
    said = "The records that each step draws are random, secret"
    text = flat(with_releases(sampled(sampling)))
    assert words in text
    assert "10 times" in text
    assert said in text
    assert said not in flat(CERTIFICATE)


def test_parts_rest_on_being_disjoint() -> None:
    said = "The parts are disjoint and were fixed before the data was read."
    assert said in flat(with_releases(dataclasses.replace(NOISY, part=Part("fold 1", 50))))
    assert said not in flat(CERTIFICATE)


LONG = "a rather long name " * 12


@pytest.mark.parametrize(
    "certificate",
    [
        CERTIFICATE,
        dataclasses.replace(CERTIFICATE, algorithm=LONG),
        dataclasses.replace(CERTIFICATE, algorithm="x" * 500),
        dataclasses.replace(CERTIFICATE, noise_source=LONG),
        dataclasses.replace(CERTIFICATE, assumptions=(LONG, "y" * 300)),
        with_releases(dataclasses.replace(NOISY, name=LONG, part=Part(LONG, 100))),
        with_releases(sampled(FixedSizeSampling(10, 100))),
        with_releases(NOISY, budget=Budget(0.1, 0.5)),
        Certificate("A baseline", None, 100, (NOISY,), calibration="none"),
    ],
)
def test_lines_fit_a_letter(certificate: Certificate) -> None:
    lines = certificate.statement().split("\n")
    assert max(map(len, lines)) <= 88
    assert all(line == line.rstrip() for line in lines)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text("ab \n\t-", min_size=1, max_size=200).filter(lambda text: text.strip() != ""))
@example("  " + "wide " * 40)
@example("A learner\n\nWhat is released:\n  - nothing\n")
def test_no_name_breaks_the_layout(name: str) -> None:
    plain = CERTIFICATE.statement().split("\n")
    lines = dataclasses.replace(CERTIFICATE, algorithm=name).statement().split("\n")
    assert max(map(len, lines)) <= 88
    assert lines.count("What is released:") == 1
    assert lines[lines.index("What is released:") :] == plain[plain.index("What is released:") :]


def test_headings_are_in_order() -> None:
    lines = CERTIFICATE.statement().split("\n")
    headings = ["What is released:", "Why this much noise:", "What this rests on:"]
    positions = [lines.index(heading) for heading in headings]
    assert positions == sorted(positions)
    assert all(lines[position - 1] == "" for position in positions)
