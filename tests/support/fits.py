"""What the learner must equal, written the slow and obvious way, and the data it is tried on."""

from itertools import combinations

import numpy as np

from daguerreotype._lib.progress import Progress
from daguerreotype.edges import Table
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.training.methods import Bilevel


def linear_data(seed, n=100, d=5, noise="normal", density=0.6):
    """Rows of a linear model on a random DAG whose causal order is 0, 1, ..."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(0.5, 1.5, size=(d, d)) * rng.choice([-1, 1], size=(d, d)), 1)
    weights *= rng.random((d, d)) < density
    return getattr(rng, noise)(size=(n, d)) @ np.linalg.inv(np.eye(d) - weights)


def additive_data(seed, n=200, d=6, density=0.4):
    """Rows of x_j = sum of tanh, sines and squares of its parents + noise; causal order 0, 1, ..."""
    rng = np.random.default_rng(seed)
    shapes = (lambda x: 2 * np.tanh(2 * x), lambda x: 2 * np.sin(2 * x), lambda x: x**2 - 1)
    values = np.empty((n, d))
    for j in range(d):
        values[:, j] = rng.normal(size=n)
        for i in np.flatnonzero(rng.random(j) < density):
            values[:, j] += shapes[rng.integers(3)]((values[:, i] - values[:, i].mean()) / values[:, i].std())
    return values


def standard_table(values):
    """The table that the learner makes of these columns with ``standardize=True``."""
    return Table(
        (values - values.mean(axis=0)) / values.std(axis=0), tuple(f"x{j}" for j in range(values.shape[1]))
    )


def direct_fits(models, order):
    """Every node fitted anew on all nodes before it, by node."""
    fits = [None] * len(order)
    for position, node in enumerate(order):
        fits[node] = models.fit(int(node), np.sort(np.asarray(order[:position], dtype=np.int64)))
    return fits


def direct_loss(models, objective, order, n_rows, noise=None):
    """Loss of one order, every node fitted anew; under a noise model that looks at residuals if one is given."""
    terms = np.zeros(2)
    for node, fit in enumerate(direct_fits(models, order)):
        excess = fit.excess if noise is None else noise.nll(models.residuals(node, fit)) - STANDARD_ENTROPY
        terms += objective.terms(np.array(excess), np.array(fit.dof), n_rows)
    return float(objective.total(terms, len(order)))


def least_loss(models, objective, d, n_rows):
    """Least loss over all d! orders, for a loss that is a sum over nodes: dynamic programming over subsets."""
    best = {frozenset(): 0.0}
    for size in range(1, d + 1):
        for members in map(frozenset, combinations(range(d), size)):
            best[members] = min(
                best[members - {last}] + _local_loss(models, objective, last, members - {last}, n_rows)
                for last in members
            )
    return best[frozenset(range(d))]


def _local_loss(models, objective, node, predecessors, n_rows):
    fit = models.fit(node, np.array(sorted(predecessors), dtype=np.int64))
    return float(np.sum(objective.terms(np.array(fit.excess), np.array(fit.dof), n_rows)))


def brief(**changes):
    """A short training run, without refining."""
    settings = {"max_iter": 40, "tol": 0.0, "patience": 1000, "refine": False, "n_restarts": 0}
    return Bilevel(**(settings | changes))


def shown(step, phase="train"):
    """What a display is told of a step."""
    return Progress(phase, step.objective, step.support, step.hits / (step.hits + step.misses))
