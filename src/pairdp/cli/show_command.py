"""``pairdp show``: what a model file contains."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairdp._checks import on_one_line
from pairdp.cli.common import (
    FAILED,
    echo_json,
    import_option,
    json_option,
    report_errors,
    trust_option,
)

if TYPE_CHECKING:
    from pairdp.report.card import ModelCard, Weight

_SHOWN, _AXES = 30, 3


@click.command("show", short_help="Show what a model is, its privacy and its weights.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--no-verify", is_flag=True, help="Do not verify the certificate, which takes time.")
@click.option("--all", "everything", is_flag=True, help=f"Print more than {_SHOWN} weights.")
@import_option
@trust_option
@json_option
@report_errors
def command(
    file: Path, no_verify: bool, everything: bool, trusted: tuple[str, ...], as_json: bool
) -> None:
    """Show what the model in FILE is: budget, unit, n, labels, columns and weights.

    Each weight is printed with the standard deviation of its noise, which is public: it follows
    from the plan and from released values. The largest weights come first; the bins of a scorecard
    are listed by column, first the one whose points differ most. Everything printed is in the file,
    and may be published with it.

    The certificate is verified as by ``pairdp verify``; the exit code is 1 if it is refused.
    Weights, and noise that was propagated to them from released values, are as the file states.
    """
    from pairdp.estimators import load
    from pairdp.report.card import card_of

    card = card_of(load(file, trusted=trusted))
    refused, verification = (False, "skipped") if no_verify else _verified(file, trusted)
    if as_json:
        echo_json({**card.to_dict(), "verification": verification, "refused": refused})
    else:
        click.echo("\n".join(on_one_line(line) for line in _lines(card, verification, everything)))
    if refused:
        sys.exit(FAILED)


def _verified(file: Path, trusted: tuple[str, ...]) -> tuple[bool, str]:
    """Return whether a certificate is refused, and what verification says."""
    from pairdp.privacy import CertificateError
    from pairdp.verification import verify_file

    try:
        reports = verify_file(file, trusted=trusted)
    except CertificateError as error:
        return True, f"REFUSED: {error}"
    return False, " ".join(report.headline for report in reports)


def _lines(card: ModelCard, verification: str, everything: bool) -> Iterable[str]:
    certificate = card.certificate
    yield f"{card.kind}, {card.purpose}"
    facts = {
        "budget": card.budget_in_words,
        "protects": card.unit_in_words,
        "records": card.records_in_words,
        "held out": card.evaluation_in_words,
        "algorithm": certificate.algorithm,
        "calibration": certificate.calibration,
        "noise from": certificate.noise_source,
        "data set": card.data_set,
        "probabilities": card.probabilities,
        "verification": verification,
    }
    yield from (f"  {name:13s} {fact}" for name, fact in facts.items() if fact is not None)
    if card.columns:
        yield ""
        yield "Columns:"
        yield from _table([(column.name, column.words) for column in card.columns])
    if card.weights:
        yield ""
        yield from _weights(card, everything)
    for number, axis in enumerate(card.axes[:_AXES], start=1):
        largest = sorted(zip(axis.loadings, card.weights, strict=True), key=lambda p: -abs(p[0]))
        shown = ", ".join(f"{loading:+.2g} {weight.name}" for loading, weight in largest[:6])
        yield f"Axis {number} (eigenvalue {axis.eigenvalue:.3g}): {shown}"
    if len(card.axes) > _AXES:
        yield f"{len(card.axes) - _AXES} more axes: use --json"


def _weights(card: ModelCard, everything: bool) -> Iterable[str]:
    yield f"{card.weights_are.capitalize()}, {card.plus_minus} the standard deviation of the noise:"
    order = card.weights_to_show
    shown = order if everything else order[:_SHOWN]
    rows = [_row(weight) for weight in shown]
    if card.intercept is not None:
        rows.append(_row(card.intercept))
    yield from _table(rows)
    if len(shown) < len(order):
        yield f"  {len(order) - len(shown)} more: use --all"
    yield f"  {card.plus_minus}: {card.noise.words}."


def _row(weight: Weight) -> tuple[str, ...]:
    noise = "unknown" if weight.noise is None else f"{weight.noise:#.2g}".removesuffix(".")
    return weight.name, f"{weight.value:+#.4g}", f"± {noise}"


def _table(rows: list[tuple[Any, ...]]) -> Iterable[str]:
    rows = [tuple(on_one_line(str(cell)) for cell in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}s}" for cell, width in zip(row, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
