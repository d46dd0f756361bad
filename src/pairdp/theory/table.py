"""The evaluated statements as text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from pairdp.theory.evaluation import RecordsNeeded
from pairdp.theory.gradient_complexity import GradientComplexity
from pairdp.theory.utility_bound import UtilityBound


def as_text(
    bounds: Sequence[UtilityBound],
    needed: Sequence[RecordsNeeded] = (),
    complexities: Sequence[GradientComplexity] = (),
) -> str:
    """Return a table of bounds, with settings, assumptions that are not met and remarks below.

    Parameters
    ----------
    bounds : sequence of UtilityBound
        What `evaluate` returns.
    needed : sequence of RecordsNeeded
        What `records_needed` returns, if it was asked for.
    complexities : sequence of GradientComplexity
        Rows of Wang 2024's table, if they are to be shown.

    Examples
    --------
    >>> from pairdp.theory import TABLE
    >>> print(as_text((), complexities=TABLE[4:5]))
    gradients that private pairwise learning computes (Wang 2024, Table 2)
      Wang 2024                    SGD, noisy gradients   smooth             O(n)                    O(1/√n + √(d·ln(1/δ))/(nε))
    """  # noqa: E501
    parts = [
        _quantity(quantity, [each for each in bounds if each.quantity == quantity])
        for quantity in dict.fromkeys(bound.quantity for bound in bounds)
    ]
    if needed:
        parts.append(_needed(needed))
    if complexities:
        parts.append(_complexities(complexities))
    return "\n\n".join(parts)


def _quantity(quantity: str, bounds: Sequence[UtilityBound]) -> str:
    known = [each.trivial for each in bounds if each.trivial is not None]
    trivial = f" (trivial: {known[0]:.3g})" if known else ""
    lines = [f"{quantity}{trivial}", f"  {'':36s}{'printed':>18s}{'proved here':>18s}  order"]
    for each in bounds:
        proved = each.proved.value if each.proved else None
        lines.append(
            f"  {each.paper + ' ' + each.statement:36s}{_number(each.value, each.vacuous):>18s}"
            f"{_number(proved, each.proved_vacuous):>18s}  {each.rate}"
        )
        details = [f"{each.holds}; {each.setting}" if each.setting else each.holds]
        if each.proved and each.proved.setting != each.setting:
            details.append(f"proved here: {each.proved.setting}")
        if each.unmet:
            details.append(f"NOT MET: {'; '.join(each.unmet)}")
        if each.remark:
            details.append(each.remark)
        for detail in details:
            lines.extend(wrap(detail, 100, initial_indent=" " * 6, subsequent_indent=" " * 8))
    return "\n".join(lines)


def _number(value: float | None, vacuous: bool | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g} vacuous" if vacuous else f"{value:.3g}"


def _needed(needed: Sequence[RecordsNeeded]) -> str:
    lines = ["records that suffice", f"  {'':36s}{'printed':>18s}{'proved here':>18s}"]
    for each in needed:
        printed, proved = (
            "-" if number is None else f"{number:.3g}" for number in (each.printed, each.proved)
        )
        lines.append(f"  {each.paper + ' ' + each.statement:36s}{printed:>18s}{proved:>18s}")
    return "\n".join(lines)


def _complexities(rows: Sequence[GradientComplexity]) -> str:
    lines = ["gradients that private pairwise learning computes (Wang 2024, Table 2)"]
    for row in rows:
        kind = f"{row.smoothness}, low noise" if row.low_noise else row.smoothness
        lines.append(
            f"  {row.work:28s} {row.method:22s} {kind:18s} {row.gradients:23s} {row.excess_risk}"
        )
    return "\n".join(lines)
