"""A person learns that work goes on, and only then."""

import io
import threading
from itertools import chain, repeat
from types import SimpleNamespace

from rich.console import Console
from rich.text import Text

from daguerreotype._lib import progress as module
from daguerreotype._lib.progress import FIRST_RUN, Progress, ProgressBar, show_status
from support.waiting import HANG


def told(monkeypatch, *, patience, quiet=False, terminal=False, last=""):
    """What stands on stderr after work that ends when the ``last`` words have been said, if aloud or not."""
    screen = io.StringIO()
    said, explain = threading.Event(), module.Status._explain

    def console(**settings):
        settings.pop("file")
        return Console(file=Watched(screen, said, last), force_terminal=terminal, width=100, **settings)

    def explain_quietly(tell, text, since):
        explain(tell, text, since)
        if quiet and last in text:
            said.set()

    monkeypatch.setattr("rich.console.Console", console)
    monkeypatch.setattr(module, "PATIENCE", patience)
    monkeypatch.setattr(module.Status, "_explain", explain_quietly)
    with show_status(quiet) as tell:
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
        "rich.console.Console",
        lambda **given: Console(**(given | {"file": screen} | settings), force_interactive=terminal),
    )
    with show_status(False, steps=2) as status:
        status("a method with a name that is longer than any screen is wide, and much longer")
        status.step("first: done")
        status.step("second: failed")
        status._bar.refresh()
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
        "rich.console.Console", lambda **given: Console(**(given | {"file": screen}), force_terminal=True)
    )
    with show_status(False) as tell:
        with tell.aside("learning"):
            assert not tell._bar.live.is_started
            assert "learning" in screen.getvalue()
        assert tell._bar.live.is_started
        tell("writing")
        tell._bar.refresh()
    assert "writing" in screen.getvalue()


def test_silencing_a_library_does_not_stop_the_clock(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with show_status(False) as status:
        monkeypatch.setattr("sys.stderr", io.StringIO())
        status.note("still heard")
    assert stream.getvalue() == "still heard\n"


def bars(monkeypatch, verbose, work):
    """What stands on a screen after ``work`` with a progress bar of three steps."""
    screen = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=screen, force_terminal=False, width=140))
    with ProgressBar(verbose, 3) as bar:
        work(bar)
    return screen.getvalue()


def test_a_bar_counts_training_steps_rows_and_any_other_task(monkeypatch):
    def work(bar):
        bar.update("log", Progress("train", 1.5, 4, 0.25))
        bar.rows(10)
        bar.rows(5)
        advance = bar.task("compiling kernels", 60)
        advance(12)

    lines = {line.split()[0]: " ".join(line.split()) for line in bars(monkeypatch, 1, work).splitlines()}
    assert "1/3" in lines["log"]
    assert lines["log"].endswith("objective 1.5000, 4 orders, 25% cache hits (train)")
    assert "15/?" in lines["rows"]
    assert "12/60" in lines["compiling"]


def test_a_task_is_shown_before_its_first_step(monkeypatch):
    assert "0/60" in bars(monkeypatch, 1, lambda bar: bar.task("compiling kernels", 60))


def test_a_bar_that_nobody_asked_for_is_silent(monkeypatch):
    assert bars(monkeypatch, 0, lambda bar: bar.task("compiling kernels", 60)(1)) == ""
