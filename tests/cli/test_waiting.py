"""A person learns that work goes on, and only then."""

import io
import threading

from rich.console import Console

from daguerreotype.cli import waiting as module
from daguerreotype.cli.waiting import FIRST_RUN, waiting


def told(monkeypatch, *, patience, quiet=False, terminal=False, last=""):
    """What stands on stderr after work that ends when the ``last`` words have been said."""
    screen = io.StringIO()
    said = threading.Event()

    def console(**settings):
        settings.pop("stderr")
        return Console(file=Watched(screen, said, last), force_terminal=terminal, width=100, **settings)

    monkeypatch.setattr(module, "Console", console)
    monkeypatch.setattr(module, "PATIENCE", patience)
    with waiting(quiet) as tell:
        tell("note: [b]mind[/b] this", keep=True)
        tell("learning [b]")
        said.wait(timeout=20 if last else 0)
    return screen.getvalue()


class Watched(io.TextIOBase):
    """A stream that raises a flag once certain words went through it."""

    def __init__(self, stream, flag, words):
        self.stream, self.flag, self.words = stream, flag, words

    def write(self, text):
        self.stream.write(text)
        if self.words and self.words in self.stream.getvalue():
            self.flag.set()
        return len(text)


def test_short_work_off_a_terminal_shows_nothing_but_its_notes(monkeypatch):
    assert told(monkeypatch, patience=60) == "note: [b]mind[/b] this\n"


def test_long_work_off_a_terminal_is_explained_in_one_line(monkeypatch):
    seen = told(monkeypatch, patience=0.01, last=FIRST_RUN)
    assert seen == f"note: [b]mind[/b] this\nlearning [b] ({FIRST_RUN})\n"


def test_on_a_terminal_a_spinner_says_what_is_done_and_why_it_takes_long(monkeypatch):
    seen = told(monkeypatch, patience=0.01, terminal=True, last=FIRST_RUN)
    assert "learning [b]" in seen
    assert seen.endswith("\x1b[2K")  # the spinner's line is wiped in the end


def test_quiet_work_says_nothing_at_all(monkeypatch):
    assert told(monkeypatch, patience=0.0, quiet=True, terminal=True) == ""
