"""Which synthetic problems are learners compared on? Thirteen kinds of data with a known graph.

Graphs take turns by seed, so that any two in a row differ in both: scale-free or Erdős-Rényi, with 2 d or d edges
in expectation.
"""

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.graphs import topological_order
from daguerreotype.simulate import simulate_dag, simulate_data

# family -> (mechanism, noise) of additive equations on their own scale
ADDITIVE = {
    "linear-gaussian": ("linear", "gaussian"),
    "linear-laplace": ("linear", "laplace"),
    "linear-gumbel": ("linear", "gumbel"),
    "linear-exponential": ("linear", "exponential"),
    "linear-uniform": ("linear", "uniform"),
    "gp-add": ("gp-add", "gaussian"),
    "gp-add-exponential": ("gp-add", "exponential"),
    "gp": ("gp", "gaussian"),
    "mlp": ("mlp", "gaussian"),
    "mim": ("mim", "gaussian"),
}
FAMILIES = (*ADDITIVE, "hill", "lognormal", "offset")


def problem(family: str, seed: int, d: int = 20, n: int = 500) -> tuple[FloatArray, IntArray]:
    r"""Draw data (n, d) and the adjacency (d, d) of the graph behind them.

    Parameters
    ----------
    family : str
        One of `FAMILIES`. "linear-*", "gp-add*", "gp", "mlp" and "mim" are additive equations of
        `simulate_data`. "hill" is gene-like: Hill kinetics with multiplicative noise. "lognormal" is
        exp(0.7 x) for x standardized and linear Gaussian. "offset" is 20 + x for x of "gp-add": positive
        data for which a logarithm is nevertheless wrong.
    seed : int
        Of graph and data; modulo 4 it also chooses the kind and the density of the graph.
    d, n : int
        Number of columns and of rows.
    """
    if family not in FAMILIES:
        raise ValueError(f"unknown family {family!r}: choose one of {', '.join(map(repr, FAMILIES))}.")
    kind, n_edges = (("SF", 2 * d), ("ER", d), ("SF", d), ("ER", 2 * d))[seed % 4]
    adjacency = simulate_dag(d, n_edges, kind, random_state=seed)
    if family == "hill":
        return hill_kinetics(adjacency, n, np.random.default_rng([seed, 1])), adjacency
    if family == "lognormal":
        return np.exp(0.7 * _additive(adjacency, n, "linear", "gaussian", seed, standardize=True)), adjacency
    if family == "offset":
        return 20.0 + _additive(adjacency, n, "gp-add", "gaussian", seed), adjacency
    return _additive(adjacency, n, *ADDITIVE[family], seed), adjacency


def scale_free(seed: int, d: int, n: int = 1000) -> tuple[FloatArray, IntArray]:
    """Linear Gaussian data with equal noise, standardized, and their scale-free graph of 2 d edges."""
    adjacency = simulate_dag(d, 2 * d, "SF", random_state=seed)
    return _additive(adjacency, n, "linear", "gaussian", seed, standardize=True), adjacency


def hill_kinetics(
    adjacency: IntArray, n: int, rng: np.random.Generator, *, noise: float = 0.2, leak: float = 0.1
) -> FloatArray:
    r"""Levels (n, d) of genes that activate or repress each other.

    .. math:: x_j = e^{\epsilon_j} \prod_{i \to j} (leak + h_{ij}(x_i)),  \qquad
              h(x) = \frac{x^s}{K^s + x^s}  \text{ or }  1 - h(x),  \quad  \epsilon_j \sim N(0, noise^2)

    with steepness s uniform on (1, 4), threshold K within a factor of 0.6 to 1.6 of the parent's median, and
    two of five edges repressing. A gene without parents is lognormal.
    """
    levels = np.empty((n, len(adjacency)))
    for gene in topological_order(adjacency):
        parents = np.flatnonzero(adjacency[:, gene])
        level = np.ones(n) if parents.size else np.exp(0.6 * rng.standard_normal(n))
        for parent in parents:
            steepness = rng.uniform(1.0, 4.0)
            threshold = np.median(levels[:, parent]) * rng.uniform(0.6, 1.6)
            activity = 1.0 / (1.0 + (threshold / levels[:, parent]) ** steepness)
            level = level * (leak + (1.0 - activity if rng.random() < 0.4 else activity))
        levels[:, gene] = level * np.exp(noise * rng.standard_normal(n))
    return levels


def _additive(
    adjacency: IntArray, n: int, mechanism: str, noise: str, seed: int, *, standardize: bool = False
) -> FloatArray:
    """Values of additive equations with one mechanism and one kind of noise."""
    simulated = simulate_data(
        adjacency, n, mechanism=mechanism, noise=noise, standardize=standardize, random_state=seed
    )
    return np.asarray(simulated.X)
