"""Graph as it is drawn: weights, norms, probabilities and an order, checked, beside a known graph."""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from daguerreotype._lib.labels import printable, shown
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.graphs import Dag, GraphLike, as_dag
from daguerreotype.graphs.dag import is_learner, is_open, match_names, topological_order

Verdict: TypeAlias = Literal["correct", "missing", "wrong", "reversed"]
Direction: TypeAlias = Literal["positive", "negative", "nonlinear", "without sign"]
NONLINEAR = 0.5  # share of an effect's norm below which its slope says little
LONGEST = 26  # characters of a label; the middle of longer ones is left out


@dataclass(frozen=True)
class GraphView:
    """A graph that can be drawn; nodes are positions 0, ..., d - 1.

    Attributes
    ----------
    names : tuple of str
        What nodes are called.
    adjacency : array of shape (d, d)
        The graph.
    weights, norms : array of shape (d, d)
        Slope and size of the effect of every edge; ones where nothing is known.
    probabilities : array of shape (d, d) or None
        Of all pairs, whether they have an edge or not; None where nothing is known.
    order : array of shape (d,)
        Nodes, causes first; every edge points forward in it.
    truth : array of shape (d, d) or None
        The known graph, on the same nodes.
    comparable : bool
        Whether norms and weights share a unit, so that a line's are equal but for the sign.
    signless : array of shape (d, d) or None
        Edges whose weight is a norm, for want of a direction; None where there are none.
    """

    names: tuple[str, ...]
    adjacency: BoolArray
    weights: FloatArray
    norms: FloatArray
    probabilities: FloatArray | None
    order: IntArray
    truth: BoolArray | None = None
    comparable: bool = True
    signless: BoolArray | None = None

    @property
    def ranks(self) -> IntArray:
        """Position of every node in the order, shape (d,)."""
        return np.argsort(self.order)

    @property
    def missing(self) -> BoolArray:
        """Edges of the known graph that the graph has in neither direction, shape (d, d)."""
        if self.truth is None:
            return np.zeros_like(self.adjacency)
        return self.truth & ~self.adjacency & ~self.adjacency.T

    @property
    def open_edges(self) -> BoolArray:
        """Edges of the graph whose reverse is about as probable, shape (d, d)."""
        if self.probabilities is None:
            return np.zeros_like(self.adjacency)
        return self.adjacency & is_open(self.probabilities, self.probabilities.T)

    def probability(self, cause: int, effect: int) -> float | None:
        """Probability of an edge, in the graph or not; None where nothing is known."""
        return None if self.probabilities is None else float(self.probabilities[cause, effect])

    def direction(self, cause: int, effect: int) -> Direction:
        """Which way an effect goes; "nonlinear" where its slope is small beside its norm."""
        if self.signless is not None and self.signless[cause, effect]:
            return "without sign"
        weight, norm = self.weights[cause, effect], self.norms[cause, effect]
        if self.comparable and abs(weight) < NONLINEAR * norm:
            return "nonlinear"
        return "negative" if weight < 0 else "positive"

    def verdict(self, cause: int, effect: int) -> Verdict | None:
        """What the known graph says of an edge of either graph; None without a known graph."""
        if self.truth is None:
            return None
        if not self.adjacency[cause, effect]:
            return "missing" if self.missing[cause, effect] else None
        if self.truth[cause, effect]:
            return "correct"
        return "reversed" if self.truth[effect, cause] else "wrong"


def view_graph(
    adjacency: GraphLike,
    *,
    truth: GraphLike | None = None,
    weights: npt.ArrayLike | pd.DataFrame | None = None,
    probabilities: npt.ArrayLike | pd.DataFrame | None = None,
) -> GraphView:
    """Check all parts of a picture against each other; matrices with names are matched by name."""
    dag = as_dag(adjacency)
    matched = match_matrix(weights, dag, "weights")
    judged = probabilities is not None
    return GraphView(
        names=tuple(dag.label(node) for node in range(dag.n_nodes)),
        adjacency=dag.adjacency,
        weights=matched,
        norms=np.abs(matched),
        probabilities=np.clip(match_matrix(probabilities, dag, "probabilities"), 0.0, 1.0) if judged else None,
        order=topological_order(dag),
        truth=None if truth is None else _truth(truth, dag),
    )


def view_fit(model: Any, truth: GraphLike | None = None) -> GraphView:
    """The graph that a fitted learner found."""
    if not is_learner(model):
        raise TypeError(f"model must be a fitted learner, got {shown(model)}.")
    view = view_graph(
        model.adjacency_matrix_, truth=truth, weights=model.weights_, probabilities=model.edge_probabilities_
    )
    return replace(
        view,
        norms=model._result.norms,
        order=model._result.order,
        comparable=bool(model.standardize),
        signless=find_signless(model),
    )


def find_signless(model: Any) -> BoolArray:
    """Pairs (d, d) whose effect would have no direction: of levels in no order, or on several levels at once."""
    causes = np.array([kind.nominal for kind in model._result.kinds])
    effects = np.array(
        [
            noise == "categorical" and len(kind.levels) > 2
            for kind, noise in zip(model._result.kinds, model._result.noise, strict=True)
        ]
    )
    signless: BoolArray = causes[:, None] | effects
    return signless


def shorten(name: str, longest: int = LONGEST) -> str:
    """One line of a name, with … for the middle of a long one."""
    line = printable(" ".join(name.split())) or "(no name)"
    if len(line) <= longest:
        return line
    tail = (longest - 1) // 2
    return f"{line[: longest - 1 - tail]}…{line[-tail:]}"


def match_matrix(values: npt.ArrayLike | pd.DataFrame | None, dag: Dag, what: str) -> FloatArray:
    """Finite numbers (d, d) in the order of the nodes; ones if there are none."""
    d = dag.n_nodes
    if values is None:
        return np.ones((d, d))
    if isinstance(values, pd.DataFrame) and dag.names is not None:
        rows = match_names(dag.names, tuple(values.index), "the graph", what)
        columns = match_names(dag.names, tuple(values.columns), "the graph", what)
        values = values.to_numpy()[np.ix_(rows, columns)]
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != (d, d):
        raise ValueError(f"{what} have shape {matrix.shape}; expected {(d, d)}, one entry per pair of nodes.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{what} have missing or infinite entries; expected numbers. Set those of no edge to 0.")
    return matrix


def _truth(truth: GraphLike, dag: Dag) -> BoolArray:
    """The known graph on the nodes of ``dag``, by name where both have names."""
    true_dag = as_dag(truth, "the true graph")
    if true_dag.n_nodes != dag.n_nodes:
        raise ValueError(
            f"the true graph has {true_dag.n_nodes} nodes and the graph {dag.n_nodes}; expected the same nodes."
        )
    if true_dag.names is None or dag.names is None:
        return true_dag.adjacency
    rows = match_names(dag.names, true_dag.names, "the graph", "the true graph")
    return true_dag.adjacency[np.ix_(rows, rows)]
