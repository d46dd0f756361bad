"""The option ``--evaluate``: hold out records, and evaluate the model on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pairdp.cli.common import refuse_options

_DEFAULT_SHARE = 0.2


def held_out_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--evaluate``, and options of the evaluation."""
    command = click.option(
        "--evaluation-seed",
        type=int,
        help="With --evaluate: a public number that chooses the rows; 0 by default.",
    )(command)
    command = click.option(
        "--hopeless",
        type=click.Choice(["error", "warn"]),
        default="error",
        show_default=True,
        help="With --evaluate: what to do if, by public facts, nothing can be said.",
    )(command)
    command = click.option(
        "--roc",
        is_flag=True,
        help="With --evaluate: a ROC curve too, for half of the evaluation's budget.",
    )(command)
    return click.option(
        "--evaluate",
        type=float,
        is_flag=False,
        flag_value=_DEFAULT_SHARE,
        metavar="[SHARE]",
        help="Hold out this share of the records, 0.2 by default, and evaluate the model on them, "
        "at no further cost.",
    )(command)


def held_out_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of `fit` for the records that are held out; none without any."""
    share, seed = options["evaluate"], options["evaluation_seed"]
    if share is None:
        refuse_options("this option is for --evaluate", "evaluation_seed", "roc", "hopeless")
        return {}
    given = {"seed": 0 if seed is None else seed}
    given |= {name: options[name] for name in ("roc", "hopeless")}
    return {"evaluation_share": share, "evaluation_options": given}
