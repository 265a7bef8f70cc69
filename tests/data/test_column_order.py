"""The order that columns take part in: the same however columns are numbered and rows are shuffled."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daguerreotype.data.table import canonical_columns
from support.learners import make_learner

seeds = st.integers(0, 2**32 - 1)


def order_of(X, **settings):
    covariance = np.cov(X.T, bias=True)
    centred = X - X.mean(axis=0)
    skewness = np.mean(centred**3, axis=0) / np.mean(centred**2, axis=0) ** 1.5
    return canonical_columns(covariance, skewness, **{"values": X} | settings)


def draw(seed):
    """A small table of 0/1 columns, some a relabelled copy of another but for a row, some numbers."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.choice([6, 8, 12])), int(rng.integers(2, 7))
    X = rng.integers(0, 2, size=(n, d)).astype(float)
    for j in range(1, d):
        kind = rng.integers(4)
        if kind == 0:
            X[:, j] = 1 - X[:, j - 1]
        elif kind == 1:
            X[:, j] = X[rng.permutation(n), j - 1]  # the same values elsewhere
        elif kind == 2:
            X[:, j] = rng.integers(0, 3, size=n)
    X[0], X[1] = 0.0, 1.0  # no constant column
    return rng, X


def row_set(X):
    return sorted(map(tuple, X.tolist()))


@given(seeds)
def test_renumbered_columns_and_shuffled_rows_end_as_the_same_table(seed):
    rng, X = draw(seed)
    columns, rows = rng.permutation(X.shape[1]), rng.permutation(len(X))
    other = X[np.ix_(rows, columns)]
    assert row_set(X[:, order_of(X)]) == row_set(other[:, order_of(other)])


@given(seeds)
def test_columns_with_names_are_the_same_columns_however_they_are_numbered(seed):
    rng, X = draw(seed)
    names = np.array([f"column {j}" for j in range(X.shape[1])])
    columns = rng.permutation(X.shape[1])
    again = order_of(X[:, columns], names=names[columns].tolist())
    assert names[columns][again].tolist() == names[order_of(X, names=names.tolist())].tolist()


def test_columns_that_rows_cannot_tell_apart_go_by_their_numbers_without_names():
    X = np.array([[0.0, 1], [1, 0], [0, 0], [1, 1]])
    assert order_of(X).tolist() == [0, 1]
    assert order_of(X, names=["b", "a"]).tolist() == [1, 0]


def test_without_rows_correlations_tell_columns_apart():
    a, b, c = 0.3, 0.2, 0.1
    covariance = np.eye(4)
    for (i, j), value in {(0, 1): a, (2, 3): a, (0, 2): b, (1, 3): b, (0, 3): c, (1, 2): -c}.items():
        covariance[i, j] = covariance[j, i] = value
    for columns in ([2, 0, 3, 1], [3, 2, 1, 0]):
        renumbered = covariance[np.ix_(columns, columns)]
        order = canonical_columns(renumbered, np.zeros(4))
        first = canonical_columns(covariance, np.zeros(4))
        np.testing.assert_array_equal(renumbered[np.ix_(order, order)], covariance[np.ix_(first, first)])


@pytest.mark.parametrize("seed", range(2))
def test_numbering_columns_otherwise_does_not_change_the_graph_of_binary_columns(seed):
    rng = np.random.default_rng(seed)
    X = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], 4, axis=0)
    table = pd.DataFrame(X.astype(float), columns=list("abcd"))
    table.loc[0, "a"] = table.loc[9, "d"] = 1.0
    settings = {"edges": "bic", "max_iter": 10, "refine": False, "posterior": 0, "kinds": "auto"}
    expected = make_learner(**settings).fit(table).adjacency_matrix_
    names = rng.permutation(table.columns)
    found = make_learner(**settings).fit(table.sample(frac=1, random_state=seed)[names]).adjacency_matrix_
    pd.testing.assert_frame_equal(found.loc[list("abcd"), list("abcd")], expected)
