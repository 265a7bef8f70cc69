"""The command line and its verbs."""

import io
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from daguerreotype import __version__
from daguerreotype.cli.compare import compare
from daguerreotype.cli.errors import EXIT_CODES, one_line_errors, telling_interrupts
from daguerreotype.cli.evaluate import evaluate
from daguerreotype.cli.fit import fit
from daguerreotype.cli.report import report
from daguerreotype.cli.reproduce import reproduce
from daguerreotype.cli.simulate import simulate
from daguerreotype.cli.tune import tune


class Verbs(TyperGroup):
    """The verbs; what Ctrl-C ends before one of them has begun ends with a word, too."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words of the command."""
        with telling_interrupts():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of a verb, and run it."""
        with telling_interrupts():
            return super().invoke(ctx)


app = typer.Typer(
    cls=Verbs,
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
