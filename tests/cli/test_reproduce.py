"""The verb reproduce: tables, figures, and going on where it stopped."""

import pytest
from typer.testing import CliRunner

from daguerreotype.cli.main import app
from daguerreotype.cli.reproduce import EXPERIMENTS
from daguerreotype.experiments import shipped

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


def test_when_every_run_fails_the_table_says_why_and_the_exit_code_too(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        'repeats = 1\n[[problems]]\ndata = "sachs"\n'
        '[[methods]]\nlabel = "m"\nbaseline = "npvar"\nsettings = { n_basis = 1 }\n'
    )
    failed = run(path, "--out", tmp_path, "--quiet")
    assert failed.exit_code == 5
    assert "1 failed: ValueError: n_basis must be at least 4, got 1." in failed.stdout


def test_what_cannot_be_done_is_said_in_a_line():
    for arguments, code, message in (
        (["sax"], 2, "'sax' is no experiment"),
        (["missing.toml"], 3, "cannot open missing.toml"),
    ):
        refused = run(*arguments)
        assert refused.exit_code == code
        assert message in " ".join(refused.stderr.replace("│", " ").split())
