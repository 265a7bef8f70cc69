"""A slice of the fuzzing campaign, and the campaign itself: what it counts, writes, shrinks and goes on from."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from fuzz.campaign import Campaign
from fuzz.part import BrokenError, case_of, without_each
from fuzz.parts import PARTS
from fuzz.workers import FAILED, run_cases
from support.waiting import HANG, never_end

ROOT = Path(__file__).parents[2]
# About two minutes; `make fuzz` goes on for as long as one likes.
SLICE = {"fits": 600, "inputs": 150, "kills": 25, "files": 50}


def test_a_slice_of_the_campaign_finds_nothing(tmp_path):
    # In a process of its own: cases are forked, and the threads of other tests would not come along.
    cases = ",".join(f"{name}={n}" for name, n in SLICE.items())
    command = [sys.executable, "-m", "fuzz", "--minutes", str(HANG), "--jobs", "1", "--cases", cases]
    done = subprocess.run([*command, "--out", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, n in SLICE.items():
        assert re.search(rf"^{name} +{n} +{n} +0$", done.stdout, re.MULTILINE), done.stdout


# ------------------------------------------------------------------ the campaign itself


class Sums:
    """A part whose cases are lists of numbers; those that contain a 7 fail."""

    seconds = float(HANG)

    def draw(self, rng):
        return {"numbers": rng.integers(12, size=5).tolist()}

    def run(self, case):
        if 7 in case["numbers"]:
            raise BrokenError("there is a 7")
        return "summed"

    def simpler(self, case):
        for fewer in without_each(case["numbers"]):
            yield {"numbers": fewer}


class Hangs(Sums):
    seconds = 0.1

    def run(self, case):
        never_end()


class Dies(Sums):
    def run(self, case):
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(HANG)


class Raises(Sums):
    def run(self, case):
        return {}["nothing"]


def campaign(tmp_path, part, seed=0):
    return Campaign({"sums": part}, seed, tmp_path / "journal", tmp_path / "out", n_workers=1)


def test_a_case_depends_on_its_seed_part_and_number_alone():
    for name in PARTS:
        part = import_module(f"fuzz.{name}")
        first = case_of(part, name, 3, 5)
        assert json.loads(json.dumps(first)) == case_of(part, name, 3, 5)
        assert any(case_of(part, name, 3, k) != first for k in range(6, 12))


def test_failures_are_counted_shrunk_and_written_to_files(tmp_path):
    run = campaign(tmp_path, Sums())
    run.run(minutes=HANG, most={"sums": 20})
    failing = [k for k in range(20) if 7 in case_of(Sums(), "sums", 0, k)["numbers"]]
    assert failing
    assert (run.tried["sums"], run.failed["sums"]) == (20, len(failing))
    assert f"sums           20 {20 - len(failing):>8} {len(failing):>8}" in run.summary()
    written = json.loads((tmp_path / "out" / f"sums-0-{failing[0]}.json").read_text())
    assert written["case"] == {"numbers": [7]}
    assert written["drawn"] == case_of(Sums(), "sums", 0, failing[0])


def test_a_campaign_goes_on_from_its_journal(tmp_path):
    campaign(tmp_path, Sums()).run(minutes=HANG, most={"sums": 8})
    with open(tmp_path / "journal", "ab") as file:
        file.write(b"torn li")
    again = campaign(tmp_path, Sums())
    assert again.tried["sums"] == 8
    tried = []
    again._note = lambda job, outcome: tried.append(job[1])
    run_cases(again._jobs(HANG, {"sums": 12}), again.parts, 1, again._note)
    assert tried == [8, 9, 10, 11]


@pytest.mark.parametrize(
    ("part", "word"),
    [(Hangs(), "hangs"), (Dies(), "the process died with status -9"), (Raises(), "unexpected KeyError")],
    ids=["hangs", "dies", "raises"],
)
def test_what_hangs_dies_or_raises_has_failed(part, word):
    outcomes = []
    job = ("sums", 0, {"numbers": []})
    run_cases(iter([job]), {"sums": part}, 1, lambda _, outcome: outcomes.append(outcome))
    assert outcomes[0].verdict == FAILED
    assert outcomes[0].word.startswith(word)


def test_tables_keep_their_values_while_they_shrink():
    from fuzz.tables import draw_table, make_frame, simpler_tables

    table = draw_table(np.random.default_rng(5)) | {"container": "frame"}
    whole = make_frame(table)
    for simpler in simpler_tables(table):
        if simpler["rows"] < table["rows"]:
            assert make_frame(simpler).equals(whole.head(simpler["rows"]))
