"""Every way to end has its exit code, and one line on stderr."""

import typer
from typer.testing import CliRunner

from daguerreotype.cli.errors import one_line_errors


def ending(error):
    """What a shell sees of a verb that ends so."""
    small = typer.Typer(pretty_exceptions_enable=False)

    def verb() -> None:
        if error is not None:
            raise error

    small.command()(one_line_errors(verb))
    return CliRunner().invoke(small, [])


ENDINGS = (
    (None, 0, ""),
    (ZeroDivisionError("oh"), 1, "error: unexpected ZeroDivisionError: oh. Set DAGUERREOTYPE_TRACEBACK=1 to see"),
    (ValueError("bad\n table"), 3, "error: bad table\n"),
    (TypeError("bad object"), 3, "error: bad object\n"),
    (FileNotFoundError(2, "No such file", "k.toml"), 3, "error: cannot open k.toml: No such file.\n"),
    (OSError(28, "No space left", "out.csv"), 3, "error: cannot read or write out.csv: No space left.\n"),
    (OSError(28, "No space left"), 3, "error: cannot read or write: No space left.\n"),
    (FileNotFoundError("there is no file m.npz"), 3, "error: there is no file m.npz\n"),
    (OSError("strange"), 1, "error: unexpected OSError: strange."),
    (ImportError("Run: pip install torch"), 4, "error: Run: pip install torch\n"),
    (KeyboardInterrupt(), 130, "interrupted\n"),
    (typer.Exit(7), 7, ""),
)


def test_an_error_becomes_a_line_and_a_code(monkeypatch):
    for error, code, line in ENDINGS:
        result = ending(error)
        assert result.exit_code == code
        assert result.stderr.startswith(line)
        assert result.stderr.count("\n") == bool(line)
        assert result.stdout == ""
    result = ending(typer.BadParameter("no such thing"))  # keeps its own words
    assert result.exit_code == 2
    assert "no such thing" in result.stderr
    monkeypatch.setenv("DAGUERREOTYPE_TRACEBACK", "1")
    assert isinstance(ending(RuntimeError("oh")).exception, RuntimeError)
