"""The verb report, and what fit leaves in a folder."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype.cli.fit_output import FILES
from daguerreotype.cli.main import app
from daguerreotype.graphs.files import read_graph

QUICK = ("--edges", "bic", "--quiet")


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def data(tmp_path, rng):
    cause = rng.normal(size=200)
    frame = pd.DataFrame(
        {"effect <b>": cause + 0.3 * rng.normal(size=200), "cause": cause, "c": rng.normal(size=200)}
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_fit_leaves_the_graph_the_model_the_report_and_a_picture_in_a_folder(data, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "new" / "results"
    result = run("fit", data, *QUICK, "--out", out, "--json", "--bootstrap", 3)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["files"] == [str(out / name) for name in FILES]
    edges = pd.DataFrame(answer["edges"]).drop(columns="direction_open")  # which follows from the numbers
    written = pd.read_csv(out / "graph.csv")
    pd.testing.assert_frame_equal(written, edges[written.columns])
    assert {"cause", "effect", "probability", "reverse_probability"} <= set(written)
    assert "reverse_probability" in edges
    model = Daguerreotype.load(out / "model.npz")
    for name in ("graph.csv", "adjacency.csv"):
        graph = read_graph(out / name, tuple(model.adjacency_matrix_.columns))
        pd.testing.assert_frame_equal(graph, model.adjacency_matrix_, check_dtype=False)
    assert (out / "graph.dot").read_text().count("->") == len(answer["edges"])
    assert (out / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (out / "report.html").read_text()
    resampled = model.bootstrap(pd.read_csv(data), 3, random_state=0)
    assert answer["bootstrap"]["n_resamples"] == 3
    for edge in answer["edges"]:
        assert edge["frequency"] == pytest.approx(resampled.edge_frequencies.loc[edge["cause"], edge["effect"]])
    consensus = {(edge["cause"], edge["effect"]) for edge in answer["bootstrap"]["consensus"]}
    frame = resampled.consensus
    assert consensus == {(frame.index[i], frame.columns[j]) for i, j in np.argwhere(frame.to_numpy())}


def test_a_person_sees_the_paths_and_the_bootstrap_and_how_to_have_a_picture(data, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    out = tmp_path / "out"
    result = run("fit", data, "--edges", "bic", "--out", out, "--bootstrap", 2)
    assert str(out / "report.html") in [line.strip() for line in result.stdout.splitlines()]
    assert "bootstrap: share of 2 tables" in result.stdout
    assert 'pip install "daguerreotype[plot]"' in result.stderr
    assert {path.name for path in out.iterdir()} == set(FILES) - {"graph.png"}


def test_a_report_is_made_of_a_saved_model_and_describes_its_table(data, tmp_path):
    Daguerreotype(edges="bic").fit(pd.read_csv(data)).save(tmp_path / "model.npz")
    result = run("report", tmp_path / "model.npz", "-q", "-o", tmp_path / "plain.html")
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'plain.html'}\n")
    described = run("report", tmp_path / "model.npz", "--data", data, "-o", tmp_path / "described.html")
    assert described.stdout == f"{tmp_path / 'described.html'}\n"
    assert len((tmp_path / "plain.html").read_bytes()) < len((tmp_path / "described.html").read_bytes())


def test_tables_and_files_that_are_no_models_are_refused(data, tmp_path):
    result = run("report", data)
    assert result.exit_code == 2
    assert "is no model.npz. Of a table: daguerreotype fit" in " ".join(result.stderr.replace("│", " ").split())
    (tmp_path / "model.npz").write_text("no model")
    result = run("report", tmp_path / "model.npz")
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
    assert "model.npz" in result.stderr
