"""Signs that columns are on a wrong scale, by which it is decided whether others are worth a try.

On the right scale noise is added to what parents contribute, and does not depend on it. On a wrong one residuals
are wider where fitted values are large, or small, or far from the middle; or a few rows outweigh all others, so
that edges are missed.
"""

import numpy as np

from daguerreotype._lib.typing import FloatArray
from daguerreotype.training.train import TrainingResult

CHANCE = 1e-3  # of one false sign in a table
LEAST_SHARE = 0.005  # of the variance of absolute residuals, below which nothing can be gained
SKEWED = 3.0  # skewness; that of an exponential column is 2


def asks_for_another_scale(training: TrainingResult) -> bool:
    """Whether any continuous column shows a sign; also where residuals cannot be had."""
    residuals, table = training.residuals(), training.table
    if residuals is None or table is None:
        return True
    some = np.flatnonzero(~table.discrete)
    skewness = np.mean(table.values[:, some] ** 3, axis=0) / np.mean(table.values[:, some] ** 2, axis=0) ** 1.5
    if np.any(np.abs(skewness) > SKEWED):
        return True
    return any(
        _spread_depends(_fitted(training, node, residuals[node]), residuals[node], some.size)
        for node in some.tolist()
        if training.fits[node].parents.size
    )


def _fitted(training: TrainingResult, node: int, residuals: FloatArray) -> FloatArray:
    """Fitted values (m,) of a node in the rows of its residuals, but for a constant."""
    table = training.table
    assert table is not None
    column = table.values[:, node]
    if table.intervened is not None:
        column = column[~table.intervened[:, node]]
    dither = 0.0 if table.dither_by_node is None else table.dither_by_node[node][: residuals.size]
    fitted: FloatArray = column[: residuals.size] + dither - residuals
    return fitted


def _spread_depends(fitted: FloatArray, residuals: FloatArray, n_columns: int) -> bool:
    """Whether fitted values and their distance from the middle explain more of absolute residuals than chance.

    Of m rows times that share is distributed as chi squared with two degrees of freedom if nothing depends: it
    exceeds t with probability exp(-t / 2).
    """
    wide, near, far = (_standard(each) for each in (np.abs(residuals), fitted, np.abs(fitted - fitted.mean())))
    first, second, both = (float(np.mean(a * b)) for a, b in ((wide, near), (wide, far), (near, far)))
    share = (first**2 + second**2 - 2.0 * first * second * both) / max(1.0 - both**2, 1e-12)
    return bool(share > max(2.0 * np.log(n_columns / CHANCE) / residuals.size, LEAST_SHARE))


def _standard(values: FloatArray) -> FloatArray:
    """Values less their mean, in standard deviations; zeros if they are all the same."""
    centred: FloatArray = values - values.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    return centred / spread if spread > 0.0 else centred
