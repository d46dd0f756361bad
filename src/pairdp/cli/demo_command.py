"""``pairdp demo``: private models on data that comes with scikit-learn."""

from __future__ import annotations

import click

from pairdp.cli.common import report_errors


@click.command("demo", short_help="Fit private models to public data and print their scores.")
@report_errors
def command() -> None:
    """Fit private models to public data and print their scores and a privacy statement."""
    from pairdp.demo import main

    main()
