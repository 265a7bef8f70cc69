"""A person learns that work goes on, and only then."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from daguerreotype._lib.progress import Progress, ProgressBar, show_status


@pytest.fixture
def shown(monkeypatch):
    """What stands on stderr after work under a status line."""

    def show(work, *, terminal, quiet=False, steps=None):
        screen = io.StringIO()
        given = {"file": screen, "force_terminal": terminal, "force_interactive": terminal, "width": 60}
        monkeypatch.setattr("rich.console.Console", lambda **settings: Console(**(settings | given)))
        with show_status(quiet, steps) as status:
            work(status)
            status.bar.refresh()
        return screen.getvalue()

    return show


def learn(status):
    status.note("note: [b]mind[/b] this")
    status("learning [b]" + 100 * " on")


def take_steps(status):
    status("a method with a name that is longer than any screen is wide, and much longer")
    status.step("first: done")
    status.step("second: failed")


def test_notes_and_steps_alone_are_lines_off_a_terminal_and_quiet_work_says_nothing(shown):
    assert shown(learn, terminal=False) == "note: [b]mind[/b] this\n"
    assert shown(take_steps, terminal=False, steps=2) == "first: done\nsecond: failed\n"
    assert shown(learn, terminal=True, quiet=True) == shown(learn, terminal=False, quiet=True) == ""


def test_on_a_terminal_one_line_says_what_is_done_and_is_wiped_in_the_end(shown):
    seen = shown(learn, terminal=True)
    assert "learning [b]" in seen
    assert seen.endswith("\x1b[2K")


def test_steps_move_a_bar_on_a_terminal_and_never_take_a_second_line(shown):
    seen = Text.from_ansi(shown(take_steps, terminal=True, steps=2)).plain
    assert "2/2" in seen
    assert "first: done" not in seen
    assert max(map(len, seen.replace("\r", "\n").splitlines())) <= 60


def test_the_screen_can_be_left_to_another_display_and_is_taken_back(shown):
    def work(status):
        with status.aside("learning"):
            assert not status.bar.live.is_started
        assert status.bar.live.is_started
        status("writing")

    seen = shown(work, terminal=True)
    assert seen.index("learning") < seen.index("writing")


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
        read = bar.task("rows read", None)
        read(10)
        read(5)
        bar.task("resamples", 60)(12)
        bar.task("compiling", None)
        bar.task("graphs", 7)

    lines = {line.split()[0]: " ".join(line.split()) for line in bars(monkeypatch, 1, work).splitlines()}
    assert "1/3" in lines["log"]
    assert lines["log"].endswith("objective 1.5000, 4 orders, 25% cache hits (train)")
    assert "15/?" in lines["rows"]
    assert "12/60" in lines["resamples"]
    assert "0/7" in lines["graphs"]  # before its first step
    assert "compiling" not in lines  # there may be none
    assert bars(monkeypatch, 0, work) == ""  # nobody asked for it
