"""Errors of a verb: one line on stderr, and an exit code for each kind."""

import functools
import os
from collections.abc import Callable
from typing import ParamSpec

import typer

from daguerreotype._lib.labels import printable

P = ParamSpec("P")

FAILURE, BAD_OPTIONS, BAD_INPUT, MISSING_EXTRA, NOTHING_LEARNED, INTERRUPTED = 1, 2, 3, 4, 5, 130
TRACEBACK = "DAGUERREOTYPE_TRACEBACK"
EXIT_CODES = (
    f"Exit codes: 0 done; {FAILURE} unexpected failure ({TRACEBACK}=1 shows where); {BAD_OPTIONS} wrong options; "
    f"{BAD_INPUT} a file that cannot be read or written, or a table that nothing can be learned from; "
    f"{MISSING_EXTRA} an optional library is missing, the message says what to install; "
    f"{NOTHING_LEARNED} compare and reproduce: no run came to an end; "
    f"{INTERRUPTED} interrupted, what was learned so far is shown."
)


def one_line_errors(verb: Callable[P, None]) -> Callable[P, None]:
    """Let ``verb`` end with one line on stderr and the exit code of what went wrong."""

    @functools.wraps(verb)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            verb(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.BadParameter, BrokenPipeError):  # a reader that left early
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            code, text = _judge(error)
            typer.echo(f"{typer.style('error:', fg='red', bold=True)} {text}", err=True)
            raise typer.Exit(code) from None

    return guarded


def _judge(error: Exception) -> tuple[int, str]:
    """Exit code and line of text of an error."""
    text = printable(" ".join(str(error).split()))
    if isinstance(error, ImportError):
        return MISSING_EXTRA, text
    if isinstance(error, OSError) and error.filename is not None:
        done = "open" if isinstance(error, FileNotFoundError | PermissionError) else "read or write"
        return BAD_INPUT, f"cannot {done} {printable(str(error.filename))}: {error.strerror or error}."
    if isinstance(error, OSError) and error.errno is not None:  # of a stream without a name, such as the output
        return BAD_INPUT, f"cannot read or write: {error.strerror}."
    if isinstance(error, FileNotFoundError | ValueError | TypeError):
        return BAD_INPUT, text
    return FAILURE, f"unexpected {type(error).__name__}: {text}. Set {TRACEBACK}=1 to see where it happened."
