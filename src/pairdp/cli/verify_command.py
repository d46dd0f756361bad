"""``pairdp verify``: check a model's certificate, or one by itself."""

from __future__ import annotations

from pathlib import Path

import click

from pairdp.cli.common import echo_json, json_option, one_sentence
from pairdp.privacy import Certificate, CertificateError, verify


@click.command("verify", short_help="Check the certificate of a model, or one by itself.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--statement", is_flag=True, help="Print the privacy statement too.")
@json_option
@one_sentence
def command(file: Path, statement: bool, as_json: bool) -> None:
    """Recompute every number of a certificate, each by another route than it was made.

    FILE is a model that ``pairdp fit`` saved, or a certificate in JSON. The exit code is 0 only if
    all of it holds; a model without noise claims nothing and does not pass.
    """
    found = [(certificate, verify(certificate)) for certificate in _certificates(file)]
    for certificate, _ in found:
        if certificate.budget is None:
            raise CertificateError(
                f"{file} is in order and claims no privacy: {certificate.algorithm} was fitted "
                "without noise"
            )
    if as_json:
        described = [
            {
                "algorithm": certificate.algorithm,
                "claim": certificate.to_dict()["claim"],
                "n": certificate.n,
                "noise_source": certificate.noise_source,
                "report": str(report),
            }
            for certificate, report in found
        ]
        echo_json({"holds": True, "certificates": described})
        return
    for certificate, report in found:
        click.echo(str(report))
        if statement:
            click.echo(f"\n{certificate.statement()}")


def _certificates(file: Path) -> list[Certificate]:
    try:
        with file.open("rb") as opened:
            start = opened.read(64)
    except OSError as error:
        raise CertificateError(f"{file} cannot be read: {error.strerror}") from None
    # A model begins with the length of its header in eight bytes, the last of them zero.
    if start.lstrip().startswith(b"{") and b"\0" not in start:
        return [Certificate.load(file)]
    from sklearn.pipeline import Pipeline

    from pairdp.model_file import load

    model = load(file)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    found = [step.certificate_ for step in steps if hasattr(step, "certificate_")]
    if not found:
        raise CertificateError(f"{file} holds no model with a certificate")
    return found
