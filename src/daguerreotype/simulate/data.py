"""Data from a structural equation model on a given DAG."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.checks import as_seed, check_flag, check_positive_int
from daguerreotype._lib.labels import label, shown
from daguerreotype._lib.typing import FloatArray, IntArray, RandomState
from daguerreotype.graphs.dag import Dag, GraphLike, as_dag
from daguerreotype.simulate.equations import MECHANISMS, NOISES, SIGNALS, Equations, Ranges
from daguerreotype.simulate.interventions import Interventions, read_interventions


@dataclass(frozen=True, slots=True)
class Simulation:
    """Simulated data, and what made them.

    Attributes
    ----------
    X : array or DataFrame of shape (n, d)
        The data; a DataFrame when the graph has names.
    weights : array or DataFrame of shape (d, d), or None
        ``weights[i, j]`` is the coefficient of i in the equation of j, before any standardization; None
        when an equation (mlp, mim, gp, gp-add) has no single coefficient for each edge.
    adjacency : array or DataFrame of shape (d, d)
        The graph, of zeros and ones.
    settings : dict
        All other arguments in plain JSON types: ``simulate_data(adjacency, **settings)`` gives X again.
    """

    X: FloatArray | pd.DataFrame
    weights: FloatArray | pd.DataFrame | None
    adjacency: IntArray | pd.DataFrame
    settings: dict[str, Any]


def simulate_data(
    adjacency: GraphLike,
    n: int,
    *,
    mechanism: str | Sequence[str] = "linear",
    noise: str | Sequence[str] = "gaussian",
    weights: Ranges = ((-2.0, -0.5), (0.5, 2.0)),
    noise_scale: float | Sequence[float] | FloatArray = 1.0,
    standardize: bool = False,
    interventions: Interventions | None = None,
    random_state: RandomState = None,
) -> Simulation:
    r"""Draw ``n`` rows from a structural equation model on a given DAG.

    Each node follows  x_j = f_j(x_parents(j)) + noise_scale_j * e_j  with E[e_j] = 0 and Var[e_j] = 1, or,
    for "logistic" and "poisson", a Bernoulli or Poisson variable whose mean depends on w_j' x_parents(j).
    A node without parents has f_j = 0: it is noise alone (a fair coin, a Poisson variable of mean 1).

    Parameters
    ----------
    adjacency : array or DataFrame of shape (d, d), or networkx.DiGraph
        A DAG; ``adjacency[i, j] = 1`` means i -> j. Its names, where it has any, become those of the data.
    n : int
        Number of rows.
    mechanism : str, or one for each node
        "linear", "logistic", "poisson", "mlp" (two-layer sigmoid network), "mim" (multiple index model),
        "gp" (Gaussian process of all parents jointly) or "gp-add" (a sum of one process for each parent).
        A list of d names makes mixed data. Draws of a process of several parents are exact and take
        time n^3, so keep n to a few thousand for "gp".
    noise : str, or one for each node
        "gaussian", "exponential", "gumbel", "uniform" or "laplace"; all centred. Logistic and Poisson
        nodes have no noise term.
    weights : sequence of pairs (low, high)
        Coefficients are uniform on one of these ranges, each being equally likely; the weights of an mlp
        and a mim too. Ranges nearer to 0 keep the variance from growing along the graph, and the counts
        of Poisson nodes small.
    noise_scale : float, or one for each node
        Standard deviation of the noise, for every kind of noise; a single number means equal variances.
    standardize : bool
        Bring every column to mean 0 and variance 1 at the end, so that the variances do not give the causal
        order away; a constant column becomes 0. Coefficients and intervention values keep the raw scale.
    interventions : mapping, sequence of n entries, or None
        Hard interventions, which cut a column from its parents. A mapping ``{column: value}`` holds in
        every row; a sequence says for each row None, a column, a collection of columns or such a mapping.
        A column without a value, or with None, is drawn as if it had no parents.
    random_state : int, numpy Generator or None
        The seed. For one seed, coefficients and networks do not depend on n, and an intervention changes
        its targets and their descendants only.

    Returns
    -------
    Simulation
        X, weights, adjacency and settings.

    Examples
    --------
    >>> from daguerreotype.simulate import simulate_dag, simulate_data
    >>> truth = simulate_dag(10, 20, random_state=0)
    >>> simulate_data(truth, 500, noise="gumbel", random_state=0).X.shape
    (500, 10)
    >>> import pandas as pd
    >>> chain = pd.DataFrame([[0, 1], [0, 0]], columns=["dose", "outcome"])
    >>> simulate_data(chain, 3, interventions={"dose": 1.0}, random_state=0).X["dose"].tolist()
    [1.0, 1.0, 1.0]
    """
    dag = as_dag(adjacency, "adjacency")
    n = check_positive_int(n, "n")
    check_flag(standardize, "standardize")
    equations = Equations(
        mechanisms=_for_each_node(mechanism, MECHANISMS, "mechanism", dag),
        noises=_for_each_node(noise, tuple(NOISES), "noise", dag),
        scales=_check_scales(noise_scale, dag),
        ranges=_check_ranges(weights),
    )
    intervened, given, plain = read_interventions(interventions, n, dag.names or range(dag.n_nodes))
    seed = as_seed(random_state)
    X, coefficients = equations.draw(dag, intervened, given, seed)
    settings = {
        "n": n,
        "mechanism": mechanism if isinstance(mechanism, str) else list(equations.mechanisms),
        "noise": noise if isinstance(noise, str) else list(equations.noises),
        "weights": [list(bounds) for bounds in equations.ranges],
        "noise_scale": float(noise_scale) if isinstance(noise_scale, Real) else equations.scales.tolist(),
        "standardize": bool(standardize),
        "interventions": plain,
        "random_state": seed,
    }
    framed = isinstance(adjacency, pd.DataFrame) or dag.names is not None
    names = list(dag.names or range(dag.n_nodes)) if framed else None
    if standardize:
        X = _standardized(X)
    return Simulation(
        X=X if names is None else pd.DataFrame(X, columns=pd.Index(names)),
        weights=None if SIGNALS.keys() & set(equations.mechanisms) else label(coefficients, names),
        adjacency=label(dag.adjacency.astype(np.int64), names),
        settings=settings,
    )


def _standardized(X: FloatArray) -> FloatArray:
    """Columns with mean 0 and variance 1; a constant column becomes 0."""
    constant = X.min(axis=0) == X.max(axis=0)
    centred = X - X.mean(axis=0)
    centred[:, constant] = 0.0
    centred /= np.where(constant, 1.0, np.abs(centred).max(axis=0))  # squares of large values stay finite
    scaled: FloatArray = centred / np.where(constant, 1.0, centred.std(axis=0))
    return scaled


def _for_each_node(choice: str | Sequence[str], names: Sequence[str], what: str, dag: Dag) -> list[str]:
    """One of these names for each node."""
    if not isinstance(choice, Sequence | np.ndarray):
        raise TypeError(f"{what} is a {type(choice).__name__}: give one name, or one for each node.")
    choices = [choice] * dag.n_nodes if isinstance(choice, str) else list(choice)
    if len(choices) != dag.n_nodes:
        raise ValueError(
            f"{what} has {len(choices)} entries for {dag.n_nodes} nodes: give one name, or one for each node."
        )
    for name in choices:
        if name not in names:
            raise ValueError(f"unknown {what} {name!r}: choose one of {', '.join(map(repr, names))}.")
    return choices


def _check_scales(noise_scale: float | Sequence[float] | FloatArray, dag: Dag) -> FloatArray:
    """One standard deviation for each node."""
    scales = _numbers(noise_scale, "noise_scale", "a number, or one for each node")
    if scales.shape not in ((), (dag.n_nodes,)):
        raise ValueError(
            f"noise_scale has shape {scales.shape} for {dag.n_nodes} nodes: give a number, or one for each node."
        )
    scales = np.broadcast_to(scales, dag.n_nodes)
    for node in np.flatnonzero(~(np.isfinite(scales) & (scales >= 0))).tolist():
        raise ValueError(
            f"noise_scale of column {dag.label(node)} is {scales[node]}: give a finite number from 0 up."
        )
    return scales


def _numbers(value: object, name: str, expected: str) -> FloatArray:
    """An array of floats."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {shown(value)}: give {expected}.") from None


def _check_ranges(weights: Ranges) -> Ranges:
    """Pairs (low, high) of finite numbers."""
    bounds = _numbers(weights, "weights", "pairs (low, high), such as ((-2, -0.5), (0.5, 2))")
    if bounds.ndim != 2 or bounds.shape[1] != 2 or not len(bounds):
        raise ValueError(
            f"weights has shape {bounds.shape}: give pairs (low, high), such as ((-2, -0.5), (0.5, 2))."
        )
    ranges = [(float(low), float(high)) for low, high in bounds]
    for low, high in ranges:
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ValueError(f"weights has the range ({low}, {high}): give finite numbers, the lower one first.")
    return ranges
