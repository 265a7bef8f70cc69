"""The record of a posterior: probabilities of edges, pairs, ancestors and graphs, and how far to trust them."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from daguerreotype._lib.labels import ColumnPlaces, label, plural
from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.graphs.dag import is_open

if TYPE_CHECKING:
    import pandas as pd

MOST_GRAPHS = 1000  # of which a record keeps the weights
AGREED = 0.1  # that chains may differ by in the probability of an edge


class PairProbabilities(NamedTuple):
    """What is between two columns: an edge from the first to the second, one back, or none."""

    forward: float
    backward: float
    none: float

    @property
    def direction_open(self) -> bool:
        """Whether there is an edge, if any, whose reverse is about as likely."""
        return bool(is_open(np.array(self.forward), np.array(self.backward)))


@saved
@dataclass(frozen=True)
class Posterior:
    """How probable edges, directions, ancestors and whole graphs are, given the table and the model.

    Probabilities are those of the model that was fitted: its estimator, noise, scales and penalties. What they
    leave open, no data of this kind can tell; where the model is wrong, they may be wrong, too.

    Attributes
    ----------
    names : tuple
        What the columns are called, or their numbers.
    sampled : array of shape (d, d)
        Probability of every edge.
    edges : array of shape (chains, d, d)
        The same as each chain saw it.
    errors : array of shape (d, d)
        Standard error of the probability of every edge, by how much blocks of the chains differ.
    ancestors : array of shape (d, d)
        Probability that i is an ancestor of j.
    graphs : array of shape (g, d, d)
        Different graphs, the most probable first, 1000 at most: those that were met, or all that count if they are
        few. ``graphs[0][i, j]`` is whether i causes j.
    weights : array of shape (g,)
        Their probabilities.
    unseen : float
        About how probable the graphs are together that were not met, by how many were met but once.
    covered : bool
        Whether that is next to nothing: then graphs are weighed by their scores, and else by how often they were
        met.
    n_sweeps : int
        Sweeps of each chain, those at the start that do not count left out.
    n_sets : int
        Parent sets that graphs were made of.
    interrupted : bool
        Whether Ctrl-C ended sampling before its time.
    n_bagged : int
        Resamples that this is the average over; 0 if it is that of the table itself.
    """

    names: Annotated[tuple[Any, ...], Shape("d", labels=True)]
    named: bool
    sampled: Annotated[FloatArray, Shape("d", "d")] = field(repr=False)
    edges: Annotated[FloatArray, Shape("c", "d", "d")] = field(repr=False)
    errors: Annotated[FloatArray, Shape("d", "d")] = field(repr=False)
    ancestors: Annotated[FloatArray, Shape("d", "d")] = field(repr=False)
    graphs: Annotated[BoolArray, Shape("g", "d", "d")] = field(repr=False)
    weights: Annotated[FloatArray, Shape("g")] = field(repr=False)
    unseen: float = 0.0
    covered: bool = False
    n_sweeps: int = 0
    n_sets: int = 0
    interrupted: bool = False
    n_bagged: int = 0

    # ------------------------------------------------------------------ probabilities

    @cached_property
    def probabilities(self) -> FloatArray:
        """Matrix (d, d) of the probability of every edge."""
        # The two directions of an edge are told by turns of two columns, so that their sum may miss one a little.
        shares: FloatArray = self.sampled / np.maximum(self.sampled + self.sampled.T, 1.0)
        return shares

    @property
    def edge_probabilities(self) -> Any:
        """Probability (d, d) that i is a direct cause of j; a DataFrame if columns have names."""
        return self._labelled(self.probabilities)

    @property
    def ancestor_probabilities(self) -> Any:
        """Probability (d, d) that i is a cause of j, direct or not; a DataFrame if columns have names."""
        return self._labelled(self.ancestors)

    @property
    def order_probabilities(self) -> Any:
        """Probability (d, d) that i comes before j: that of being its ancestor, and half where neither is."""
        before = 0.5 * (1.0 + self.ancestors - self.ancestors.T)
        np.fill_diagonal(before, 0.0)
        return self._labelled(before)

    def _labelled(self, matrix: FloatArray) -> Any:
        return label(matrix, self.names if self.named else None)

    def pair(self, first: Any, second: Any) -> PairProbabilities:
        """What is between two columns, by name or number.

        >>> p = np.array([[0.0, 0.6], [0.3, 0.0]])
        >>> posterior = Posterior(("a", "b"), True, p, p[None], 0 * p, p, p[None] > 0.5, np.ones(1))
        >>> posterior.pair("b", "a")
        PairProbabilities(forward=0.3, backward=0.6, none=0.1)
        """
        places = ColumnPlaces(self.names)
        i, j = places.find(first), places.find(second)
        if i is None or j is None:
            column = first if i is None else second
            raise ValueError(f"{column!r} is no column of the table; its columns are {list(self.names)}.")
        forward, backward = float(self.probabilities[i, j]), float(self.probabilities[j, i])
        return PairProbabilities(forward, backward, round(max(1.0 - forward - backward, 0.0), 12))

    def pairs(self, least: float = 0.01) -> "pd.DataFrame":
        """All pairs that are connected with a probability of at least ``least``, the surest first.

        Each is written in its likelier direction: ``cause``, ``effect``, the probabilities ``forward``,
        ``backward`` and ``none``, and whether its direction is open.
        """
        import pandas as pd

        p = self.probabilities
        rows = []
        for i, j in zip(*np.triu_indices(len(p), 1), strict=True):
            if p[i, j] + p[j, i] < least:
                continue
            if p[j, i] > p[i, j]:
                i, j = j, i
            pair = self.pair(self.names[i], self.names[j])
            rows.append((self.names[i], self.names[j], *pair, pair.direction_open))
        columns = ["cause", "effect", "forward", "backward", "none", "open"]
        table = pd.DataFrame(rows, columns=columns)
        return table.sort_values(["none", "forward"], ascending=[True, False], ignore_index=True, kind="stable")

    # ------------------------------------------------------------------ how far to trust them

    @property
    def n_chains(self) -> int:
        """How many chains there were."""
        return len(self.edges)

    @property
    def agreement(self) -> float:
        """The largest difference between chains in the probability of an edge."""
        return float(np.ptp(self.edges, axis=0).max(initial=0.0))

    @property
    def effective_sample_size(self) -> float:
        """Independent graphs that would tell the least certain probability as exactly as the chains do."""
        p = self.probabilities
        open_ = (p > 0.05) & (p < 0.95) & (self.errors > 0.0)
        most = float(self.n_sweeps * self.n_chains)
        if not open_.any():
            return most
        sizes = p[open_] * (1.0 - p[open_]) / self.errors[open_] ** 2
        return float(min(np.min(sizes), most))

    @property
    def settled(self) -> bool:
        """Whether nearly all graphs were met, or chains agree to within 0.1 in the probability of every edge."""
        return self.covered or self.agreement <= AGREED

    @property
    def caution(self) -> str:
        """What a reader must know of probabilities that have not settled; empty where they have."""
        if self.settled:
            return ""
        whose = "halves of the resamples" if self.n_bagged else f"{self.n_chains} chains"
        return (
            f"Probabilities have not settled: {whose} differ by up to {self.agreement:.2f}, effective sample size "
            f"{self.effective_sample_size:.0f}."
        )

    def __str__(self) -> str:
        connected = self.pairs(0.5)
        n_open = int(connected["open"].sum())
        parts = [f"{len(connected)} pair{plural(len(connected))} probably connected, direction open in {n_open}"]
        if self.n_bagged:
            parts.append(f"average over {self.n_bagged} resamples")
        else:
            parts.append(f"{len(self.weights)} graphs in {self.n_chains} x {self.n_sweeps} sweeps")
            parts.append(f"effective sample size {self.effective_sample_size:.0f}")
            parts.append("settled" if self.settled else f"not settled: chains differ by {self.agreement:.2f}")
        if self.interrupted:
            parts.append("interrupted")
        return "; ".join(parts)

    def taken(self, columns: IntArray, names: tuple[Any, ...], named: bool) -> "Posterior":
        """The same of columns that are numbered otherwise: column i of it is ``columns[i]`` of this."""
        both = np.ix_(columns, columns)
        return replace(
            self,
            names=names,
            named=named,
            sampled=self.sampled[both],
            edges=self.edges[:, columns][:, :, columns],
            errors=self.errors[both],
            ancestors=self.ancestors[both],
            graphs=self.graphs[:, columns][:, :, columns],
        )
