import re
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype, graphs
from daguerreotype.baselines.sortnregress import SortNRegress
from daguerreotype.graphs import WeightedDag, as_dag, as_weighted
from daguerreotype.graphs.weighted import EDGE_ATTRIBUTES
from daguerreotype.metrics import shd
from daguerreotype.training import Bilevel

AWKWARD = ("fit", 'say "hi"', "a -> b", "two words", "back\\slash", "ends\\", "é ü 漢字 🙂", "[x=1]; {<b>}", "")
# There, back, and what it needs; causal-learn holds no weights.
LIBRARIES = {
    "networkx": (graphs.to_networkx, graphs.from_networkx, "networkx"),
    "gml": (graphs.to_gml, graphs.from_gml, "networkx"),
    "dowhy": (graphs.to_dowhy, graphs.from_dowhy, "networkx"),
    "pgmpy": (graphs.to_pgmpy, graphs.from_pgmpy, "pgmpy"),
    "causal-learn": (graphs.to_causal_learn, graphs.from_causal_learn, "causallearn"),
}


def round_trip(kind, graph):
    there, back, library = LIBRARIES[kind]
    pytest.importorskip(library)
    return back(there(graph))


def draw_dag(rng, names=AWKWARD, density=0.4):
    d = len(names)
    adjacency = np.triu(rng.random((d, d)) < density, 1)
    order = rng.permutation(d)
    adjacency = adjacency[np.ix_(order, order)]
    weights, probabilities, reverse = rng.normal(size=(d, d)), rng.random((d, d)), rng.random((d, d))
    matrices = (weights, probabilities, 2 * np.abs(weights), reverse)
    return WeightedDag(adjacency, tuple(names), *(np.where(adjacency, matrix, 0.0) for matrix in matrices))


def assert_same(found, expected, carried=tuple(EDGE_ATTRIBUTES)):
    assert isinstance(found, WeightedDag)
    assert found.names == expected.names
    np.testing.assert_array_equal(found.adjacency, expected.adjacency)
    for of_one, name in EDGE_ATTRIBUTES.items():
        if of_one in carried:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
        else:
            assert getattr(found, name) is None


# ---------------------------------------------------------------------- round trips


@pytest.mark.parametrize("kind", LIBRARIES)
def test_all_that_a_library_can_hold_comes_back_exactly_and_positions_as_positions(kind, rng, random_dag):
    graph = draw_dag(rng)
    assert_same(round_trip(kind, graph), graph, carried=() if kind == "causal-learn" else tuple(EDGE_ATTRIBUTES))
    adjacency = random_dag(rng, 12, 0.3)
    assert_same(round_trip(kind, adjacency.astype(int)), as_weighted(adjacency), carried=())
    if kind != "causal-learn":  # weights known of some edges only stay so
        partly = round_trip(kind, nx.DiGraph([("a", "b"), ("b", "c", {"weight": -2.0})]))
        assert partly.attributes(0, 1) == {}
        assert partly.attributes(1, 2) == {"weight": -2.0}


QUOTED = r'"((?:[^"\\]|\\.)*)"'


def read_dot(text):
    """Names of the nodes, and ends of the edges, that the writer of DOT was given."""
    nodes, edges = [], []
    for match in re.finditer(rf"  {QUOTED}(?: -> {QUOTED})?(?: \[[^\]]*\])?;\n", text, re.DOTALL):
        names = [re.sub(r"\\(.)", r"\1", name, flags=re.DOTALL) for name in match.groups() if name is not None]
        (nodes if len(names) == 1 else edges).append(names[0] if len(names) == 1 else tuple(names))
    return nodes, edges


names = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=2, max_size=5, unique=True
)


@given(names, st.integers(0, 2**32 - 1))
def test_any_names_survive_text_formats(names, seed):
    graph = draw_dag(np.random.default_rng(seed), tuple(names))
    if graph.labels == tuple(map(str, range(len(names)))):
        return
    found = round_trip("gml", graph)
    assert_same(found, graph, carried=tuple(EDGE_ATTRIBUTES) if graph.adjacency.any() else ())
    nodes, edges = read_dot(graphs.to_dot(graph))
    assert nodes == list(graph.names)
    assert edges == [(graph.names[i], graph.names[j]) for i, j in np.argwhere(graph.adjacency)]


