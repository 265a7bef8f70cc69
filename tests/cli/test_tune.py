"""The verb tune: settings for a table, or for problems whose graphs are known."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.main import app
from daguerreotype.cli.tune import read_ranges
from daguerreotype.tune import tune_table
from daguerreotype.tune.workers import Workers

FAST = ("--edges", "bic", "--space", "penalty=0.5:8:log", "--space", "n_restarts=0,1", "--space", "transform=none")
SPACE = {"penalty": (0.5, 8, "log"), "n_restarts": [0, 1], "transform": ["none"]}


def run(*arguments, quiet=True):
    return CliRunner().invoke(app, ["tune", *map(str, arguments), *["--quiet"] * quiet])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    b = a + 0.5 * rng.normal(size=80)
    return pd.DataFrame({"b": b, "c": b - a + 0.3 * rng.normal(size=80), "a": a})


def test_the_verb_finds_what_python_finds(data, table):
    result = run(data, *FAST, "--trials", 4, "--seed", 3, "--criterion", "bic", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    learner = Daguerreotype(edges="bic", random_state=3)
    expected = tune_table(learner, pd.read_csv(data), space=SPACE, criterion="bic", n_trials=4, random_state=3)
    assert found["chosen"] == expected.chosen
    assert found["scores"]["chosen"] == pytest.approx(dict(expected.scores.loc["chosen"]))
    assert found["objectives"] == {"bic": "maximize"}
    assert [trial["number"] for trial in found["trials"]] == [0, 1, 2, 3]
    assert {trial["state"] for trial in found["trials"]} == {"COMPLETE"}
    assert found["front"] == list(expected.front.index)


def test_a_person_sees_what_was_chosen_and_what_it_is_worth(data, tmp_path):
    storage = f"sqlite:///{tmp_path / 's.db'}"
    result = run(data, *FAST, "--trials", 2, "--storage", storage)
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert words.startswith("data.csv: 2 trials stability")
    assert "stability: agreement beyond chance of the graphs of halves of the rows; 1 is perfect" in words
    assert all(name in words for name in ("given", "chosen", "penalty", "n_restarts", "transform 'none'"))
    assert f"in {storage}: the same command with more --trials goes on" in words
    more = json.loads(run(data, *FAST, "--trials", 3, "--storage", storage, "--json").stdout)
    assert len(more["trials"]) == 3
    assert more["study"] in words


def test_without_a_table_graphs_are_known(monkeypatch):
    seen = []

    def measure(self, learner):
        seen.append((len(self._parts), learner.edges, learner.random_state))
        return float(len(seen)), 10.0 / len(seen)

    monkeypatch.setattr(Workers, "measure", measure)
    result = run("--edges", "lars", "--paper", "--trials", 3, "--datasets", 1, "--seed", 5, "--json")
    found = json.loads(result.stdout)
    assert found["objectives"] == {"shd": "minimize", "sid": "minimize"}
    assert found["data"] == "24 synthetic problems"
    assert set(seen) == {(24, "lars", 5)}
    assert found["front"] == [0, 1, 2]
    assert list(found["chosen"]) == ["learning_rate"]


def test_lines_are_told_as_trials_end_off_a_terminal(data, monkeypatch):
    values = iter([1.0, 2.0])

    def measure(self, learner):
        if learner.penalty is None:
            return (0.0,)
        if learner.penalty == 2:
            raise RuntimeError("no luck")
        return (next(values),)

    monkeypatch.setattr(Workers, "measure", measure)
    result = run(data, "--edges", "bic", "--space", "penalty=1,2", "--trials", 3, quiet=False)
    lines = [line for line in result.stderr.splitlines() if line.startswith("trial ")]
    assert len(lines) == 3
    assert set(lines) <= {
        *(f"trial {number}: penalty 2: RuntimeError: no luck" for number in range(3)),
        *(f"trial {number}: penalty 1: {value}" for number in range(3) for value in (1, 2)),
    }
    assert " failed; the last: RuntimeError: no luck" in result.stdout


def test_an_interrupt_shows_what_is_there_and_is_status_130(data, monkeypatch):
    calls = []

    def measure(self, learner):
        calls.append(learner)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return (float(len(calls)),)

    monkeypatch.setattr(Workers, "measure", measure)
    result = run(data, *FAST, "--trials", 5, "--json")
    assert result.exit_code == 130
    found = json.loads(result.stdout)
    assert found["interrupted"]
    assert [trial["state"] for trial in found["trials"]] == ["COMPLETE", "FAIL"]


def test_a_baseline_can_be_tuned(data):
    space = ("--space", "standardize=true,false")
    result = run(data, "--baseline", "empty", *space, "--trials", 2, "--criterion", "stability", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["scores"]["chosen"] == {"stability": 0.0}


def test_ranges_and_choices_are_read_as_they_are_written():
    assert read_ranges(["a=1:10", "b=0.5:8:log", "c=none,1,2.5,null,true"]) == {
        "a": (1, 10),
        "b": (0.5, 8, "log"),
        "c": ["none", 1, 2.5, None, True],
    }
    assert read_ranges([]) is None


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--space", "penalty"], 2, "'penalty' is not NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=A,B,..."),
        (["--knowledge", "known.toml"], 2, "is about the columns of DATA; give it."),
        (["--max-parents", "age=1"], 2, "is about a column of DATA; give it, or one number."),
        (["--space", "penalty=3:1"], 3, "error: space['penalty'] goes from 3 to 1"),
        (["--storage", "s.db"], 3, "error: storage is 's.db': expected the URL of a database"),
        (["--baseline", "empty"], 3, "error: there is no usual space for Empty()"),
        (["--baseline", "magic"], 3, "error: unknown baseline 'magic'"),
        (["nowhere.csv"], 3, "error: there is no file nowhere.csv"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(arguments, code, text):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert text in " ".join(result.stderr.replace("│", " ").split())


def test_it_ends_with_a_command_that_uses_what_was_chosen(data):
    result = run(
        data, "--edges", "bic", "--criterion", "bic", "--trials", 2, "--seed", 3, "--kind", "a=continuous"
    )
    assert result.exit_code == 0, result.stderr
    (line,) = [line.strip() for line in result.stdout.splitlines() if line.strip().startswith("daguerreotype fit")]
    words = shlex.split(line)
    assert words[:3] == ["daguerreotype", "fit", str(data)]
    assert words[3:9] == ["--edges", "bic", "--kind", "a=continuous", "--seed", "3"]
    assert words[9] == "--penalty"
    again = CliRunner().invoke(app, [*words[1:], "--json", "--quiet"])
    assert again.exit_code == 0, again.stderr


def test_settings_without_an_option_are_told_in_python(data):
    result = run(data, "--edges", "lars", "--criterion", "bic", "--trials", 2)
    assert "Daguerreotype(edges='lars', learning_rate=" in " ".join(result.stdout.split())
