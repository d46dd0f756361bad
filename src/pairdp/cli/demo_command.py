"""``pairdp demo``: private models on embedded data."""

from __future__ import annotations

import click

from pairdp.cli.common import one_sentence


@click.command("demo", short_help="Fit private models to embedded data and show what they do.")
@one_sentence
def command() -> None:
    """Fit private models to embedded data and show what they do."""
    from pairdp.demo import main

    main()
