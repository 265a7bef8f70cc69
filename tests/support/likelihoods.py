"""Likelihoods of discrete columns in plain numpy, and their maxima by a general optimiser."""

import numpy as np
from scipy import optimize, special, stats

SMALLEST = 1e-300


def log_masses(family, outcomes, design, params):
    """Log probability (n,) of outcomes by a constant, columns ``design`` (n, p), and what shapes the family."""
    design = np.column_stack([np.ones(len(design)), design])
    p = design.shape[1]
    if family == "softmax":
        eta = np.column_stack([np.zeros(len(design)), design @ params.reshape(p, -1)])
        return special.log_softmax(eta, axis=1)[np.arange(len(design)), outcomes]
    if family == "ordered":
        # The constant is the first cutpoint; the logarithms of the gaps to the others follow.
        cuts = params[0] + np.concatenate([[0.0], np.cumsum(np.exp(params[p:]))])
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        eta = design[:, 1:] @ params[1:p]
        mass = special.expit(ends[outcomes + 1] - eta) - special.expit(ends[outcomes] - eta)
        return np.log(np.maximum(mass, SMALLEST))
    mean = np.exp(np.clip(design @ params[:p], -30, 30))
    if family == "poisson":
        return stats.poisson.logpmf(outcomes, mean)
    size = np.exp(-np.clip(params[p], -12, 12))
    return stats.nbinom.logpmf(outcomes, size, size / (size + mean))


def start(family, outcomes, p):
    """Parameters without effects."""
    counts = np.bincount(outcomes) + 0.5
    if family == "softmax":
        params = np.zeros((p + 1, counts.size - 1))
        params[0] = np.log(counts[1:] / counts[0])
        return params.ravel()
    if family == "ordered":
        cuts = special.logit(np.cumsum(counts)[:-1] / counts.sum())
        return np.concatenate([cuts[:1], np.zeros(p), np.log(np.diff(cuts))])
    params = np.concatenate([[np.log(outcomes.mean() + 1e-3)], np.zeros(p)])
    return params if family == "poisson" else np.append(params, 0.0)


def best_nll(family, outcomes, design, ridge=0.0):
    """The least negative log-likelihood per row; with a ridge, that of the least sum with it."""
    outcomes = np.asarray(outcomes, dtype=np.int64)
    if family == "counts":
        poisson, free = (best_nll(name, outcomes, design, ridge) for name in ("poisson", "negative-binomial"))
        return free if free + 0.5 * np.log(outcomes.size) / outcomes.size < poisson else poisson

    def nll(params):
        return -float(np.mean(log_masses(family, outcomes, design, params)))

    params, p = start(family, outcomes, design.shape[1]), design.shape[1]
    slopes = slice(params.size // (p + 1), None) if family == "softmax" else slice(1, p + 1)

    def penalised(params):
        return nll(params) + 0.5 * ridge * float(np.sum(params[slopes] ** 2)) / outcomes.size

    for _ in range(3):  # again from where it stopped, as if new
        params = optimize.minimize(penalised, params, method="BFGS", options={"gtol": 1e-8, "maxiter": 500}).x
    return nll(params)
