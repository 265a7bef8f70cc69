"""A new part is a file and a registry entry: a toy of each kind, see support/toys, and nothing else."""

import ast
import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, baselines
from daguerreotype.data import read_table
from daguerreotype.metrics import evaluate
from daguerreotype.tune import default_space
from support.children import environment
from support.learners import make_learner

ROOT = Path(__file__).parents[1]
TOYS = {path.stem: path for path in (ROOT / "tests" / "support" / "toys").glob("[a-z]*.py")}
# Files that a part may touch, its own among them: kinds and constraints have rules in several places.
MOST_FILES = dict.fromkeys(TOYS, 2) | {"kinds": 4, "constraints": 6}
ENTERED = {  # where toys are entered
    "daguerreotype._lib.registry": ["RECORDS"],
    "daguerreotype.baselines.registry": ["REGISTRY"],
    "daguerreotype.cli.main": ["app"],
    "daguerreotype.data": ["FORMATS", "KINDS", "SCALES"],
    "daguerreotype.edges": ["EDGES"],
    "daguerreotype.edges.additive.basis": ["BASES"],
    "daguerreotype.metrics.summary": ["GRAPH_METRICS", "MEANINGS"],
    "daguerreotype.noise": ["NOISE"],
    "daguerreotype.operators": ["OPERATORS"],
    "daguerreotype.training": ["LOSSES"],
}


