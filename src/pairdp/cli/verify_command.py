"""``pairdp verify``: verify a certificate, or those of a model or stream."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pairdp.cli.common import (
    NOT_PLANNED,
    echo_json,
    import_option,
    json_option,
    report_errors,
    trust_option,
)
from pairdp.privacy import CertificateError
from pairdp.verification import Report, verify_file


@click.command("verify", short_help="Verify a certificate, or those of a model or stream.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--statement", is_flag=True, help="Print the privacy statement too.")
@import_option
@trust_option
@json_option
@report_errors
def command(file: Path, statement: bool, trusted: tuple[str, ...], as_json: bool) -> None:
    """Plan again from the facts of a certificate, and recompute every number by a second route.

    FILE is a model that ``pairdp fit`` saved, a paused stream, or a certificate in JSON. The exit
    code is 0 only if every certificate holds. It is 5 if one could not be planned again (because it
    has no facts, was made by a version that plans differently, or uses a class that is not given
    with --trust), so that only its arithmetic was checked. A model that was fitted without noise
    claims no privacy and does not pass.
    """
    found = verify_file(file, trusted=trusted)
    for report in found:
        if report.certificate.budget is None:
            raise CertificateError(
                f"{file} is valid but claims no privacy: {report.certificate.algorithm} was "
                "fitted without noise"
            )
    holds = all(report.holds for report in found)
    if as_json:
        echo_json({"holds": holds, "certificates": [_described(report) for report in found]})
    else:
        for report in found:
            click.echo(str(report))
            if statement:
                click.echo(f"\n{report.certificate.statement()}")
    if not holds:
        sys.exit(NOT_PLANNED)


def _described(report: Report) -> dict[str, object]:
    certificate = report.certificate
    return {
        "algorithm": certificate.algorithm,
        "claim": certificate.to_dict()["claim"],
        "n": certificate.n,
        "noise_source": certificate.noise_source,
        "planned_again": report.planned_again,
        "on_trust": list(report.on_trust),
        "report": str(report),
    }
