"""The verb tune: settings for a table, or for problems whose graphs are known."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.main import app
from daguerreotype.cli.tune import read_ranges
from daguerreotype.tune import search, tune_table

FAST = ("--edges=bic", "--space=penalty=0.5:8:log", "--space=training.n_restarts=0,1", "--space=scales=none")
SPACE = {"penalty": (0.5, 8, "log"), "training.n_restarts": [0, 1], "scales": ["none"]}


def run(*arguments, quiet=True):
    return CliRunner().invoke(app, ["tune", *map(str, arguments), *["--quiet"] * quiet])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    b = a + 0.5 * rng.normal(size=80)
    return pd.DataFrame({"b": b, "c": b - a + 0.3 * rng.normal(size=80), "a": a})


@pytest.fixture
def measured(monkeypatch):
    """Sets what stands in for the stability of a learner's graphs."""
    return lambda measure: monkeypatch.setattr(search, "graph_stability", lambda X, rng: measure)


def test_the_verb_finds_what_python_finds(data):
    result = run(data, *FAST, "--trials", 3, "--seed", 3, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    learner = Daguerreotype(edges="bic", random_state=3)
    expected = tune_table(learner, pd.read_csv(data), space=SPACE, n_trials=3, random_state=3)
    assert answer["chosen"] == expected.chosen
    assert answer["scores"]["chosen"] == pytest.approx(dict(expected.scores.loc["chosen"]))
    assert answer["objectives"] == {"stability": "maximize"}
    assert [trial["number"] for trial in answer["trials"]] == [0, 1, 2]
    assert answer["front"] == list(expected.front.index)


def test_a_person_sees_what_was_chosen_what_it_is_worth_and_how_to_use_it(data):
    result = run(data, *FAST, "--trials", 2)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert words.startswith("data.csv: 2 trials stability")
    assert "stability: agreement beyond chance of the graphs of halves of the rows; 1 is perfect" in words
    assert all(name in words for name in ("given", "chosen", "penalty", "training.n_restarts", "scales 'none'"))
    assert "To use it in Python Daguerreotype(edges='bic', " in words


def test_without_a_table_graphs_are_known(monkeypatch):
    learners = []

    def measure(learner):
        learners.append(learner)
        return float(len(learners)), 10.0 / len(learners)

    monkeypatch.setattr(search, "graph_errors", lambda problems: measure)
    result = run("--edges", "lars", "--trials", 3, "--seed", 5, "--json")
    answer = json.loads(result.stdout)
    assert answer["objectives"] == {"shd": "minimize", "sid": "minimize"}
    assert answer["data"] == "synthetic problems"
    assert {(learner.edges, learner.random_state) for learner in learners} == {("lars", 5)}
    assert answer["front"] == [0, 1, 2]
    assert list(answer["chosen"]) == ["training.learning_rate"]


def test_a_line_is_printed_as_a_trial_ends_off_a_terminal(data, measured):
    def measure(learner):
        if learner.penalty == 2:
            raise RuntimeError("no luck")
        return (0.5,)

    measured(measure)
    result = run(data, "--edges", "bic", "--space", "penalty=1,2", "--trials", 3, quiet=False)
    lines = [line for line in result.stderr.splitlines() if line.startswith("trial ")]
    assert len(lines) == 3
    assert {line.partition(": ")[2] for line in lines} == {
        "penalty 2: RuntimeError: no luck",
        "penalty 1: 0.5",
    }
    assert " failed; the last: RuntimeError: no luck" in result.stdout


def test_ranges_and_choices_are_read_as_they_are_written():
    assert read_ranges(["a=1:10", "b=0.5:8:log", "c=none,1,2.5,null,true"]) == {
        "a": (1, 10),
        "b": (0.5, 8, "log"),
        "c": ["none", 1, 2.5, None, True],
    }
    assert read_ranges([]) is None


def test_what_cannot_be_done_is_refused_in_a_line():
    for arguments, code, text in (
        (["--space", "penalty"], 2, "'penalty' is not NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..."),
        (["--space", "penalty=3:1"], 3, "error: space['penalty'] goes from 3 to 1"),
        (["nowhere.csv"], 3, "error: there is no file nowhere.csv"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (code, "")
        assert text in " ".join(result.stderr.replace("│", " ").split())
