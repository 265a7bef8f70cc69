r"""Euclidean projection on the permutahedron by isotonic regression, exact in O(d log d).

Sorted by score, the projection of theta is :math:`\theta - v` with v the nondecreasing vector nearest to
:math:`\theta - \rho`, where :math:`\rho = (1, ..., d)` (Blondel et al. 2020). It is constant on blocks:
within a block the projection is theta shifted to the mean rank of the block, and all rankings that it
averages keep the blocks apart. So the blocks name the face of the permutahedron that holds the projection.

Scores that are far apart decouple, so that wide gaps can be closed. Let :math:`\mu` be the projection of
:math:`\eta = \theta / \tau` on the hull of the rankings that obey a partial order (of all rankings, where there is
none). Let L be a set of nodes that may all come first, U the others, and
:math:`\min_U \eta - \max_L \eta > d - 1`. Then all rankings that :math:`\mu` averages put L before U. Proof: they
maximise :math:`\langle \eta - \mu, r \rangle` over the rankings that obey. Suppose that in one of them some of U
stands before some of L: then somewhere u of U stands right before l of L. These two may change places, because a
node that must stand before l is in L. That gains :math:`(\eta_u - \eta_l) - (\mu_u - \mu_l)`, which is positive,
since entries of :math:`\mu` differ by at most d - 1: a contradiction. So the projection is that of L and that of U
behind it. Neither changes if all scores of U move by the same amount: any other gap above d - 1 has the same
solution, the same rankings to choose from, and the same derivative. Scores that are sorted span no more than d
squared after that, whatever they were.
"""

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.rankings import check_scores, sort_nodes

MODERATE = 1e3  # scores over tau up to which gaps stay as they are: they have digits to spare


def project_permutahedron(theta: npt.ArrayLike) -> FloatArray:
    r"""The nearest point to ``theta`` of the permutahedron, the convex hull of all rankings plus one.

    Solves :math:`\min_\mu \frac12 \|\mu - \theta\|^2` over :math:`\mathrm{conv}\{r + 1\}`; with
    ``theta / tau`` it is the mean ranking of :func:`sparsemap` (eq. 6).

    Parameters
    ----------
    theta : array of shape (d,)
        Node scores.

    Returns
    -------
    array of shape (d,)
        Entries between 1 and d that sum to d (d + 1) / 2 and are ordered like theta.

    Examples
    --------
    >>> from daguerreotype.operators import project_permutahedron
    >>> project_permutahedron([0.0, 0.0, 9.0])
    array([1.5, 1.5, 3. ])
    """
    scores = check_scores(theta)
    nodes = sort_nodes(scores)
    ascending = close_gaps(scores[nodes], 1.0)
    projection = np.empty(scores.size)
    projection[nodes] = block_ranks(ascending, find_blocks(ascending))
    return projection


def project_permutahedron_vjp(theta: FloatArray, grad_projection: FloatArray) -> FloatArray:
    """Gradient w.r.t. theta (d,): within each block the incoming gradient less its mean."""
    nodes = sort_nodes(theta)
    gradient = np.empty(theta.size)
    gradient[nodes] = center_blocks(grad_projection[nodes], find_blocks(close_gaps(theta[nodes], 1.0)))
    return gradient


@kernel
def find_blocks(ascending: FloatArray) -> IntArray:
    """Starts of the blocks on which isotonic regression of (scores - ranks) is constant, then d."""
    d = ascending.size
    starts = np.empty(d + 1, dtype=np.int64)
    means = np.empty(d)
    n_blocks = 0
    for i in range(d):
        mean = ascending[i] - (i + 1)
        start = i
        # Pool adjacent violators: a block whose mean is not above its predecessor's joins it.
        while n_blocks > 0 and means[n_blocks - 1] >= mean:
            n_blocks -= 1
            size, before = i + 1 - start, start - starts[n_blocks]
            mean = (mean * size + means[n_blocks] * before) / (size + before)
            start = starts[n_blocks]
        starts[n_blocks] = start
        means[n_blocks] = mean
        n_blocks += 1
    starts[n_blocks] = d
    return starts[: n_blocks + 1]


@kernel
def block_ranks(ascending: FloatArray, starts: IntArray) -> FloatArray:
    """Scores of each block, shifted to the block's mean rank (from 1)."""
    projection = np.empty(ascending.size)
    for block in range(starts.size - 1):
        first, end = starts[block], starts[block + 1]
        # Relative to the first score: exact where scores are large and close to each other.
        shift = 0.0
        for i in range(first, end):
            shift += ascending[i] - ascending[first]
        shift /= end - first
        for i in range(first, end):
            projection[i] = (ascending[i] - ascending[first] - shift) + 0.5 * (first + end + 1)
    return projection


@kernel
def center_blocks(values: FloatArray, starts: IntArray) -> FloatArray:
    """Values less the mean of their block: the Jacobian of the projection, which is symmetric."""
    centred = np.empty(values.size)
    for block in range(starts.size - 1):
        first, end = starts[block], starts[block + 1]
        mean = 0.0
        for i in range(first, end):
            mean += values[i]
        mean /= end - first
        for i in range(first, end):
            centred[i] = values[i] - mean
    return centred


@kernel
def close_gaps(scores: FloatArray, tau: float) -> FloatArray:
    """Scores over tau, of nodes in an order that obeys, with gaps wider than d closed to d.

    A gap is between all scores on its left and all on its right: scores need not be sorted. Differences are taken
    before they are divided, so that close scores keep their digits however large they are.
    """
    d = scores.size
    largest = 0.0
    for i in range(d):
        largest = max(largest, abs(scores[i]))
    eta = np.empty(d)
    if largest <= MODERATE * tau:
        for i in range(d):
            eta[i] = scores[i] / tau
        return eta
    lowest = np.empty(d)  # of the scores from i on
    behind = np.inf
    for i in range(d - 1, -1, -1):
        behind = min(behind, scores[i])
        lowest[i] = behind
    base, offset, highest = lowest[0], 0.0, lowest[0]  # of the group between two gaps, and the gaps before it
    for i in range(d):
        if i > 0 and (lowest[i] - highest) / tau > d:
            offset += (highest - base) / tau + d
            base = lowest[i]
        highest = max(highest, scores[i])
        eta[i] = offset + (scores[i] - base) / tau
    return eta
