"""SparseMAP on the permutahedron, by the active set or by peeling."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from daguerreotype._lib.checks import check_choice, check_positive_int, check_temperature
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray, RandomState
from daguerreotype.operators.active_set import SupportPullback, decompose, support_factor
from daguerreotype.operators.distribution import OrderDistribution
from daguerreotype.operators.linear_extension import unrelated_runs
from daguerreotype.operators.peel import peel
from daguerreotype.operators.precedence import Precedence, PrecedenceLike, as_precedence
from daguerreotype.operators.projection import block_ranks, find_blocks
from daguerreotype.operators.rankings import check_scores, sort_nodes
from daguerreotype.operators.saturation import close_gaps
from daguerreotype.operators.wide_scores import decompose_wide, is_wide


def sparsemap(
    theta: FloatArray,
    max_iter: int = 100,
    *,
    tau: float = 1.0,
    method: Literal["active-set", "peel"] = "active-set",
    warm_start: OrderDistribution | None = None,
    precedence: PrecedenceLike | None = None,
    random_state: RandomState = None,
) -> OrderDistribution:
    r"""Sparse distribution over rankings whose mean ranking is the projection on the permutahedron.

    Solves (eq. 7)

    .. math:: \max_{p \in \triangle} \; \langle \theta, \mathbb{E}_p[r + 1] \rangle
              - \frac{\tau}{2} \| \mathbb{E}_p[r + 1] \|^2 .

    The mean is unique, the distribution is not: both methods choose affinely independent rankings, at most d.

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores. A node with a small score comes early.
    max_iter : int
        Most iterations of the active set, each of which adds at most one ranking; fewer than the exact
        solution needs give the best combination of fewer rankings. ``method="peel"`` is exact and ignores it.
    tau : float
        Temperature. Towards 0 all mass moves to the sorted order.
    method : {"active-set", "peel"}
        "active-set" is the paper's, and the sparser. "peel" is a closed form and the fastest: the sorted
        order carries at least half of the mass, and each other ranking reverses groups of neighbours in it.
    warm_start : OrderDistribution, optional
        Begin the active set with its rankings and their weights, as far as they can carry mass at ``theta``. The
        mean is the same, the rankings are not: they are mostly those of ``warm_start``, and mostly more than from
        nothing; the sorted order need not be among them. Meant for training, where rankings that were met before
        need no new local fits.
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking: the mean is the projection on the hull of the rankings that
        obey. Exact where the partial order is nothing but tiers of all nodes. In general its oracle is NP-hard:
        "active-set" then adds rankings that local search finds, and "peel" only ranks within runs of neighbours
        that are in no relation, apart where their scores are. Scores may break the order by any amount. Where
        that is more than some 2000 times tau, "active-set" computes in whole numbers of any length: just as exact,
        but slower by far, seconds for 100 nodes. ``Precedence.project`` makes scores obey.
    random_state : int or numpy Generator, optional
        Break ties at random. Without it ties go to the smaller node index.

    Examples
    --------
    >>> from daguerreotype.operators import sparsemap
    >>> sparsemap([0.0, 0.0, 9.0])
    OrderDistribution of 2 rankings of 3 nodes, entropy 0.693
      0.500  0 1 2
      0.500  1 0 2
    """
    theta = check_scores(theta)
    max_iter = check_positive_int(max_iter, "max_iter")
    tau = check_temperature(tau)
    check_choice(method, "method", ("active-set", "peel"))
    if precedence is None:
        nodes, before = sort_nodes(theta, random_state), None
        eta = close_gaps(theta[nodes], tau)
        starts = find_blocks(eta)
    else:
        order = as_precedence(precedence, theta.size)
        nodes, eta, starts, before = _obeying(theta, tau, order, method == "peel", random_state)
    if method == "peel":
        probs, ranks, pullback = peel(eta, starts, nodes, tau)
        return OrderDistribution(probs, ranks, pullback)

    initial = _initial_rankings(warm_start, nodes, starts, before)
    if before is not None and is_wide(eta):
        m, probs, sorted_ranks, factor = decompose_wide(theta[nodes], tau, max_iter, before, *initial[:2])
    else:
        target = eta - eta.mean() if before is not None else block_ranks(eta, starts) - 0.5 * (theta.size + 1)
        m, probs, sorted_ranks, factor = decompose(target, starts, max_iter, before, *initial)
    probs = probs[:m]
    ranks = np.empty((m, theta.size), dtype=np.int64)
    ranks[:, nodes] = sorted_ranks[:m]
    keep = probs > 0.0
    if not keep.all():
        probs, ranks = probs[keep], ranks[keep]
        factor = support_factor(ranks)
    return OrderDistribution(probs, ranks, SupportPullback(ranks, factor, tau))


def _obeying(
    theta: FloatArray, tau: float, order: Precedence, peeled: bool, random_state: RandomState
) -> tuple[IntArray, FloatArray, IntArray, BoolArray | None]:
    """Nodes in an order that obeys, their scores over tau, blocks, and the partial order where blocks are not all.

    Under tiers alone, and for peeling, nodes come in groups, and all rankings that keep the groups apart obey. The
    hull of those is the product of the groups' own, so that blocks are found in each alone.
    """
    if order.levels is not None:
        nodes = sort_nodes(theta, random_state)
        nodes = nodes[np.argsort(order.levels[nodes], kind="stable")]
        bounds = np.append(np.unique(order.levels), theta.size)  # a level is the number of nodes before it
        scores = theta[nodes]
    else:
        projected = order.project(theta)
        nodes = order.sort(projected, random_state)
        before = np.ascontiguousarray(order.before[np.ix_(nodes, nodes)])
        if not peeled:
            return nodes, close_gaps(theta[nodes], tau), np.arange(theta.size + 1), before
        scores = projected[nodes]
        bounds = unrelated_runs(scores, before)
    parts = [close_gaps(scores[first:end], tau) for first, end in pairwise(bounds)]
    blocks = [find_blocks(part)[:-1] + first for part, first in zip(parts, bounds[:-1], strict=True)]
    return nodes, np.concatenate(parts), np.append(np.concatenate(blocks), theta.size), None


def _initial_rankings(
    warm_start: OrderDistribution | None, nodes: IntArray, starts: IntArray, before: BoolArray | None
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rankings to begin with, in sorted coordinates, their shares, and their Cholesky factor where it is known.

    Rankings that do not keep the blocks apart, or do not obey, get no share.
    """
    d = nodes.size
    if warm_start is None:
        return np.empty((0, d), dtype=np.int64), np.empty(0), np.empty((0, 0))
    if not isinstance(warm_start, OrderDistribution):
        raise TypeError(f"warm_start is a {type(warm_start).__name__}: expected an OrderDistribution or None.")
    if warm_start.n_nodes != d:
        raise ValueError(f"warm_start ranks {warm_start.n_nodes} nodes, but theta has {d}.")
    ranks = np.ascontiguousarray(warm_start.ranks[:, nodes])  # (m, d)
    if before is not None:
        usable = np.array([not (before & (row[:, None] > row)).any() for row in ranks])
    else:
        block = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        usable = (block[ranks] == block).all(axis=1)
    pullback = warm_start.pullback
    # Inner products of rankings do not depend on how nodes are numbered: the factor is still theirs.
    factor = pullback.factor if isinstance(pullback, SupportPullback) else np.empty((0, 0))
    return ranks, np.where(usable, warm_start.probs, 0.0), factor


@dataclass
class SparseMap:
    """SparseMAP by active set with a fixed number of iterations, or by its closed form."""

    max_iter: int
    precedence: Precedence | None = None
    method: Literal["active-set", "peel"] = "active-set"

    def __call__(self, theta: FloatArray, tau: float) -> OrderDistribution:
        """Distribution whose mean ranking is the projection, on the hull of those that obey."""
        return sparsemap(theta, self.max_iter, tau=tau, method=self.method, precedence=self.precedence)


@dataclass
class WarmSparseMap(SparseMap):
    """SparseMAP by active set that begins each training step with the rankings of the one before."""

    def go_on(self, theta: FloatArray, tau: float, last: OrderDistribution | None) -> OrderDistribution:
        """Distribution of the same mean as that of a call, over rankings of ``last`` as far as they will do."""
        return sparsemap(theta, self.max_iter, tau=tau, warm_start=last, precedence=self.precedence)


def make_peeling(k: int, precedence: Precedence | None = None) -> SparseMap:
    """SparseMAP by its closed form."""
    return SparseMap(k, precedence, "peel")
