"""Sweeps over an order, and scores of many rankings, against single fits of trees that were never swept."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daguerreotype.edges.base import EdgeRules
from daguerreotype.edges.grow_shrink.problem import new_problem
from daguerreotype.edges.grow_shrink.search import GrowShrinkTrees
from daguerreotype.edges.grow_shrink.sweep import draw_position, new_order_state, sweep_some
from daguerreotype.edges.penalty import Penalty

PENALTY = 0.03
FREE = np.zeros((0, 0), dtype=np.bool_)


def trees_of(rng, d, stride=1, n=60, penalty=1.0, rules=None):
    """Trees of dependent columns; with a stride, of their squares too."""
    values = rng.normal(size=(n, d)) @ (np.triu(rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.6)) + np.eye(d))
    columns = np.stack([values, *(np.abs(values) ** (p + 1.7) for p in range(stride - 1))], axis=2)
    columns = ((columns - columns.mean(0)) / columns.std(0)).reshape(n, -1)
    widths = np.full(d, stride)
    problem = new_problem(columns.T @ columns / n, widths, n, Penalty(penalty), rules)
    return [GrowShrinkTrees(problem) for _ in range(2)]


def loss_of(trees, order):
    fits = [trees.search(node, np.sort(order[:q]))[3:] for q, node in enumerate(order)]
    return sum(nll + PENALTY * dof for nll, dof in fits)


def place_losses(trees, moved, order):
    others = order[order != moved]
    return np.array([loss_of(trees, np.insert(others, q, moved)) for q in range(order.size)])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.sampled_from([1, 3]))
def test_a_turn_takes_a_variable_to_its_best_place_by_single_fits(seed, d, stride):
    rng = np.random.default_rng(seed)
    swept, single = trees_of(rng, d, stride)
    order = rng.permutation(d)
    for moved in order:
        state = new_order_state(order, FREE)
        while sweep_some(*swept._trees(), state, np.array([moved]), PENALTY, 0.0, np.zeros(0)) == 0:
            swept._make_room()
        least = place_losses(single, moved, order).min()
        assert state.terms.sum() == pytest.approx(least, abs=1e-8)
        assert loss_of(single, state.order) == pytest.approx(least, abs=1e-8)
        assert np.array_equal(state.order[state.order != moved], order[order != moved])
        assert np.array_equal(state.ranks, np.argsort(state.order))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from([1, 3]))
def test_a_swept_order_loses_what_is_told_and_sweeps_end_where_no_move_improves(seed, d, stride):
    rng = np.random.default_rng(seed)
    swept, single = trees_of(rng, d, stride)
    order = rng.permutation(d)
    loss = loss_of(single, order)
    for _ in range(50):
        found, now = swept.sweep(order, PENALTY, FREE)
        assert sorted(found) == list(range(d))
        assert now == pytest.approx(loss_of(single, found), abs=1e-10)
        if np.array_equal(found, order):
            break
        assert now < loss
        order, loss = found, now
    else:
        pytest.fail("sweeps go on and on")
    assert min(place_losses(single, moved, order).min() for moved in order) >= loss - 1e-8


def test_a_sweep_heeds_which_parents_are_allowed_and_what_must_stand_before_something_else():
    moved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rules = EdgeRules(rng.random((8, 8)) < 0.7, np.zeros((8, 8), dtype=np.bool_))
        swept, single = trees_of(rng, 8, rules=rules)
        order = rng.permutation(8)
        before = np.zeros((8, 8), dtype=np.bool_)
        before[order[1], order[4:]] = before[order[2], order[6]] = True
        found, loss = swept.sweep(order, PENALTY, before)
        ranks = np.argsort(found)
        assert loss == pytest.approx(loss_of(single, found), abs=1e-10)
        assert (ranks[order[1]] < ranks[order[4:]]).all()
        assert ranks[order[2]] < ranks[order[6]]
        moved += not np.array_equal(found, order)
    assert moved > 10


def test_sweeps_go_on_where_trees_run_out_of_room():
    swept, single = trees_of(np.random.default_rng(0), 70, n=40, penalty=0.05)
    room = len(swept._arena.links)
    order, loss = swept.sweep(np.arange(70), PENALTY, FREE)
    assert len(swept._arena.links) > room
    assert swept._path.rows.shape[0] > 16
    assert loss == pytest.approx(loss_of(single, order), abs=1e-8)


@pytest.mark.parametrize("stride", [1, 3])
def test_scores_of_many_rankings_equal_single_fits_exactly(stride, rng):
    swept, single = trees_of(rng, 70, stride, n=90, penalty=0.5)
    ranks = np.array([rng.permutation(70) for _ in range(5)])
    rows, nodes = rng.integers(5, size=60), rng.integers(70, size=60)
    for row, node, scored in zip(rows, nodes, swept.score_many(ranks, rows, nodes), strict=True):
        assert tuple(scored) == single.search(node, np.flatnonzero(ranks[row] < ranks[row, node]))[3:]


def test_a_drawn_position_is_as_frequent_as_losses_say():
    losses, n_rows = np.array([-9.0, 0.31, 0.3, 0.35, -9.0]), 40.0
    draws = (np.arange(1000) + 0.5) / 1000
    positions = [draw_position.py_func(losses, 1, 3, n_rows, draw) for draw in draws]
    shares = np.exp(-n_rows * losses[1:4])
    np.testing.assert_allclose(np.bincount(positions)[1:] / 1000, shares / shares.sum(), atol=1.1e-3)
