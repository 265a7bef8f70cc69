"""Which verbs does the command line know, and how does it fail?"""

import functools
import os
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from daguerreotype import __version__
from daguerreotype.cli.fit import fit

P = ParamSpec("P")

BAD_INPUT, FAILURE = 2, 1
TRACEBACK = "DAGUERREOTYPE_TRACEBACK"

app = typer.Typer(
    help="Learn a directed acyclic graph from a table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def one_line_errors(verb: Callable[P, None]) -> Callable[P, None]:
    """Let ``verb`` end with one line on stderr: exit status 2 for bad input, 1 for any other failure."""

    @functools.wraps(verb)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except typer.Exit:
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            bad_input = isinstance(error, ValueError | TypeError)
            text = " ".join(str(error).split())
            if not bad_input:
                text = f"unexpected {type(error).__name__}: {text}. Set {TRACEBACK}=1 to see where it happened."
            typer.echo(f"{typer.style('error:', fg='red', bold=True)} {text}", err=True)
            raise typer.Exit(BAD_INPUT if bad_input else FAILURE) from None

    return guarded


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


app.command()(one_line_errors(fit))
