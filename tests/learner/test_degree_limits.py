"""What a user gets from limits on parents and children: graphs, probabilities, files, resamples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype, Knowledge, KnowledgeError
from daguerreotype.datasets import load_sachs
from daguerreotype.edges import LocalFit, RegressorEdges
from support.fits import linear_data
from support.posteriors import all_dags, enumerate_posterior, gaussian_losses

LINEAR = {"edges": "bic", "transform": "none", "loss": "bic", "noise": "gaussian"}
QUICK = {"transform": "none", "max_iter": 10, "n_restarts": 1}


def hub(rng, n=300, d=8):
    """One cause of all others."""
    X = rng.normal(size=(n, d))
    X[:, 1:] += np.linspace(0.8, 1.5, d - 1) * X[:, [0]]
    return X


def degrees(graph):
    graph = np.asarray(graph)
    return graph.sum(axis=0).max(), graph.sum(axis=1).max()


def all_graphs(model):
    return [model.adjacency_matrix_, *([] if model.posterior_ is None else model.posterior_.graphs)]


# ------------------------------------------------------------------ graphs


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    edges=st.sampled_from(["bic", "gam", "lars", "lasso", "linear", "regressor"]),
    parents=st.integers(0, 3),
    children=st.integers(0, 3),
)
def test_every_graph_obeys_whatever_the_estimator(seed, edges, parents, children):
    if edges == "linear":
        pytest.importorskip("torch")
    X = linear_data(seed, 60, 6, density=0.8)
    known = Knowledge(max_parents=parents, max_children=children)
    made = RegressorEdges(LinearRegression(), random_state=0, cv=None) if edges == "regressor" else edges
    model = Daguerreotype(edges=made, knowledge=known, **QUICK).fit(X)
    for graph in all_graphs(model):
        most = degrees(graph)
        assert most[0] <= parents
        assert most[1] <= children
    edges_found = np.asarray(model.adjacency_matrix_) > 0
    assert np.all(model.edge_shares_[edges_found] > 0)


@pytest.mark.parametrize("seed", range(12))
def test_the_graph_is_the_best_of_all_dags_that_obey(seed):
    rng = np.random.default_rng(seed)
    X = linear_data(seed, 100, 4, density=0.9)
    parents, children = rng.integers(1, 4, size=2)
    known = Knowledge(max_parents=int(parents), max_children=int(children))
    model = Daguerreotype(**LINEAR, knowledge=known, posterior=0).fit(X)
    losses = gaussian_losses(X, min_gain=0.02)

    def loss(graph):
        return sum(losses[j][int(graph[:, j] @ (1 << np.arange(4)))] for j in range(4))

    obeying = [g for g in all_dags(4) if degrees(g)[0] <= parents and degrees(g)[1] <= children]
    assert loss(model.adjacency_matrix_ > 0) == pytest.approx(min(map(loss, obeying)), abs=1e-6)


def test_a_hub_keeps_its_surest_children_and_the_others_find_other_causes(rng):
    X = hub(rng)
    known = Knowledge(tiers=[[0], list(range(1, 8))], max_children={0: 3})
    model = Daguerreotype(**LINEAR, knowledge=known).fit(X)
    assert model.adjacency_matrix_[0].sum() == 3
    assert np.all(model.adjacency_matrix_[:, 1:].any(axis=0))  # no column is left alone
    probabilities = model.edge_probabilities_
    assert probabilities[0].sum() == pytest.approx(3, abs=0.1)
    assert np.all(probabilities[model.adjacency_matrix_ > 0] > 0)


@pytest.mark.parametrize(("operator", "extra"), [("fixed", {"init": list(range(8))}), ("random", {})])
def test_a_given_order_stays_and_its_edges_obey(operator, extra, rng):
    X, known = hub(rng), Knowledge(max_parents=2, max_children=2)
    free = Daguerreotype(operator, **LINEAR, **extra, random_state=3).fit(X)
    model = Daguerreotype(operator, **LINEAR, **extra, random_state=3, knowledge=known).fit(X)
    assert list(model.causal_order_) == list(free.causal_order_)
    assert max(degrees(model.adjacency_matrix_)) <= 2


@pytest.mark.parametrize("edges", ["linear", "mlp"])
@pytest.mark.parametrize("training", ["joint", "bilevel"])
def test_gated_edges_obey(edges, training, rng):
    pytest.importorskip("torch")
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.edges.mlp import MlpEdges

    made = LinearEdges(max_iter=80) if edges == "linear" else MlpEdges(hidden=3, max_iter=30, device="cpu")
    known = Knowledge(max_parents=1, max_children=2, required=[(6, 7)])
    model = Daguerreotype(edges=made, training=training, knowledge=known, **QUICK).fit(hub(rng, 100))
    parents, children = degrees(model.adjacency_matrix_)
    assert parents <= 1
    assert children <= 2
    assert model.adjacency_matrix_[6, 7] == 1
    assert np.all(model.edge_shares_[model.adjacency_matrix_ > 0] > 0)


def test_gaps_interventions_and_levels_obey_too(rng):
    X = hub(rng, 200, 6)
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.1] = np.nan
    mixed = pd.DataFrame(X, columns=list("abcdef"))
    mixed["b"] = pd.cut(mixed["b"], 3, labels=["low", "mid", "high"])
    mixed["c"] = (mixed["c"] > 0).astype(int)
    told = {"interventions": [1] * 40 + [None] * 160}
    known = Knowledge(max_parents=2, max_children=2)
    for table, extra in ((gappy, {}), (X, told), (mixed, {}), (np.exp(X), {})):
        model = Daguerreotype(knowledge=known, max_iter=20, n_restarts=1).fit(table, **extra)
        for graph in all_graphs(model):
            assert max(degrees(graph)) <= 2


def test_limits_above_what_is_found_change_no_bit():
    X = linear_data(3, 150, 6, density=0.4)
    free = Daguerreotype(**LINEAR).fit(X)
    _, children = degrees(free.adjacency_matrix_)
    same = Daguerreotype(**LINEAR, knowledge=Knowledge(max_parents=5, max_children=5)).fit(X)
    assert np.array_equal(free.weights_, same.weights_)
    assert np.array_equal(free.edge_probabilities_, same.edge_probabilities_)
    near = Daguerreotype(**LINEAR, knowledge=Knowledge(max_children=int(children))).fit(X)
    assert near.loss_ <= free.loss_ + 1e-9


# ------------------------------------------------------------------ estimators of one's own


class OwnModels:
    """Correlates with everything, and says so."""

    def __init__(self, table):
        self.table = table

    def fit(self, node, predecessors):
        weights = self.table.moments[predecessors, node]
        left = self.table.moments[node, node] - 0.1 * np.sum(weights**2)
        return LocalFit.gaussian(np.array(predecessors), weights, float(max(left, 0.01)), float(len(predecessors)))


class OwnEdges:
    def prepare(self, table):
        return OwnModels(table)


class Stubborn(OwnModels):
    def fit(self, node, predecessors):
        return super().fit(node, np.array([j for j in range(self.table.n_columns) if j != node]))


def test_an_estimator_that_knows_of_no_limit_is_asked_again_about_the_strongest(rng):
    X = hub(rng)
    model = Daguerreotype(
        edges=OwnEdges(), knowledge=Knowledge(max_parents=2), loss="bic", noise="gaussian", **QUICK
    ).fit(X)
    assert degrees(model.adjacency_matrix_)[0] == 2
    order = list(model.causal_order_)
    correlations = np.abs(np.corrcoef(X.T))
    for place, node in enumerate(order[3:], start=3):
        before = order[:place]
        strongest = sorted(before, key=lambda i: -correlations[i, node])[:2]
        assert set(np.flatnonzero(model.adjacency_matrix_[:, node])) == set(strongest)


def test_an_estimator_that_chooses_whom_it_was_not_given_is_told(rng):
    class Edges(OwnEdges):
        def prepare(self, table):
            return Stubborn(table)

    with pytest.raises(ValueError, match="not among the predecessors that it was given"):
        Daguerreotype(edges=Edges(), knowledge=Knowledge(max_parents=2), loss="bic", **QUICK).fit(hub(rng))


# ------------------------------------------------------------------ probabilities


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "limits", [{"max_parents": 1}, {"max_children": 1}, {"max_parents": 2, "max_children": 2}]
)
def test_posteriors_are_those_of_all_dags_that_obey(seed, limits):
    X = linear_data(seed, 60, 4, density=0.9)
    model = Daguerreotype(**LINEAR, knowledge=Knowledge(**limits)).fit(X)

    def allowed(graph):
        most = degrees(graph)
        return most[0] <= limits.get("max_parents", 4) and most[1] <= limits.get("max_children", 4)

    edges, ancestors = enumerate_posterior(gaussian_losses(X, min_gain=0.02), allowed)
    found = model.posterior()
    np.testing.assert_allclose(found.probabilities, edges, atol=0.02)
    np.testing.assert_allclose(found.ancestors, ancestors, atol=0.04)
    assert np.all(np.asarray(model.edge_probabilities_)[model.adjacency_matrix_ > 0] > 0)


def test_longer_and_bagged_posteriors_obey(rng):
    model = Daguerreotype(**LINEAR, knowledge=Knowledge(max_parents=2, max_children=2)).fit(hub(rng, 100))
    for found in (model.posterior(n_sweeps=300), model.posterior(bagged=2)):
        assert max(max(degrees(graph)) for graph in found.graphs) <= 2
        assert found.probabilities.sum(axis=1).max() <= 2.05  # averages over chains
        assert found.probabilities.sum(axis=0).max() <= 2.05


# ------------------------------------------------------------------ files, resamples, errors


def test_a_saved_learner_has_its_limits(tmp_path, rng):
    table = pd.DataFrame(hub(rng), columns=list("abcdefgh"))
    known = Knowledge(max_parents={"b": 1, "*": 2}, max_children=3)
    model = Daguerreotype(**LINEAR, knowledge=known).fit(table)
    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert loaded.knowledge == known
    assert np.array_equal(loaded.adjacency_matrix_, model.adjacency_matrix_)
    numbered = Knowledge(max_children={0: 2})
    model = Daguerreotype(**LINEAR, knowledge=numbered).fit(hub(rng))
    model.save(tmp_path / "numbered.npz")
    assert Daguerreotype.load(tmp_path / "numbered.npz").knowledge == numbered


@pytest.mark.parametrize("named", [False, True])
def test_a_bootstrap_and_its_consensus_obey_at_every_threshold(named, rng):
    X = hub(rng, 80)
    table = pd.DataFrame(X, columns=list("abcdefgh")) if named else X
    known = Knowledge(max_parents=2, max_children={"a" if named else 0: 2})
    found = Daguerreotype(**LINEAR, n_restarts=1, knowledge=known).bootstrap(table, 6, random_state=0)
    before = np.zeros((8, 8))
    for threshold in (1.0, 0.7, 0.5, 0.3, 0.1):
        consensus = np.asarray(found.consensus_at(threshold))
        assert consensus.sum(axis=0).max() <= 2
        assert consensus[0].sum() <= 2
        assert np.all(consensus >= before)
        before = consensus


def test_required_edges_beyond_a_limit_are_refused_before_any_work(rng):
    table = pd.DataFrame(hub(rng), columns=list("abcdefgh"))
    known = Knowledge(required=[("a", "b"), ("a", "c")], max_children={"a": 1})
    with pytest.raises(KnowledgeError, match="'a' has 2 required children, 'b', 'c', but max_children allows 1"):
        Daguerreotype(knowledge=known).fit(table)


def test_limits_that_the_graph_obeys_by_itself_change_nothing_about_it():
    X = load_sachs().X
    free = Daguerreotype(random_state=0, posterior=0).fit(X)
    graph = free.adjacency_matrix_ != 0
    known = Knowledge(max_children=int(graph.sum(axis=1).max()))
    limited = Daguerreotype(random_state=0, posterior=0, knowledge=known).fit(X)
    assert limited.transform_ == free.transform_
    np.testing.assert_array_equal(limited.adjacency_matrix_, free.adjacency_matrix_)
