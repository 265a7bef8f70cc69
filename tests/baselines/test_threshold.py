"""Weights become a DAG by dropping small ones, one by one in the slow and obvious version."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.baselines.base import threshold_to_dag
from daguerreotype.graphs import find_cycle


def one_by_one(weights, threshold):
    weights = np.where(np.abs(weights) < threshold, 0.0, weights)
    np.fill_diagonal(weights, 0.0)
    while find_cycle(weights != 0) is not None:
        smallest = np.abs(weights[weights != 0]).min()
        weights[np.abs(weights) == smallest] = 0.0
    return weights


@given(st.integers(0, 10_000), st.integers(1, 8), st.floats(0.0, 1.5))
def test_it_equals_dropping_the_smallest_weight_while_there_is_a_cycle(seed, d, threshold):
    weights = np.random.default_rng(seed).normal(size=(d, d))
    before = weights.copy()
    learned = threshold_to_dag(weights, threshold)
    np.testing.assert_array_equal(learned.weights, one_by_one(weights, threshold))
    np.testing.assert_array_equal(learned.adjacency, learned.weights != 0)
    np.testing.assert_array_equal(weights, before)


def test_a_weight_of_exactly_the_threshold_is_an_edge():
    learned = threshold_to_dag(np.array([[0.0, -0.3], [0.29, 0.0]]), 0.3)
    assert learned.weights.tolist() == [[0.0, -0.3], [0.0, 0.0]]
    alike = threshold_to_dag(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.3)  # only one of the two is dropped
    assert alike.adjacency.sum() == 1
