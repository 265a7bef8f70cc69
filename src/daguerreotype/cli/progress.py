"""How does a person know that work goes on? A spinner or a bar on a terminal, elsewhere plain lines."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

PATIENCE = 3.0  # seconds before a person is told what takes so long
INTERVAL = 60.0  # seconds between later signs of life, off a terminal
BAR = 16  # characters of the bar
FIRST_RUN = "the first run compiles its kernels, some 15 s"


class Tell:
    """Says on stderr what is going on.

    Attributes
    ----------
    on_screen : bool
        Whether a person is watching: stderr is a terminal, and quiet was not asked for.
    """

    def __init__(self, console: Console, steps: int | None = None) -> None:
        self._console = console
        self.on_screen = console.is_terminal and not console.quiet
        bar = () if steps is None else (BarColumn(bar_width=BAR), MofNCompleteColumn())
        self._spinner = Progress(
            SpinnerColumn(),
            *bar,
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self.on_screen,
        )
        self._task = self._spinner.add_task("loading", total=steps)
        self._taken = len("⠋  0:00:00") + (0 if steps is None else BAR + len(f" {steps}/{steps} ") + 1)
        self._timer: threading.Timer | None = None

    def __call__(self, text: str, *, why: str = "") -> None:
        """Show ``text`` until the next one comes; ``why`` it takes long is added if it does."""
        self._describe(text)
        self._wait(PATIENCE, f"{text} ({why})" if why else text, time.monotonic())

    def note(self, text: str) -> None:
        """Show ``text`` for good."""
        self._console.print(text, soft_wrap=not self._console.is_terminal)  # a line of a log stays one line

    def step(self, text: str) -> None:
        """One of the steps is done: the bar moves, or ``text`` says so where there is none."""
        self._spinner.advance(self._task)
        self._spinner.refresh()  # shown even if the next step is done before the bar is drawn again
        if not self.on_screen:
            self.note(text)

    @contextmanager
    def aside(self, text: str) -> Iterator[None]:
        """Leave the screen to a display that is not ours, under ``text``."""
        self.stop()
        self.note(text)
        try:
            yield
        finally:
            self._spinner.start()

    def start(self) -> None:
        """Start to turn."""
        self._spinner.start()

    def stop(self) -> None:
        """Leave no trace on the screen."""
        if self._timer is not None:
            self._timer.cancel()
        self._spinner.stop()

    def _describe(self, text: str) -> None:
        """Show ``text`` beside the spinner, cut where the line ends: too long a text would push the bar away."""
        shown = Text(text)
        shown.truncate(max(self._console.width - self._taken, 8), overflow="ellipsis")
        self._spinner.update(self._task, description=shown.plain)

    def _wait(self, seconds: float, text: str, since: float) -> None:
        """Say ``text`` after some seconds, unless something else comes first."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self._explain, [text, since])
        self._timer.daemon = True
        self._timer.start()

    def _explain(self, text: str, since: float) -> None:
        if self.on_screen:  # where the clock of the spinner shows that work goes on
            self._describe(text)
            return
        elapsed = time.monotonic() - since
        self.note(text if elapsed < INTERVAL else f"{text}: {elapsed:.0f} s so far")
        self._wait(INTERVAL, text, since)


@contextmanager
def waiting(quiet: bool, steps: int | None = None) -> Iterator[Tell]:
    """Tell on stderr that work goes on, with a bar if there are ``steps`` to count."""
    # The stream of now: what silences a library by changing sys.stderr must not stop the clock.
    tell = Tell(Console(file=sys.stderr, quiet=quiet, highlight=False, markup=False), steps)
    tell.start()
    try:
        yield tell
    finally:
        tell.stop()
