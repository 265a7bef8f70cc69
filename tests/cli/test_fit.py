"""The verb fit within this process: what it prints for which table."""

import inspect
import io
import json
import os
from contextlib import contextmanager
from types import SimpleNamespace
from typing import get_args

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner

from daguerreotype import Daguerreotype
from daguerreotype._lib.progress import COMPILING
from daguerreotype.cli import fit as verb
from daguerreotype.cli import options
from daguerreotype.cli.fit_output import FitOutput, show_fit, to_json
from daguerreotype.cli.inputs import read_input
from daguerreotype.cli.main import app
from daguerreotype.data.kinds import Kind
from daguerreotype.data.readers import Input, Reading
from daguerreotype.datasets import load_sachs
from daguerreotype.edges import EDGES
from daguerreotype.metrics import evaluate
from daguerreotype.posterior import Posterior
from support.learners import make_learner


def run(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


@pytest.fixture
def table(rng):
    cause = rng.normal(size=300)
    middle = np.sin(2 * cause) + 0.2 * rng.normal(size=300)
    return pd.DataFrame({"[red]x": middle**2 + 0.1 * rng.normal(size=300), "middle": middle, "cause": cause})


@pytest.fixture
def truth(tmp_path):
    (tmp_path / "graph.csv").write_text("cause,effect\nmiddle,[red]x\ncause,[red]x\nmiddle,other\n")
    return tmp_path / "graph.csv"


MORE = ("--scales", "none", "--operator", "sparsemap")
QUICK = ("-q", "--edges", "bic", "--scales", "none", "--posterior", 0)


def test_the_json_is_what_the_learner_finds(data):
    result = run(data, "--json", "--seed", 3, "--penalty", 2, "--trust", 200, "--min-gain", 0.05, *MORE)
    answer = json.loads(result.stdout)
    X = pd.read_csv(data)
    settings = {"edges": "gam", "scales": "none", "penalty": 2.0, "trust": 200.0, "min_gain": 0.05}
    model = make_learner(operator="sparsemap", random_state=3, **settings).fit(X)
    assert answer["order"] == model.causal_order_
    assert {(edge["cause"], edge["effect"]) for edge in answer["edges"]} == set(model.causal_graph_.edges)
    for edge in answer["edges"]:
        assert edge["weight"] == model.weights_.loc[edge["cause"], edge["effect"]]
        assert edge["norm"] == model.causal_graph_.edges[edge["cause"], edge["effect"]]["norm"]
        pair = model.posterior_.pair(edge["cause"], edge["effect"])
        assert edge["probability"] == pytest.approx(pair.forward, abs=1e-8)
        assert edge["reverse_probability"] == pytest.approx(pair.backward, abs=1e-8)
        assert edge["direction_open"] == pair.direction_open
    assert answer["posterior"].keys() == {"n_sweeps", "n_chains", "effective_sample_size", "agreement", "settled"}
    for name, value in answer["posterior"].items():
        assert value == pytest.approx(getattr(model.posterior_, name), abs=0.05 if "size" in name else 1e-8)
    others = {"operator": "sparsemap", "training": "bilevel", "posterior": 100, "knowledge": None, "seed": 3}
    assert answer["settings"] == settings | others
    assert answer["data"] == {"name": "data.csv", "rows": 300, "columns": list(X.columns)}
    assert answer["scales"] == dict.fromkeys(X.columns, "none")
    assert answer["metrics"] is None
    assert answer["seconds"] > 0


def test_metrics_are_those_of_the_known_graph(data, tmp_path):
    graph = tmp_path / "matrix.csv"
    true = pd.DataFrame([[0, 0, 0], [1, 0, 0], [1, 1, 0]], *[["[red]x", "middle", "cause"]] * 2)
    true.iloc[::-1].to_csv(graph)
    answer = json.loads(run(data, "--truth", graph, "--json").stdout)
    estimated = pd.DataFrame(0, index=true.index, columns=true.columns)
    for edge in answer["edges"]:
        estimated.loc[edge["cause"], edge["effect"]] = 1
    assert answer["metrics"] == evaluate(true, estimated, answer["order"])


def test_without_a_file_sachs_is_learned_and_compared():
    result = run()
    assert result.exit_code == 0
    model = Daguerreotype().fit(load_sachs().X)
    scores = evaluate(load_sachs().adjacency, model.adjacency_matrix_)
    words = " ".join(result.stdout.split())
    assert "853 rows, 11 columns" in words
    assert " → ".join(model.causal_order_) in words
    assert f"SHD {scores['shd']} " in words
    assert f"SID {scores['sid']} of 110 " in words
    assert f"F1 {scores['f1']:.2f} " in words
    assert f"edges {scores['n_edges']} found" in words
    assert "17 are known" in words


def test_what_the_learner_refuses_is_one_line_and_status_3(tmp_path):
    for text, expected in (
        ("a,b\n1,x\n2,y\n3,z\n", "Leave it out: --drop 'b'."),
        ("a,b\n1,5\n2,6\n3,z\n", "column 'b' ('z' in row 3) of"),
        ("a,b\n1,2\n2,\n3,5\n", "columns 'a' and 'b' are seen together in only 2 rows"),
        ("a,b\n1,1\n2,1\n3,1\n", "column 'b' is constant"),
        ("a\n1\n2\n3\n", "at least 2 are needed"),
    ):
        (tmp_path / "bad.csv").write_text(text)
        result = run(tmp_path / "bad.csv", "-q")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
        assert result.stderr.startswith("error: ")
        assert expected in result.stderr


def test_knowledge_from_a_file_is_obeyed_and_its_limit_replaced_by_that_of_the_command_line(data, tmp_path):
    (tmp_path / "known.toml").write_text('max_parents = 0\nrequired = [["middle", "cause"]]\nroots = ["middle"]\n')
    options = ("--knowledge", tmp_path / "known.toml", "--json", *QUICK)
    answer = json.loads(run(data, *options, "--max-parents", 1).stdout)
    assert answer["settings"]["knowledge"] == {
        "required": [["middle", "cause"]],
        "roots": ["middle"],
        "max_parents": 1,
    }
    effects = [edge["effect"] for edge in answer["edges"]]
    assert ("middle", "cause") in {(edge["cause"], edge["effect"]) for edge in answer["edges"]}
    assert len(set(effects)) == len(effects)
    none = json.loads(run(data, "--max-parents", 0, "--json", *QUICK).stdout)
    assert (none["edges"], none["settings"]["knowledge"]) == ([], {"max_parents": 0})


def test_knowledge_that_cannot_be_used_is_one_line_and_status_3(data, tmp_path):
    for text, expected in (
        (None, "cannot open"),
        ('forbidden = [["cause", "nobody"]]', "'nobody', which is no column"),
        ("forbidden = {", "known.toml"),
    ):
        if text is not None:
            (tmp_path / "known.toml").write_text(text)
        result = run(data, "--knowledge", tmp_path / "known.toml", "-q")
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
        assert expected in result.stderr


def test_columns_are_left_out_on_request_and_the_rest_is_learned(data, table):
    table.assign(label="x").to_csv(data, index=False)
    assert run(data).exit_code == 3
    result = run(data, "--drop", "label", "--drop", "middle", "--json")
    assert json.loads(result.stdout)["data"]["columns"] == ["[red]x", "cause"]


def test_a_delimiter_may_be_called_by_its_name(data, table):
    table.to_csv(data, index=False, sep="\t")
    for name in ("tab", r"\t"):
        assert run(data, "--delimiter", name, "--edges", "bic", "--posterior", 0).exit_code == 0
    assert run(data, "--delimiter", ";", "-q").exit_code == 3


def test_options_that_cannot_be_are_refused(data):
    for option in (
        *(("--edges", "magic"), ("--operator", "fixed"), ("--seed", "-1"), ("--posterior", "-1"), ("--frob",)),
        *(("--delimiter", "::"), ("--max-parents", "-1"), ("--max-parents", "many")),
    ):
        assert run(*option).exit_code == 2
    for option, message in (
        (("--penalty", "0"), "penalty must be above 0, got 0.0."),
        (("--penalty", "nan"), "penalty must be a finite number, got nan."),
        (("--jobs", "0"), "n_jobs must be a whole number other than 0, or None, got 0"),
    ):
        result = run(data, "-q", *option)
        assert (result.exit_code, result.stdout) == (3, "")
        assert message in result.stderr


def test_names_and_defaults_of_the_options_are_those_of_the_learner():
    learner = inspect.signature(Daguerreotype).parameters
    command = inspect.signature(verb.fit).parameters
    for name in (
        "edges",
        "operator",
        "scales",
        "training",
        "penalty",
        "knowledge",
        "posterior",
        "trust",
        "min_gain",
    ):
        assert command[name].default == learner[name].default
    assert command["seed"].default == learner["random_state"].default
    assert list(options.Edges) == list(EDGES)
    assert {"auto", *options.SCALES} == set(get_args(learner["scales"].annotation))


@pytest.fixture
def experiments(tmp_path):
    """A table whose column ``set`` says which others were intervened on, and a row with an empty cell."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=300)
    X = pd.DataFrame({"effect": cause + rng.normal(size=300), "cause": cause, "other": rng.normal(size=300)})
    X.loc[:99, "effect"] = 2 * rng.normal(size=100)
    X["set"] = ["effect"] * 99 + ["effect; other"] + [""] * 200
    X.loc[50, "other"] = np.nan
    X.to_csv(tmp_path / "experiments.csv", index=False)
    return tmp_path / "experiments.csv", X


def test_a_column_can_say_which_others_were_set_from_outside(experiments):
    path, X = experiments
    result = run(path, "--interventions", "set", "--scales", "none", "--missing", "drop", "--json")
    kept = X.drop(index=50)
    targets = [[name.strip() for name in entry.split(";")] for entry in kept.pop("set")]
    model = Daguerreotype(scales="none").fit(kept, interventions=targets)
    answer = json.loads(result.stdout)
    assert answer["data"]["columns"] == ["effect", "cause", "other"]
    assert {(edge["cause"], edge["effect"]) for edge in answer["edges"]} == set(model.causal_graph_.edges)
    weight = pytest.approx(model.weights_.loc["cause", "effect"], rel=1e-14)  # pandas 2 rounds what it reads
    assert [edge["weight"] for edge in answer["edges"]] == [weight]
    assert "were set in them: 'effect' (99), 'other' (1)." in result.stderr
    options = ("--interventions", "set", "--scales", "none", "--edges", "bic", "--missing", "drop")
    answer = json.loads(run(path, *options, "--bootstrap", 3, "--json").stdout)
    assert answer["bootstrap"]["consensus"] == [{"cause": "cause", "effect": "effect"}]


def test_a_column_of_interventions_is_refused_unless_it_is_there_and_that_of_sachs_is_called_target(experiments):
    result = run(experiments[0], "--interventions", "st")
    assert result.exit_code == 3
    assert "experiments.csv has no column 'st' of interventions: its columns are 'effect'," in result.stderr
    task = read_input(None, Reading(interventions="target"))
    sachs = load_sachs(interventional=True)
    pd.testing.assert_frame_equal(task.table, sachs.X)
    assert task.interventions == sachs.interventions.tolist()
    with pytest.raises(ValueError, match=r"no column 'set' of interventions: it is called 'target'\."):
        read_input(None, Reading(interventions="set"))


def test_empty_cells_are_learned_around_and_what_was_done_is_said(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.normal(size=400)
    table = pd.DataFrame(
        {"age": age, "dose": age**2 + 0.3 * rng.normal(size=400), "city": rng.choice(["B", "O"], 400)}
    )
    table["dose"] = table["dose"].mask((age > 0.8) | (rng.random(400) < 0.1))
    table["city"] = table["city"].mask(rng.random(400) < 0.1)
    table.to_csv(tmp_path / "gaps.csv", index=False)
    result = run(tmp_path / "gaps.csv", "--out", tmp_path, "--json", *QUICK[1:])
    facts = json.loads(result.stdout)["missing"]
    assert "note: whether a value is missing depends on other columns: 'dose' (on 'age')." in result.stderr
    assert "Whether dose is missing depends on age" in (tmp_path / "report.html").read_text()
    assert facts["counts"] == table.isna().sum()[["dose", "city"]].to_dict()
    assert facts["depends_on"] == {"dose": ["age"]}
    assert facts["settled"]
    assert "missing values in 2 columns: 3 completed" in " ".join(
        run(tmp_path / "gaps.csv", *QUICK).stdout.split()
    )
    dropped = json.loads(run(tmp_path / "gaps.csv", "--json", "--missing", "drop", *QUICK).stdout)
    assert dropped["missing"] is None
    assert dropped["data"]["rows"] == len(table.dropna())
    refused = run(tmp_path / "gaps.csv", "-q", "--missing", "error")
    assert refused.exit_code == 3
    assert "Learn from them with --missing auto, or leave out" in refused.stderr


class Fitted:
    """A learner with a result that the test chooses."""

    def __init__(self, edges, order, chains=2, agreement=0.01, weak=()):
        self.posterior_ = a_posterior(order, chains, agreement) if chains else None
        likely = {(cause, effect): [*p, 1.0 - p[0]][:2] for cause, effect, _, *p in edges if p}
        table = pd.DataFrame([edge[:3] for edge in edges], columns=["cause", "effect", "weight"])
        table["norm"] = table["weight"].abs().clip(lower=0.4)  # what a bent effect has
        pairs = list(zip(table["cause"], table["effect"], strict=True))
        for place, name in enumerate(("probability", "reverse_probability")):
            table[name] = [likely[pair][place] if chains else np.nan for pair in pairs]
        table["direction_open"] = [0.25 <= likely[pair][1] < 0.7 if chains else None for pair in pairs]
        self.edges_ = table
        graph = nx.DiGraph(pairs)
        graph.add_nodes_from(order)
        self.causal_order_ = order
        self.adjacency_matrix_ = nx.to_pandas_adjacency(graph, order, weight=None).astype(int)
        self.edges, self.operator, self.penalty, self.random_state = "bic", "sparsemax", 1.0, 0
        self.scales, self.knowledge, self.trust, self.min_gain = "auto", None, 5000.0, 0.02
        self.weak_edges_ = pd.DataFrame(weak, columns=["cause", "effect", "explains", "probability"])
        self.training, self.posterior = "bilevel", 200 if chains else 0
        self.interrupted_, self.missing_ = False, None
        self.columns_ = pd.DataFrame({"scale": "log", "noise": "gaussian"}, index=order)
        kinds = dict.fromkeys(order, Kind("continuous", "many values"))
        self._result = SimpleNamespace(kinds_by_label=kinds, kinds=tuple(kinds.values()))


def a_posterior(order, chains, agreement):
    """Chains that differ by so much in the probability of the first edge."""
    d = len(order)
    edges = np.zeros((chains, d, d))
    edges[:, 0, 1] = 0.5 + agreement * np.linspace(-0.5, 0.5, chains)
    errors = np.full((d, d), 0.1)
    none = np.zeros((0, d, d), dtype=bool)
    mean = edges.mean(axis=0)
    return Posterior(tuple(order), True, mean, edges, errors, 0 * errors, none, np.zeros(0), n_sweeps=180)


def outcome(edges, order=("a", "b", "c"), truth=None, **posterior):
    task = Input("my.csv", pd.DataFrame(0.0, index=range(4), columns=list(order)))
    return FitOutput(Fitted(edges, list(order), **posterior), task, truth, 1.23)


def shown(result, **settings):
    stream = io.StringIO()
    show_fit(result, Console(file=stream, highlight=False, markup=False, **settings))
    return stream.getvalue()


def rows_of(text):
    return [line.split() for line in text.splitlines() if " → " in line or " ─ " in line]


def test_an_edge_whose_direction_is_open_has_no_head_and_both_numbers_and_an_explanation():
    heads = ["cause", "effect", "weight", "norm", "probability", "reverse"]
    text = shown(outcome([("a", "b", 1.0, 0.7, 0.3), ("b", "c", 1.0, 0.4, 0.1), ("a", "c", 1.0, 0.3, 0.6)]))
    assert heads in [line.split() for line in text.splitlines()]
    assert rows_of(text)[:3] == [
        ["a", "─", "b", "1.00", "1.00", "0.70", "0.30"],
        ["b", "→", "c", "1.00", "1.00", "0.40", "0.10"],
        ["a", "─", "c", "1.00", "1.00", "0.30", "0.60"],
    ]
    assert "─ direction open: the less likely way has at least a quarter" in text
    assert "probability: posterior probability of the edge, given the model" in text
    assert "reverse: that of the same edge turned around" in text
    assert "direction open" not in shown(outcome([("a", "b", 1.0, 0.9, 0.1)]))


def test_weak_edges_are_named_in_one_line_the_strongest_three_at_most():
    edges, weak = [("a", "b", 1.0, 0.9, 0.1)], [("b", "c", 0.0184, 0.9), ("a", "c", 0.008, 0.4)]
    text = " ".join(shown(outcome(edges, weak=weak)).split())
    assert "2 weak edges left out: b → c (explains 1.8%), a → c (explains 0.8%)" in text
    assert "1 weak edge left out: b → c" in " ".join(shown(outcome([], weak=weak[:1])).split())
    assert "(explains 0.8%), ..." in " ".join(shown(outcome(edges, weak=[*weak, *weak[1:] * 2])).split())
    assert "weak" not in shown(outcome(edges))
    assert json.loads(to_json(outcome(edges, weak=weak[:1])))["weak_edges"] == [
        {"cause": "b", "effect": "c", "explains": 0.0184, "probability": 0.9}
    ]


def test_no_trust_counts_every_row(data):
    trusted = [
        json.loads(run(data, "--json", *QUICK[1:], *option).stdout)["settings"]["trust"]
        for option in (("--trust", 0), ())
    ]
    assert trusted == [None, Daguerreotype().trust]


def test_probabilities_that_have_not_settled_say_so_with_numbers():
    edges = [("a", "b", 1.0, 0.5, 0.3)]
    words = " ".join(shown(outcome(edges, chains=3, agreement=0.24)).split())
    assert "not settled: 3 chains differ by up to 0.24, effective sample size 25." in words
    assert "Sample longer: --posterior 2000" in words
    assert "settled" not in shown(outcome(edges, agreement=0.05))
    assert not json.loads(to_json(outcome(edges, agreement=0.24)))["posterior"]["settled"]


def test_edges_have_sign_and_norm_and_without_a_posterior_no_probability_in_words_and_null_in_json():
    result = outcome([("b", "c", -0.9), ("a", "b", -0.01)], chains=0)
    text = shown(result)
    assert "cause effect weight norm" in " ".join(text.replace("│", " ").split())
    assert rows_of(text)[:2] == [["b", "→", "c", "-0.90", "0.90"], ["a", "→", "b", "-0.01", "0.40"]]
    assert "probability" not in text
    assert "reverse" not in text
    answer = json.loads(to_json(result))
    assert answer["posterior"] is None
    for edge in answer["edges"]:
        assert edge["probability"] is edge["reverse_probability"] is edge["direction_open"] is None


def test_sweeps_can_be_asked_for_and_left_out(data, tmp_path):
    for sweeps, columns in ((50, ["probability", "reverse_probability"]), (0, [])):
        out = tmp_path / str(sweeps)
        answer = json.loads(run(data, "--edges", "bic", "--posterior", sweeps, "--json", "--out", out).stdout)
        assert answer["settings"]["posterior"] == sweeps
        assert (answer["posterior"] is None) == (sweeps == 0)
        assert list(pd.read_csv(out / "graph.csv")) == ["cause", "effect", "weight", "norm", *columns]
        assert ("reverse_probability" in (out / "graph.dot").read_text()) == (sweeps > 0)


def test_the_scale_of_each_column_is_shown():
    result = outcome([("a", "b", 1.0, 1.0)])
    assert "log, by likelihood" in shown(result)
    result.model.columns_["scale"] = ["none", "log", "logit(0, 1)"]
    assert "log (b), logit(0, 1) (c), as measured (a), by likelihood" in shown(result)
    assert json.loads(to_json(result))["scales"] == result.model.columns_["scale"].to_dict()


def test_each_edge_is_held_against_the_known_graph_and_a_graph_without_edges_says_so():
    truth = pd.DataFrame([[0, 1, 0], [0, 0, 0], [0, 1, 0]], list("abc"), list("abc"))
    lines = shown(outcome([("a", "b", 1.0, 1.0), ("b", "c", 1.0, 0.9), ("a", "c", 1.0, 0.8)], truth=truth))
    assert [line.split()[-1] for line in lines.splitlines() if "1.00 " in line] == ["right", "reversed", "absent"]
    assert "found: 1 right, 1 reversed, 1 absent; 2 are known" in lines
    assert "No edges" in shown(outcome([]))
    assert json.loads(to_json(outcome([])))["edges"] == []


def test_long_names_stay_whole_without_colour_off_a_terminal_and_no_line_is_too_long_on_a_narrow_one():
    long = "a very [red]long[/red] name of a column " * 8
    text = shown(outcome([(long, "b", 1.0, 1.0)], (long, "b")))
    assert "\x1b" not in text
    assert any(long.strip() in line and " b " in line for line in text.splitlines())
    long = "column_" * 12
    text = shown(outcome([(long, "b", 1.0, 1.0)], (long, "b")), force_terminal=True, no_color=True, width=60)
    assert max(len(Text.from_ansi(line).plain) for line in text.splitlines()) <= 60


def test_without_unicode_arrows_are_made_of_dashes():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    edges = [("a", "b", 1.0, 1.0), ("b", "c", 1.0, 0.5)]
    show_fit(outcome(edges), Console(file=stream, highlight=False, markup=False))
    stream.seek(0)
    text = stream.read()
    assert "a -> b -> c" in text
    assert "| b     | -- | c      |" in text
    assert "-- direction open" in text


def test_the_time_of_compiling_is_not_shown_as_that_of_the_fit(data, monkeypatch):
    clock = [100.0]

    @contextmanager
    def compiling(on_kernel):
        on_kernel(1)
        yield SimpleNamespace(seconds=60.0)

    def fit(self, X, **given):
        clock[0] += 63.0  # of which the fit itself takes three
        return actual(self, X, **given)

    actual = Daguerreotype.fit
    monkeypatch.setattr("daguerreotype._lib.numba.compiling", compiling)
    monkeypatch.setattr(Daguerreotype, "fit", fit)
    monkeypatch.setattr(verb.time, "perf_counter", lambda: clock[0])
    result = run(data, "--edges", "bic", "--scales", "none", "--json")
    assert COMPILING in result.stderr
    assert json.loads(result.stdout)["seconds"] == pytest.approx(3.0)


def test_unknown_nodes_and_places_that_cannot_be_written_to_are_refused_before_learning(
    data, truth, tmp_path, monkeypatch
):
    monkeypatch.setattr(Daguerreotype, "fit", lambda *_: pytest.fail("learned in vain"))
    result = run(data, "--truth", truth)
    assert result.exit_code == 3
    assert "graph.csv has other" in result.stderr
    result = run(data, "--out", data / "below a file")
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
    assert "below a file: Not a directory" in result.stderr
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.npz").write_text("old")
    monkeypatch.setattr("os.access", lambda path, mode, **_: mode != os.W_OK)  # as root every file may be
    result = run(data, "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "model.npz: Permission denied" in result.stderr
