"""What a person sees: the command in a real terminal, by tmux."""

import os
import shlex
import shutil
import subprocess
import sysconfig
import time
import uuid
from pathlib import Path

import pytest

from daguerreotype.simulate import simulate_dag, simulate_data

COMMAND = Path(sysconfig.get_path("scripts")) / "daguerreotype"
PATIENCE = 90  # seconds; a busy machine loads libraries slowly
END = "$ done"


@pytest.fixture
def data(tmp_path):
    """A table that takes a moment to learn."""
    X = simulate_data(simulate_dag(40, 80, random_state=0), 1000, mechanism="mim", random_state=0).X
    text = "\n".join(",".join(f"{value:.6g}" for value in row) for row in X)
    (tmp_path / "data.csv").write_text(",".join(f"x{j}" for j in range(40)) + "\n" + text)
    return tmp_path / "data.csv"


class Pane:
    """A terminal of a given width with a command in it."""

    def __init__(self, width, folder):
        if shutil.which("tmux") is None:
            if os.environ.get("DAGUERREOTYPE_REQUIRE_TOOLS"):
                pytest.fail("tmux is not installed")
            pytest.skip("tmux is not installed")
        self.width, self.folder, self.server = width, folder, f"daguerreotype-{uuid.uuid4().hex}"

    def tmux(self, *arguments):
        command = ["tmux", "-L", self.server, "-f", os.devnull, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout

    def watch(self, *arguments):
        """All different screens from the start of the command to its end."""
        # A width that the shell found elsewhere must not hide that of the pane.
        command = (
            f"env -u COLUMNS -u LINES {shlex.join(map(str, [COMMAND, *arguments]))}; echo '{END}' $?; sleep 600"
        )
        size = ["-x", str(self.width), "-y", "120", "-c", str(self.folder)]
        self.tmux("new-session", "-d", *size, "-e", "LC_ALL=C.UTF-8", "-e", "TERM=screen-256color", command)
        screens, deadline = [""], time.monotonic() + PATIENCE
        try:
            while END not in screens[-1] and time.monotonic() < deadline:
                screen = self.tmux("capture-pane", "-p").rstrip()
                if screen != screens[-1]:
                    screens.append(screen)
                time.sleep(0.03)
        finally:
            self.tmux("kill-server")
        assert END in screens[-1], screens[-1]
        return screens


@pytest.mark.parametrize("width", [50, 140])
def test_compare_shows_a_moving_bar_and_leaves_only_the_table(data, width):
    screens = Pane(width, data.parent).watch(
        "compare", "data.csv", "--methods", "bic,gam,empty", "--time-limit", 0, "--held-out", 0
    )
    counts = {count for count in ("0/3", "1/3", "2/3") for screen in screens if f"{count} " in screen}
    assert {"0/3", "1/3"} <= counts
    moving = [screen for screen in screens if "0/3 " in screen or "1/3 " in screen]
    assert {len(screen.splitlines()) for screen in moving} == {1}  # one line that changes in its place
    assert any("━" in screen for screen in moving)
    last = screens[-1]
    assert "/3 " not in last
    assert f"{END} 0" in last
    assert [line.split()[0] for line in last.splitlines() if line.strip()].count("gam") == 2  # table and agreement
    assert max(map(len, last.splitlines())) <= width


@pytest.mark.parametrize("width", [50, 140])
def test_fit_says_what_it_learns_from_and_then_shows_the_graph(data, width):
    screens = Pane(width, data.parent).watch("fit", "data.csv")
    assert "loading" in screens[1]
    assert any("learning the graph of 40 columns" in screen and "objective" in screen for screen in screens)
    last = screens[-1]
    assert "probability" in last
    assert "loading" not in last
    assert f"{END} 0" in last
    assert max(map(len, last.splitlines())) <= width


def test_an_error_on_a_terminal_leaves_no_trace_of_the_spinner(tmp_path):
    last = Pane(80, tmp_path).watch("fit", "nowhere.csv")[-1]
    assert last.splitlines() == [
        "error: there is no file nowhere.csv. Check its name and folder.",
        f"{END} 3",
    ]
