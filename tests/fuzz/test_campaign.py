"""A slice of the fuzzing campaign, and the campaign itself: what it counts, and failures that it keeps."""

import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.__main__ import run_batch
from fuzz.strategies import make_frame, tables

ROOT = Path(__file__).parents[2]
# Some seconds; `make fuzz` goes on for as long as one likes.
SLICE = {"inputs": 24, "kills": 3}


def test_a_slice_of_the_campaign_finds_nothing(tmp_path):
    # In a process of its own: cases are forked, and the threads of other tests would not come along.
    cases = ",".join(f"{name}={SLICE[name]}" for name in SLICE)
    command = [
        sys.executable,
        "-m",
        "fuzz",
        "--minutes",
        "90",
        "--jobs",
        "1",
        "--only",
        ",".join(SLICE),
        "--cases",
        cases,
    ]
    done = subprocess.run([*command, "--out", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in SLICE:
        assert re.search(rf"^{name} +[1-9]\d* passed", done.stdout, re.MULTILINE), done.stdout


class Sums:
    """A part whose cases are lists of numbers; those that contain a 7 fail."""

    def warm(self):
        pass

    def cases(self):
        return st.lists(st.integers(0, 12), max_size=20)

    def check(self, case):
        assert 7 not in case, "there is a 7"
        return "summed"


def test_a_failure_is_made_small_and_a_later_campaign_tries_it_first(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.__main__.import_module", lambda name: Sums())
    first = run_batch("sums", 0, 200, tmp_path)
    assert "there is a 7" in first["failure"]
    assert re.search(r"case=\[7\]", first["failure"])
    assert first["words"]["summed"] > 0
    again = run_batch("sums", 1, 1, tmp_path)
    assert "there is a 7" in again["failure"]


@given(tables())
@settings(max_examples=20, deadline=None)
def test_tables_keep_their_values_while_they_lose_rows(table):
    whole = make_frame(table | {"repeats": 1})
    assert make_frame(table | {"repeats": 1, "rows": 3}).equals(whole.head(3))
