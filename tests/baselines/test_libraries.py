"""Partially directed graphs become DAGs, whatever the tests behind them contradict."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.baselines.libraries import extend, read_class
from daguerreotype.graphs import consistent_extension, find_cycle


@given(st.integers(0, 10_000), st.integers(1, 8), st.floats(0.1, 0.9))
def test_any_graph_is_extended_to_a_dag_with_the_same_adjacencies(seed, d, density):
    pdag = np.random.default_rng(seed).random((d, d)) < density
    np.fill_diagonal(pdag, False)
    dag = extend(pdag) != 0
    assert find_cycle(dag) is None
    np.testing.assert_array_equal(dag | dag.T, pdag | pdag.T)
    arrows = pdag & ~pdag.T
    if find_cycle(arrows) is None:
        assert not (arrows & ~dag).any()
    try:
        np.testing.assert_array_equal(consistent_extension(pdag), dag)
    except ValueError:
        assert d > 2


def test_marks_are_read_as_causal_learn_documents_them():
    marks = np.zeros((4, 4), dtype=int)
    marks[1, 0], marks[0, 1] = 1, -1  # 0 -> 1
    marks[1, 2] = marks[2, 1] = -1  # 1 - 2
    marks[2, 3] = marks[3, 2] = 1  # 2 <-> 3
    learned = read_class(SimpleNamespace(graph=marks))
    assert learned.cpdag.tolist() == [[0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    assert learned.adjacency[0, 1] == 1
    assert learned.adjacency.sum() == 3
