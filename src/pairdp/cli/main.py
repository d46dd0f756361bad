"""The command ``pairdp``: its subcommands, loaded when one of them is called."""

from __future__ import annotations

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

from pairdp._version import __version__

# One sentence each, so that --help need not import what the commands need.
_COMMANDS = {
    "plan": "Say what each algorithm would add, before there is any data.",
    "fit": "Fit a private ranker or metric to a table, and save it.",
    "predict": "Score the records of a table with a saved model.",
    "verify": "Check the certificate of a model, or one by itself.",
    "ledger": "Open a privacy budget, and see what is left of it.",
    "audit": "Try to break the guarantee of an algorithm or a model.",
    "study": "Reproduce the papers' experiments, and write a report.",
    "demo": "Fit private models to embedded data and show what they do.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"pairdp.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. An interrupt ends it with 130, wherever it comes."""
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
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as an exit, so that files that are being written are removed."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    process = os.getpid()

    def leave(*_: object) -> None:
        if os.getpid() != process:  # a worker that was forked has nothing to clean up
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

    Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 over the privacy budget, 4 an audit
    found a violation, 5 a certificate could not be planned again, 130 interrupted, 143 terminated.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not every terminal has an ε
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    main()
