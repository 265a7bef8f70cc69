"""Ctrl-C at any verb: what there is comes out, whole, with exit code 130."""

import json
import signal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import report
from daguerreotype.bootstrap import graphs as resampling
from daguerreotype.cli.main import app
from daguerreotype.data import readers
from daguerreotype.experiments import Store
from daguerreotype.experiments import compare as comparing
from daguerreotype.posterior import sample
from daguerreotype.training.bilevel import ApproximateConvergence
from daguerreotype.tune import objectives
from daguerreotype.tune.objectives import SPLITS

FIT = ("fit", "data.csv", "--edges", "bic", "--scales", "none", "--json")
SPEC = """
[[problems]]
data = "sachs"
[[methods]]
label = "sorted"
baseline = "sortnregress"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Has a table of three columns and an experiment."""
    a, b, c = np.random.default_rng(0).normal(size=(3, 120))
    pd.DataFrame({"a": a, "b": a + b, "c": a + b + c}).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "mine.toml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def interrupted(place, name, at, *arguments):
    """What a verb leaves if Ctrl-C comes before one of the calls of a function."""
    function, calls = getattr(place, name), []

    def pressed(*given, **named):
        calls.append(name)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place, name, pressed)
        result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 130, (name, result.output)
    return result


def test_what_each_verb_has_found_is_shown_with_exit_code_130():
    pytest.importorskip("optuna")
    whole = json.loads(CliRunner().invoke(app, [*FIT, "--bootstrap", "2"]).stdout)

    def answer_of(*case):
        answer = json.loads(interrupted(*case).stdout)
        assert answer["interrupted"]
        return answer

    answer = answer_of(ApproximateConvergence, "update", 3, *FIT, "--bootstrap", 5)
    assert sorted(answer["order"]) == ["a", "b", "c"]
    assert answer["bootstrap"] is None  # what was cut short is not begun anew
    assert answer_of(sample, "run_chain", 3, *FIT, "--posterior", 1000)["edges"]
    answer = answer_of(resampling, "refit", 3, *FIT, "--bootstrap", 5)
    assert (answer["edges"], answer["bootstrap"]) == (whole["edges"], whole["bootstrap"])
    answer = answer_of(resampling, "refit", 1, *FIT, "--bootstrap", 5)
    assert (len(answer["edges"]), answer["bootstrap"]) == (len(whole["edges"]), None)
    methods = ("--methods", "empty,sortnregress", "--time-limit", 0, "--json", "-q")
    assert list(answer_of(comparing, "run_method", 2, "compare", "data.csv", *methods)["methods"]) == ["empty"]
    trials = ("--edges", "bic", "--space", "penalty=1,2", "--trials", 5, "--json", "-q")
    assert len(answer_of(objectives, "kappa", 2 * SPLITS + 1, "tune", "data.csv", *trials)["trials"]) == 1


def test_files_that_were_written_before_ctrl_c_are_whole_and_listed(folder):
    result = interrupted(report, "write_report", 1, *FIT, "--out", "out")
    assert "interrupted while files were written: only 4 of them are in out" in result.stderr
    answer = json.loads(result.stdout)
    assert answer["interrupted"]
    assert sorted(answer["files"]) == sorted(f"out/{path.name}" for path in (folder / "out").iterdir())


def test_an_experiment_goes_on_where_ctrl_c_ended_it():
    call = ("reproduce", "mine.toml", "--seeds", "3", "--time-limit", "100")
    result = interrupted(Store, "append", 5, *call)  # a problem, the plan, and two runs come first
    assert "interrupted; start the same command again to go on" in result.stderr
    again = CliRunner().invoke(app, call)
    assert again.exit_code == 0
    assert "mine: 2 of 3 runs are there already" in again.stderr


def test_ctrl_c_before_anything_was_found_is_told_in_a_word():
    result = interrupted(readers, "read_cells", 1, *FIT)
    assert (result.stdout, result.stderr) == ("", "interrupted\n")
