"""``pairdp compare``: algorithms over ε, on synthetic or public data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pairdp.cli.common import (
    TASKS,
    check_output,
    echo_json,
    import_option,
    json_option,
    refuse_options,
    report_errors,
)
from pairdp.tables import TableError

if TYPE_CHECKING:
    from pairdp.cli.audit_data import AuditData

FILE = click.Path(path_type=Path, dir_okay=False)


def _numbers(context: click.Context, option: click.Parameter, value: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas."""
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 0.1,1,10") from None


@click.command("compare", short_help="Compare algorithms over ε, on synthetic or public data.")
@click.option(
    "--n", type=int, help="Records to fit to; 1000 by default, or two thirds of --public-data."
)
@click.option("--features", type=int, help="Features of synthetic records; 10 by default.")
@click.option(
    "--algorithms", metavar="A,B,…", help="Names of algorithms; by default some that differ."
)
@click.option(
    "--epsilons",
    callback=_numbers,
    default="0.1,0.3,1,3",
    show_default=True,
    metavar="ε,ε,…",
    help="Values of ε.",
)
@click.option("--delta", type=float, help="δ; by default min(1e-6, 1/(100n)).")
@click.option(
    "--task", type=click.Choice(TASKS), default="ranking", show_default=True, help="What to learn."
)
@click.option("--public-data", type=FILE, help="A table of public records, not synthetic ones.")
@click.option(
    "--is-public", is_flag=True, help="State that the records of --public-data are public."
)
@click.option("--label", help="Name of the label column of --public-data.")
@click.option("--bounds", type=FILE, help="Bounds of the features of --public-data.")
@click.option("--schema", type=FILE, help="Schema of --public-data.")
@click.option(
    "--repeats",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="Draws of records and noise.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of records and noise.")
@import_option
@click.option("-o", "--output", type=FILE, help="Where to save a page (.html) or a plot (.svg).")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
@report_errors
def command(output: Path | None, force: bool, as_json: bool, **options: Any) -> None:
    """Compare private algorithms over ε, beside baselines that are not private.

    Records are synthetic: two normal classes, of which three features differ. So an algorithm and
    a budget can be chosen for a sensitive table from its size alone, without touching it. With
    --public-data, models are fitted to and scored on a table instead. That is not private: give
    --is-public too, and only if everybody may see the records.

    \b
    Examples:
      pairdp compare --n 5000 --features 20 --algorithms auto,moments,DPGDSC --epsilons 0.1,1
      pairdp compare --public-data census.csv --is-public --schema census.json -o census.html
    """  # noqa: D301 - the command line's help reads the control character
    from pairdp.comparison import compare

    if output is not None:
        if output.suffix not in (".html", ".svg"):
            raise TableError(f"--output must end in .html or .svg, got {output.name}")
        check_output(output, force, options["public_data"], options["bounds"], options["schema"])
    found = compare(
        _names(options["algorithms"]),
        options["epsilons"],
        n=options["n"],
        n_features=options["features"],
        delta=options["delta"],
        task=options["task"],
        public_data=_public(options),
        repeats=options["repeats"],
        seed=options["seed"],
    )
    if output is not None:
        found.save(output)
    if as_json:
        echo_json({**found.to_dict(), "output": None if output is None else str(output)})
        return
    click.echo(str(found))
    if output is not None:
        click.echo(f"Saved to {output}")


def _names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _public(options: dict[str, Any]) -> AuditData | None:
    """Return rows and labels of a table that the user says is public."""
    path = options["public_data"]
    if path is None:
        refuse_options("this option is for --public-data", "is_public", "label", "bounds", "schema")
        return None
    if not options["is_public"]:
        raise TableError(
            f"models are scored on the records of {path}, and the scores are printed without "
            "noise: add --is-public if everybody may see these records, and otherwise leave out "
            "--public-data"
        )
    from pairdp.cli.audit_data import read_data, read_data_by

    if options["schema"] is not None:
        refuse_options("the schema describes the columns", "bounds")
        return read_data_by(options["schema"], path, options["label"])
    return read_data(path, options["label"], options["bounds"])
