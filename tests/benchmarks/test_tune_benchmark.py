"""The benchmark of the criteria cannot rot: its smoke version runs here."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "tune.py"


def test_the_smoke_version_prints_what_each_criterion_picks():
    run = subprocess.run([sys.executable, SCRIPT, "--smoke"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "stability less held-out" in run.stdout
    assert "median of the settings picked" in run.stdout
