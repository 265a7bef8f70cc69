"""Limits on the number of children along an order, against all graphs that obey."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.edges.base import Table
from daguerreotype.edges.bic import BicEdges
from daguerreotype.training.child_limits import order_along
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.objective import EqualVariance, PenalizedLikelihood
from daguerreotype.training.order_scores import OrderScores
from support.posteriors import all_dags

BIC = PenalizedLikelihood(1.0)


def make_scores(rng, d, max_children, n=150, objective=BIC, required=()):
    weights = np.triu(rng.normal(size=(d, d)), 1)
    values = rng.normal(size=(n, d))
    for j in range(d):
        values[:, j] += values @ weights[:, j]
    values -= values.mean(axis=0)
    table = Table(values / values.std(axis=0), tuple("abcdefgh"[:d]))
    needed = np.zeros((d, d), dtype=bool)
    for i, j in required:
        needed[i, j] = True
    free = np.full(d, d - 1)
    constraints = Constraints.of(
        ~np.eye(d, dtype=bool), needed, np.full(d, -1), table.names, free, np.asarray(max_children)
    )
    models = constraints.prepare(BicEdges(), table)
    return OrderScores(models, objective, n_rows=n, d=d, constraints=constraints)


def edges_of(fits):
    edges = np.zeros((len(fits), len(fits)), dtype=bool)
    for node, fit in enumerate(fits):
        edges[fit.parents, node] = True
    return edges


def best_loss(scores, order, limits, required=()):
    """The least loss of all graphs along an order that obey: every set of every node."""
    d, ranks = order.size, np.argsort(order)
    price = scores.objective.per_dof(scores.n_rows)
    options = []
    for node in range(d):
        before = np.flatnonzero(ranks < ranks[node])
        bits = np.array(list(product((False, True), repeat=before.size))).reshape(2**before.size, before.size)
        sets = np.zeros((len(bits), d), dtype=bool)
        sets[:, before] = bits
        for i, j in required:
            sets = sets[sets[:, i]] if j == node else sets
        options.append((sets, scores.models.score_parents(node, sets) @ [1.0, price]))
    # node by node, the best loss for every count of children so far
    best = {(0,) * d: 0.0}
    for sets, losses in options:
        after = {}
        for counts, loss in best.items():
            for each, more in zip(sets, losses, strict=True):
                new = tuple(np.array(counts) + each)
                if np.all(np.array(new) <= limits):
                    after[new] = min(after.get(new, np.inf), loss + more)
        best = after
    return min(best.values())


def test_graphs_along_an_order_are_nearly_always_the_best_that_obey():
    missed = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(3, 6))
        limits = rng.integers(0, 3, size=d)
        scores, order = make_scores(rng, d, limits), rng.permutation(d)
        fits, loss = scores.graph_of(order)
        edges = edges_of(fits)
        assert np.all(edges.sum(axis=1) <= limits)
        best = best_loss(scores, order, limits)
        assert loss >= best - 1e-9
        missed.append(loss > best + 1e-6)
    assert np.mean(missed) < 0.1


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_required_edges_are_never_closed_and_every_objective_obeys(seed):
    rng = np.random.default_rng(seed)
    limits = rng.integers(1, 3, size=6)
    required = [(0, 4), (1, 5)]
    for objective in (BIC, EqualVariance()):
        scores = make_scores(rng, 6, limits, objective=objective, required=required)
        fits, loss = scores.graph_of(np.arange(6))
        edges = edges_of(fits)
        assert edges[0, 4]
        assert edges[1, 5]
        assert np.all(edges.sum(axis=1) <= limits)
        assert loss >= scores.loss_of(np.arange(6)) - 1e-9
        assert np.array_equal(edges, edges_of(scores.again(scores.run).graph_of(np.arange(6))[0]))


def test_a_child_that_loses_its_cause_may_choose_another(rng):
    # The second column is nearly a copy of the first, which may have one child of four.
    first = rng.normal(size=500)
    copy = first + 0.2 * rng.normal(size=500)
    others = [first + 0.5 * rng.normal(size=500) for _ in range(3)]
    values = np.column_stack([first, copy, *others])
    values -= values.mean(axis=0)
    table = Table(values, tuple("abcde"))
    constraints = Constraints.of(
        ~np.eye(5, dtype=bool),
        np.zeros((5, 5), dtype=bool),
        np.full(5, -1),
        max_children=np.array([1, 4, 4, 4, 4]),
    )
    scores = OrderScores(BicEdges().prepare(table), BIC, n_rows=500, d=5, constraints=constraints)
    edges = edges_of(scores.graph_of(np.arange(5))[0])
    assert edges[0].sum() == 1
    assert edges[:, 2:].any(axis=0).all()  # by the copy, or by each other


def test_the_order_of_a_graph_is_near_and_obeys():
    rng = np.random.default_rng(0)
    for graph in all_dags(4)[rng.permutation(543)[:60]]:
        order = rng.permutation(4)
        before = np.zeros((4, 4), dtype=bool)
        before[0, 1] = True
        found = order_along(graph, before, order)
        if found is None:
            reach = np.linalg.matrix_power(graph.astype(int) + np.eye(4, dtype=int), 4) > 0
            assert reach[1, 0]  # the graph says that the second comes first
            continue
        ranks = np.argsort(found)
        assert not np.any((graph | before) & (ranks[:, None] > ranks))
        if not np.any((graph | before) & (np.argsort(order)[:, None] > np.argsort(order))):
            assert found.tolist() == order.tolist()


def test_limits_that_no_column_can_reach_are_no_constraints():
    free = ~np.eye(3, dtype=bool)
    nothing = np.zeros((3, 3), dtype=bool)
    same = Constraints.of(free, nothing, np.full(3, -1), (), np.full(3, 2), np.full(3, 2))
    assert same.rules is None
    assert same.max_children is None
    assert same.settings() == {}
    limited = Constraints.of(free, nothing, np.full(3, -1), (), np.full(3, 1), np.full(3, 1))
    assert limited.rules.max_parents.tolist() == [1, 1, 1]
    assert limited.settings() != Constraints.of(free, nothing, np.full(3, -1), (), np.full(3, 1)).settings()


@pytest.mark.parametrize("graph_given", [False, True])
def test_a_known_graph_is_taken_where_it_loses_less(graph_given, rng):
    scores = make_scores(rng, 5, np.full(5, 1))
    order = np.arange(5)
    fits, loss = scores.graph_of(order)
    known = edges_of(fits) if graph_given else np.zeros((5, 5), dtype=bool)
    again, same = scores.knowing(known).graph_of(order)
    assert same <= loss + 1e-12
    assert np.array_equal(edges_of(again), edges_of(fits))
