"""The printed graph is the one that the posterior stands for."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype import Daguerreotype, Knowledge
from daguerreotype.posterior.decide import agreed_graph, along
from daguerreotype.training.search import search
from support.fits import additive_data, linear_data


def mixture(seed, d=5):
    """Probabilities of edges in a mixture of a few random DAGs; rounded, so that there are ties."""
    rng = np.random.default_rng(seed)
    p = np.zeros((d, d))
    for weight in rng.multinomial(8, rng.dirichlet(np.ones(4))) / 8:
        order = rng.permutation(d)
        p[np.ix_(order, order)] += weight * np.triu(rng.random((d, d)) < 0.8, 1)
    return p, rng.permutation(d)


@given(st.integers(0, 2**32 - 1))
def test_a_graph_agrees_with_a_mixture_as_far_as_any_order_allows(seed):
    p, ranks = mixture(seed)
    graph, d = agreed_graph(p, ranks), len(p)
    assert (p[graph] >= p.T[graph]).all()
    assert ((p + p.T)[graph] >= 0.5).all()
    order = along(graph, np.argsort(ranks))
    assert not graph[np.ix_(order, order)][np.tril_indices(d)].any()  # a DAG

    def agreement(order):
        first = np.argsort(order)[:, None] < np.argsort(order)
        return np.where(first & (p > p.T) & (p + p.T >= 0.5), p - p.T, 0.0).sum()

    assert agreement(order) == pytest.approx(max(map(agreement, map(np.array, permutations(range(d))))))
    shown = graph | graph.T
    contradicted = (p + p.T >= 0.5) & ~shown & ~np.eye(d, dtype=bool)
    if contradicted.any():  # only where the likelier arrows go round in a circle
        likelier = (p > p.T) & (p + p.T >= 0.5)
        with pytest.raises(StopIteration):
            along(likelier, np.arange(d))


def test_arrows_against_what_is_known_of_orders_are_left_out():
    p = np.zeros((3, 3))
    p[0, 1] = p[1, 2] = 0.9
    before = np.zeros((3, 3), dtype=bool)
    before[2, 0] = True
    graph = agreed_graph(p, np.arange(3), before)
    assert graph.sum() == 1
    assert along(graph | before, np.arange(3)).tolist().index(2) < along(
        graph | before, np.arange(3)
    ).tolist().index(0)


def test_no_more_parents_are_shown_than_a_node_may_have():
    p = np.zeros((4, 4))
    p[:3, 3] = 0.9, 0.6, 0.8
    graph = agreed_graph(p, np.arange(4), most_parents=np.array([4, 4, 4, 2]))
    assert graph[:, 3].tolist() == [True, False, True, False]


def survey(seed, n=200):
    """A table as people have them: rounded, skewed, yes or no, grades, with gaps."""
    rng = np.random.default_rng(seed)
    age = rng.normal(45, 12, n).round()
    income = np.exp(7 + 0.02 * age + 0.4 * rng.normal(size=n)).round(-2)
    well = rng.random(n) < 1 / (1 + np.exp(-(income - 2500) / 800))
    grade = np.digitize(0.02 * age + well + rng.logistic(size=n), [0.5, 1.5, 2.5])
    visits = rng.poisson(np.exp(0.5 + 0.5 * ~well))
    X = pd.DataFrame({"age": age, "income": income, "well": well, "grade": grade, "visits": visits})
    return X.mask(rng.random(X.shape) < 0.03) if seed % 2 else X


@pytest.mark.parametrize("seed", range(4))
def test_no_printed_arrow_is_less_likely_than_its_reverse_or_than_none(seed, tmp_path):
    knowledge = Knowledge(required=[(0, 1)], max_parents=2)
    fits = [
        (survey(seed), {}),
        (linear_data(seed, 60, 7), {"edges": "bic"}),
        (additive_data(seed, 80, 6), {"knowledge": knowledge}),
    ]
    for X, settings in fits:
        model = Daguerreotype(**settings).fit(X)
        graph, p = np.asarray(model.adjacency_matrix_) > 0, np.asarray(model.edge_probabilities_)
        assert (p >= p.T - 1e-6)[graph].all()
        assert (p + p.T >= 0.5)[graph].all()
        weak = {tuple(edge) for edge in model.weak_edges_[["cause", "effect"]].to_numpy()}
        names = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
        place = [names.index(name) for name in model.causal_order_]
        for i, j in np.argwhere(np.triu((p + p.T >= 0.5) & ~graph & ~graph.T)):
            assert {(names[i], names[j]), (names[j], names[i])} & weak or settings.get("knowledge") is knowledge
        ranks = np.argsort(place)
        assert all(ranks[i] < ranks[j] for i, j in np.argwhere(graph))
        np.testing.assert_array_equal(graph, np.asarray(model.weights_) != 0)
        model.save(tmp_path / "model.npz")
        again = Daguerreotype.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(np.asarray(again.adjacency_matrix_), np.asarray(model.adjacency_matrix_))
        assert again.score(X) == pytest.approx(model.score(X))


def test_where_the_posterior_meets_a_better_graph_the_search_goes_on_from_it(monkeypatch):
    calls = []

    def short_sighted(state, *args, **kwargs):
        """The first search takes one step and never refines."""
        calls.append(args)
        if len(calls) > 1:
            return search(state, *args, **kwargs)
        lazy = replace(state.plan, training=replace(state.plan.training, refine=False, max_iter=1))
        return replace(search(replace(state, plan=lazy), np.arange(8)[::-1]), plan=state.plan)

    X = additive_data(0, 300, 8)
    whole = Daguerreotype().fit(X)
    monkeypatch.setattr("daguerreotype.pipeline.search", short_sighted)
    model = Daguerreotype().fit(X)
    assert 2 <= len(calls) <= 4
    assert model.loss_ == pytest.approx(whole.loss_, abs=1e-6)
    np.testing.assert_array_equal(model.adjacency_matrix_, whole.adjacency_matrix_)
