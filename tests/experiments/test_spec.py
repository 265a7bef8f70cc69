"""Does a spec mean what it says, and is what it cannot mean refused before any work?"""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, baselines
from daguerreotype.edges.registry import EDGES, EdgesEntry
from daguerreotype.experiments import load_spec, make_plan, read_spec, shipped
from daguerreotype.experiments.method import Method
from daguerreotype.experiments.results import load_published
from daguerreotype.experiments.runs import digest_data
from daguerreotype.graphs import topological_order
from daguerreotype.paper import PAPER_EDGES
from daguerreotype.simulate import simulate_data

PROBLEM = '[[problems]]\ndata = "sachs"\n'
METHOD = '[[methods]]\nlabel = "m"\nbaseline = "empty"\n'


def test_every_shipped_method_can_be_made():
    specs = [load_spec(name, quick=quick) for name in shipped() for quick in (False, True)]
    truth = pd.DataFrame(0, index=list("abc"), columns=list("abc"))
    for method in (method for spec in specs for method in spec.methods):
        made = method.make(3, truth)
        assert made.random_state == 3
        if method.source == "baseline":
            assert type(made) is type(baselines.get(method.name))
        else:
            assert isinstance(made, Daguerreotype)


def test_quick_is_smaller_in_every_shipped_experiment_but_that_of_single_fits():
    for name in shipped():
        full, quick = load_spec(name), load_spec(name, quick=True)
        sizes = [len(spec.problems) * len(spec.methods) * spec.repeats for spec in (full, quick)]
        assert sizes[1] < sizes[0] or name == "example-dags"


@pytest.mark.parametrize("name", ["sachs", "syntren"])
def test_tables_have_the_ten_configurations_and_all_published_rows(name):
    spec = load_spec(name)
    labels = [method.label for method in spec.methods]
    assert len(set(labels)) == len(labels)
    assert set(load_published(name).index) <= set(labels)
    configurations = {tuple(m.name.values()) for m in spec.methods if m.source == "paper" and not m.settings}
    ten = {
        (operator, edges, training) for operator in ("sparsemax", "sparsemap") for edges, training in PAPER_EDGES
    }
    converged = {(*three, "converged") for three in ten if three[1] != "lars"}
    assert configurations == ten | converged
    assert {"bic", "gam"} <= {m.settings.get("edges") for m in spec.methods if m.source == "learner"}


def test_the_published_numbers_are_those_of_the_paper():
    sachs, syntren = load_published("sachs"), load_published("syntren")
    assert sachs.loc["DAGuerreotype-spmax (LARS)"].tolist() == [13.8, 51.7, 0.316, 9.5]
    assert syntren.loc["DAGuerreotype-spMAP-joint (non-linear)"].tolist() == [138.0, 118.0, 0.143, 150.0]
    assert len(sachs) == len(syntren) == 19


def test_what_is_varied_makes_every_combination():
    text = """
    [quick.vary]
    k = [3]
    [[problems]]
    data = "simulated"
    label = "{kind} {d} {n}"
    tags = { kind = "wide" }
    vary = { d = [4, 5], n = [10, 20] }
    [[methods]]
    label = "m"
    learner = { edges = "bic" }
    vary = { k = [1, 2] }
    """
    spec = read_spec(text, "mine")
    assert [problem.label for problem in spec.problems] == ["wide 4 10", "wide 4 20", "wide 5 10", "wide 5 20"]
    assert spec.problems[1].settings == {"d": 4, "n": 20}
    assert spec.problems[1].varied == {"kind": "wide", "d": 4, "n": 20}
    assert [method.make(0, pd.DataFrame()).operator.k for method in spec.methods] == [1, 2]
    assert [method.settings["k"] for method in read_spec(text, "mine", quick=True).methods] == [3]


