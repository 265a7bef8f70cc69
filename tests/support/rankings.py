"""Brute force: what the operators must equal, written the slow and obvious way."""

from fractions import Fraction
from itertools import permutations

import numpy as np


def all_rankings(d, precedence=()):
    """Every ranking (d!, d) that keeps i before j for all pairs (i, j)."""
    ranks = np.array(list(permutations(range(d))))
    for i, j in precedence:
        ranks = ranks[ranks[:, i] < ranks[:, j]]
    return ranks


def best_scores(theta, k, precedence=()):
    """The k largest scores over all rankings, best first."""
    scores = (all_rankings(len(theta), precedence) + 1) @ np.asarray(theta)
    return np.sort(scores)[::-1][:k]


def dense_sparsemax(scores):
    """Projection on the simplex by the textbook algorithm of Martins and Astudillo (2016)."""
    z = np.sort(scores)[::-1]
    cumulated = np.cumsum(z)
    inside = 1 + np.arange(1, z.size + 1) * z > cumulated
    size = np.flatnonzero(inside)[-1] + 1
    threshold = (cumulated[size - 1] - 1) / size
    return np.maximum(scores - threshold, 0.0)


def exact_duality_gap(distribution, theta, tau, precedence=()):
    """How much better a ranking that obeys is aligned with what is left of the scores than the mean is.

    Computed in rational numbers. Its square root bounds how far the mean is from the projection.
    """
    weights = [Fraction(float(prob)) for prob in distribution.probs]
    assert abs(sum(weights) - 1) < 1e-9
    rows = distribution.ranks.tolist()
    mean = [
        sum(w * row[j] for w, row in zip(weights, rows, strict=True)) / sum(weights) for j in range(len(theta))
    ]
    rest = [Fraction(float(score)) / Fraction(float(tau)) - at for score, at in zip(theta, mean, strict=True)]
    aligned = (
        sum(a * r for a, r in zip(rest, row, strict=True)) for row in all_rankings(len(theta), precedence).tolist()
    )
    return float(max(aligned) - sum(a * at for a, at in zip(rest, mean, strict=True)))
