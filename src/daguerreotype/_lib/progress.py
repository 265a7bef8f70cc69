"""Progress of long work on stderr: bars and a status line that rich draws, plain lines where no terminal is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from daguerreotype._lib.labels import printable

if TYPE_CHECKING:
    from rich.console import Console

NARROW = 100  # columns of a terminal, below which some of what a bar shows must go
BAR = 16  # characters of the bar of a status line
COMPILING = "compiling kernels, once on this machine"


@dataclass(frozen=True)
class Progress:
    """One training step, as a progress bar is told of it."""

    phase: Literal["train", "refine", "resume", "final fit"]
    objective: float
    support: int
    hit_rate: float


class ProgressBar:
    """A bar for every task of a learner, in a context of its own; silent unless ``verbose``."""

    def __init__(self, verbose: int, max_iter: int) -> None:
        self.verbose, self.max_iter = verbose, max_iter
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self.verbose:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            console = Console(stderr=True)
            narrow = console.width < NARROW
            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(10 if narrow else 40),
                MofNCompleteColumn(),
                *([] if narrow else [TimeElapsedColumn()]),
                TextColumn("{task.fields[seen]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
                console=console,
                transient=console.is_terminal,  # elsewhere the last state is all that is ever shown
                expand=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def task(self, name: str, total: int | None) -> Callable[[int], None]:
        """A bar for ``total`` steps, shown at once; what it returns moves the bar on.

        With None nobody knows how many steps there are, if any: then it is shown with the first one.
        """
        if total is not None:
            self._advance(name, total, 0)
        return lambda count: self._advance(name, total, count)

    def update(self, name: str, progress: Progress) -> None:
        """Take in one training step of the model called ``name``."""
        seen = (
            f"objective {progress.objective:.4f}, {progress.support} orders, {progress.hit_rate:.0%} cache hits "
            f"({progress.phase})"
        )
        self._advance(name, self.max_iter, 1, seen)

    def _advance(self, name: str, total: int | None, count: int, seen: str = "") -> None:
        if self._bar is not None:
            if name not in self._tasks:
                self._tasks[name] = self._bar.add_task(name, total=total, seen="")
            self._bar.update(self._tasks[name], advance=count, seen=seen)


class Status:
    """A line on a terminal of what goes on now: beside a spinner, or a bar where there are ``steps`` to count.

    Elsewhere notes and steps alone are lines of text.

    Attributes
    ----------
    on_screen : bool
        Whether a person is watching: stderr is a terminal, and quiet was not asked for.
    bar : rich.progress.Progress
        What draws the line.
    """

    def __init__(self, console: "Console", steps: int | None = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        self._console = console
        self.on_screen = console.is_terminal and not console.quiet
        bar = () if steps is None else (BarColumn(bar_width=BAR), MofNCompleteColumn())
        # Too long a text would push the bar away.
        described = Column(no_wrap=True, overflow="ellipsis", ratio=1)
        self.bar = Bar(
            SpinnerColumn(),
            *bar,
            TextColumn("{task.description}", markup=False, table_column=described),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            expand=True,
            disable=not self.on_screen,
        )
        self._task = self.bar.add_task("loading", total=steps)

    def __call__(self, text: str) -> None:
        """Show ``text`` until the next one comes."""
        self.bar.update(self._task, description=printable(text))

    def note(self, text: str) -> None:
        """Show ``text`` for good."""
        # A line of a log stays one line.
        self._console.print(printable(text), soft_wrap=not self._console.is_terminal)

    def step(self, text: str) -> None:
        """One of the steps is done: the bar moves, or ``text`` says so where there is none."""
        self.bar.advance(self._task)
        self.bar.refresh()  # shown even if the next step is done before the bar is drawn again
        if not self.on_screen:
            self.note(text)

    @contextmanager
    def aside(self, text: str) -> Iterator[None]:
        """Leave the screen to a display that is not ours, under ``text``."""
        self.bar.stop()
        self.note(text)
        try:
            yield
        finally:
            self.bar.start()


@contextmanager
def show_status(quiet: bool, steps: int | None = None) -> Iterator[Status]:
    """A status line on stderr as long as work goes on, with a bar if there are ``steps`` to count."""
    from rich.console import Console

    # The stream of now: what silences a library by changing sys.stderr must not stop the clock.
    status = Status(Console(file=sys.stderr, quiet=quiet, highlight=False, markup=False), steps)
    with status.bar:
        yield status