def test_a_fitted_learner_gives_its_names_weights_and_probabilities():
    rng = np.random.default_rng(0)
    dose = rng.uniform(-1, 1, 400)
    effect = dose + 0.3 * rng.normal(size=400)
    X = pd.DataFrame({"the effect": effect, "dose": dose, "alone": rng.normal(size=400)})
    for posterior in (100, 0):
        learner = Daguerreotype(edges="bic", scales="none", posterior=posterior).fit(X)
        found = graphs.from_gml(graphs.to_gml(learner))
        assert found.names == ("the effect", "dose", "alone")
        np.testing.assert_array_equal(found.adjacency, learner.adjacency_matrix_)
        assert found.adjacency.sum() == 1
        np.testing.assert_array_equal(found.weights, learner.weights_)
        np.testing.assert_array_equal(found.norms, learner._result.norms)
        assert nx.utils.graphs_equal(graphs.to_networkx(learner), learner.causal_graph_)
        if not posterior:
            assert found.probabilities is found.reverse_probabilities is None
            continue
        likely, edges = learner.edge_probabilities_.to_numpy(), learner.adjacency_matrix_.to_numpy()
        np.testing.assert_array_equal(found.probabilities, likely * edges)
        np.testing.assert_array_equal(found.reverse_probabilities, likely.T * edges)
        assert found.reverse_probabilities.sum() > 0


def test_what_comes_in_is_taken_by_the_metrics_and_by_every_way_out(rng, tmp_path):
    graph = draw_dag(rng)
    found = graphs.from_gml(graphs.to_gml(graph))
    assert as_dag(found) is found
    assert shd(graph, found) == 0
    (tmp_path / "gml").write_text(graphs.to_gml(graph), encoding="utf-8")
    assert_same(graphs.from_gml(tmp_path / "gml"), graph)
    assert_same(graphs.from_networkx(graphs.to_networkx(found)), graph)


# ---------------------------------------------------------------------- edge list


def test_an_edge_list_survives_a_csv_file(rng, tmp_path):
    graph = draw_dag(rng)
    graphs.to_edge_list(graph).to_csv(tmp_path / "edges.csv", index=False)
    read = pd.read_csv(tmp_path / "edges.csv", keep_default_na=False, na_values=dict.fromkeys(EDGE_ATTRIBUTES, ""))
    assert list(read.columns) == ["source", "target", "weight", "norm", "probability", "reverse_probability"]
    assert_same(graphs.from_edge_list(read, nodes=AWKWARD), graph)


# ---------------------------------------------------------------------- text


def test_dot_is_read_alike_by_pydot(rng):
    pydot = pytest.importorskip("pydot")
    graph = draw_dag(rng, ("plain", "two words", "a -> b", "é ü 漢字"))
    (read,) = pydot.graph_from_dot_data(graphs.to_dot(graph))
    edges = {(e.get_source().strip('"'), e.get_destination().strip('"')): e for e in read.get_edges()}
    assert set(edges) == set(graphs.to_networkx(graph).edges)
    for cause, effect in edges:
        place = graph.names.index(cause), graph.names.index(effect)
        assert float(edges[cause, effect].get("strength")) == graph.weights[place]
        assert float(edges[cause, effect].get("norm")) == graph.norms[place]


def test_dot_draws_an_edge_without_a_head_where_its_direction_is_open():
    graph = WeightedDag(
        np.triu(np.ones((3, 3), dtype=bool), 1),
        probabilities=np.array([[0, 0.6, 0.9], [0, 0, 0.7], [0, 0, 0]]),
        reverse_probabilities=np.array([[0, 0.4, 0.1], [0, 0, np.nan], [0, 0, 0]]),
    )
    text = graphs.to_dot(graph)
    assert '"0" -> "1" [probability=0.6, reverse_probability=0.4, dir="none"];' in text
    assert text.count("dir") == 1


# ---------------------------------------------------------------------- libraries


