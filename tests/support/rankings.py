"""Brute force: what the operators must equal, written the slow and obvious way."""

from fractions import Fraction
from itertools import permutations

import numpy as np
from scipy.optimize import minimize


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


def projection_by_quadratic_programming(theta):
    """Nearest point of the hull of all rankings plus one: minimise over weights of all d! rankings."""
    vertices = all_rankings(len(theta)) + 1.0
    start = np.full(len(vertices), 1 / len(vertices))
    solution = minimize(
        lambda p: 0.5 * np.sum((p @ vertices - theta) ** 2),
        start,
        jac=lambda p: vertices @ (p @ vertices - theta),
        bounds=[(0, 1)] * len(vertices),
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return solution.x @ vertices


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
    left = [Fraction(float(score)) / Fraction(float(tau)) - at for score, at in zip(theta, mean, strict=True)]
    aligned = (
        sum(a * r for a, r in zip(left, row, strict=True)) for row in all_rankings(len(theta), precedence).tolist()
    )
    return float(max(aligned) - sum(a * at for a, at in zip(left, mean, strict=True)))


def exact_projection(theta, tau, precedence=()):
    """Projection of theta / tau on the hull of the rankings that obey, in rational numbers from end to end.

    Wolfe's method over all rankings: without rounding no set of rankings is met twice, so that it ends.
    """
    eta = [Fraction(float(score)) / Fraction(float(tau)) for score in theta]
    rows = [[Fraction(rank) for rank in row] for row in all_rankings(len(eta), precedence).tolist()]
    active, weights = [max(rows, key=lambda row: _dot(eta, row))], [Fraction(1)]
    while True:
        mean = [_dot(weights, column) for column in zip(*active, strict=True)]
        left = [score - at for score, at in zip(eta, mean, strict=True)]
        best = max(rows, key=lambda row: _dot(left, row))
        if _dot(left, best) <= _dot(left, mean):
            return mean
        active, weights = [*active, best], [*weights, Fraction(0)]
        while True:
            proposal = _affine_minimiser(active, eta)
            steps = [w / (w - p) for w, p in zip(weights, proposal, strict=True) if p < 0]
            step = min([Fraction(1), *steps])
            weights = [w + step * (p - w) for w, p in zip(weights, proposal, strict=True)]
            if step == 1:
                break
            gone = min(i for i in range(len(weights)) if weights[i] == 0 and proposal[i] < 0)
            del active[gone], weights[gone]


def _dot(first, second):
    return sum((a * b for a, b in zip(first, second, strict=True)), Fraction(0))


def _affine_minimiser(rows, eta):
    """Weights that sum to one and bring rational rows closest to eta: the KKT system by elimination."""
    m = len(rows)
    system = [[_dot(row, other) for other in rows] + [Fraction(1), _dot(row, eta)] for row in rows]
    system.append([Fraction(1)] * m + [Fraction(0), Fraction(1)])
    for i in range(m + 1):
        pivot = next(k for k in range(i, m + 1) if system[k][i] != 0)
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [entry / system[i][i] for entry in system[i]]
        for k in range(m + 1):
            if k != i and system[k][i] != 0:
                factor = system[k][i]
                system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    return [row[-1] for row in system[:m]]
