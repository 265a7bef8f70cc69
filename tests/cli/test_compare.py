"""The verb compare: one line per method, whatever becomes of it."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype, baselines
from daguerreotype.cli import compare as verb
from daguerreotype.cli.main import app
from daguerreotype.edges.registry import make_estimator
from daguerreotype.experiments.compare import method_called
from daguerreotype.experiments.method import Method
from daguerreotype.metrics import evaluate, f1


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments), "--quiet"])


@pytest.fixture
def table(rng):
    a = rng.normal(size=120)
    b = a + 0.3 * rng.normal(size=120)
    return pd.DataFrame({"b": b, "c": b - a + 0.3 * rng.normal(size=120), "a": a})


@pytest.fixture
def truth(tmp_path):
    (tmp_path / "truth.csv").write_text("cause,effect\na,b\na,c\nb,c\n")
    return tmp_path / "truth.csv"


FATES = {"boss": "late", "pc": "missing", "ges": "singular", "grasp": "crash"}


@pytest.fixture
def fated(monkeypatch):
    """Methods whose fate hangs on their name."""

    def method(name):
        return Method(name, "estimator", "support.estimators:Fated", {"fate": FATES.get(name, "well")})

    monkeypatch.setattr("daguerreotype.experiments.compare.method_called", method)


def test_every_run_is_there_and_means_are_over_the_seeds(data, truth, fated):
    options = (data, "--methods", "empty,cam", "--truth", truth, "--seed", 1, "--seeds", 2)
    result = run(*options, "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert list(answer["methods"]) == ["empty", "cam"]
    runs = answer["methods"]["empty"]
    assert [one["seed"] for one in runs] == [1, 2]
    columns = answer["data"]["columns"]
    true = pd.DataFrame([[0, 1, 0], [0, 0, 0], [1, 1, 0]], ["b", "c", "a"], ["b", "c", "a"])
    for one in runs:
        estimate = pd.DataFrame(0, true.index, true.columns)
        for cause, effect in one["edges"]:
            estimate.loc[columns[cause], columns[effect]] = 1
        assert one | evaluate(true, estimate) == one
    assert [one["wall_seconds"] for one in runs] == [1.5, 2.5]
    result = CliRunner().invoke(app, ["compare", *map(str, options)])
    assert result.stderr.startswith("empty, seed 1: 1 edge in 1.5 s\n")  # off a terminal a line as each run ends
    shown = next(line.split() for line in result.stdout.splitlines() if "empty" in line)
    assert shown[:4] == ["empty", "1.5", "2.00", "1.5"]  # edges, seconds, SHD


def test_a_method_that_fails_is_a_line_with_its_reason_and_the_others_go_on(data, fated):
    result = run(data, "--methods", "boss,pc,ges,grasp,empty", "--seeds", 2, "--time-limit", 0.5)
    assert result.exit_code == 0
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in result.stdout.splitlines() if line.strip()}
    assert lines["boss"] == "- - did not finish within 0.5 s"
    assert lines["pc"] == "- - this baseline needs causallearn"
    assert lines["grasp"] == "- - its process ended with code 9: it left no message"
    assert "1 of 2: RuntimeError: matrix is singular" in result.stdout
    assert result.stdout.count("\n  empty") == 2  # in the table, and in the matrix of agreement


def test_without_a_known_graph_the_agreement_of_every_two_methods_is_shown(data, table):
    result = run(data, "--methods", "bic,empty,lars", "--held-out", 0, "--json")
    answer = json.loads(result.stdout)
    bic, lars = (Daguerreotype(edges=name).fit(table).adjacency_matrix_ for name in ("bic", "lars"))
    assert answer["agreement"]["bic"]["lars"] == answer["agreement"]["lars"]["bic"] == f1(bic, lars)
    assert answer["agreement"]["bic"]["empty"] == 0
    assert all(answer["agreement"][name][name] == 1 for name in ("bic", "empty", "lars"))


def test_rows_are_held_out_of_learning_and_judge_it(data, table):
    answer = json.loads(run(data, "--methods", "bic", "--seed", 4, "--time-limit", 0, "--json").stdout)
    rows = np.random.default_rng(4).permutation(120)
    train, test = table.iloc[np.sort(rows[24:])], table.iloc[np.sort(rows[:24])]
    model = Daguerreotype(edges="bic", random_state=4).fit(train)
    assert answer["data"]["held_out"] == 24
    assert answer["methods"]["bic"][0]["held_out_likelihood"] == pytest.approx(model.score(test))


def test_our_learner_is_ended_after_its_time_too(data, tmp_path, rng):
    pd.DataFrame(rng.normal(size=(2000, 60))).add_prefix("x").to_csv(tmp_path / "wide.csv", index=False)
    result = run(tmp_path / "wide.csv", "--methods", "bic", "--time-limit", 0.001)
    assert result.exit_code == 5  # nothing came to an end
    assert "did not finish within 0.001 s" in result.stdout


def test_a_name_stands_for_our_learner_with_these_edges_or_for_a_baseline():
    pytest.importorskip("torch")
    assert len(set(verb.METHODS)) == len(verb.METHODS)
    assert set(verb.USUAL.split(",")) <= set(verb.METHODS)
    for name in verb.METHODS:
        made = method_called(name).make(3, None)
        if name in baselines.available():
            assert type(made) is type(baselines.get(name))
            assert made.get_params() == baselines.get(name, random_state=3).get_params()
        else:
            edges = make_estimator(name, seed=3) if name in ("linear", "mlp") else name
            assert made.get_params() == Daguerreotype(edges=edges, random_state=3).get_params()


def test_a_table_that_no_method_takes_is_refused_once_and_unknown_methods_before_it_is_read(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n" + "".join(f"{i},1\n" for i in range(20)))
    result = run(tmp_path / "bad.csv")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "column 'b' is constant" in result.stderr
    for methods in ("gam,magic", "", ","):
        result = run("nowhere.csv", "--methods", methods)
        assert result.exit_code == 2
        assert "is no method; choose among gam, bic" in " ".join(result.stderr.replace("│", " ").split())
