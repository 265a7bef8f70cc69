"""A person learns that work goes on, and only then."""

import io
import threading
from itertools import chain, repeat
from types import SimpleNamespace

from rich.console import Console
from rich.text import Text

from daguerreotype.cli import progress as module
from daguerreotype.cli.progress import FIRST_RUN, waiting
from support.waiting import HANG


def told(monkeypatch, *, patience, quiet=False, terminal=False, last=""):
    """What stands on stderr after work that ends when the ``last`` words have been said, if aloud or not."""
    screen = io.StringIO()
    said, explain = threading.Event(), module.Tell._explain

    def console(**settings):
        settings.pop("file")
        return Console(file=Watched(screen, said, last), force_terminal=terminal, width=100, **settings)

    def explain_quietly(tell, text, since):
        explain(tell, text, since)
        if quiet and last in text:
            said.set()

    monkeypatch.setattr(module, "Console", console)
    monkeypatch.setattr(module, "PATIENCE", patience)
    monkeypatch.setattr(module.Tell, "_explain", explain_quietly)
    with waiting(quiet) as tell:
        tell.note("note: [b]mind[/b] this")
        tell("learning [b]", why=FIRST_RUN)
        assert not last or said.wait(HANG)
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
    assert told(monkeypatch, patience=HANG) == "note: [b]mind[/b] this\n"


def test_long_work_off_a_terminal_is_explained_in_one_line(monkeypatch):
    seen = told(monkeypatch, patience=0.01, last=FIRST_RUN)
    assert seen == f"note: [b]mind[/b] this\nlearning [b] ({FIRST_RUN})\n"


def test_on_a_terminal_a_spinner_says_what_is_done_and_why_it_takes_long(monkeypatch):
    seen = told(monkeypatch, patience=0.01, terminal=True, last=FIRST_RUN)
    assert "learning [b]" in seen
    assert seen.endswith("\x1b[2K")  # the spinner's line is wiped in the end


def test_quiet_work_says_nothing_at_all(monkeypatch):
    assert told(monkeypatch, patience=0.01, quiet=True, terminal=True, last=FIRST_RUN) == ""


def test_very_long_work_off_a_terminal_gives_signs_of_life(monkeypatch):
    clock = chain([100.0, 100.01], repeat(162.0))  # the start, the first line, all others
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(module, "INTERVAL", 0.05)
    assert told(monkeypatch, patience=0.01, last="so far").splitlines()[1:3] == [
        f"learning [b] ({FIRST_RUN})",
        f"learning [b] ({FIRST_RUN}): 62 s so far",
    ]


def steps_shown(monkeypatch, terminal, width=60):
    screen = io.StringIO()
    settings = {"force_terminal": terminal, "width": width}
    monkeypatch.setattr(
        module,
        "Console",
        lambda **given: Console(**(given | {"file": screen} | settings), force_interactive=terminal),
    )
    with waiting(False, steps=2) as tell:
        tell("a method with a name that is longer than any screen is wide, and much longer")
        tell.step("first: done")
        tell.step("second: failed")
        tell._spinner.refresh()
    return screen.getvalue()


def test_steps_move_a_bar_on_a_terminal_and_never_take_a_second_line(monkeypatch):
    seen = Text.from_ansi(steps_shown(monkeypatch, True)).plain
    assert "2/2" in seen
    assert "first: done" not in seen
    assert max(map(len, seen.replace("\r", "\n").splitlines())) <= 60


def test_steps_are_plain_lines_elsewhere(monkeypatch):
    assert steps_shown(monkeypatch, False) == "first: done\nsecond: failed\n"


def test_the_screen_can_be_left_to_another_display_and_is_taken_back(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(
        module, "Console", lambda **given: Console(**(given | {"file": screen}), force_terminal=True)
    )
    with waiting(False) as tell:
        with tell.aside("learning"):
            assert not tell._spinner.live.is_started
            assert "learning" in screen.getvalue()
        assert tell._spinner.live.is_started
        tell("writing")
        tell._spinner.refresh()
    assert "writing" in screen.getvalue()


def test_silencing_a_library_does_not_stop_the_clock(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with waiting(False) as tell:
        monkeypatch.setattr("sys.stderr", io.StringIO())
        tell.note("still heard")
    assert stream.getvalue() == "still heard\n"
