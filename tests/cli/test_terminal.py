"""What a person sees: the command in a real terminal, by tmux."""

import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import uuid
from pathlib import Path

import pytest

from daguerreotype.simulate import simulate_dag, simulate_data
from support.waiting import HANG, wait_until

COMMAND = Path(sysconfig.get_path("scripts")) / "daguerreotype"
END = "$ done"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def data(tmp_path):
    X = simulate_data(simulate_dag(8, 12, random_state=0), 300, mechanism="mim", random_state=0).X
    text = "\n".join(",".join(f"{value:.6g}" for value in row) for row in X)
    (tmp_path / "data.csv").write_text(",".join(f"x{j}" for j in range(8)) + "\n" + text)
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
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG).stdout

    def watch(self, *arguments):
        """All that a command ever wrote to the screen, without colours, and the screen that it leaves."""
        stream = self.folder / "stream"
        # A width that the shell found elsewhere must not hide that of the pane.
        command = (
            f"tmux -L {self.server} wait-for recorded; "
            f"env -u COLUMNS -u LINES {shlex.join(map(str, [COMMAND, *arguments]))}; echo '{END}' $?; sleep {HANG}"
        )
        size = ["-x", str(self.width), "-y", "120", "-c", str(self.folder)]
        self.tmux("new-session", "-d", *size, "-e", "LC_ALL=C.UTF-8", "-e", "TERM=screen-256color", command)
        try:
            self.tmux("pipe-pane", f"cat > {shlex.quote(str(stream))}")
            self.tmux("wait-for", "-S", "recorded")
            wait_until(lambda: END in self.tmux("capture-pane", "-p"))
            wait_until(lambda: END.encode() in stream.read_bytes())
            last = self.tmux("capture-pane", "-p").rstrip()
        finally:
            self.tmux("kill-server")
        written = stream.read_bytes().decode()  # reading it as text would change the ends of lines
        return CONTROL.sub("", written), last


def test_compare_shows_a_moving_bar_and_leaves_only_the_table(data):
    width = 50
    written, last = Pane(width, data.parent).watch(
        "compare", "data.csv", "--methods", "bic,gam,empty", "--time-limit", 0, "--held-out", 0
    )
    moving, _, _ = written.rpartition("/3 ")
    assert all(f"{count}/3 " in moving for count in (0, 1, 2))
    assert "\n" not in moving  # one line that changes in its place
    assert max(map(len, moving.split("\r"))) <= width
    assert "━" in moving
    assert "/3 " not in last
    assert f"{END} 0" in last
    assert [line.split()[0] for line in last.splitlines() if line.strip()].count("gam") == 2  # table and agreement
    assert max(map(len, last.splitlines())) <= width


def test_fit_says_what_it_learns_from_and_then_shows_the_graph(data):
    width = 50
    written, last = Pane(width, data.parent).watch("fit", "data.csv")
    stages = ["loading", "learning the graph of 8 columns", "objective", "probability"]
    assert sorted(stages, key=written.index) == stages
    assert "probability" in last
    assert "loading" not in last
    assert "objective" not in last
    assert f"{END} 0" in last
    assert max(map(len, last.splitlines())) <= width


def test_an_error_on_a_terminal_leaves_no_trace_of_the_spinner(tmp_path):
    last = Pane(80, tmp_path).watch("fit", "nowhere.csv")[1]
    assert last.splitlines() == [
        "error: there is no file nowhere.csv. Check its name and folder.",
        f"{END} 3",
    ]
