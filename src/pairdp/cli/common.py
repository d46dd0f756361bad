"""What commands share: options, errors in one sentence, and output for machines."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

from pairdp._checks import on_one_line
from pairdp._files import destination
from pairdp.privacy import BudgetExceededError, BudgetLedger, LedgerError
from pairdp.tables import Table, TableError

FAILED, OVER_BUDGET, VIOLATED, NOT_PLANNED, INTERRUPTED = 1, 3, 4, 5, 130
TASKS = ("ranking", "metric")


def budget_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--epsilon`` and ``--delta``."""
    command = click.option(
        "--delta",
        type=float,
        help="δ; 0 for pure ε. By default min(1e-6, 1/(100n)), well below 1/n.",
    )(command)
    return click.option(
        "--epsilon", type=float, default=1.0, show_default=True, help="ε, the privacy budget."
    )(command)


def _find_in_working_directory(
    context: click.Context, option: click.Parameter, names: Sequence[str]
) -> Sequence[str]:
    """Let modules that are named be found in the working directory too, after all others."""
    here = str(Path.cwd())
    if names and here not in sys.path:
        sys.path.append(here)
    return names


def _import_modules(context: click.Context, option: click.Parameter, names: Sequence[str]) -> None:
    """Import modules, which may be in the working directory."""
    for name in _find_in_working_directory(context, option, names):
        if name.endswith(".py"):
            module = Path(name).stem
            raise click.BadParameter(f"{name} is a file: give the module's name, such as {module}")
        try:
            import_module(name)
        except Exception as error:  # whatever a module does when it is imported
            raise click.BadParameter(f"{name} cannot be imported: {error}") from error


import_option = click.option(
    "--import",
    multiple=True,
    metavar="MODULE",
    expose_value=False,
    callback=_import_modules,
    help="A module of yours to import, which registers losses or algorithms; may be repeated.",
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what to fit."""
    options = (
        click.option("--task", type=click.Choice(TASKS), default="ranking", show_default=True),
        click.option(
            "--algorithm", default="auto", show_default=True, help="auto, or an algorithm's name."
        ),
        click.option("--loss", help="By default the algorithm's own."),
        import_option,
        click.option(
            "--radius", type=float, default=1.0, show_default=True, help="Size of models."
        ),
        click.option("--regularization", type=float, help="By default from public facts."),
        click.option(
            "--data-norm",
            type=float,
            help="Rows are clipped to it; 1 by default, and for rows scaled by bounds.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


trust_option = click.option(
    "--trust",
    "trusted",
    multiple=True,
    metavar="MODULE:CLASS",
    callback=_find_in_working_directory,
    help="A class outside pairdp that the file may use, after reading it; may be repeated.",
)
invalid_option = click.option(
    "--invalid",
    type=click.Choice(("error", "null")),
    default="error",
    show_default=True,
    help="What becomes of a record that cannot be read: an error, or a null record.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Turn what goes wrong into one sentence and an exit code, and warnings into one line each."""

    @functools.wraps(command)
    def careful(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                command(*args, **options)
        except BudgetExceededError as error:
            fail(str(error), options, OVER_BUDGET)
        except (ValueError, TypeError, LedgerError, ArithmeticError, RuntimeError) as error:
            fail(str(error), options)
        except MemoryError:
            fail("there is not enough memory for this table", options)
        except BrokenPipeError:
            raise  # who read the output has enough of it
        except OSError as error:
            fail(str(error), options)
        except KeyboardInterrupt as error:
            fail(str(error) or "interrupted: nothing was released", options, INTERRUPTED)

    return careful


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


def fail(message: str, options: dict[str, Any], code: int = FAILED) -> NoReturn:
    """Say what went wrong, in JSON if that was asked for, and leave."""
    line = on_one_line(" ".join(message.split()))
    if options.get("as_json"):
        click.echo(json.dumps({"error": line}, ensure_ascii=False))
    else:
        click.echo(f"Error: {line}", err=True)
    sys.exit(code)


def echo_json(values: object) -> None:
    """Print JSON, in which an infinite number is null."""
    click.echo(json.dumps(_finite(values), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(values: object) -> object:
    match values:
        case float() if not math.isfinite(values):
            return None
        case dict():
            return {key: _finite(value) for key, value in values.items()}
        case list() | tuple():
            return [_finite(value) for value in values]
    return values


def estimator(options: dict[str, Any], **more: Any) -> Any:
    """Return the unfitted estimator that options describe."""
    from pairdp.estimators import PrivateMetric, PrivateRanker

    kind = PrivateRanker if options["task"] == "ranking" else PrivateMetric
    return kind(
        options["epsilon"],
        options["delta"],
        algorithm=options["algorithm"],
        loss=options["loss"],
        radius=options["radius"],
        regularization=options["regularization"],
        data_norm=options["data_norm"],
        **more,
    )


def open_ledger(path: Path | None) -> BudgetLedger | None:
    """Return the ledger of a file, if there is one to draw from."""
    return None if path is None else BudgetLedger.load(path)


def check_output(path: Path, force: bool, *inputs: Path | None) -> None:
    """Refuse to replace a file unless told to, an input, and where no file can be written.

    What is no regular file is not replaced in any case.
    """
    try:
        target = destination(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror}") from None
    for other in inputs:
        if other is not None and other.exists() and target == other.resolve():
            raise TableError(f"{path} is an input: take another name to save to")
    if path.exists() and not force:
        raise TableError(f"{path} exists already: take another name, or --force to replace it")
    directory = target.parent
    if not directory.is_dir():
        raise TableError(f"there is no directory {path.parent} to save into")
    if not os.access(directory, os.W_OK):
        raise TableError(f"the directory {path.parent} is not to be written to")


def with_progress(table: Table, n: int, batches: Any, what: str) -> Any:
    """Yield batches, showing how many records were read."""
    from tqdm import tqdm

    shown = sys.stderr.isatty()
    with tqdm(total=n, desc=what, unit=" records", delay=1, leave=False, disable=not shown) as bar:
        for batch in batches:
            yield batch
            bar.update(len(batch.features))