def test_dowhy_identifies_an_effect_on_the_graph(rng):
    dowhy = pytest.importorskip("dowhy")
    names = ["age", "dose given", "outcome"]
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=names)
    X["dose given"] += X["age"]
    X["outcome"] += 2 * X["dose given"] - X["age"]
    adjacency = pd.DataFrame([[0, 1, 1], [0, 0, 1], [0, 0, 0]], names, names)
    model = dowhy.CausalModel(X, "dose given", "outcome", graph=graphs.to_dowhy(adjacency))
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    assert estimand.get_backdoor_variables() == ["age"]
    assert_same(graphs.from_dowhy(model), as_weighted(adjacency), carried=())


def test_the_structure_of_a_fitted_network_of_pgmpy_is_read(rng):
    models = pytest.importorskip("pgmpy.models")
    network = models.DiscreteBayesianNetwork([("a", "b"), ("c", "b")])
    network.fit(pd.DataFrame(rng.integers(0, 2, size=(30, 3)), columns=list("abc")))
    found = graphs.from_pgmpy(network)
    assert found.names == ("a", "b", "c")
    np.testing.assert_array_equal(np.argwhere(found.adjacency), [[0, 1], [2, 1]])


def test_causal_learn_sees_the_same_parents(rng):
    pytest.importorskip("causallearn")
    graph = draw_dag(rng)
    theirs = graphs.to_causal_learn(graph)
    for node, name in enumerate(AWKWARD):
        parents = {each.get_name() for each in theirs.get_parents(theirs.get_node(name))}
        assert parents == {AWKWARD[i] for i in np.flatnonzero(graph.adjacency[:, node])}


def test_a_graph_of_causal_learn_with_undirected_edges_is_refused():
    pytest.importorskip("causallearn")
    from causallearn.graph.Edges import Edges

    theirs = graphs.to_causal_learn(pd.DataFrame([[0, 1], [0, 0]], list("ab"), list("ab")))
    theirs.remove_edge(theirs.get_edge(*theirs.nodes))
    theirs.add_edge(Edges().undirected_edge(*theirs.nodes))
    with pytest.raises(ValueError, match=r"the edge between a and b has no direction.*consistent_extension"):
        graphs.from_causal_learn(theirs)


def test_the_result_of_a_search_of_causal_learn_is_read(rng):
    pytest.importorskip("causallearn")
    from causallearn.search.ConstraintBased.PC import pc

    X = rng.normal(size=(500, 3))
    X[:, 1] += X[:, 0] + X[:, 2]  # a collider, whose direction can be known
    found = graphs.from_causal_learn(pc(X, show_progress=False))
    assert found.names == ("X1", "X2", "X3")
    np.testing.assert_array_equal(np.argwhere(found.adjacency), [[0, 1], [2, 1]])


def test_the_matrix_of_lingam_is_the_transpose(rng):
    graph = draw_dag(rng)
    matrix = graphs.to_lingam(graph)
    np.testing.assert_array_equal(matrix, graph.weights.T)
    np.testing.assert_array_equal(graphs.to_lingam([[0, 1], [0, 0]]), [[0, 0], [1, 0]])  # unknown weights
    partly = nx.DiGraph([(0, 1), (1, 2, {"weight": -2.0})])
    np.testing.assert_array_equal(graphs.to_lingam(partly), [[0, 0, 0], [1, 0, 0], [0, -2, 0]])
    assert_same(graphs.from_lingam(matrix, names=AWKWARD), graph, carried=("weight",))
    assert_same(graphs.from_lingam(pd.DataFrame(matrix, AWKWARD, AWKWARD)), graph, carried=("weight",))


def test_a_model_of_lingam_is_read(rng):
    lingam = pytest.importorskip("lingam")
    cause = rng.uniform(-1, 1, 1000)
    X = np.column_stack([2 * cause + rng.uniform(-1, 1, 1000), cause])
    found = graphs.from_lingam(lingam.DirectLiNGAM().fit(X))
    assert found.weights[1, 0] == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("edges", "standardize"), [("gam", True), ("bic", False)])
