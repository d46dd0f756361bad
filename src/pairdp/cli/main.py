"""The command ``pairdp``, whose subcommands are imported on demand."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Any

import click

from pairdp._checks import did_you_mean
from pairdp._version import __version__
from pairdp.cli.deferred_imports import UNUSED, deferred

# Listed here, so that --help does not import the commands.
_COMMANDS = {
    "plan": "Print the noise that each algorithm would add, without any data.",
    "compare": "Compare algorithms over ε, on synthetic or public data.",
    "schema": "Start a schema from a table's header, pay for ranges, or check it.",
    "fit": "Fit a private ranker or metric to a table and save it.",
    "predict": "Score the records of a table with a saved model.",
    "evaluate": "Release how good a saved model is on a sensitive table.",
    "calibrate": "Add the probabilities of an evaluation to a saved model.",
    "show": "Show what a model is, its privacy and its weights.",
    "report": "Write a page about a model, for the person who signs.",
    "verify": "Verify a certificate, or those of a model or stream.",
    "ledger": "Create a privacy budget, and show what is left of it.",
    "audit": "Try to break the guarantee of an algorithm or a model.",
    "study": "Reproduce the papers' experiments and write a report.",
    "demo": "Compare private models of a synthetic table; write a report.",
}


class LazyGroup(click.Group):
    """A group of commands, each in its own module, which is imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        name = f"pairdp.cli.{cmd_name}_command"
        if name not in sys.modules:
            with deferred(*UNUSED), _kept_to_the_end():
                import_module(name)
        command: click.Command = sys.modules[name].command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error for an unknown one names a similar one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if args[0] in _COMMANDS or "Did you mean" in error.message:
                raise
            known = did_you_mean(args[0], _COMMANDS)
            raise click.UsageError(error.message.rstrip(".") + known, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; any interrupt ends it with exit code 130."""
        try:
            with _ended_by_sigterm():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Error: interrupted", err=True)
            ctx.exit(130)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@contextmanager
def _kept_to_the_end() -> Iterator[None]:
    """Do not look for garbage among modules that are imported, neither now nor when Python ends."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Exit on SIGTERM, so that partly written files are removed."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    process = os.getpid()

    def leave(*_: object) -> None:
        if os.getpid() != process:  # a forked worker has nothing to clean up
            os._exit(143)
        sys.exit(143)

    signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pairdp")
def main() -> None:
    """Differentially private rankers and metrics, with certificates.

    Exit codes: 0 success, 1 refused or failed, 2 usage error, 3 over the privacy budget, 4 an audit
    found a violation, 5 a certificate could not be planned again, 130 interrupted, 143 terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not every terminal can print ε
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    main()
