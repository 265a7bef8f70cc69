"""Sparse distribution over rankings, the result of every operator."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.records import Shape, saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.k_best import RankingTree
from daguerreotype.operators.rankings import ranks_to_order

SHOWN = 5
ROUNDING = 1e-12


@saved
@dataclass(frozen=True, slots=True, eq=False)
class OrderDistribution:
    """A few rankings with positive probabilities that sum to one.

    Attributes
    ----------
    probs : array of shape (m,)
        Probability of each ranking.
    ranks : array of shape (m, d)
        ``ranks[s, i]`` is the position of node i, from 0, in ranking s.
    tree : RankingTree or None
        How the rankings follow from each other by adjacent swaps; known for top-k sparsemax.

    Examples
    --------
    >>> from daguerreotype.operators import top_k_sparsemax
    >>> top_k_sparsemax([0.0, 0.5, 2.0], k=10)
    OrderDistribution of 2 rankings of 3 nodes, entropy 0.562
      0.750  0 1 2
      0.250  1 0 2
    """

    probs: Annotated[FloatArray, Shape("m", finite=True, least=0.0, filled=True)]
    ranks: Annotated[IntArray, Shape("m", "d", order=True)]
    pullback: Callable[[FloatArray], FloatArray] = field(repr=False)
    tree: RankingTree | None = field(default=None, repr=False)

    @classmethod
    def of_order(cls, order: IntArray) -> "OrderDistribution":
        """All mass on one order, which keeps it whatever theta: its derivative is zero."""
        return cls(np.ones(1), np.argsort(order)[None, :], ConstantPullback(order.size))

    @property
    def n_nodes(self) -> int:
        """Number of nodes d."""
        return int(self.ranks.shape[1])

    @property
    def orders(self) -> IntArray:
        """Orders of shape (m, d): ``orders[s, p]`` is the node at position p of ranking s."""
        return ranks_to_order(self.ranks)

    @property
    def mode_index(self) -> int:
        """Row of the most probable ranking; the first of them if several are, but for rounding."""
        return int(np.argmax(self.probs >= self.probs.max() - ROUNDING))

    @property
    def mode(self) -> IntArray:
        """The order (d,) of the most probable ranking."""
        return ranks_to_order(self.ranks[self.mode_index])

    @property
    def mean_ranks(self) -> FloatArray:
        """Expected position (d,) of every node; plus one, a point of the permutahedron."""
        return self.probs @ self.ranks

    @property
    def entropy(self) -> float:
        """Entropy in nats: 0 for a single ranking, log m for m equally probable ones."""
        return float(-(self.probs @ np.log(self.probs)))

    def relabelled(self, place: IntArray) -> "OrderDistribution":
        """The distribution of nodes that were numbered otherwise: new node i is old node ``place[i]``."""
        inverse = np.argsort(place)
        tree = self.tree
        if tree is not None:
            swaps = np.where(tree.swaps >= 0, inverse[tree.swaps], -1)
            tree = tree._replace(ranks=tree.ranks[:, place], swaps=swaps)
        return OrderDistribution(self.probs, self.ranks[:, place], RelabelledPullback(self.pullback, place), tree)

    def vjp(self, grad_probs: npt.ArrayLike) -> FloatArray:
        """Gradient (d,) with respect to theta of a function whose gradient w.r.t. probs (m,) is given."""
        gradient = np.ascontiguousarray(grad_probs, dtype=np.float64)
        if gradient.shape != self.probs.shape:
            raise ValueError(
                f"grad_probs must have one entry per ranking, shape {self.probs.shape}, got {gradient.shape}."
            )
        return self.pullback(gradient)

    def edge_order_probabilities(self) -> FloatArray:
        """Matrix (d, d) of how probably node i precedes node j; zero on the diagonal."""
        precedes = np.zeros((self.n_nodes, self.n_nodes))
        for prob, ranks in zip(self.probs, self.ranks, strict=True):
            precedes += prob * (ranks[:, None] < ranks[None, :])
        return precedes

    def __len__(self) -> int:
        return int(self.probs.size)

    def __repr__(self) -> str:
        best = np.argsort(-self.probs.round(12), kind="stable")[:SHOWN]
        lines = [
            f"OrderDistribution of {len(self)} ranking{'s' if len(self) > 1 else ''} of "
            f"{self.n_nodes} nodes, entropy {abs(self.entropy):.3f}"
        ]
        for s in best:
            nodes = ranks_to_order(self.ranks[s])
            shown = " ".join(map(str, nodes[:20])) + (" ..." if nodes.size > 20 else "")
            lines.append(f"  {self.probs[s]:.3f}  {shown}")
        if len(self) > SHOWN:
            lines.append(f"  and {len(self) - SHOWN} more")
        return "\n".join(lines)


@saved
@dataclass(frozen=True, slots=True)
class RelabelledPullback:
    """The derivative of a relabelled distribution."""

    pullback: Callable[[FloatArray], FloatArray]
    place: Annotated[IntArray, Shape("d", order=True)]

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
        return self.pullback(grad_probs)[self.place]


@saved
@dataclass(frozen=True)
class ConstantPullback:
    """The derivative of probabilities that do not depend on theta."""

    n_nodes: int

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Zero."""
        return np.zeros(self.n_nodes)


Operator: TypeAlias = Callable[[FloatArray, float], OrderDistribution]  # of scores and a temperature
