"""Preselection of parents for CAM: component-wise boosting with smoothing splines."""

import numpy as np
from scipy.optimize import brentq

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.baselines.additive import Curves

# The defaults of mboost, by which the authors of CAM select, and their own share of steps.
STEPS = 100
RATE = 0.1
DOF = 3.0  # of every step's curve, beside the constant
LEAST = 0.02  # share of the steps that a neighbour must take


def select_neighbours(curves: Curves, most: int) -> BoolArray:
    r"""For every node the ``most`` columns that boosting turns to most often, as [i, j]: i may be a parent of j.

    Boosting (Bühlmann and Yu 2003) starts from residuals  r = x_j  and repeats, for every column i, the smoothing
    spline of a fixed number of degrees of freedom

        f_i = argmin_f  |r - f(x_i)|^2 / n + lambda_i int f''(x)^2 dx;

    the column whose f_i leaves the least of r is taken, and  r <- r - 0.1 f_i.  After 100 steps the columns that
    took at least 2 % of them are neighbours of j, those taken most often first; ties by what they explained.
    """
    d, stride = curves.roughness.shape
    keep = _shrinkage(curves)  # (d, stride)
    drop = keep * (2.0 - keep)
    chosen = np.zeros((d, d), dtype=np.bool_)
    for node in range(d):
        shared = curves.moments[node * stride].reshape(d, stride).copy()  # of every column with the residuals
        taken, explained = np.zeros(d), np.zeros(d)
        for _ in range(STEPS):
            drops = np.einsum("iq,iq,iq->i", drop, shared, shared)
            drops[node] = -1.0
            best = int(drops.argmax())
            taken[best] += 1
            explained[best] += drops[best]
            beta = RATE * keep[best] * shared[best]
            shared -= (beta @ curves.moments[best * stride : (best + 1) * stride]).reshape(d, stride)
        ranked = np.lexsort((-explained, -taken))[:most]
        chosen[ranked[taken[ranked] >= LEAST * STEPS], node] = True
    return chosen


def _shrinkage(curves: Curves) -> FloatArray:
    """What the smoothing splines keep of every column: 1 / (1 + lambda_i roughness), shape (d, stride).

    Orthonormal columns whose roughness is diagonal make this exact. Degrees of freedom are those of mboost, the
    trace of 2 S - S'S for the smoother S.
    """
    keep = np.zeros(curves.roughness.shape)
    for i, width in enumerate(curves.widths.tolist()):
        roughness = curves.roughness[i, :width]
        penalty = 0.0 if width <= DOF else np.exp(brentq(_surplus, -50.0, 50.0, args=(roughness,)))
        keep[i, :width] = 1.0 / (1.0 + penalty * roughness)
    return keep


def _surplus(log_penalty: float, roughness: FloatArray) -> float:
    """Degrees of freedom of a smoothing spline beyond those of every step."""
    keep = 1.0 / (1.0 + np.exp(log_penalty) * roughness)
    return float(np.sum(keep * (2.0 - keep))) - DOF
