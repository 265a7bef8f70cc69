"""Posteriors the slow and obvious way: all DAGs of a few nodes, each by its score."""

from functools import cache
from itertools import product

import numpy as np


@cache
def all_dags(d):
    """All DAGs (m, d, d) of d nodes: those of one node fewer, with a node more wherever it makes no cycle."""
    if d == 1:
        return np.zeros((1, 1, 1), dtype=bool)
    dags = []
    for smaller in all_dags(d - 1):
        reach = reachability(smaller) | np.eye(d - 1, dtype=bool)
        for roles in product((0, 1, 2), repeat=d - 1):  # nothing, a parent, a child of the new node
            parents, children = np.array(roles) == 1, np.array(roles) == 2
            if reach[np.ix_(children, parents)].any():
                continue
            graph = np.zeros((d, d), dtype=bool)
            graph[:-1, :-1] = smaller
            graph[:-1, -1], graph[-1, :-1] = parents, children
            dags.append(graph)
    return np.array(dags)


def reachability(graph):
    """Whether there is a directed path from i to j."""
    d = len(graph)
    reach = graph.copy()
    for k in range(d):
        reach |= reach[:, [k]] & reach[[k], :]
    return reach


def enumerate_posterior(losses, allowed=lambda graph: True):
    """Probabilities of edges and of ancestors (d, d), from ``losses[node][parents]`` in nats, parents as bits."""
    d = len(losses)
    graphs = np.array([graph for graph in all_dags(d) if allowed(graph)])
    bits = np.einsum("gij,i->gj", graphs, 1 << np.arange(d))  # (m, d)
    totals = sum(np.array([losses[node].get(int(mask), np.inf) for mask in bits[:, node]]) for node in range(d))
    weights = np.exp(totals.min() - totals)
    weights /= weights.sum()
    likely = weights > 1e-7
    ancestors = sum(w * reachability(g) for w, g in zip(weights[likely], graphs[likely], strict=True))
    return np.tensordot(weights, graphs, 1), ancestors


def gaussian_losses(X, penalty=1.0, gamma=1.0, trust=np.inf):
    """Penalised negative log-likelihood, in nats of all evidence, of nodes on parent sets: least squares."""
    n, d = 1.0 / (1.0 / len(X) + 1.0 / trust), X.shape[1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    price = 0.5 * penalty * np.log(n) + gamma * np.log(d)
    losses = []
    for node in range(d):
        losses.append({})
        for mask in range(2**d):
            if (mask >> node) & 1:
                continue
            parents = [i for i in range(d) if (mask >> i) & 1]
            rest = Z[:, node]
            if parents:
                rest = rest - Z[:, parents] @ np.linalg.lstsq(Z[:, parents], rest, rcond=None)[0]
            losses[node][mask] = 0.5 * n * np.log(np.mean(rest**2)) + price * len(parents)
    return losses
