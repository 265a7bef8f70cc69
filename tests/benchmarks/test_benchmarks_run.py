"""Benchmarks cannot rot: each has a smoke version, and it runs here."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(("script", "expected"), [("operators.py", "SparseMAP")])
def test_the_smoke_version_prints_its_tables(script, expected):
    run = subprocess.run(
        [sys.executable, BENCHMARKS / script, "--smoke"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert expected in run.stdout
