"""Top-k sparsemax over rankings, and its derivative."""

from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.checks import check_temperature
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.records import saved
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.distribution import OrderDistribution
from daguerreotype.operators.k_best import RankingTree, k_best_tree
from daguerreotype.operators.precedence import PrecedenceLike


def top_k_sparsemax(
    theta: FloatArray,
    k: int = 100,
    *,
    tau: float = 1.0,
    precedence: PrecedenceLike | None = None,
) -> OrderDistribution:
    r"""Sparse distribution over the ``k`` best rankings of ``theta``.

    Solves

    .. math:: \max_{p \in \triangle} \; \sum_s p_s \langle \theta, r_s + 1 \rangle - \frac{\tau}{2} \|p\|^2

    over the k rankings :math:`r_s` of largest score (eq. 8). A node with a small score comes first: it is a
    likelier cause.

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores.
    k : int
        How many rankings may carry mass. 10 is fast, 100 explores more; cost grows as k * d.
    tau : float
        Temperature. Towards 0 all mass moves to the sorted order. A ranking carries mass only if its score is
        less than ``tau`` below the best.
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking; ``theta`` must not say otherwise.

    Examples
    --------
    >>> from daguerreotype.operators import top_k_sparsemax
    >>> distribution = top_k_sparsemax([0.0, 0.5, 2.0], k=10)
    >>> distribution.probs
    array([0.75, 0.25])
    >>> distribution.vjp([1.0, 0.0])  # pushing the two scores apart makes the first ranking more probable
    array([-0.5,  0.5,  0. ])
    """
    tau = check_temperature(tau)
    # The best ranking has score 0 after a shift, so the simplex threshold is at least -tau: no ranking that
    # loses tau or more can carry mass, and the search stops there.
    tree = k_best_tree(theta, k, max_loss=tau, precedence=precedence)
    probs = project_simplex(-tree.losses / tau)
    m = int(np.count_nonzero(probs))
    if m < probs.size:
        probs = probs[:m]
        tree = RankingTree(tree.ranks[:m], tree.losses[:m], tree.best_score, tree.parents[:m], tree.swaps[:m])
    return OrderDistribution(probs, tree.ranks, SparsemaxPullback(tree, tau), tree)


@saved
@dataclass(frozen=True, slots=True)
class SparsemaxPullback:
    """Derivative of the probabilities: sums of swaps over subtrees, in O(m + d)."""

    tree: RankingTree
    tau: float

    def __call__(self, grad_probs: FloatArray) -> FloatArray:
        """Gradient (d,) w.r.t. theta from that w.r.t. the probabilities (m,)."""
        return _sparsemax_vjp(grad_probs, self.tree.parents, self.tree.swaps, self.tree.ranks.shape[1], self.tau)


@kernel
def project_simplex(scores: FloatArray) -> FloatArray:
    r"""The nearest point of the simplex, :math:`\arg\min_p \|p - z\|^2`, of scores that never increase."""
    total = 0.0
    size = 0
    for j in range(scores.size):
        if 1.0 + (j + 1) * scores[j] <= total + scores[j]:
            break
        total += scores[j]
        size = j + 1
    threshold = (total - 1.0) / size
    probs = np.zeros(scores.size)
    for j in range(size):
        probs[j] = max(scores[j] - threshold, 0.0)
    return probs


@kernel
def _sparsemax_vjp(grad_probs: FloatArray, parents: IntArray, swaps: IntArray, d: int, tau: float) -> FloatArray:
    """Sum over rankings of (g_s - mean g) / tau * r_s, in O(m + d).

    A ranking is its parent plus one at u and minus one at v. So each swap collects the coefficients of its
    whole subtree; those of all rankings together sum to zero, and the root drops out.
    """
    m = grad_probs.size
    mean = 0.0
    for s in range(m):
        mean += grad_probs[s] / m
    subtree = np.empty(m)
    for s in range(m):
        subtree[s] = (grad_probs[s] - mean) / tau
    gradient = np.zeros(d)
    for s in range(m - 1, 0, -1):
        subtree[parents[s]] += subtree[s]
        gradient[swaps[s, 0]] += subtree[s]
        gradient[swaps[s, 1]] -= subtree[s]
    return gradient
