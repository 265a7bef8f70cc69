"""The benchmark of the baselines prints its table, goes on after an interruption, and reports what fails."""

import runpy
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from daguerreotype.baselines import TimeLimitError
from daguerreotype.datasets import load_sachs

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "baselines.py"


def run(results, *options):
    call = [sys.executable, BENCHMARK, "--results", results, *options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results.csv"


def test_the_smoke_version_prints_its_table_and_makes_no_fit_twice(results):
    first = run(results, "--smoke", "--time-limit", "0")
    rows = pd.read_csv(results)
    assert rows["method"].tolist() == ["r2-sortnregress", "golem-nv", "empty"]
    assert rows["outcome"].unique().tolist() == ["ok"]
    assert "golem-nv" in first
    assert "[15.0]" in first  # the published SHD
    assert run(results, "--smoke", "--time-limit", "0") == first
    assert len(pd.read_csv(results)) == 3


def test_a_method_that_fails_is_a_result_and_the_others_go_on(results, monkeypatch, capsys):
    def learn(self, X, rng):
        raise TimeLimitError("Empty did not finish")

    monkeypatch.setattr("daguerreotype.baselines.empty.Empty.learn", learn)
    benchmark = runpy.run_path(str(BENCHMARK))
    methods = ["empty", "random"]
    benchmark["run"](methods, [load_sachs()], 2, 0.0, results)
    rows = pd.read_csv(results)
    assert rows["outcome"].tolist() == ["TimeLimitError: Empty did not finish", "ok", "ok"]
    benchmark["print_table"]("sachs", rows, methods)
    shown = capsys.readouterr().out
    assert "1 failed: TimeLimitError: Empty did not finish" in shown
    assert "of 2" in shown
