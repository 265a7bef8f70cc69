"""Partial orders: what follows from them, the nearest scores that obey, and SparseMAP among rankings that obey."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from daguerreotype.operators import Precedence, sparsemap, top_k_sparsemax
from daguerreotype.operators.precedence import ENUMERABLE
from support.rankings import all_rankings

seeds = st.integers(0, 2**32 - 1)


def random_pairs(rng, d, density):
    order = rng.permutation(d)
    return [(int(order[i]), int(order[j])) for i in range(d) for j in range(i + 1, d) if rng.random() < density]


def tier_pairs(tiers):
    return [(i, j) for i, s in enumerate(tiers) for j, t in enumerate(tiers) if -1 < s < t]


def draw_order(seed, *, tiers_only=False):
    """Random pairs, some nodes in tiers, both of one hidden order; all pairs and the Precedence."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 7))
    tiers = np.sort(rng.integers(0, 3, size=d))[rng.permutation(d)] if tiers_only else np.full(d, -1)
    pairs = [] if tiers_only else random_pairs(rng, d, rng.choice([0.1, 0.3, 0.6]))
    if not tiers_only and rng.random() < 0.4:
        pairs, tiers = [], rng.integers(-1, 3, size=d)
    return rng, Precedence(pairs, d, tiers=tiers), pairs + tier_pairs(tiers.tolist())


def obeys(ranks, pairs):
    return all((np.atleast_2d(ranks)[:, i] < np.atleast_2d(ranks)[:, j]).all() for i, j in pairs)


@given(seeds)
def test_a_node_is_before_another_if_it_is_so_in_all_rankings_that_obey(seed):
    _, order, pairs = draw_order(seed)
    rankings = all_rankings(order.d, pairs)
    assert (order.before == (rankings[:, :, None] < rankings[:, None, :]).all(axis=0)).all()
    assert obeys(order.place, pairs)


@given(seeds)
def test_the_projection_is_the_nearest_that_obeys_in_its_largest_change(seed):
    rng, order, pairs = draw_order(seed)
    theta = rng.normal(size=order.d)
    projected = order.project(theta)
    assert all(projected[i] <= projected[j] for i, j in pairs)
    assert (order.project(projected) == projected).all()
    # Least t with |x - theta| <= t and x_i <= x_j, as a linear programme.
    rows = [np.eye(order.d + 1)[i] - np.eye(order.d + 1)[j] for i, j in pairs]
    eye = np.hstack([np.eye(order.d), -np.ones((order.d, 1))])
    bounds = np.vstack([*rows, eye, eye - 2 * np.hstack([np.eye(order.d), np.zeros((order.d, 1))])])
    limits = np.concatenate([np.zeros(len(rows)), theta, -theta])
    least = linprog(np.eye(order.d + 1)[-1], bounds, limits, bounds=(None, None)).fun
    assert np.abs(projected - theta).max() == pytest.approx(least, abs=1e-9)


@given(seeds)
def test_scores_that_obey_sort_into_an_order_that_obeys_even_with_ties(seed):
    rng, order, pairs = draw_order(seed)
    theta = order.project(rng.integers(0, 3, size=order.d).astype(float))
    nodes = order.sort(theta)
    assert (np.diff(theta[nodes]) >= 0).all()
    assert obeys(np.argsort(nodes), pairs)


@given(seeds)
def test_an_extension_takes_the_least_node_that_may_come_next(seed):
    rng, order, pairs = draw_order(seed)
    priority = rng.permutation(order.d)
    extension = order.extension(priority).tolist()
    remaining = set(range(order.d))
    for node in extension:
        ready = [j for j in remaining if not any(i in remaining for i, k in pairs if k == j)]
        assert node == min(ready, key=lambda j: priority[j])
        remaining.remove(node)


@given(seeds)
def test_the_window_holds_exactly_the_positions_that_obey(seed):
    rng, order, pairs = draw_order(seed)
    nodes = order.extension(rng.permutation(order.d))
    node = int(rng.integers(order.d))
    rest = nodes[nodes != node]
    placed = [np.insert(rest, q, node) for q in range(order.d)]
    legal = [q for q, nodes in enumerate(placed) if obeys(np.argsort(nodes), pairs)]
    first, last = order.window(node, rest)
    assert legal == list(range(first, last + 1))


@given(seeds)
def test_a_broken_pair_is_found_if_there_is_one(seed):
    rng, order, pairs = draw_order(seed)
    ranks = rng.permutation(order.d)
    broken = order.broken_by(ranks)
    if obeys(ranks, pairs):
        assert broken is None
    else:
        i, j = broken
        assert order.before[i, j]
        assert ranks[i] > ranks[j]


