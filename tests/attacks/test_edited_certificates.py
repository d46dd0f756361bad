"""Certificates with any one field edited and sealed again: none of them may pass as true.

What must hold, for certificates of every algorithm: whichever field is edited, `verify` refuses the
certificate, or its first line says that it was not planned again. Exceptions, of which this file
lists each by name:

- the noise source says what happened after planning. Which of the known ones it is cannot be seen;
- facts that do not enter the plan, such as whose printed formula would be taken by a plan that is
  certified, or n for counts. With another value the certificate is that of another honest plan,
  and as true;
- another version of the library may be named: then the report says so, and "same numbers".
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pairdp import (
    Certificate,
    CertificateError,
    verify,
)
from pairdp._sealed import seal, unseal
from pairdp.privacy.mechanisms.noise_source import SECURE, SEEDED, UNDRAWN
from tests.attacks.honest_plans import PLANS, Document, Path_, leaf_of

# Facts that a plan does not use, and the plans that do not, where others do: with another value
# it is another honest plan, of the same numbers.
WITHOUT_PRODUCTS = (
    "scorecard",
    "scorecard, pure",
    "scorecard with weights, pure",
    "additive ranker",
)
UNUSED: dict[str, tuple[str, ...]] = {
    "printed_rule": (),
    "printed_lipschitz": (),
    "regularizer": (),
    "center": (),  # moves the rounding of parameters, which is far below a billionth
    # with steps of their own
    "regime": ("DPGDC2", "Kang2021", "mini-batches", "without projection", "pair design"),
    "weight": ("moments of pairs", "moments of pairs, pure"),
    "share": ("ranker", "ranker, labels given"),  # of second moments and a threshold, not released
    "ridge": ("ranker", "ranker, labels given"),
    "radius": ("without projection",),
    "interactions": WITHOUT_PRODUCTS,
    "pairs": WITHOUT_PRODUCTS,
    "smoothing": (),  # functions of released values
    "shrinkage": (),
    "resolution": (),
    "chosen": WITHOUT_PRODUCTS,
    # where they are in a row, and their ranges
    "columns": (
        "scorecard with weights",
        "scorecard with weights, pure",
        "scorecard with chosen pairs",
    ),
}
COUNTS = {
    "histograms of columns", "histograms of columns, in ℓ1", "labelled counts",
    "labelled counts, in ℓ1", "number of records in a set",
}  # fmt: skip
"""Bounds that do not depend on n."""
# Parameters that were left to the plan, given as what it takes, or the other way round.
GIVEN = ("steps", "step_size", "strong_convexity", "center_records", "radius_records")
STRINGS = [
    "", "garbage", "gaussian", "laplace", "k-norm", "none", "certified", "printed", "last",
    "average", "Problem", "PointwiseProblem", "HingeRanking", "LogisticRanking",
    "LogisticPointwise", "LogisticMetric", "L2Ball", "Unconstrained", "PSDFrobeniusBall",
    "GradientDescent", "NoisyGradientDescent", "MomentRelease", "OnlineMoments", "one-sided",
    "permutation", "replacement", "reservoir", "kang", "wang", "models", "gradients", "disjoint",
    "pair", "average over pairs", "means of classes", "stated", SECURE, SEEDED, UNDRAWN,
    "PublicLabels", "0.0.1", "os:system", "theorem", "tuned", "ordered", "general", "low-noise",
]  # fmt: skip


def leaves(values: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """Yield every value of a document that is no list and no object, and every empty one."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from leaves(value, (*path, key))
    elif isinstance(values, list) and values:
        for place, value in enumerate(values):
            yield from leaves(value, (*path, place))
    else:
        yield path, values


