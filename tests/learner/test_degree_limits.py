"""What a user gets from limits on parents: graphs, probabilities, files, resamples."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from daguerreotype import Daguerreotype, Knowledge, KnowledgeError
from daguerreotype.edges import LocalFit, RegressorEdges
from daguerreotype.edges.base import EdgeEstimator, LocalModels
from daguerreotype.training import Bilevel
from support.fits import linear_data
from support.learners import make_learner
from support.posteriors import all_dags, enumerate_posterior, gaussian_losses

LINEAR = {"edges": "bic", "scales": "none", "loss": "bic", "noise": "gaussian"}
QUICK = {"scales": "none", "max_iter": 10, "n_restarts": 1}


def sink(rng, n=300, d=8):
    """One effect of all others."""
    X = rng.normal(size=(n, d))
    X[:, -1] += X[:, :-1] @ np.linspace(0.8, 1.5, d - 1)
    return X


def most_parents(graph):
    return np.asarray(graph).sum(axis=0).max()


def all_graphs(model):
    return [model.adjacency_matrix_, *([] if model.posterior_ is None else model.posterior_.graphs)]


# ------------------------------------------------------------------ graphs


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    edges=st.sampled_from(["bic", "gam", "lars", "lasso", "linear", "regressor"]),
    parents=st.integers(0, 3),
)
def test_every_graph_obeys_whatever_the_estimator(seed, edges, parents):
    if edges == "linear":
        pytest.importorskip("torch")
    X = linear_data(seed, 60, 6, density=0.8)
    known = Knowledge(max_parents=parents)
    made = RegressorEdges(LinearRegression(), random_state=0, cv=None) if edges == "regressor" else edges
    model = make_learner(edges=made, knowledge=known, **QUICK).fit(X)
    for graph in all_graphs(model):
        assert most_parents(graph) <= parents
    edges_found = np.asarray(model.adjacency_matrix_) > 0
    assert np.all(model._result.edge_shares[edges_found] > 0)


@pytest.mark.parametrize("seed", range(12))
def test_the_graph_is_the_best_of_all_dags_that_obey(seed):
    X = linear_data(seed, 100, 4, density=0.9)
    parents = 1 + seed % 2
    known = Knowledge(max_parents=parents)
    model = make_learner(knowledge=known, posterior=0, **LINEAR).fit(X)
    losses = gaussian_losses(X, min_gain=0.02)

    def loss(graph):
        return sum(losses[j][int(graph[:, j] @ (1 << np.arange(4)))] for j in range(4))

    obeying = [graph for graph in all_dags(4) if most_parents(graph) <= parents]
    assert loss(model.adjacency_matrix_ > 0) == pytest.approx(min(map(loss, obeying)), abs=1e-6)


@pytest.mark.parametrize(("operator", "extra"), [("fixed", {"start": list(range(8))}), ("random", {})])
def test_a_given_order_stays_and_its_edges_obey(operator, extra, rng):
    X, known = sink(rng), Knowledge(max_parents=2)
    free = make_learner(operator=operator, random_state=3, **LINEAR, **extra).fit(X)
    model = make_learner(operator=operator, random_state=3, knowledge=known, **LINEAR, **extra).fit(X)
    assert list(model.causal_order_) == list(free.causal_order_)
    assert most_parents(model.adjacency_matrix_) <= 2


@pytest.mark.parametrize("edges", ["linear", "mlp"])
@pytest.mark.parametrize("training", ["joint", "bilevel"])
def test_gated_edges_obey(edges, training, rng):
    pytest.importorskip("torch")
    from daguerreotype.edges.linear import LinearEdges
    from daguerreotype.edges.mlp import MlpEdges

    made = LinearEdges(max_iter=80) if edges == "linear" else MlpEdges(hidden=3, max_iter=30, device="cpu")
    known = Knowledge(max_parents=1, required=[(6, 7)])
    model = make_learner(edges=made, training=training, knowledge=known, **QUICK).fit(sink(rng, 100))
    assert most_parents(model.adjacency_matrix_) <= 1
    assert model.adjacency_matrix_[6, 7] == 1
    assert np.all(model._result.edge_shares[model.adjacency_matrix_ > 0] > 0)


def test_gaps_interventions_and_levels_obey_too(rng):
    X = sink(rng, 200, 6)
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.1] = np.nan
    mixed = pd.DataFrame(X, columns=list("abcdef"))
    mixed["b"] = pd.cut(mixed["b"], 3, labels=["low", "mid", "high"])
    mixed["c"] = (mixed["c"] > 0).astype(int)
    told = {"interventions": [1] * 40 + [None] * 160}
    known = Knowledge(max_parents=2)
    for table, extra in ((gappy, {}), (X, told), (mixed, {}), (np.exp(X), {})):
        model = Daguerreotype(knowledge=known, training=Bilevel(max_iter=20, n_restarts=1)).fit(table, **extra)
        for graph in all_graphs(model):
            assert most_parents(graph) <= 2


def test_limits_above_what_is_found_change_no_bit():
    X = linear_data(3, 150, 6, density=0.4)
    free = make_learner(**LINEAR).fit(X)
    same = make_learner(knowledge=Knowledge(max_parents=5), **LINEAR).fit(X)
    assert np.array_equal(free.weights_, same.weights_)
    assert np.array_equal(free.edge_probabilities_, same.edge_probabilities_)


# ------------------------------------------------------------------ estimators of one's own


class OwnModels(LocalModels):
    """Correlates with everything, and says so."""

    def __init__(self, table):
        self.table = table

    def fit(self, node, predecessors):
        weights = self.table.moments[predecessors, node]
        left = self.table.moments[node, node] - 0.1 * np.sum(weights**2)
        return LocalFit.gaussian(np.array(predecessors), weights, float(max(left, 0.01)), float(len(predecessors)))


class OwnEdges(EdgeEstimator):
    def prepare(self, table):
        return OwnModels(table)


class Stubborn(OwnModels):
    def fit(self, node, predecessors):
        return super().fit(node, np.array([j for j in range(self.table.n_columns) if j != node]))


def test_an_estimator_that_knows_of_no_limit_is_asked_again_about_the_strongest(rng):
    X = sink(rng)
    model = make_learner(
        edges=OwnEdges(), knowledge=Knowledge(max_parents=2), loss="bic", noise="gaussian", **QUICK
    ).fit(X)
    assert most_parents(model.adjacency_matrix_) == 2
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
        make_learner(edges=Edges(), knowledge=Knowledge(max_parents=2), loss="bic", **QUICK).fit(sink(rng))


# ------------------------------------------------------------------ probabilities


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("parents", [1, 2])
def test_posteriors_are_those_of_all_dags_that_obey(seed, parents):
    X = linear_data(seed, 60, 4, density=0.9)
    model = make_learner(knowledge=Knowledge(max_parents=parents), **LINEAR).fit(X)

    losses = gaussian_losses(X, min_gain=0.02)
    edges, ancestors = enumerate_posterior(losses, lambda graph: most_parents(graph) <= parents)
    found = model.sample_posterior()
    np.testing.assert_allclose(found.probabilities, edges, atol=0.02)
    np.testing.assert_allclose(found.ancestors, ancestors, atol=0.04)
    assert np.all(np.asarray(model.edge_probabilities_)[model.adjacency_matrix_ > 0] > 0)


def test_longer_and_bagged_posteriors_obey(rng):
    model = make_learner(knowledge=Knowledge(max_parents=2), **LINEAR).fit(sink(rng, 100))
    for found in (model.sample_posterior(n_sweeps=300), model.sample_posterior(bagged=2)):
        assert max(map(most_parents, found.graphs)) <= 2
        assert found.probabilities.sum(axis=0).max() <= 2.05  # averages over chains


# ------------------------------------------------------------------ files, resamples, errors


def test_a_saved_learner_has_its_limits(tmp_path, rng):
    table = pd.DataFrame(sink(rng), columns=list("abcdefgh"))
    known = Knowledge(max_parents={"b": 1, "*": 2})
    model = make_learner(knowledge=known, **LINEAR).fit(table)
    model.save(tmp_path / "model.npz")
    loaded = Daguerreotype.load(tmp_path / "model.npz")
    assert loaded.knowledge == known
    assert np.array_equal(loaded.adjacency_matrix_, model.adjacency_matrix_)
    numbered = Knowledge(max_parents={7: 2})
    model = make_learner(knowledge=numbered, **LINEAR).fit(sink(rng))
    model.save(tmp_path / "numbered.npz")
    assert Daguerreotype.load(tmp_path / "numbered.npz").knowledge == numbered


@pytest.mark.parametrize("named", [False, True])
def test_a_bootstrap_and_its_consensus_obey_at_every_threshold(named, rng):
    X = sink(rng, 80)
    table = pd.DataFrame(X, columns=list("abcdefgh")) if named else X
    known = Knowledge(max_parents={"h" if named else 7: 2})
    found = make_learner(n_restarts=1, knowledge=known, **LINEAR).bootstrap(table, 6, random_state=0)
    before = np.zeros((8, 8))
    for threshold in (1.0, 0.7, 0.5, 0.3, 0.1):
        consensus = np.asarray(found.consensus_at(threshold))
        assert consensus[:, 7].sum() <= 2
        assert np.all(consensus >= before)
        before = consensus


def test_required_edges_beyond_a_limit_are_refused_before_any_work(rng):
    table = pd.DataFrame(sink(rng), columns=list("abcdefgh"))
    known = Knowledge(required=[("a", "h"), ("b", "h")], max_parents={"h": 1})
    with pytest.raises(KnowledgeError, match="'h' has 2 required parents, 'a', 'b', but max_parents allows 1"):
        Daguerreotype(knowledge=known).fit(table)