def test_learners_get_their_seed_their_lambda_and_the_true_order():
    text = """
    [[problems]]
    data = "sachs"
    [[methods]]
    label = "pruned"
    paper = { operator = "sparsemax", edges = "linear", training = "joint" }
    settings = { pruning = 0.5 }
    [[methods]]
    label = "ordered"
    learner = { operator = "true order" }
    [[methods]]
    label = "unset"
    baseline = "cam"
    unset = ["alpha"]
    """
    pruned, ordered, unset = read_spec(text, "mine").methods
    truth = pd.DataFrame([[0, 0], [1, 0]], index=["a", "b"], columns=["a", "b"])
    assert (pruned.make(4, truth).edges.pruning, pruned.make(4, truth).edges.random_state) == (0.5, 4)
    assert ordered.make(0, truth).operator.order == ["b", "a"]
    assert unset.make(0, truth).alpha is None
    with pytest.raises(ValueError, match="pruning is a setting of 'linear' and 'mlp' edges, not of 'gam'"):
        dataclasses.replace(ordered, settings={"pruning": 0.1}).make(0, truth)


def test_a_configuration_of_the_paper_gets_all_that_its_table_says(monkeypatch):
    asked = {}

    def paper(**configuration):
        asked.update(configuration)
        return Daguerreotype(edges=EDGES["linear"].make(l2=0.25))

    monkeypatch.setattr(Daguerreotype, "paper", paper)
    table = {"operator": "sparsemax", "edges": "linear", "training": "joint", "fits": "converged"}
    made = Method("m", "paper", table, {"pruning": 0.5, "k": 7}).make(4, pd.DataFrame())
    assert asked == table
    assert (made.operator.k, made.random_state) == (7, 4)
    assert (made.edges.pruning, made.edges.random_state, made.edges.l2) == (0.5, 4, 0.25)


def test_repeats_of_simulated_problems_differ_and_files_are_read(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n4,5,7\n8,9,1\n")
    (tmp_path / "list.csv").write_text("cause,effect\nb,a\n")
    (tmp_path / "matrix.csv").write_text(",c,b,a\nc,0,0,0\nb,0,0,1\na,0,0,0\n")
    text = PROBLEM + METHOD
    for truth in ("list", "matrix"):
        text += f'[[problems]]\ndata = "files"\nsettings = {{ table = "t.csv", truth = "{truth}.csv" }}\n'
    (tmp_path / "mine.toml").write_text(text + '[[problems]]\ndata = "simulated"\nsettings = { d = 6, n = 9 }\n')
    spec = load_spec(str(tmp_path / "mine.toml"))
    assert spec.name == "mine"
    _, listed, square, drawn = spec.problems
    for problem in (listed, square):
        data = problem.load(0)
        assert data.adjacency.loc["b", "a"] == data.adjacency.to_numpy().sum() == 1
        assert list(data.X.columns) == list(data.adjacency.columns) == ["a", "b", "c"]
    assert digest_data(drawn.load(0)) == digest_data(drawn.load(0)) != digest_data(drawn.load(1))
    assert topological_order(drawn.load(0).adjacency) is not None
    (tmp_path / "list.csv").write_text("cause,effect\nb,dose\n")
    with pytest.raises(ValueError, match=r"only the graph of .*list\.csv has dose"):
        listed.load(0)


def test_a_spec_that_cannot_be_meant_is_refused():
    for text, message in (
        ("title = ", "experiment 'mine' is not valid TOML"),
        (PROBLEM + METHOD + "seeds = 3", "method 'm' has 'seeds'; it may have baseline, draws"),
        ("speed = 3\n" + PROBLEM + METHOD, "experiment 'mine' has 'speed'; it may have figures, measures"),
        (PROBLEM, "has 1 problems and 0 methods; give both"),
        ('[[problems]]\ndata = "asia"\n' + METHOD, "problem 'asia' has data 'asia'; choose one of 'sachs'"),
        (PROBLEM + "settings = { d = 3 }\n" + METHOD, "problem 'sachs' sets 'd'; 'sachs' data know no settings"),
        (PROBLEM + '[[methods]]\nlabel = "m"\n', "method 'm' needs a label and one of paper, learner"),
        (PROBLEM + METHOD.replace("empty", "bozz"), "method 'm': unknown baseline 'bozz'; choose one of notears"),
        (PROBLEM + '[[methods]]\nlabel = "m"\nestimator = "x"', "expected 'package.module:Class'"),
        (
            PROBLEM + '[[methods]]\nlabel = "m"\npaper = { operator = "softmax", edges = "lars" }',
            "the paper has operators 'sparsemax' and 'sparsemap'",
        ),
        (
            PROBLEM + '[[methods]]\nlabel = "m"\npaper = { operator = "sparsemax", edge = "lars" }',
            "paper of method 'm' has 'edge'; it may have edges",
        ),
        (
            PROBLEM + METHOD + "where = { d = [3] }\n",
            "method 'm' is run where 'd' is given, which no problem varies",
        ),
        (PROBLEM + METHOD + '[quick]\nleave_out = ["x"]', "leaves out 'x', which is neither problem nor method"),
        (PROBLEM + METHOD + '[[figures]]\nkind = "pie"\nfile = "f"', "a kind out of pareto, curves, graphs"),
        (PROBLEM + METHOD + '[[figures]]\nkind = "curves"\nfile = "f"', "figure 'f' of 'mine' needs 'x'"),
        ('measures = ["shdd"]\n' + PROBLEM + METHOD, "measures 'shdd'; choose among shd, shd_cpdag, sid"),
        ("repeats = 0\n" + PROBLEM + METHOD, "repeats must be"),
        ("time_limit = -1\n" + PROBLEM + METHOD, "time_limit must be"),
    ):
        with pytest.raises(ValueError, match=message):
            read_spec(text, "mine")


def test_a_spec_is_read_where_torch_is_missing(monkeypatch):
    def load(self):
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr(EdgesEntry, "load", load)
    linear = '[[methods]]\nlabel = "n"\npaper = { operator = "sparsemax", edges = "linear", training = "joint" }\n'
    runs = make_plan(read_spec("repeats = 1\n" + PROBLEM + METHOD + linear, "mine"))
    assert [list(run.configuration) for run in runs if run.method.label == "n"] == [["asked"]]


def test_an_unknown_experiment_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="there is no experiment 'sax': choose one of example-dags, k-sweep"):
        load_spec("sax")


