"""The command line and its verbs."""

import io
import sys
from typing import Annotated

import typer

from daguerreotype import __version__
from daguerreotype.cli.compare import compare
from daguerreotype.cli.errors import EXIT_CODES, one_line_errors
from daguerreotype.cli.evaluate import evaluate
from daguerreotype.cli.fit import fit
from daguerreotype.cli.report import report
from daguerreotype.cli.reproduce import reproduce
from daguerreotype.cli.simulate import simulate
from daguerreotype.cli.tune import tune

app = typer.Typer(
    help="Learn a directed acyclic graph from a table.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"daguerreotype {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn a directed acyclic graph from a table."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # of letters that the terminal does not have


for verb in (fit, compare, evaluate, simulate, report, reproduce, tune):
    app.command()(one_line_errors(verb))
