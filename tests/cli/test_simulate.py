"""The verb simulate: files whose graph is known."""

import json
from typing import get_type_hints

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from daguerreotype.cli.main import app
from daguerreotype.cli.simulate import Graph, Mechanism, Noise, simulate
from daguerreotype.simulate import graphs, simulate_dag, simulate_data
from daguerreotype.simulate.equations import MECHANISMS, NOISES


def run(*arguments):
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def test_the_files_hold_what_the_simulator_draws(tmp_path):
    folder = tmp_path / "new" / "folder"
    options = "--graph er -d 6 --edges 8 -n 50 --mechanism mim --noise laplace --seed 3 --standardize --json -q"
    result = run("--out", folder, *options.split())
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    data, truth = (
        pd.read_csv(path, index_col=column) for path, column in zip(answer["files"], (None, 0), strict=True)
    )
    adjacency = simulate_dag(6, 8, "ER", random_state=3)
    expected = simulate_data(adjacency, 50, mechanism="mim", noise="laplace", standardize=True, random_state=3)
    np.testing.assert_allclose(data, expected.X, rtol=1e-12)
    np.testing.assert_array_equal(truth, adjacency)
    assert list(data.columns) == list(truth.columns) == list(truth.index)
    assert (answer["edges"], answer["settings"]["mechanism"]) == (adjacency.sum(), "mim")


def test_what_is_written_can_be_read_as_truth_and_is_told(tmp_path):
    result = run("--out", tmp_path, "-d", 4, "-n", 30, "-q")
    assert str(tmp_path / "data.csv") in map(str.strip, result.stdout.splitlines())
    assert CliRunner().invoke(app, ["evaluate", *[str(tmp_path / "truth.csv")] * 2, "--json"]).exit_code == 0


def test_files_that_are_there_are_only_replaced_by_force(tmp_path):
    (tmp_path / "data.csv").write_text("precious")
    result = run("--out", tmp_path)
    assert result.exit_code == 2
    assert "would be replaced" in " ".join(result.stderr.replace("│", " ").split())
    assert (tmp_path / "data.csv").read_text() == "precious"
    assert run("--out", tmp_path, "--force", "-n", 10, "-d", 3).exit_code == 0
    assert (tmp_path / "data.csv").read_text().startswith("x0,x1,x2\n")


def test_more_edges_than_fit_are_the_simulators_error(tmp_path):
    result = run("--out", tmp_path, "-d", 3, "--edges", 9)
    assert result.exit_code == 3
    assert "more than a SF graph of 3 nodes can hold" in result.stderr
    assert not list(tmp_path.iterdir())


def test_names_are_those_of_the_simulator():
    for ours, theirs in ((Graph, graphs._KINDS), (Mechanism, MECHANISMS), (Noise, NOISES)):
        assert [str(name) for name in ours] == list(theirs)
        assert ours in get_type_hints(simulate).values()


def test_the_default_number_of_edges_fits_into_every_graph(tmp_path):
    for graph in Graph:
        for columns in (2, 3, 9, 21):
            done = run("--out", tmp_path, "--graph", graph, "-d", columns, "-n", 5, "--force", "-q")
            assert done.exit_code == 0