def test_tiers_of_thousands_of_nodes_are_kept_in_few_links(rng):
    tiers = np.sort(rng.integers(0, 10, size=3000))
    order = Precedence([], 3000, tiers=tiers)
    assert len(order._links) < 2 * 3000
    ranks = top_k_sparsemax(order.project(rng.normal(size=3000)), 20, precedence=order).ranks
    assert (tiers[np.argsort(ranks, axis=1)] == tiers).all()


# ------------------------------------------------------------------ SparseMAP


def duality_gap(distribution, theta, tau, pairs):
    """How much better a ranking that obeys is aligned with what is left of the scores than the mean is."""
    residual = theta / tau - distribution.mean_ranks
    return ((all_rankings(theta.size, pairs) - distribution.mean_ranks) @ residual).max()


@given(seeds, st.sampled_from(["active-set", "peel"]))
def test_under_tiers_sparsemap_is_the_projection_on_the_hull_of_the_rankings_that_obey(seed, method):
    rng, order, pairs = draw_order(seed, tiers_only=True)
    theta, tau = rng.normal(size=order.d) * rng.choice([0.1, 1, 5]), rng.choice([0.3, 1.0])
    distribution = sparsemap(theta, tau=tau, method=method, precedence=order)
    assert obeys(distribution.ranks, pairs)
    assert duality_gap(distribution, theta, tau, pairs) < 1e-9


@given(seeds)
def test_under_any_partial_order_of_few_nodes_the_active_set_is_exact(seed):
    rng, order, pairs = draw_order(seed)
    theta, tau = rng.normal(size=order.d) * rng.choice([0.1, 1, 5]), rng.choice([0.3, 1.0])
    distribution = sparsemap(theta, tau=tau, precedence=order)
    assert obeys(distribution.ranks, pairs)
    assert distribution.probs.sum() == pytest.approx(1)
    assert duality_gap(distribution, theta, tau, pairs) < 1e-8 * max(1, np.abs(theta).max() / tau)


@pytest.mark.parametrize("method", ["active-set", "peel"])
@pytest.mark.parametrize("tiers_only", [True, False])
def test_the_derivative_under_a_partial_order_is_that_of_finite_differences(method, tiers_only):
    checked = 0
    for seed in range(40):
        rng, order, _ = draw_order(seed, tiers_only=tiers_only)
        theta = order.project(rng.normal(size=order.d))
        if len(np.unique(theta)) < theta.size:
            continue  # projected onto a tie, where there is a kink
        distribution = sparsemap(theta, method=method, precedence=order)
        gradient = rng.normal(size=len(distribution))
        numeric = np.empty(theta.size)
        for i, step in enumerate(1e-6 * np.eye(theta.size)):
            ends = [sparsemap(theta + s * step, method=method, precedence=order) for s in (1, -1)]
            if any(not np.array_equal(end.ranks, distribution.ranks) for end in ends):
                break
            numeric[i] = (ends[0].probs - ends[1].probs) @ gradient / 2e-6
        else:
            np.testing.assert_allclose(distribution.vjp(gradient), numeric, atol=1e-6)
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("d", [ENUMERABLE + 1, 30])
def test_many_nodes_obey_too_and_local_search_comes_close_to_the_projection(d):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        pairs = random_pairs(rng, d, 0.1)
        order = Precedence(pairs, d, tiers=None)
        theta = rng.normal(size=d)
        distribution = sparsemap(theta, 200, precedence=order)
        assert order.levels is None
        assert obeys(distribution.ranks, pairs)
        # No swap of neighbours in a ranking that obeys is better aligned with what is left of the scores.
        residual = theta - distribution.mean_ranks
        best = distribution.ranks[np.argmax(distribution.ranks @ residual)]
        nodes = np.argsort(best)
        free = [p for p in range(d - 1) if not order.before[nodes[p], nodes[p + 1]]]
        assert max(residual[nodes[p]] - residual[nodes[p + 1]] for p in free) < 1e-6


def test_a_partial_order_of_another_number_of_nodes_is_refused():
    with pytest.raises(ValueError, match="an order of 3 nodes, but theta has 2"):
        sparsemap([0.0, 1.0], precedence=Precedence([], 3))


def test_tensors_obey_too():
    torch = pytest.importorskip("torch")
    from daguerreotype.operators import torch as operators

    theta = torch.zeros((2, 4), dtype=torch.float64, requires_grad=True)
    for operator in (operators.top_k_sparsemax, operators.sparsemap):
        probs, ranks = operator(theta, precedence=[(3, 0)])
        assert (ranks[..., 3] < ranks[..., 0]).all()
        probs[:, 0].sum().backward()