def test_repeats_and_limits_can_be_changed():
    changed = read_spec(PROBLEM + METHOD, "mine").resized(repeats=2, time_limit=7)
    assert [run.time_limit for run in make_plan(changed)] == [7.0] * 2


# ---------------------------------------------------------------------- plans


def keys(text):
    return [run.key for run in make_plan(read_spec(text, "mine"))]


def test_a_key_hangs_on_every_setting_the_seed_the_data_and_the_version_and_on_nothing_else(monkeypatch):
    learner = '[[methods]]\nlabel = "{}"\nlearner = {{ {} }}\n'
    same = PROBLEM + learner.format("m", 'edges = "bic"')
    first = keys("repeats = 2\n" + same)
    assert len(set(first)) == 2
    assert keys("repeats = 2\ntime_limit = 3\n" + same.replace('"m"', '"other"')) == first
    assert (
        keys("repeats = 1\n" + PROBLEM + learner.format("m", 'edges = "bic", min_gain = 0.02')) == first[:1]
    )  # the default
    assert keys("repeats = 1\n" + PROBLEM + learner.format("m", 'edges = "bic", k = 99')) != first[:1]
    other = PROBLEM.replace("sachs", "simulated") + learner.format("m", 'edges = "bic"')
    assert keys("repeats = 1\n" + other) != first[:1]
    monkeypatch.setattr("daguerreotype.experiments.runs.version", lambda name: "9.9")
    assert not set(keys("repeats = 2\n" + same)) & set(first)


def test_a_drawn_table_is_known_by_its_recipe_whatever_its_last_digits(monkeypatch):
    text = 'repeats = 2\n[[problems]]\ndata = "simulated"\nsettings = { d = 5 }\n' + METHOD
    first = keys(text)
    assert len(set(first)) == 2
    assert keys(text.replace("d = 5", "d = 5, n = 1000")) == first  # the default
    assert not set(keys(text.replace("d = 5", "d = 5, n = 999"))) & set(first)

    def as_another_processor_adds(*arguments, **settings):
        drawn = simulate_data(*arguments, **settings)
        return dataclasses.replace(drawn, X=np.nextafter(drawn.X, np.inf))

    monkeypatch.setattr("daguerreotype.experiments.problems.simulate_data", as_another_processor_adds)
    assert keys(text) == first


