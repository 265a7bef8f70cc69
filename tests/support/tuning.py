"""A learner whose graphs and failures a test can foresee, and problems for it."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator


class Thresholded(BaseEstimator):
    """Edges along the order of the columns where correlations are strong enough."""

    def __init__(self, threshold=0.3, n_digits=3, fail_above=2.0):
        self.threshold = threshold
        self.n_digits = n_digits
        self.fail_above = fail_above

    def fit(self, X):
        if self.threshold > self.fail_above:
            raise RuntimeError("the threshold\nis too high")
        strong = np.abs(np.corrcoef(np.asarray(X).T)).round(self.n_digits) > self.threshold
        self.adjacency_matrix_ = np.triu(strong, 1).astype(int)
        if isinstance(X, pd.DataFrame):
            self.adjacency_matrix_ = pd.DataFrame(self.adjacency_matrix_, X.columns, X.columns)
        return self


def chains(n_problems=3, n=60, d=5):
    """Tables (n, d) of chains 0 -> 1 -> ..., with their graphs."""
    problems = []
    for seed in range(n_problems):
        X = np.random.default_rng(seed).normal(size=(n, d))
        for j in range(1, d):
            X[:, j] += X[:, j - 1]
        problems.append((X, np.eye(d, k=1, dtype=int)))
    return problems
