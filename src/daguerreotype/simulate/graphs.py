"""Random DAGs: scale-free, Erdős-Rényi and bipartite."""

from collections.abc import Callable

import numpy as np

from daguerreotype._lib.checks import as_generator, check_choice, check_positive, check_positive_int
from daguerreotype._lib.typing import IntArray, RandomState


def simulate_dag(d: int, n_edges: float, kind: str = "SF", *, random_state: RandomState = None) -> IntArray:
    r"""Draw a random DAG with ``n_edges`` edges in expectation.

    ``A[i, j] = 1`` means i -> j and  E[sum_ij A_ij] = n_edges  for every kind. The nodes are shuffled last,
    so the column order says nothing about the causal order.

    Parameters
    ----------
    d : int
        Number of nodes.
    n_edges : float
        Expected number of edges over all nodes; benchmarks use d to 4 d. A bipartite graph holds at most
        one edge for each pair of a cause and an effect, the other kinds d (d - 1) / 2.
    kind : {"SF", "ER", "BP"}
        "SF", scale-free (Barabási and Albert, 1999): nodes arrive one by one and point at about
        n_edges / d earlier ones, drawn with probability proportional to in-degree + 1. The hubs are thus
        common effects with many parents, as in the benchmark of Zheng et al. (2018). Early nodes have
        fewer nodes to point at; later ones make up for it, and a fractional number of edges is rounded
        at random for each node.
        "ER", Erdős-Rényi: each pair is joined independently, from the earlier to the later node of a
        random order.
        "BP", bipartite (Gu, Fu and Zhou, 2018): a fifth of the nodes are causes, the others effects, and
        each cause and effect are joined independently.
    random_state : int, numpy Generator or None
        The seed.

    Returns
    -------
    array of shape (d, d)
        The adjacency matrix, of zeros and ones.

    Examples
    --------
    >>> from daguerreotype.simulate import simulate_dag
    >>> simulate_dag(5, 10, "ER", random_state=0).sum()
    np.int64(10)
    """
    check_choice(kind, "kind", tuple(_KINDS))
    d = check_positive_int(d, "d")
    check_positive(n_edges, "n_edges", zero=True)
    draw, capacity = _KINDS[kind]
    if n_edges > capacity(d):
        raise ValueError(
            f"n_edges={n_edges} is more than a {kind} graph of {d} nodes can hold: "
            f"give at most {capacity(d)}, or more nodes."
        )
    rng = as_generator(random_state)
    ordered = draw(d, float(n_edges), rng)
    shuffle = rng.permutation(d)
    return ordered[np.ix_(shuffle, shuffle)]


def _scale_free(d: int, n_edges: float, rng: np.random.Generator) -> IntArray:
    """Each arriving node points at earlier ones, preferring those of high in-degree."""
    # With m edges per arrival, node t adds min(m, t): m (d - 1) - m (m - 1) / 2 in all for a whole m, and
    # linear in between, since rounding m at random keeps E[min(m, t)] linear there.
    whole = np.arange(d)
    per_arrival = np.interp(n_edges, whole * (d - 1) - whole * (whole - 1) / 2, whole)
    counts = np.floor(per_arrival + rng.random(d)).astype(int)
    adjacency = np.zeros((d, d), dtype=np.int64)
    appeal = np.ones(d)
    for t in range(1, d):
        m = min(counts[t], t)
        # The m earliest of exponential clocks with these rates: m draws without replacement.
        clocks = rng.exponential(size=t) / appeal[:t]
        targets = np.argpartition(clocks, max(m - 1, 0))[:m]
        adjacency[t, targets] = 1
        appeal[targets] += 1
    return adjacency


def _erdos_renyi(d: int, n_edges: float, rng: np.random.Generator) -> IntArray:
    """Each pair joined independently, along the order 0, 1, ..., d - 1."""
    pairs = max(_pairs(d), 1)
    return np.triu(rng.random((d, d)) < n_edges / pairs, k=1).astype(np.int64)


def _bipartite(d: int, n_edges: float, rng: np.random.Generator) -> IntArray:
    """Each pair of a cause (the first nodes) and an effect joined independently."""
    causes = _causes(d)
    adjacency = np.zeros((d, d), dtype=np.int64)
    adjacency[:causes, causes:] = rng.random((causes, d - causes)) < n_edges / max(_bipartite_pairs(d), 1)
    return adjacency


def _pairs(d: int) -> int:
    """Most edges of a DAG."""
    return d * (d - 1) // 2


def _causes(d: int) -> int:
    """Number of causes of a bipartite graph."""
    return max(d // 5, 1)


def _bipartite_pairs(d: int) -> int:
    """Most edges of a bipartite graph."""
    return _causes(d) * (d - _causes(d))


_Draw = Callable[[int, float, np.random.Generator], IntArray]
_KINDS: dict[str, tuple[_Draw, Callable[[int], int]]] = {
    "SF": (_scale_free, _pairs),
    "ER": (_erdos_renyi, _pairs),
    "BP": (_bipartite, _bipartite_pairs),
}
