"""The statement of a certificate, for the person who decides on a release."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pairdp._checks import on_one_line
from pairdp.privacy.accounting.budget import RELATION_IN_WORDS
from pairdp.privacy.bounds.sensitivity import find_bound
from pairdp.privacy.certificates.on_trust import trust_lines
from pairdp.privacy.mechanisms.noise_source import UNDRAWN

if TYPE_CHECKING:
    from pairdp.privacy.accounting.unit import Unit
    from pairdp.privacy.certificates.certificate import Certificate

_WIDTH = 88
_UNPREPARED = (
    "Preparation of the records before they reach the algorithm is not covered: a scaler, an "
    "imputer, an encoder or a feature selection that was fitted to them depends on them."
)
_BY_SCHEMA = (
    "Preparation of the records by the schema is covered. What was done to the table before that "
    "is not: a column, an imputed value or a selection that was computed from other records "
    "depends on them."
)
_FIXED = "The numbers above (n, bounds, steps, scales) were fixed before the records were read."
_ALWAYS = (
    (
        "Values are rounded to a public grid, which the sensitivities include, and noise is drawn "
        "exactly on that grid: the guarantee does not rest on floating-point noise."
    ),
    (
        "It covers what is listed here and nothing else: other releases of the same records, "
        "tuning on them, and the timing or memory of the machine are not covered."
    ),
    (
        "An error for records that cannot be read reveals something about the data: show it only "
        'to those who hold them. Null records in their place (invalid="null") reveal nothing.'
    ),
)


def write_statement(certificate: Certificate) -> str:
    """Return the claim, the releases and the caveats, in plain words."""
    lines = [_wrap(_claim(certificate)), ""]
    for line in trust_lines(certificate):
        lines += [_wrap(line), ""]
    lines += ["What is released:"]
    lines += [_item(release.describe()) for release in certificate.releases]
    bounds = {r.sensitivity.bound for r in certificate.releases if r.sensitivity is not None}
    lines += ["", "Why this much noise:"] if bounds else []
    lines += [_item(f"{name}: {_words(name)}.") for name in sorted(bounds)]
    if bounds and certificate.unit is not None:
        lines.append(_item(_along_a_path(certificate.unit)))
    caveats = _caveats(certificate)
    lines += ["", "What this rests on:"] if caveats else []
    lines += [_item(sentence) for sentence in caveats]
    made_by = f"Certificate by pairdp {certificate.library_version}"
    source = f"Noise: {certificate.noise_source}. {made_by}; check it with pairdp.verify."
    lines += ["", _wrap(source)]
    return "\n".join(lines)


def _claim(certificate: Certificate) -> str:
    done = "planned for" if certificate.noise_source == UNDRAWN else "fitted on"
    who = f"{certificate.algorithm}, {done} n = {certificate.n} records,"
    budget = certificate.budget
    if budget is None:
        return f"NOT PRIVATE. {who} gives no privacy guarantee: it is a baseline without noise."
    claim = f"ε = {budget.epsilon:g}" + (f" and δ = {budget.delta:g}" if budget.delta else "")
    if not certificate.holds:
        true = certificate.epsilon()
        return (
            f"FALSE CLAIM. {who} is published as differentially private with {claim}, but its "
            f"noise gives ε = {true:.4g} at that δ. Do not release it as private."
        )
    meaning = (
        f"Any conclusion drawn from it would be almost as likely (within a factor of "
        f"e^{budget.epsilon:g} = {_factor(budget.epsilon)}"
        + (f", up to a probability of {budget.delta:g}" if budget.delta else "")
        + f") if {_protected(certificate.unit)} another, or absent."
    )
    study = (
        " Its noise follows a published formula, for study."
        if certificate.calibration == "printed"
        else ""
    )
    unit = certificate.unit
    relation = RELATION_IN_WORDS if unit is None else unit.relation_in_words
    return f"{who} is differentially private with {claim}, where {relation}. {meaning}{study}"


def _protected(unit: Unit | None) -> str:
    return "any single record were" if unit is None else f"all records of any one {unit.name} were"


def _along_a_path(unit: Unit) -> str:
    return (
        f"Bounds are stated for one replaced record. Here up to {unit.max_records} are replaced, "
        "one after the other: no quantity changes by more than that many times its bound, and the "
        "rounding to the grid is added once."
    )


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 300 else "more than 1e130"


def _words(bound: str) -> str:
    try:
        return find_bound(bound).words
    except KeyError:
        return "a bound that is not registered in this process"


def _caveats(certificate: Certificate) -> list[str]:
    caveats = list(certificate.assumptions)
    bounds = [r.sensitivity.bound for r in certificate.releases if r.sensitivity is not None]
    if "stated" in bounds:
        caveats.append("The stated sensitivity is taken on trust.")
    if any(r.sampling is not None for r in certificate.releases):
        caveats.append(
            "The records that each step draws are random, secret and independent of the data."
        )
    if any(r.part is not None for r in certificate.releases):
        caveats.append(
            "The parts are disjoint and were fixed before the data was read. A record is in one of "
            "them: the claim is for the worst, also if a release uses the output of an earlier one."
        )
    budget = certificate.budget
    if budget is not None and budget.delta >= 1 / certificate.n:
        caveats.append(
            f"δ = {budget.delta:g} is not below 1/n: so large a δ would allow publishing a random "
            "record. Use a δ far below 1/n."
        )
    if budget is None:
        return caveats
    protects = "It protects each single record, not facts that many records show together."
    if certificate.unit is not None:
        protects = "It protects all records of each unit together, not facts that many units show."
    prepared = _BY_SCHEMA if has_schema(certificate) else _UNPREPARED
    caveats += [*_of_unit(certificate.unit), _FIXED, prepared]
    return [*caveats, *_ALWAYS[:-1], protects, _ALWAYS[-1]]


def has_schema(certificate: Certificate) -> bool:
    """Return whether rows are encoded by a public schema, which is a condition of the plan."""
    return _has_condition(certificate.plan, "SchemaRows")


def _has_condition(facts: object, name: str) -> bool:
    """Return whether facts have a condition; those of combined certificates are within others."""
    if isinstance(facts, list | tuple):
        return any(_has_condition(item, name) for item in facts)
    if not isinstance(facts, Mapping):
        return False
    conditions = facts.get("conditions")
    if isinstance(conditions, list | tuple):
        return any(isinstance(c, Mapping) and c.get("object") == name for c in conditions)
    return any(_has_condition(item, name) for item in facts.values())


def _of_unit(unit: Unit | None) -> list[str]:
    if unit is None:
        return []
    return [
        (
            f"Rows are used in the order of the table, at most {unit.max_records} of each "
            f"{unit.name}, whatever they contain; rows without a {unit.name} are not used. That "
            f"all rows of a person have the same {unit.name} is taken on trust."
        )
    ]


def _wrap(sentence: str) -> str:
    plain = on_one_line(" ".join(sentence.split()))
    return textwrap.fill(plain, _WIDTH, break_on_hyphens=False)


def _item(sentence: str) -> str:
    plain = on_one_line(" ".join(sentence.split()))
    return textwrap.fill(
        plain,
        _WIDTH,
        initial_indent="  - ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