def containers(values: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    if isinstance(values, dict | list):
        yield path, values
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from containers(value, (*path, key))


def others(value: Any, rng: random.Random) -> list[Any]:
    """Return other values for a leaf."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [
            value + 1,
            value - 1,
            2 * value,
            0,
            -value,
            1 if value != 1 else 3,
            None,
            float("1e3"),
        ]
    if isinstance(value, float):
        near = [value * 1.001, value / 1.001, value * 2, value / 2, value / 1000]
        return [*near, value + 1, 0.0, -value, 1e300, None]
    if isinstance(value, str):
        return [*rng.sample(STRINGS, 6), value + " "]
    return [1, 0.5, "garbage", "general", [], {}, True]


def edits(document: Document, rng: random.Random) -> Iterator[tuple[Path_, Document]]:
    """Yield the document with one thing changed: a value, an entry left out, doubled, swapped."""

    def edited(path: Path_, change: Callable[[Any, Any], None]) -> Document:
        copied = copy.deepcopy(document)
        inner: Any = copied
        for key in path[:-1]:
            inner = inner[key]
        change(inner, path[-1])
        return copied

    for path, value in leaves(document):
        for other in others(value, rng):
            if type(other) is not type(value) or other != value:
                yield path, edited(path, lambda inner, key, to=other: inner.__setitem__(key, to))
    for path, value in containers(document):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield (*path, key), edited((*path, key), lambda inner, key: inner.__delitem__(key))
        if isinstance(value, dict):
            yield (*path, "more"), edited((*path, "more"), lambda d, key: d.__setitem__(key, 1))
        elif value:
            again = copy.deepcopy(value[0])
            yield path, edited(path, lambda inner, key, a=again: inner[key].append(a))
            yield path, edited(path, lambda inner, key: inner[key].reverse())


def is_excepted(name: str, path: Path_, report: Any, original: Certificate) -> bool:
    """Return whether an edit that passes is one of those that this file's first lines name."""
    found = report.certificate
    if path == ("noise_source",):
        return found.noise_source in (SECURE, SEEDED, UNDRAWN) or any(
            "noise source is not part of this library" in note for note in report.notes
        )
    if path == ("library_version",):
        return f"made by pairdp {found.library_version}" in report.headline
    if path == ("n",):  # counts move by as much for any number of records
        bounds = {r.sensitivity.bound for r in found.releases if r.sensitivity is not None}
        return bounds <= COUNTS and found.n >= 2
    if path[0] != "plan" or path[1] not in ("algorithm", "problem"):
        return False
    stated, before = found.to_dict(), original.to_dict()
    plan_of, plan_before = stated.pop("plan"), before.pop("plan")
    if stated != before or any(plan_of[k] != plan_before[k] for k in ("settings", "conditions")):
        return False
    names = {*map(str, path)}
    if names & {*GIVEN}:
        return None in (leaf_of(plan_before, path[1:]), leaf_of(plan_of, path[1:]))
    return any(leaf in names and (not only or name in only) for leaf, only in UNUSED.items())


def attack(name: str, share: float = 1.0) -> int:
    """Try edits of the certificate of a plan, and return how many were tried."""
    original = PLANS[name]().certificate

    def excepted(path: Path_, report: Any) -> bool:
        return is_excepted(name, path, report, original)

    return try_edits(original, name, share, excepted)


def try_edits(
    original: Certificate, seed: str, share: float, excepted: Callable[[Path_, Any], bool]
) -> int:
    """Try a share of all edits of a certificate, and return how many were tried."""
    document = unseal(original.to_json())
    rng = random.Random(seed)  # noqa: S311
    tried = 0
    for path, edited in edits(document, rng):
        if edited == document or rng.random() > share:
            continue
        tried += 1
        try:
            report = verify(seal(edited))
        except CertificateError:
            continue
        first = str(report).splitlines()[0]
        if not report.planned_again:
            assert first.startswith("NOT PLANNED AGAIN: "), path
            assert "holds" not in first, path
            continue
        if report.certificate == original:  # 1 and 1.0
            continue
        assert excepted(path, report), (seed, path, first)
    return tried


# Each takes a second or more where an edit leaves a plan that holds, whose arithmetic is slow.
QUICK = [
    "DPGDSC", "DPGDC, pure", "moments", "scatter", "fisher, full", "threshold", "OnPairStrC",
    "ranker", "classifier, pure", "baseline", "printed", "theorem",
]  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_no_edit_of_any_field_passes(name: str) -> None:
    assert attack(name, 0.25) > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_no_edit_of_any_field_passes_for_any_algorithm(name: str) -> None:
    assert attack(name, 0.5) > 45


@pytest.mark.parametrize("name", PLANS)
def test_honest_certificates_are_planned_again(name: str) -> None:
    """Without the arithmetic by other routes, which other tests do, and which takes long."""
    from pairdp.algorithms.comparison import differences
    from pairdp.algorithms.stored_plans import plan_again, stored_plan

    original = PLANS[name]()
    stored = Certificate.from_json(original.certificate.to_json())
    again = plan_again(stored)
    assert list(differences(stored, again.certificate)) == []
    # "auto" is the estimator's, and its reason is in the model's file.
    assert again.reasons == tuple(r for r in original.reasons if not r.startswith("auto: "))
    assert stored_plan(stored, original.reasons, original.departures) == original
