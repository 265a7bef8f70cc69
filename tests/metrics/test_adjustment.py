"""Distances by causal effects, against paths one by one and against effects in Gaussian models."""

from itertools import pairwise, permutations

import numpy as np
import pytest

from daguerreotype.metrics import ancestor_aid, oset_aid, parent_aid, shd, sid

DISTANCES = [sid, ancestor_aid, oset_aid, parent_aid]


def reachable(dag):
    """[i, j]: a directed path i -> ... -> j, each node reaching itself."""
    reach = np.eye(len(dag), dtype=bool)
    for _ in range(len(dag)):
        reach = reach | (reach @ dag)
    return reach


def paths(adjacent, path, goal):
    """Every path from the end of ``path`` to ``goal`` along edges of either direction."""
    if path[-1] == goal:
        yield path
        return
    for node in np.flatnonzero(adjacent[path[-1]]):
        if node not in path:
            yield from paths(adjacent, [*path, node], goal)


def is_open(path, given, dag, reach):
    """Whether a path is open: colliders have a descendant in ``given``, other inner nodes are not in it."""
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        if dag[before, node] and dag[after, node]:
            if not reach[node, given].any():
                return False
        elif node in given:
            return False
    return True


def adjusts(given, i, j, dag, reach):
    """Whether ``given`` spares what i does to j and blocks every other path between them."""
    for path in paths(dag | dag.T, [i], j):
        if all(dag[a, b] for a, b in pairwise(path)):
            if reach[np.ix_(path[1:], given)].any():
                return False
        elif is_open(path, given, dag, reach):
            return False
    return True


def slow_sid(true, estimated):
    reach, mistakes = reachable(true), 0
    for i, j in permutations(range(len(true)), 2):
        parents = np.flatnonzero(estimated[:, i])
        if j in parents:
            mistakes += reach[i, j]
        else:
            mistakes += not adjusts(parents, i, j, true, reach)
    return int(mistakes)


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


def peters_buehlmann():
    """Figure of Peters and Bühlmann (2015): two causes of three effects; one edge added, one reversed."""
    true = np.zeros((5, 5), dtype=int)
    true[0, 1:] = true[1, 2:] = 1
    added, reversed_ = true.copy(), true.copy()
    added[2, 3] = 1
    reversed_[0, 1], reversed_[1, 0] = 0, 1
    return true, added, reversed_


def test_an_added_edge_costs_no_effect_and_a_reversed_one_costs_eight():
    true, added, reversed_ = peters_buehlmann()
    assert (shd(true, added), shd(true, reversed_)) == (1, 1)
    assert (sid(true, added), sid(true, reversed_)) == (0, 8)


def test_sid_reads_an_entry_as_row_causes_column():
    true, _, reversed_ = peters_buehlmann()
    assert sid(true.T, reversed_.T) == slow_sid(true.T == 1, reversed_.T == 1) == 2


def test_sid_equals_the_count_by_enumerated_paths_on_a_thousand_pairs(random_dag, rng):
    for _ in range(1000):
        d = int(rng.integers(2, 8))
        true, estimated = random_dag(rng, d, rng.random()), random_dag(rng, d, rng.random())
        assert sid(true, estimated) == slow_sid(true, estimated)


@pytest.mark.parametrize(
    ("distance", "adjustment"),
    [
        (sid, by_parents),
        (parent_aid, by_parents),
        (ancestor_aid, by_ancestors),
        (oset_aid, by_optimal_set),
    ],
)
def test_each_distance_counts_the_effects_that_it_gets_wrong(distance, adjustment, random_dag, rng):
    for _ in range(150):
        d = int(rng.integers(2, 8))
        true, estimated = random_dag(rng, d, rng.random()), random_dag(rng, d, rng.random())
        assert distance(true, estimated) == wrong_effects(rng, true, estimated, adjustment)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_graph_with_all_true_edges_and_more_gets_every_effect_right(distance, rng):
    order = rng.permutation(8)
    complete = np.triu(np.ones((8, 8), dtype=bool), 1)[np.ix_(order, order)]
    true = complete & (rng.random((8, 8)) < 0.4)
    assert distance(true, complete) == 0
    assert distance(complete, true) > 0


def test_ancestor_aid_sees_the_estimate_through_its_ancestors_alone(random_dag, rng):
    differs = 0
    for _ in range(50):
        true, estimated = random_dag(rng, 7, 0.4), random_dag(rng, 7, 0.3)
        closure = reachable(estimated) & ~np.eye(7, dtype=bool)
        assert ancestor_aid(true, estimated) == ancestor_aid(true, closure)
        differs += sid(true, estimated) != sid(true, closure)
    assert differs


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_node_has_no_effect_to_get_wrong(distance):
    assert distance([[0]], [[0]]) == 0


@pytest.mark.parametrize("distance", DISTANCES)
def test_distances_are_python_integers_and_do_not_depend_on_memory_layout(distance):
    true, _, reversed_ = peters_buehlmann()
    value = distance(np.asfortranarray(true), reversed_[::-1, ::-1][::-1, ::-1])
    assert type(value) is int
    assert value == distance(true, reversed_) == 8


@pytest.mark.parametrize("distance", DISTANCES)
def test_graphs_of_different_size_never_reach_the_compiled_code(distance):
    with pytest.raises(ValueError, match="the true graph has 2 nodes and the estimated graph 3"):
        distance(np.zeros((2, 2)), np.zeros((3, 3)))
