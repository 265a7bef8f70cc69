r"""Saturation of SparseMAP: scores that are far apart decouple, so that wide gaps can be closed.

Let :math:`\mu` be the projection of :math:`\eta = \theta / \tau` on the hull of the rankings that obey a partial
order (of all rankings, where there is none). Let L be a set of nodes that may all come first, U the others, and

.. math:: \min_U \eta - \max_L \eta > d - 1 .

Then all rankings that :math:`\mu` averages put L before U. Proof: they maximise
:math:`\langle \eta - \mu, r \rangle` over the rankings that obey. Suppose that in one of them some of U stands
before some of L: then somewhere u of U stands right before l of L. These two may change places, because a node
that must stand before l is in L. That gains :math:`(\eta_u - \eta_l) - (\mu_u - \mu_l)`, which is positive, since
entries of :math:`\mu` differ by at most d - 1: a contradiction.

So the projection is that of L and that of U behind it. Neither changes if all scores of U move by the same amount:
any other gap above d - 1 has the same solution, the same rankings to choose from, and the same derivative. Scores
that are sorted span no more than d squared after that, whatever they were.
"""

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import FloatArray

SMALL = 1e3  # scores over tau up to which nothing is done: they have digits to spare
HUGE = 1e300  # scores whose differences may overflow


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
    if largest <= SMALL * tau:
        for i in range(d):
            eta[i] = scores[i] / tau
        return eta
    shrink = 0.25 if largest > HUGE else 1.0
    unit = tau * shrink
    lowest = np.empty(d)  # of the scores from i on
    behind = np.inf
    for i in range(d - 1, -1, -1):
        behind = min(behind, scores[i] * shrink)
        lowest[i] = behind
    base, offset, highest = lowest[0], 0.0, lowest[0]  # of the group between two gaps, and the gaps before it
    for i in range(d):
        if i > 0 and (lowest[i] - highest) / unit > d:
            offset += (highest - base) / unit + d
            base = lowest[i]
        highest = max(highest, scores[i] * shrink)
        eta[i] = offset + (scores[i] * shrink - base) / unit
    return eta
