"""Options of ``pairdp fit`` and ``pairdp plan`` that describe a scorecard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pairdp.cli.common import given_options, refuse_options
from pairdp.tables import TableError

_OF_SCORECARDS = (
    "increasing", "decreasing", "pair", "interactions", "smoothing", "shrinkage", "resolution",
)  # fmt: skip
_OF_OTHERS = (
    "task",
    "model",
    "algorithm",
    "loss",
    "radius",
    "regularization",
    "threshold",
    "calibration",
    "schedule",
)


def scorecard_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a scorecard."""
    added = (
        click.option(
            "--scorecard",
            is_flag=True,
            help="A scorecard, with points for each bin of each column.",
        ),
        click.option(
            "--increasing",
            multiple=True,
            metavar="COLUMN",
            help="A number whose points must not decrease; may be repeated.",
        ),
        click.option(
            "--decreasing",
            multiple=True,
            metavar="COLUMN",
            help="A number whose points must not increase; may be repeated.",
        ),
        click.option(
            "--pair",
            multiple=True,
            nargs=2,
            metavar="COLUMN COLUMN",
            help="A product of two columns for a scorecard; may be repeated.",
        ),
        click.option(
            "--interactions",
            metavar="all|NUMBER",
            help="All products for a scorecard, or so many that are chosen privately.",
        ),
        click.option(
            "--smoothing",
            type=click.FloatRange(min=0),
            help="How strongly points of neighbouring bins are pulled together; 0 by default.",
        ),
        click.option(
            "--shrinkage",
            type=click.FloatRange(min=0, max=1),
            help="How far points are pulled towards those of naive Bayes; 0 by default.",
        ),
        click.option(
            "--resolution",
            type=click.IntRange(min=0, max=128),
            help="About how many bins a number has, if the budget buys fewer; 0 by default.",
        ),
    )
    for option in reversed(added):
        command = option(command)
    return command


def scorecard_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a scorecard that options describe."""
    if not options["scorecard"]:
        if given := given_options(*_OF_SCORECARDS):
            raise ValueError(f"{given[0]} is an option of a scorecard: add --scorecard")
        return {}
    if options["schema"] is None:
        raise TableError("a scorecard reads the columns of a schema: give --schema FILE")
    refuse_options("a scorecard has no such option", *_OF_OTHERS)
    both = set(options["increasing"]) & set(options["decreasing"])
    if both:
        raise TableError(f"{min(both)!r} cannot be both --increasing and --decreasing")
    monotone = dict.fromkeys(options["increasing"], 1) | dict.fromkeys(options["decreasing"], -1)
    found: dict[str, Any] = {"monotone": monotone} if monotone else {}
    free = ("smoothing", "shrinkage", "resolution")
    found |= {name: options[name] for name in free if options[name] is not None}
    given, pairs = options["interactions"], [tuple(pair) for pair in options["pair"]]
    if given is not None and pairs:
        raise TableError("give one of --pair and --interactions")
    if given is not None and given != "all" and not given.isdecimal():
        raise TableError(f'--interactions must be "all" or a number, got {given!r}')
    if pairs or given is not None:
        found["interactions"] = pairs or (given if given == "all" else int(given))
    return found


def scorecard(options: dict[str, Any], more: dict[str, Any]) -> Any:
    """Return the unfitted scorecard that options describe."""
    from pairdp.estimators import PrivateScorecard

    given = {key: value for key, value in more.items() if key not in ("calibration", "schedule")}
    return PrivateScorecard(options["epsilon"], options["delta"], **given)