def test_lingam_gets_slopes_in_the_units_of_the_columns(edges, standardize):
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(-1, 1, (3, 5000))
    a *= 100.0
    b = -0.02 * a + 0.5 * b
    c = 3.0 * b - 0.05 * a + c
    X = pd.DataFrame({"c": c, "a": a, "b": b})
    learner = Daguerreotype(
        edges=edges, noise="free-shape", scales="none", standardize=standardize, training=Bilevel(max_iter=50)
    ).fit(X)
    expected = np.zeros((3, 3))
    expected[0] = [0.0, -0.05, 3.0]  # of c in a and b
    expected[2, 1] = -0.02
    np.testing.assert_allclose(graphs.to_lingam(learner), expected, rtol=0.03, atol=1e-12)
    np.testing.assert_array_equal(graphs.to_lingam(learner), learner._result.slopes.T)


def test_lingam_gets_the_weights_of_a_baseline_as_they_are():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=300)
    baseline = SortNRegress().fit(np.column_stack([cause, 4 * rng.normal(size=300) - 2 * cause]))
    assert baseline.weights_[0, 1] < 0
    np.testing.assert_array_equal(graphs.to_lingam(baseline), baseline.weights_.T)
    assert as_weighted(baseline).norms is None


def test_a_learner_that_is_not_fitted_or_not_ours_is_refused():
    message = r"the graph is a \w+ that is not fitted, or of another library.*Fit it first; from_lingam"
    for model in (Daguerreotype(), LinearRegression()):
        with pytest.raises(TypeError, match=message):
            graphs.to_networkx(model)


def test_what_cannot_be_converted_is_refused_in_words():
    def edges(**columns):
        return lambda: graphs.from_edge_list(pd.DataFrame(columns))

    a_to_b = pd.DataFrame({"source": ["a"], "target": ["b"]})
    lingam = graphs.from_lingam
    for ask, message in (
        (edges(**{"from": ["a"]}, target=["b"]), "no column source, but from"),
        (edges(source=["a", None], target=["b", "c"]), "row 2 of the edge list names only one node"),
        (edges(source=["a", "a"], target=["b", "b"]), "has the edge a -> b twice. Keep one"),
        (edges(source=["a", "b"], target=["b", "a"]), "the edge list has a cycle: "),
        (edges(source=["a"], target=["b"], weight=["high"]), "a -> b has weight 'high'; expected a number"),
        (lambda: graphs.from_edge_list(a_to_b, nodes=["a", "c"]), r"not among nodes: b\. Add them there"),
        (lambda: graphs.from_gml("graph [ node [ id 0"), "the GML text cannot be read: .* Check that"),
        (lambda: graphs.to_dot(nx.DiGraph([(1, "1")])), "two nodes are called 1 when written as text. Rename one"),
        (lambda: lingam(np.array([[0, np.nan], [0, 0]])), "nan where lingam cannot tell a direction"),
        (lambda: lingam(np.array([[0, 1.5], [0, 0]]), names="abc"), r"got 3 names for a matrix of shape \(2, 2\)"),
        (lambda: lingam(np.array([[0, 1.5], [2.5, 0]])), "the lingam graph has a cycle: 0 -> 1 -> 0"),
        (lambda: as_weighted([[0, 1], [0, 0]], weights=np.ones((3, 3))), r"weights have shape \(3, 3\); expected"),
    ):
        with pytest.raises(ValueError, match=message):
            ask()
    for read, kind in (
        (graphs.from_networkx, "networkx.DiGraph"),
        (graphs.from_pgmpy, "DAG or a Bayesian network of pgmpy"),
        (graphs.from_dowhy, "causal model of dowhy"),
        (graphs.from_causal_learn, "graph of causal-learn, or the result of a search"),
    ):
        with pytest.raises(TypeError, match=rf"expected a {kind}, got list"):
            read([[0, 1], [0, 0]])


def test_a_missing_library_gives_the_command_that_installs_it(monkeypatch):
    for module, write, package in (
        ("pgmpy.base", graphs.to_pgmpy, "pgmpy"),
        ("causallearn.graph.GeneralGraph", graphs.to_causal_learn, "causal-learn"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=f"{package} is not installed. Run: pip install {package}"):
            write([[0, 1], [0, 0]])
