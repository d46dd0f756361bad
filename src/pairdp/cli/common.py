"""Shared by all commands: options, errors in one sentence, and JSON output."""

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
from click.core import ParameterSource

from pairdp._checks import on_one_line
from pairdp._files import destination
from pairdp.algorithms.score_models import MODELS
from pairdp.privacy import BudgetExceededError, BudgetLedger, Certificate, LedgerError
from pairdp.tables import TableError

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
    """Add the options that describe the model to fit."""
    options = (
        click.option(
            "--task",
            type=click.Choice(TASKS),
            default="ranking",
            show_default=True,
            help="What to learn.",
        ),
        click.option(
            "--model",
            type=click.Choice(("auto", *MODELS)),
            default="auto",
            show_default=True,
            help="What a score of a ranker is: a weighted sum of features, a sum of functions of "
            "single columns, or that and products of two columns.",
        ),
        click.option(
            "--algorithm",
            default="auto",
            show_default=True,
            help="auto, or the name of an algorithm.",
        ),
        click.option("--loss", help="Name of a loss; by default that of the algorithm."),
        import_option,
        click.option(
            "--radius",
            type=float,
            default=1.0,
            show_default=True,
            help="Largest norm of parameters.",
        ),
        click.option(
            "--regularization", type=float, help="λ; chosen from public facts by default."
        ),
        click.option(
            "--data-norm",
            type=float,
            help="The norm that rows are clipped to; 1 by default, as for rows scaled by bounds.",
        ),
        click.option(
            "--response-bounds",
            type=(float, float),
            metavar="LOW HIGH",
            help="Public bounds of a graded response, to rank by it instead of by two classes.",
        ),
        click.option(
            "--response-levels",
            type=int,
            help="Round responses to this many levels, which makes sums over pairs fast.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def calibration_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--calibration`` and ``--schedule``."""
    command = click.option(
        "--schedule",
        type=click.Choice(("theorem", "tuned")),
        help="The steps that a paper's theorem states, or steps for a small predicted error; by "
        "default those of the theorem for printed noise.",
    )(command)
    return click.option(
        "--calibration",
        type=click.Choice(("certified", "printed")),
        default="certified",
        show_default=True,
        help="Proved noise, or the formula that a paper prints.",
    )(command)


trust_option = click.option(
    "--trust",
    "trusted",
    multiple=True,
    metavar="MODULE:CLASS",
    callback=_find_in_working_directory,
    help="A class outside pairdp that the file may use; read its code first. May be repeated.",
)
invalid_option = click.option(
    "--invalid",
    type=click.Choice(("error", "null")),
    default="error",
    show_default=True,
    help="What to do with a record that cannot be read: raise an error, or make it null.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def report_errors(command: Callable[..., None]) -> Callable[..., None]:
    """Print errors as one sentence, with an exit code, and warnings as one line each."""

    @functools.wraps(command)
    def wrapped(*args: Any, **options: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _warn
                command(*args, **options)
        except BudgetExceededError as error:
            fail(str(error), options, OVER_BUDGET)
        except (ValueError, TypeError, LedgerError, ArithmeticError, RuntimeError) as error:
            said = str(error).replace('invalid="null"', "--invalid null")
            fail(said.replace('hopeless="warn"', "--hopeless warn"), options)
        except MemoryError:
            fail("there is not enough memory for this table", options)
        except BrokenPipeError:
            raise  # the reader of the output has closed it
        except OSError as error:
            fail(str(error), options)
        except KeyboardInterrupt as error:
            fail(str(error) or "interrupted: nothing was released", options, INTERRUPTED)

    return wrapped


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"Warning: {' '.join(str(message).split())}", err=True)


def given_options(*names: str) -> list[str]:
    """Return those of some options that were given, as they are written."""
    context = click.get_current_context()
    return [
        option.opts[0]
        for option in context.command.params
        if option.name in names
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]


def refuse_options(why: str, *names: str) -> None:
    """Refuse options that were given."""
    if given := given_options(*names):
        raise ValueError(f"{why}: leave out {given[0]}")


def fail(
    message: str, options: dict[str, Any], code: int = FAILED, details: Sequence[str] = ()
) -> NoReturn:
    """Print an error and a line for each detail, as JSON if requested, and exit."""
    line, *more = (on_one_line(" ".join(text.split())) for text in (message, *details))
    if options.get("as_json"):
        found = {"error": line, "details": more} if more else {"error": line}
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        click.echo("\n  ".join([f"Error: {line}", *more]), err=True)
    sys.exit(code)


def echo_json(values: object) -> None:
    """Print JSON, with null for infinite numbers."""
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
    from pairdp import estimators

    of_responses = {name: options[name] for name in ("response_bounds", "response_levels")}
    is_ranking = options["task"] == "ranking"
    if is_ranking:
        more = {**more, **of_responses, "model": options["model"]}
    elif options["model"] != "auto":
        raise TableError("--model is for --task ranking")
    elif any(value is not None for value in of_responses.values()):
        raise TableError("--response-bounds and --response-levels are for --task ranking")
    if options["data_norm"] is not None:
        more["data_norm"] = options["data_norm"]
    names = ("epsilon", "delta", "algorithm", "loss", "radius", "regularization")
    kind: Any = estimators.PrivateRanker if is_ranking else estimators.PrivateMetric
    return kind(**{name: options[name] for name in names}, **more)


def open_ledger(path: Path | None) -> BudgetLedger | None:
    """Return the ledger in a file, None without a path."""
    return None if path is None else BudgetLedger.load(path)


def paying_ledger(
    options: dict[str, Any],
    planned: Certificate,
    data: Path,
    output: Path | None,
    **remarks: Any,
) -> BudgetLedger | None:
    """Return the ledger that pays for what is planned, with room for it; None without ``--ledger``.

    If an earlier run has paid for the same output and was killed before it was in place, the error
    says what was spent, and where the output is.
    """
    ledger = open_ledger(options["ledger"])
    if ledger is None:
        return None
    if options["seed"] is not None:
        raise TableError("a ledger pays for independent noise, and --seed repeats it: drop one")
    ledger = ledger.annotated(data_set=options["data_set"] or data.name, **remarks)
    if output is not None:
        ledger.check_finished(output)
    ledger.check(planned, planned.algorithm)
    return ledger


def check_output(path: Path, force: bool, *inputs: Path | None) -> None:
    """Raise an error if a file cannot be written, is an input, or exists and ``force`` is not set.

    Something that is not a regular file is never replaced.
    """
    try:
        target = destination(path)
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror}") from None
    for other in inputs:
        if other is not None and other.exists() and target == other.resolve():
            raise TableError(f"{path} is an input: choose another name for the output")
    if path.exists() and not force:
        raise TableError(f"{path} already exists: choose another name, or --force to replace it")
    directory = target.parent
    if not directory.is_dir():
        raise TableError(f"there is no directory {path.parent} to save into")
    if not os.access(directory, os.W_OK):
        raise TableError(f"the directory {path.parent} is not writable")
