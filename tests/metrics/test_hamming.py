import gadjid
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.graphs import to_cpdag
from daguerreotype.metrics import shd, shd_cpdag

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