@pytest.fixture(scope="module")
def toys():
    """The toys, which are registered while the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        registries = []
        for module, name in ((module, name) for module, names in ENTERED.items() for name in names):
            entries = getattr(import_module(module), name)
            if name == "app":
                patch.setattr(entries, "registered_commands", entries.registered_commands[:])
            elif isinstance(entries, tuple):
                patch.setattr(import_module(module), name, entries)
            else:
                registries.append((entries, dict(entries)))
        yield import_module("support.toys")
        for registry, before in registries:
            for name in registry.keys() - before.keys():
                entry = registry[name]
                # Records of the package that were imported meanwhile are no toys: they stay.
                if not (isinstance(entry, type) and entry.__module__.startswith("daguerreotype.")):
                    del registry[name]
        for name in [name for name in sys.modules if name.startswith("support.toys")]:
            del sys.modules[name]
        sys.modules.pop("daguerreotype.baselines.toy")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    cause = rng.laplace(size=200) + 5
    return pd.DataFrame(
        {
            "effect": cause + rng.laplace(size=200),
            "cause": cause,
            "other": rng.laplace(size=200) + 5,
            "day": rng.integers(7, size=200),
            "visits": rng.poisson(np.exp(0.3 * (cause - 5).clip(-3, 3))),
        }
    )


NUMBERS = ["effect", "cause", "other"]


def changed_by(path):
    """Modules of the package of which the statements of a file change a name, or have a class stand in for one."""
    tree = ast.parse(path.read_text())
    origins = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module.startswith("daguerreotype")
        for alias in node.names
    }
    changed = []
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            changed.append(node.value.func)
        elif isinstance(node, ast.Assign):
            changed += [target for target in node.targets if not isinstance(target, ast.Name)]
        elif isinstance(node, ast.AugAssign):
            changed.append(node.target)
        elif isinstance(node, ast.ClassDef):
            changed += [base for base in node.bases if ast.unparse(base) == "Knowledge"]
    names = {name.id for part in changed for name in ast.walk(part) if isinstance(name, ast.Name)}
    return {f"{origins[name]}.{name}" for name in names & origins.keys()}


def test_a_toy_touches_few_files():
    for name, path in TOYS.items():
        changed = changed_by(path)
        assert changed, name
        assert 1 + len(changed) <= MOST_FILES[name], (name, changed)
    assert len(changed_by(TOYS["kinds"])) == 3
    assert len(changed_by(TOYS["noise"])) == len(changed_by(TOYS["counts"])) == 1


PLAIN = {"edges": "bic", "scales": "none", "loss": "bic"}
SETTINGS = {
    "edges": (NUMBERS, {"edges": "toy"}),
    "operators": (NUMBERS, {"operator": "toy"}),
    "noise": (NUMBERS, {"noise": "toy"}),
    "counts": (["cause", "effect", "visits"], {"noise": {"visits": "toy-counts"}, "kinds": {"visits": "count"}}),
    "kinds": (["cause", "effect", "day", "visits"], {"kinds": {"day": "circle"}, "edges": "gam"}),
    "scales": (NUMBERS, {"scales": "toy"}),
    "losses": (NUMBERS, {"loss": "toy"}),
    "all": (NUMBERS, dict.fromkeys(("edges", "operator", "noise", "scales", "loss"), "toy")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_learner_with_a_toy_is_fitted_scored_saved_loaded_and_scored_again(toys, table, name, tmp_path):
    columns, settings = SETTINGS[name]
    X = table[columns]
    learner = make_learner(max_iter=10, n_restarts=0, **(PLAIN | settings)).fit(X)
    assert {("cause", "effect"), ("effect", "cause")} & set(learner.causal_graph_.edges)
    assert np.isfinite(learner.score(X))
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    pd.testing.assert_frame_equal(loaded.weights_, learner.weights_)
    pd.testing.assert_frame_equal(loaded.columns_, learner.columns_)
    assert loaded.get_params() == learner.get_params()
    assert loaded.score(X) == learner.score(X)


def test_the_noise_of_a_toy_is_what_rows_are_scored_by(toys, table):
    X = table[NUMBERS]
    learner = Daguerreotype(edges="bic", noise="toy", scales="none", standardize=False).fit(X)
    order, density = list(learner.causal_order_), 0.0
    centred = X - X.mean()
    for column in order:
        residual = centred[column] - centred @ learner.weights_[column]
        scale = residual.abs().mean()
        density -= np.log(2 * scale) + (residual.abs() / scale).mean()
    assert learner.score(X) == pytest.approx(density)


def test_the_noise_of_a_toy_is_that_of_the_columns_that_ask_for_it(toys, table):
    X = table[NUMBERS].assign(sick=table["cause"] + np.random.default_rng(1).logistic(size=200) > 5)
    settings = {"edges": "bic", "scales": "none", "max_iter": 10}
    noise = make_learner(noise={"cause": "toy"}, **settings).fit(X).columns_["noise"]
    assert (noise["cause"], noise["sick"]) == ("toy", "bernoulli")
    assert noise["effect"] != "toy"
    everywhere = make_learner(noise="toy", **settings).fit(X).columns_["noise"]
    assert everywhere.tolist() == ["toy", "toy", "toy", "bernoulli"]
    message = r"noise 'toy' cannot describe 'sick', which is binary .*choose 'bernoulli'"
    with pytest.raises(ValueError, match=message):
        make_learner(noise={"sick": "toy"}, **settings).fit(X)


def test_the_mass_of_a_toy_is_that_of_poisson_counts(toys, table):
    X = table[["cause", "effect", "visits"]]
    fits = [
        make_learner(noise={"visits": noise}, kinds={"visits": "count"}, **PLAIN).fit(X)
        for noise in ("toy-counts", "poisson")
    ]
    assert fits[0].columns_["noise"]["visits"] == "toy-counts"
    assert fits[0].score(X) == pytest.approx(fits[1].score(X), rel=1e-12)
    assert fits[0].loss_ == fits[1].loss_


def test_a_toy_kind_of_column_has_its_curve_and_its_effects_are_found(toys):
    rng = np.random.default_rng(0)
    day = rng.integers(7, size=400)
    X = pd.DataFrame({"day": day, "sales": np.cos(2 * np.pi * day / 7) + 0.3 * rng.normal(size=400)})
    learner = make_learner(edges="gam", operator="fixed", start=["day", "sales"], kinds={"day": "circle"}).fit(X)
    assert learner.columns_["kind"]["day"] == "circle"
    curve = learner.curve("day", "sales", range(7))
    assert np.corrcoef(curve, np.cos(2 * np.pi * np.arange(7) / 7))[0, 1] > 0.99
    pytest.importorskip("matplotlib")
    assert learner.plot("curves", X=X)


def test_a_toy_constraint_is_obeyed_by_graph_and_posterior_and_comes_back_from_a_file(toys, table, tmp_path):
    knowledge = toys.constraints.Unrelated(unrelated=[("cause", "effect")], roots=["other"])
    learner = make_learner(knowledge=knowledge, max_iter=10, **PLAIN).fit(table[NUMBERS])
    for matrix in (learner.adjacency_matrix_, learner.edge_probabilities_):
        assert matrix.loc["cause", "effect"] == matrix.loc["effect", "cause"] == 0
    assert learner.adjacency_matrix_["other"].sum() == 0
    learner.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert loaded.knowledge == knowledge
    assert loaded.score(table[NUMBERS]) == learner.score(table[NUMBERS])


def test_an_estimator_of_discrete_columns_must_say_how_likely_they_are(toys, table):
    class TakesAll(toys.edges.ToyEdges):
        can = replace(toys.edges.ToyEdges.can, kinds=True)

    with pytest.raises(TypeError, match=r"ToyModels has no mass\(node, fit\): give it one"):
        make_learner(**(PLAIN | {"edges": TakesAll()})).fit(table[NUMBERS].assign(sick=table["cause"] > 5))


def test_an_estimator_as_an_object_is_saved_searched_over_and_streamed(toys, table, tmp_path):
    X = table[NUMBERS]
    learner = make_learner(edges=toys.edges.ToyEdges(0.2), scales="toy", loss="bic", max_iter=5, n_restarts=0)
    assert default_space(learner)["edges.least"] == (0.01, 0.5, "log")
    weights = learner.fit(X).weights_
    learner.save(tmp_path / "model.npz")
    assert Daguerreotype.load(tmp_path / "model.npz").edges.least == 0.2
    streamed = learner.fit_chunks(lambda: iter([X[:90], X[90:]])).weights_
    np.testing.assert_allclose(streamed, weights, rtol=1e-9)


def test_a_file_of_a_toy_format_is_read_whole_and_in_chunks(toys, table, tmp_path):
    path, X = tmp_path / "table.toy", table[NUMBERS]
    path.write_bytes(b"TOY1" + json.dumps(X.to_dict("list")).encode())
    pd.testing.assert_frame_equal(read_table(path), X)
    streamed = make_learner(edges="bic", max_iter=5).fit_chunks(path)
    assert list(streamed.feature_names_in_) == NUMBERS


def test_a_toy_baseline_is_fitted_and_a_toy_metric_judges_it(toys, table):
    model = baselines.get("toy").fit(table[NUMBERS])
    assert model.adjacency_matrix_.loc["effect", "cause"] == model.adjacency_matrix_.loc["cause", "other"] == 1
    assert "toy" in baselines.available()
    truth = [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert evaluate(truth, model.adjacency_matrix_.to_numpy())["missed"] == 1


def test_messages_list_the_toy_among_what_there_is(toys, table):
    for name in ("edges", "operator", "noise", "scales", "loss"):
        with pytest.raises(ValueError, match=rf"{name} must be .*'toy'.*'nonsense'"):
            make_learner(**{name: "nonsense"}).fit(table[NUMBERS])


def test_the_command_line_takes_the_toys(table, tmp_path):
    def run(*arguments):
        start = "import support.toys; from daguerreotype.cli.main import app; app()"
        command = [sys.executable, "-c", start, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, env=environment(ROOT / "tests"))

    table[NUMBERS].to_csv(tmp_path / "table.csv", index=False)
    options = ["--edges", "toy", "--operator", "toy", "--scales", "toy", "--quiet", "--json"]
    done = run("fit", tmp_path / "table.csv", *options)
    assert done.returncode == 0, done.stderr
    assert set(json.loads(done.stdout)["scales"].values()) == {"toy"}
    shown = run("fit", "--help").stdout
    assert "one parent at most" in " ".join(shown.replace("│", " ").split())
    assert run("greet", "world").stdout == "hello world\n"
    refused = run("greet", "")
    assert (refused.returncode, refused.stderr) == (3, "error: nobody to greet\n")


def test_what_the_architecture_page_names_is_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    source = ROOT / "src" / "daguerreotype"
    for name in re.findall(r"`((?:[\w_]+/)+[\w_]*(?:\.py)?|[a-z_]+\.py)`", page):
        path = source / name
        assert path.exists() or (ROOT / name).exists(), name
    for module, function in re.findall(r"`((?:[\w_]+/)*[a-z_]+)\.(?!py`)([A-Za-z_]+)`", page):
        path = source / f"{module}.py"
        assert not path.exists() or re.search(rf"(def|class) {function}\b", path.read_text()), (module, function)
