"""The verb evaluate: two files in, every metric out."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.main import app
from daguerreotype.metrics import evaluate
from daguerreotype.metrics.summary import MEANINGS
from daguerreotype.operators import FixedOrder

TRUE = pd.DataFrame([[0, 1, 1], [0, 0, 1], [0, 0, 0]], list("abc"), list("abc"))
FOUND = pd.DataFrame([[0, 1, 0], [0, 0, 0], [0, 1, 0]], list("abc"), list("abc"))


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    TRUE.to_csv(tmp_path / "true.csv")
    (tmp_path / "found.csv").write_text("source;target;weight\nc;b;1,5\na;b;-2,5\n")
    return tmp_path / "true.csv", tmp_path / "found.csv"


def test_the_json_holds_every_metric_of_a_matrix_and_a_list(files):
    result = run(*files, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == evaluate(TRUE, FOUND)


def test_the_table_says_what_each_metric_counts(files):
    rows = {line.split()[0]: line.split()[1:] for line in run(*files).stdout.splitlines() if line.strip()}
    assert rows["shd"][:4] == [str(evaluate(TRUE, FOUND)["shd"]), "edges", "to", "add,"]
    assert rows["f1"][0] == f"{evaluate(TRUE, FOUND)['f1']:.3f}"


def test_every_metric_has_its_words():
    assert list(MEANINGS) == list(evaluate(TRUE, FOUND, ["a", "b", "c"]))


def test_a_saved_model_is_judged_with_its_order(files, tmp_path, rng):
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    model = Daguerreotype(edges="bic", scales="none").fit(X.assign(c=X["a"] + 0.1 * X["c"]))
    model.save(tmp_path / "model.npz")
    result = run(files[0], tmp_path / "model.npz", "--json")
    assert json.loads(result.stdout) == evaluate(TRUE, model.adjacency_matrix_, model.causal_order_)


def test_graphs_on_other_nodes_are_refused(files, tmp_path):
    (tmp_path / "other.csv").write_text("cause,effect\na,z\n")
    result = run(files[0], tmp_path / "other.csv")
    assert result.exit_code == 3
    assert "only the estimated graph has z" in result.stderr


def test_two_saved_models_are_held_against_each_other_whatever_their_columns_are_called(tmp_path, rng):
    a, b = rng.normal(size=(2, 60))
    models = [
        Daguerreotype(edges="bic", scales="none", posterior=0, operator=FixedOrder(order)).fit(
            np.column_stack([a, a + b])
        )
        for order in ([0, 1], [1, 0])
    ]
    for number, model in enumerate(models):
        model.save(tmp_path / f"{number}.npz")
    result = run(tmp_path / "0.npz", tmp_path / "1.npz", "--json")
    assert json.loads(result.stdout) == evaluate(*(model.adjacency_matrix_ for model in models), [1, 0])
    (tmp_path / "list.csv").write_text("cause,effect\n0,1\n")
    assert json.loads(run(tmp_path / "0.npz", tmp_path / "list.csv", "--json").stdout)["shd"] == 0
