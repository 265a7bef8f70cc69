"""A greeting."""

import typer

from daguerreotype.cli.errors import one_line_errors
from daguerreotype.cli.main import app


def greet(name: str) -> None:
    """Greet somebody."""
    if not name:
        raise ValueError("nobody to greet")
    typer.echo(f"hello {name}")


app.command()(one_line_errors(greet))
