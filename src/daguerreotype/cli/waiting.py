"""How does a person know that work goes on? A spinner on a terminal, elsewhere one line if it takes long."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

PATIENCE = 3.0  # seconds before a person is told what takes so long
FIRST_RUN = "the first run compiles its kernels, some 15 s"


class Tell(Protocol):
    """Says what is going on."""

    def __call__(self, text: str, *, keep: bool = False) -> None:
        """Show ``text`` until the next one comes; with ``keep`` for good."""
        ...


@contextmanager
def waiting(quiet: bool) -> Iterator[Tell]:
    """Tell on stderr that work goes on: a spinner on a terminal, elsewhere one line if it takes long."""
    console = Console(stderr=True, quiet=quiet, highlight=False, markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    spinner = Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)
    task = spinner.add_task("loading")
    timers: list[threading.Timer] = []

    def tell(text: str, *, keep: bool = False) -> None:
        if keep:
            console.print(text, soft_wrap=True)
            return
        spinner.update(task, description=text)
        timers.append(threading.Timer(PATIENCE, explain, [f"{text} ({FIRST_RUN})"]))
        timers[-1].daemon = True
        timers[-1].start()

    def explain(text: str) -> None:
        if spinner.disable:
            console.print(text, soft_wrap=True)
        else:
            spinner.update(task, description=text)

    try:
        with spinner:
            yield tell
    finally:
        for timer in timers:
            timer.cancel()
