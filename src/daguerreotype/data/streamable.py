"""Can a graph be learned without all rows in memory? If not, which setting or number is the reason?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from daguerreotype._lib.typing import FloatArray
from daguerreotype.data.moments import Moments
from daguerreotype.data.streams import Source
from daguerreotype.data.validation import check_covariance, check_size, check_spread
from daguerreotype.edges import GamEdges

ASYMMETRY = 1e-8  # of a given covariance, relative to its variances


def check_streamable(estimator: Any, loss: Any, transform: str, source: Source | None) -> None:
    """Refuse, before any row is read, what cannot be learned without all rows; source None: without any."""
    how = "from moments alone" if source is None else "chunk by chunk"
    curves = isinstance(estimator, GamEdges)
    linear = getattr(estimator, "from_moments", False)
    if not linear and not (curves and source is not None):
        kinds = "'bic', 'lars', 'lasso' and 'linear'" + ("" if source is None else ", and 'gam',")
        why = "needs the shapes of curves, which moments do not tell" if curves else "looks at single rows"
        raise ValueError(f"{type(estimator).__name__} {why}: {how} choose edges among {kinds}.")
    if getattr(loss, "needs_residuals", False):
        raise ValueError(
            f"loss='entropy' looks at the residual of every row, which {how} there is none of: choose loss='bic', "
            "'nll_ev', 'nll_nv' or 'mse'."
        )
    if transform not in ("auto", "none") and (transform != "log" or source is None):
        log = "" if source is None else " or 'log'"
        raise ValueError(f"transform={transform!r} needs all rows: {how} choose transform='none'{log}.")
    if source is not None and source.once and (curves or transform == "log"):
        raise ValueError(
            f"{'edges' if curves else 'transform'}={'gam' if curves else 'log'!r} reads the rows more than once, "
            "but an iterator ends. Give a function that returns a new iterator each time, or a path."
        )


def check_moments(seen: Moments, names: Sequence[str]) -> Moments:
    """Refuse tables that are too small, and columns that are constant, copies, or determined by others."""
    check_size(np.broadcast_to(0.0, (seen.n_rows, len(names))))
    check_spread(seen.low, seen.high, names)
    check_covariance(seen.covariance, seen.n_rows, names)
    return seen


def check_given(
    covariance: Any, n_rows: Any, names: Any, means: Any
) -> tuple[FloatArray, int, tuple[str, ...] | None, FloatArray | None]:
    """A covariance that the user gives, its number of rows, names and means, or a refusal."""
    if names is None and isinstance(covariance, pd.DataFrame):
        names = list(covariance.columns)
    matrix = np.array(covariance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(f"covariance has shape {matrix.shape}: expected (d, d) with at least 2 columns.")
    d = len(matrix)
    labels = tuple(f"x{i}" for i in range(d)) if names is None else tuple(map(str, names))
    if len(labels) != d or len(set(labels)) != d:
        raise ValueError(f"names are {labels}: expected {d} different ones, one for each column of covariance.")
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or n_rows < 3:
        raise ValueError(f"n_rows is {n_rows!r}: expected the number of rows behind the covariance, at least 3.")
    variances = np.diag(matrix)
    wrong = np.flatnonzero(~(np.isfinite(matrix).all(axis=0) & (variances > 0)))
    if wrong.size:
        raise ValueError(
            f"the covariance of {labels[wrong[0]]!r} is not finite, or its variance is not positive. Drop it if "
            "it is constant."
        )
    scale = np.sqrt(variances)
    skewed = np.abs(matrix - matrix.T) / (scale[:, None] * scale)
    if skewed.max() > ASYMMETRY:
        i, j = (labels[k] for k in divmod(int(np.argmax(skewed)), d))
        raise ValueError(f"covariance is not symmetric: its entries for {i!r} and {j!r} differ.")
    matrix = 0.5 * (matrix + matrix.T)
    least = float(np.linalg.eigvalsh(matrix / (scale[:, None] * scale))[0])
    if least < -ASYMMETRY:
        raise ValueError(
            f"covariance is no covariance of any rows: a combination of columns would have variance {least:.2g} "
            "(of 1). Were its entries computed from different rows?"
        )
    check_covariance(matrix, int(n_rows), labels)
    mean = None if means is None else np.array(means, dtype=np.float64)
    if mean is not None and (mean.shape != (d,) or not np.isfinite(mean).all()):
        raise ValueError(f"means have shape {mean.shape}, or are not finite: expected {d} numbers.")
    return matrix, int(n_rows), None if names is None else labels, mean
