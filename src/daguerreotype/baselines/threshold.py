"""Thresholding of weights to a DAG: small ones are dropped, then the smallest that close cycles."""

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.baselines.base import Learned
from daguerreotype.graphs import find_cycle


def threshold_to_dag(weights: FloatArray, threshold: float) -> Learned:
    """Keep weights of absolute value at least ``threshold``, then drop the smallest until no cycle is left.

    The repair that the paper applies to NOTEARS and GOLEM (section 5): with |w_1| <= |w_2| <= ... the weights
    that are kept, drops w_1, ..., w_m for the smallest m that leaves a DAG.
    """
    kept = np.where(np.abs(weights) >= threshold, weights, 0.0)
    np.fill_diagonal(kept, 0.0)
    rising = np.flatnonzero(kept)  # of the flattened matrix
    rising = rising[np.argsort(np.abs(kept.flat[rising]), kind="stable")]

    def without(count: int) -> BoolArray:
        edges: BoolArray = kept != 0
        edges.flat[rising[:count]] = False
        return edges

    # Dropping more edges never closes a cycle, so bisection finds the fewest.
    fewest, enough = 0, rising.size
    while fewest < enough:
        middle = (fewest + enough) // 2
        if find_cycle(without(middle)) is None:
            enough = middle
        else:
            fewest = middle + 1
    edges = without(fewest)
    return Learned(edges.astype(np.int64), np.where(edges, kept, 0.0))
