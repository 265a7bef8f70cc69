import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from daguerreotype.metrics import f1, n_edges, precision, recall, skeleton_f1

EMPTY, FULL = np.zeros((3, 3)), np.triu(np.ones((3, 3)), 1)
pairs = st.tuples(st.integers(2, 8), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))


@given(pairs)
def test_scores_equal_those_of_scikit_learn_on_the_entries(random_dag, parameters):
    d, first, second, seed = parameters
    rng = np.random.default_rng(seed)
    true, estimated = random_dag(rng, d, first), random_dag(rng, d, second)
    entries = true.ravel(), estimated.ravel()
    assume(true.any() or estimated.any())
    assert precision(true, estimated) == pytest.approx(precision_score(*entries, zero_division=0))
    assert recall(true, estimated) == pytest.approx(recall_score(*entries, zero_division=0))
    assert f1(true, estimated) == pytest.approx(f1_score(*entries, zero_division=0))
    skeletons = ((dag | dag.T)[np.triu_indices(len(dag))] for dag in (true, estimated))
    assert skeleton_f1(true, estimated) == pytest.approx(f1_score(*skeletons, zero_division=0))


@pytest.mark.parametrize("score", [precision, recall, f1, skeleton_f1])
def test_two_empty_graphs_agree_and_an_empty_one_has_nothing_of_a_full_one(score):
    assert score(EMPTY, EMPTY) == score(FULL, FULL) == score([[0]], [[0]]) == 1.0
    assert score(EMPTY, FULL) == score(FULL, EMPTY) == 0.0
    assert type(score(EMPTY, FULL)) is type(score(FULL, FULL)) is float
    assert n_edges(FULL) == 3