def test_a_key_is_the_same_in_every_process():
    text = (
        PROBLEM
        + '[[methods]]\nlabel = "m"\npaper = { operator = "sparsemap", edges = "lars", training = "bilevel" }'
    )
    code = (
        "from daguerreotype.experiments import make_plan, read_spec\n"
        f"print(*(run.key for run in make_plan(read_spec({text!r}, 'mine'))))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.split() == keys(text)


def test_a_method_that_draws_nothing_runs_once_on_one_table_but_on_every_drawn_one():
    text = "repeats = 3\n" + PROBLEM + METHOD + "draws = false\n"
    assert len(keys(text)) == 1
    assert len(keys(text.replace("sachs", "simulated"))) == 3


def test_a_method_is_left_out_of_problems_that_it_is_not_for(store):
    text = """
    repeats = 2
    [[problems]]
    data = "simulated"
    label = "d = {d}"
    settings = { edges_per_node = 1.0 }
    vary = { d = [4, 5, 6] }
    [[problems]]
    data = "sachs"
    [[methods]]
    label = "all"
    baseline = "empty"
    [[methods]]
    label = "small"
    baseline = "random"
    where = { d = [4, 5] }
    left_out = "an hour a run"
    """
    runs = make_plan(read_spec(text, "mine"), store=store)
    of_small = {run.problem.label for run in runs if run.method.label == "small"}
    assert of_small == {"d = 4", "d = 5", "sachs"}  # Sachs has no d that is varied
    assert len(runs) == 2 * (4 + 3)
    entries = store.plans["mine"]["entries"]
    (left_out,) = [entry for entry in entries if not entry["key"]]
    assert (left_out["problem"], left_out["method"], left_out["reason"]) == ("d = 6", "small", "an hour a run")


def test_a_plan_is_written_once_and_again_when_it_changes(store):
    spec = read_spec("repeats = 2\n" + PROBLEM + METHOD, "mine")
    make_plan(spec, store=store)
    size = store.path.stat().st_size
    make_plan(spec, store=store)
    assert store.path.stat().st_size == size
    make_plan(spec.resized(repeats=3), store=store)
    assert len(store.plans["mine"]["entries"]) == 3
    (problem,) = store.problems.values()
    assert (len(problem["columns"]), len(problem["truth"])) == (11, 17)


# ---------------------------------------------------------------------- files that come from others


def test_a_class_that_a_file_names_is_neither_imported_nor_run_without_trust(tmp_path, monkeypatch):
    (tmp_path / "mischief.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = PROBLEM + '[[methods]]\nlabel = "m"\nestimator = "mischief:Learner"\n'
    with pytest.raises(ValueError, match=r"'mischief:Learner' names code .* add --trust, in Python trust"):
        read_spec(text, "mine")
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match="names code that would be imported"):
        load_spec(str(tmp_path / "mine.toml"))
    assert load_spec(str(tmp_path / "mine.toml"), trust=True).methods[0].name == "mischief:Learner"


def test_a_figure_stays_in_its_folder():
    for file in ("../../x", "/x", "..", "a/b", "a\\\\b", "", ".hidden", "x\\u0000", "C:x", "x" * 200):
        text = PROBLEM + METHOD + f'[[figures]]\nfile = "{file}"\nkind = "pareto"\n'
        with pytest.raises(ValueError, match=r"file of a figure of 'mine' is .*; expected the name of a file"):
            read_spec(text, "mine")


def test_an_experiment_whose_folder_would_be_another_is_refused(tmp_path):
    (tmp_path / "...toml").write_text(PROBLEM + METHOD)
    with pytest.raises(ValueError, match=r"the name of the experiment, which its folder gets, is '\.\.'"):
        load_spec(str(tmp_path / "...toml"))


def test_a_published_table_is_one_of_the_package():
    with pytest.raises(ValueError, match=r"the published table is '\.\./x'"):
        load_published("../x")


def test_the_own_comparison_of_the_page_is_a_valid_spec():
    page = Path(__file__).parents[2] / "docs" / "comparisons.md"
    spec = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert len(read_spec(spec, "mine", trust=True).methods) == 6
    assert len(read_spec(spec, "mine", quick=True, trust=True).problems) == 2
