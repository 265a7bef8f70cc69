"""What a user gets from limits on parents: graphs, probabilities, files, resamples."""

import numpy as np
import pandas as pd
import pytest

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.edges import LocalFit
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


# ------------------------------------------------------------------ graphs


def test_the_graph_is_the_best_of_all_dags_that_obey():
    for seed in range(12):
        X = linear_data(seed, 100, 4, density=0.9)
        parents = 1 + seed % 2
        limit = Knowledge(max_parents=parents)
        model = make_learner(knowledge=limit, posterior=0, **LINEAR).fit(X)
        losses = gaussian_losses(X, trust=model.trust)

        def loss(graph, losses=losses):
            return sum(losses[j][int(graph[:, j] @ (1 << np.arange(4)))] for j in range(4))

        obeying = [graph for graph in all_dags(4) if most_parents(graph) <= parents]
        assert loss(model.adjacency_matrix_ > 0) == pytest.approx(min(map(loss, obeying)), abs=1e-6)


def test_a_given_order_stays_and_its_edges_obey(rng):
    X, limit = sink(rng), Knowledge(max_parents=2)
    for order in ({"operator": "fixed", "start": list(range(8))}, {"operator": "random", "random_state": 3}):
        free, model = (make_learner(**LINEAR, **order, **extra).fit(X) for extra in ({}, {"knowledge": limit}))
        assert list(model.causal_order_) == list(free.causal_order_)
        assert most_parents(model.adjacency_matrix_) <= 2


def test_gaps_interventions_and_levels_obey_too(rng):
    X = sink(rng, 200, 6)
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.1] = np.nan
    mixed = pd.DataFrame(X, columns=list("abcdef"))
    mixed["b"] = pd.cut(mixed["b"], 3, labels=["low", "mid", "high"])
    mixed["c"] = (mixed["c"] > 0).astype(int)
    intervened = {"interventions": [1] * 40 + [None] * 160}
    limit = Knowledge(max_parents=2)
    for table, extra in ((gappy, {}), (X, intervened), (mixed, {}), (np.exp(X), {})):
        model = Daguerreotype(knowledge=limit, training=Bilevel(max_iter=20, n_restarts=1)).fit(table, **extra)
        for graph in [model.adjacency_matrix_, *model.posterior_.graphs]:
            assert most_parents(graph) <= 2


# ------------------------------------------------------------------ estimators of one's own


class OwnModels(LocalModels):
    """Correlates with everything, and says so; a stubborn one also with columns that it was not given."""

    def __init__(self, table, stubborn):
        self.table, self.stubborn = table, stubborn

    def fit(self, node, predecessors):
        if self.stubborn:
            predecessors = np.delete(np.arange(self.table.n_columns), node)
        weights = self.table.moments[predecessors, node]
        rest = self.table.moments[node, node] - 0.1 * np.sum(weights**2)
        return LocalFit.gaussian(np.array(predecessors), weights, float(max(rest, 0.01)), float(len(predecessors)))


class OwnEdges(EdgeEstimator):
    def __init__(self, stubborn=False):
        self.stubborn = stubborn

    def prepare(self, table):
        return OwnModels(table, self.stubborn)


def test_an_estimator_that_knows_of_no_limit_is_asked_again_about_the_strongest(rng):
    X = sink(rng)
    settings = {"knowledge": Knowledge(max_parents=2), "loss": "bic", "noise": "gaussian", **QUICK}
    model = make_learner(edges=OwnEdges(), **settings).fit(X)
    assert most_parents(model.adjacency_matrix_) == 2
    order = list(model.causal_order_)
    correlations = np.abs(np.corrcoef(X.T))
    for place, node in enumerate(order[3:], start=3):
        before = order[:place]
        strongest = sorted(before, key=lambda i: -correlations[i, node])[:2]
        assert set(np.flatnonzero(model.adjacency_matrix_[:, node])) == set(strongest)
    with pytest.raises(ValueError, match="not among the predecessors that it was given"):
        make_learner(edges=OwnEdges(stubborn=True), **settings).fit(X)


# ------------------------------------------------------------------ probabilities


def test_posteriors_are_those_of_all_dags_that_obey():
    for seed in range(6):
        X, parents = linear_data(seed, 60, 4, density=0.9), 1 + seed % 2
        model = make_learner(knowledge=Knowledge(max_parents=parents), **LINEAR).fit(X)
        losses = gaussian_losses(X, trust=model.trust)
        edges, ancestors = enumerate_posterior(losses, lambda graph, most=parents: most_parents(graph) <= most)
        posterior = model.sample_posterior()
        np.testing.assert_allclose(posterior.probabilities, edges, atol=0.02)
        np.testing.assert_allclose(posterior.ancestors, ancestors, atol=0.04)
        assert np.all(np.asarray(model.edge_probabilities_)[model.adjacency_matrix_ > 0] > 0)
        for other in (model.sample_posterior(n_sweeps=300), model.sample_posterior(bagged=2)):
            assert max(map(most_parents, other.graphs)) <= parents


# ------------------------------------------------------------------ files, resamples, errors


def test_a_bootstrap_and_its_consensus_obey_at_every_threshold(rng):
    X = sink(rng, 80)
    for table, last in ((X, 7), (pd.DataFrame(X, columns=list("abcdefgh")), "h")):
        limit = Knowledge(max_parents={last: 2})
        resampled = make_learner(n_restarts=1, knowledge=limit, **LINEAR).bootstrap(table, 6, random_state=0)
        before = np.zeros((8, 8))
        for threshold in (1.0, 0.7, 0.5, 0.3, 0.1):
            consensus = np.asarray(resampled.consensus_at(threshold))
            assert consensus[:, 7].sum() <= 2
            assert np.all(consensus >= before)
            before = consensus
