"""Distances by causal effects, against effects in Gaussian models."""

from itertools import permutations

import numpy as np
import pytest

from daguerreotype.metrics import ancestor_aid, oset_aid, shd, sid


def reachable(dag):
    """[i, j]: a directed path i -> ... -> j, each node reaching itself."""
    reach = np.eye(len(dag), dtype=bool)
    for _ in range(len(dag)):
        reach = reach | (reach @ dag)
    return reach


def by_parents(dag, reach, i, j):
    return None if dag[j, i] else np.flatnonzero(dag[:, i])


def by_ancestors(dag, reach, i, j):
    return np.setdiff1d(np.flatnonzero(reach[:, i]), [i]) if reach[i, j] else None


def by_optimal_set(dag, reach, i, j):
    if not reach[i, j]:
        return None
    on_path = reach[i] & reach[:, j]
    on_path[i] = False
    forbidden = reach[on_path].any(axis=0)
    forbidden[i] = True
    return np.flatnonzero(dag[:, on_path].any(axis=1) & ~forbidden)


def wrong_effects(rng, true, estimated, adjustment):
    """Effects that differ from those of a random linear model on ``true``; None as a set means no effect."""
    d = len(true)
    weights = true * rng.uniform(0.5, 2, (d, d)) * rng.choice([-1, 1], (d, d))
    total = np.linalg.inv(np.eye(d) - weights)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2, d)) @ total
    reach, mistakes = reachable(estimated), 0
    for i, j in permutations(range(d), 2):
        effect, given = 0.0, adjustment(estimated, reach, i, j)
        if given is not None:
            columns = [i, *given]
            effect = np.linalg.solve(covariance[np.ix_(columns, columns)], covariance[columns, j])[0]
        mistakes += abs(effect - total[i, j]) > 1e-7
    return int(mistakes)


ADJUSTMENTS = {sid: by_parents, ancestor_aid: by_ancestors, oset_aid: by_optimal_set}


@pytest.mark.parametrize("distance", ADJUSTMENTS)
def test_each_distance_counts_the_effects_that_it_gets_wrong(distance, random_dag, rng):
    for _ in range(150):
        d = int(rng.integers(2, 8))
        true, estimated = random_dag(rng, d, rng.random()), random_dag(rng, d, rng.random())
        assert distance(true, estimated) == wrong_effects(rng, true, estimated, ADJUSTMENTS[distance])


def test_an_added_edge_costs_no_effect_and_a_reversed_one_costs_eight():
    """Figure of Peters and Bühlmann (2015): two causes of three effects; one edge added, one reversed."""
    true = np.zeros((5, 5), dtype=int)
    true[0, 1:] = true[1, 2:] = 1
    added, reverse = true.copy(), true.copy()
    added[2, 3] = 1
    reverse[0, 1], reverse[1, 0] = 0, 1
    assert (shd(true, added), shd(true, reverse)) == (1, 1)
    for distance in ADJUSTMENTS:
        assert distance(true, added) == 0
        value = distance(np.asfortranarray(true), reverse[::-1, ::-1][::-1, ::-1])  # any memory layout
        assert type(value) is int
        assert value == 8


def test_one_node_and_graphs_of_different_size_never_reach_the_compiled_code():
    for distance in ADJUSTMENTS:
        assert distance([[0]], [[0]]) == 0
        with pytest.raises(ValueError, match="the true graph has 2 nodes and the estimated graph 3"):
            distance(np.zeros((2, 2)), np.zeros((3, 3)))
