"""Distances between graphs, against gadjid, scikit-learn, and effects in Gaussian models."""

from itertools import permutations

import gadjid
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from daguerreotype.graphs import to_cpdag
from daguerreotype.metrics import (
    ancestor_aid,
    f1,
    n_edges,
    oset_aid,
    precision,
    recall,
    shd,
    shd_cpdag,
    sid,
    skeleton_f1,
)

EMPTY, FULL = np.zeros((3, 3)), np.triu(np.ones((3, 3)), 1)
dags = st.tuples(st.integers(2, 12), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))


def draw_pair(random_dag, parameters):
    d, first, second, seed = parameters
    rng = np.random.default_rng(seed)
    return random_dag(rng, d, first), random_dag(rng, d, second)


def edit_distance(true, estimated, reversal):
    """Missing, extra and reversed edges, one node pair at a time."""
    total = 0
    for i in range(len(true)):
        for j in range(i):
            before, after = (true[i, j], true[j, i]), (estimated[i, j], estimated[j, i])
            if before != after:
                total += reversal if before == after[::-1] else 1
    return total


@given(dags)
def test_shd_counts_missing_extra_and_reversed_edges(random_dag, parameters):
    true, estimated = draw_pair(random_dag, parameters)
    assert shd(true, estimated) == edit_distance(true, estimated, reversal=1) == shd(estimated, true)
    assert shd(true, estimated, reversal=2) == edit_distance(true, estimated, reversal=2)


@given(dags)
def test_shd_of_classes_equals_that_of_gadjid(random_dag, parameters):
    true, estimated = draw_pair(random_dag, parameters)
    classes = (to_cpdag(dag).astype(np.int8) for dag in (true, estimated))
    coded = [cpdag + (cpdag & cpdag.T) for cpdag in classes]  # gadjid writes 2 for an undirected edge
    assert shd_cpdag(true, estimated) == gadjid.shd(*coded)[1]


def test_distances_follow_names_and_not_positions():
    true = pd.DataFrame([[0, 1], [0, 0]], columns=["a", "b"])
    estimated = nx.DiGraph()
    estimated.add_nodes_from(["b", "a"])
    estimated.add_edge("a", "b")
    assert shd(true, estimated) == shd(estimated, true) == shd_cpdag(true, estimated) == 0
    assert type(shd(true, estimated)) is type(shd_cpdag(true, estimated)) is int


def test_a_reversal_costs_one_or_two():
    with pytest.raises(ValueError, match=r"reversal is 3; expected 1 \(a reversed edge counts once\) or 2"):
        shd([[0]], [[0]], reversal=3)


@given(dags)
def test_scores_equal_those_of_scikit_learn_on_the_entries(random_dag, parameters):
    true, estimated = draw_pair(random_dag, parameters)
    entries = true.ravel(), estimated.ravel()
    assume(true.any() or estimated.any())
    assert precision(true, estimated) == pytest.approx(precision_score(*entries, zero_division=0))
    assert recall(true, estimated) == pytest.approx(recall_score(*entries, zero_division=0))
    assert f1(true, estimated) == pytest.approx(f1_score(*entries, zero_division=0))
    skeletons = ((dag | dag.T)[np.triu_indices(len(dag))] for dag in (true, estimated))
    assert skeleton_f1(true, estimated) == pytest.approx(f1_score(*skeletons, zero_division=0))


def test_two_empty_graphs_agree_and_an_empty_one_has_nothing_of_a_full_one():
    for score in (precision, recall, f1, skeleton_f1):
        assert score(EMPTY, EMPTY) == score(FULL, FULL) == score([[0]], [[0]]) == 1.0
        assert score(EMPTY, FULL) == score(FULL, EMPTY) == 0.0
        assert type(score(EMPTY, FULL)) is type(score(FULL, FULL)) is float
    assert n_edges(FULL) == 3


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
