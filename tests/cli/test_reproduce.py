"""The verb reproduce: tables, figures, and going on where it stopped."""

import json
import os
import signal
import subprocess
import sysconfig
from pathlib import Path

import pytest
from typer.testing import CliRunner

from daguerreotype.cli.main import app
from daguerreotype.cli.reproduce import EXPERIMENTS
from daguerreotype.experiments import shipped
from support.children import environment
from support.waiting import HANG, wait_until

COMMAND = Path(sysconfig.get_path("scripts")) / "daguerreotype"
SPEC = """
title = "Orders by variance, and none"
[[problems]]
data = "sachs"
[[methods]]
label = "sorted"
baseline = "sortnregress"
settings = { standardize = true }
[[methods]]
label = "nothing"
baseline = "empty"
draws = false
[[figures]]
file = "pareto"
kind = "pareto"
"""


def run(*arguments):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(SPEC)
    return path


def test_all_shipped_experiments_are_offered():
    assert sorted(EXPERIMENTS) == shipped()


def test_an_own_experiment_is_run_shown_and_not_run_again(spec, tmp_path):
    options = [spec, "--seeds", 2, "--out", tmp_path / "results", "--n-jobs", 2]
    first = run(*options)
    assert first.exit_code == 0, first.output
    assert "Orders by variance, and none" in first.stdout
    assert "mine: nothing on sachs, repeat 0: SHD 17" in first.stderr
    folder = tmp_path / "results" / "mine"
    assert sorted(path.name for path in folder.iterdir()) == [*("pareto.svg", "runs.csv", "table.csv", "table.md")]
    assert "| nothing | 17.0 | 53.0 |" in (folder / "table.md").read_text()
    again = run(*options)
    assert again.stdout == first.stdout
    assert "mine: 3 of 3 runs are there already" in again.stderr
    assert "SHD" not in again.stderr
    spec.unlink()
    (folder / "pareto.svg").unlink()
    drawn = run("mine.toml", "--no-run", "--out", tmp_path / "results", "--quiet")
    assert drawn.exit_code == 0, drawn.output
    assert (folder / "pareto.svg").exists()
    assert drawn.stderr == ""


def test_methods_that_were_run_one_by_one_are_in_one_table(spec, tmp_path):
    options = [spec, "--seeds", 2, "--quiet", "--out"]
    for word in ("sorted", "nothing"):
        assert run(*options, tmp_path / word, "--only", word).exit_code == 0
    assert run(*options, tmp_path / "both", "--only", "sorted").exit_code == 0
    both = run(*options, tmp_path / "both", "--only", "nothing")
    assert "sorted" in both.stdout
    merged = run(
        *("mine.toml", "--no-run", "--out", tmp_path / "merged"),
        *("--merge", tmp_path / "sorted" / "runs.jsonl", "--merge", tmp_path / "nothing" / "runs.jsonl"),
    )
    assert merged.exit_code == 0, merged.output
    assert all(label in merged.stdout for label in ("sorted", "nothing"))
    assert (tmp_path / "merged" / "mine" / "pareto.svg").is_file()
    assert f"{tmp_path / 'nothing' / 'runs.jsonl'}: 1 runs taken over" in merged.stderr
    goes_on = run(spec, "--seeds", 2, "--out", tmp_path / "merged")
    assert "mine: 3 of 3 runs are there already" in goes_on.stderr


def test_when_every_run_fails_the_table_says_why_and_the_exit_code_too(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        'repeats = 1\n[[problems]]\ndata = "sachs"\n'
        '[[methods]]\nlabel = "m"\nbaseline = "npvar"\nsettings = { n_basis = 1 }\n'
    )
    failed = run(path, "--out", tmp_path, "--quiet")
    assert failed.exit_code == 5
    assert "1 failed: ValueError: n_basis must be at least 4, got 1." in failed.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["sax"], 2, "'sax' is no experiment"),
        (["missing.toml"], 3, "cannot open missing.toml"),
        (["sachs", "--merge", "nowhere.jsonl"], 2, "there is no file nowhere.jsonl"),
        (["sachs", "--no-run", "--out", "nowhere"], 3, "has no runs of 'sachs'; it has those of: none"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(arguments, code, message):
    refused = run(*arguments)
    assert refused.exit_code == code
    assert message in " ".join(refused.stderr.replace("│", " ").split())


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process_behind(tmp_path):
    started, results = tmp_path / "started", tmp_path / "runs.jsonl"
    (tmp_path / "endless.py").write_text(
        "import os\n"
        "from pathlib import Path\n"
        "from sklearn.base import BaseEstimator\n"
        "from support.waiting import never_end\n"
        "class Endless(BaseEstimator):\n"
        "    def fit(self, X):\n"
        f"        Path({str(started)!r}).write_text(f'{{os.getpid()}}\\n')\n"
        "        never_end()\n"
    )
    (tmp_path / "mine.toml").write_text(SPEC + '[[methods]]\nlabel = "endless"\nestimator = "endless:Endless"\n')
    call = [COMMAND, "reproduce", "mine.toml", "--seeds", "1", "--out", str(tmp_path), "-j", "2", "--trust"]
    process = subprocess.Popen(
        call, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def statuses():
        lines = results.read_text().splitlines(keepends=True) if results.exists() else []
        records = [json.loads(line.partition(" ")[2]) for line in lines if line.endswith("\n")]
        return [record["status"] for record in records if record.get("record") == "run"]

    wait_until(
        lambda: started.exists() and started.read_text().endswith("\n") and len(statuses()) == 2,
        while_=lambda: process.poll() is None,
    )
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert "interrupted; start the same command again to go on" in said
    assert statuses() == ["ok", "ok"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
