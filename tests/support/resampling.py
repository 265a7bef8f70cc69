"""Learners that answer at once, and refits by hand, for tests of resampling."""

import signal
from contextlib import suppress

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

QUICK = {"edges": "bic", "loss": "bic", "scales": "none", "k": 10, "max_iter": 20, "n_restarts": 1}


class ByMean(BaseEstimator):
    """Orders columns by their mean; neighbours in that order are joined."""

    def __init__(self, scale=1.0, even_seeds_fail=False, random_state=0, n_jobs=None, verbose=0):
        self.scale = scale
        self.even_seeds_fail = even_seeds_fail
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, first=None, labels=None, name=None):
        values = np.asarray(X)
        if self.even_seeds_fail and self.random_state % 2 == 0:
            raise ValueError("an even seed")
        if np.ptp(values, axis=0).min() == 0:
            raise ValueError("a column is constant")
        if first is not None and not np.array_equal(first, values[:, 0]):
            raise TypeError("the first column came with other rows")
        if labels is not None and [float(label) for label in labels] != values[:, 0].tolist():
            raise TypeError("the labels came with other rows")
        if name not in (None, "abc"):
            raise TypeError("a word was taken apart")
        order = np.argsort(self.scale * values.mean(axis=0))
        adjacency = np.zeros((order.size, order.size), dtype=np.int64)
        adjacency[order[:-1], order[1:]] = 1
        named = isinstance(X, pd.DataFrame)
        self.adjacency_matrix_ = pd.DataFrame(adjacency, columns=X.columns) if named else adjacency
        self.causal_order_ = [X.columns[j] for j in order] if named else order
        return self


class Interrupted(ByMean):
    """Gets a Ctrl-C when no fits are left, and makes nothing of it."""

    left = None  # of the class: fits are made by clones

    def fit(self, X):
        if Interrupted.left == 0:
            with suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        elif Interrupted.left is not None:
            Interrupted.left -= 1
        return super().fit(X)


def draws_by_hand(n_rows, random_state, count):
    """Learner's seed and first draw of rows of every resample, drawn with replacement."""
    for child in np.random.SeedSequence(random_state).spawn(count):
        rng = np.random.default_rng(child)
        yield int(rng.integers(2**31)), rng.integers(n_rows, size=n_rows)


def assert_same(first, second):
    """Every array and number of two results is the same to the last digit."""
    for name in ("edge_frequencies", "ancestor_frequencies", "order_frequencies"):
        np.testing.assert_array_equal(np.asarray(getattr(first, name)), np.asarray(getattr(second, name)))
    assert list(first.consensus_order) == list(second.consensus_order)
    for name in ("order_stability", "n_resamples", "failures", "n_redraws"):
        assert getattr(first, name) == getattr(second, name)
