"""Levels around a circle, such as days of the week: as a cause a cosine and a sine."""

from dataclasses import replace

import numpy as np

from daguerreotype.data.kinds import KINDS
from daguerreotype.edges.additive.basis import BASES, LevelBasis
from daguerreotype.noise import NOISE


def circle_basis(values, kind, n_knots):
    turn = 2 * np.pi * np.arange(len(kind.levels)) / len(kind.levels)
    by_level = np.column_stack([np.cos(turn), np.sin(turn)])
    rows = by_level[values.astype(int)]
    scale = np.linalg.cholesky(np.cov(rows.T, bias=True))
    return LevelBasis(np.linalg.solve(scale, (by_level - rows.mean(axis=0)).T).T, 2, 0.0)


KINDS["circle"] = "categorical"
BASES["circle"] = circle_basis
NOISE["categorical"] = replace(NOISE["categorical"], kinds=(*NOISE["categorical"].kinds, "circle"))
