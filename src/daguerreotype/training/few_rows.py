"""Tables of few rows: linear edges, columns as they came, Gaussian noise, and the penalty of small samples.

BIC's penalty of an edge holds for long tables: twice the gain in log-likelihood is then distributed as chi
squared. Of n rows it is -n log(1 - R^2), with R^2 distributed as Beta(1/2, (n - 2)/2), whose tail is much
longer. So the penalty is the one that noise passes as seldom as chi squared passes that of a table of
:data:`ENOUGH` rows. Parents take rows from each other, too: there may be one for every ten rows. Other scales,
curves and shapes of noise are too many choices. ``benchmarks/few_rows.py`` measures what comes of it.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from daguerreotype._lib.typing import IntArray
from daguerreotype.data.table import Table
from daguerreotype.edges.penalty import Penalty

logger = logging.getLogger("daguerreotype")

FEW = 50  # rows, below which a table has few
ENOUGH = 100  # rows of a table whose penalty noise passes seldom
ROWS_PER_PARENT = 10
PENALIZED = ("gam", "bic")  # edges that pay for every parent


def has_few_rows(settings: Mapping[str, Any], table: Table) -> bool:
    """Whether a table has few rows, and its settings leave the penalty of an edge open."""
    by_name = isinstance(settings["edges"], str) and settings["edges"] in PENALIZED
    return by_name and settings["penalty"] is None and table.n_rows < FEW and table.n_columns > 1


def restrained(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for few rows: linear edges, and columns on the scale that they came on unless one is given."""
    scales = "none" if settings["scales"] == "auto" else settings["scales"]
    return {**settings, "edges": "bic", "scales": scales}


def penalty_of_few(penalty: Penalty, n_rows: int, n_columns: int) -> Penalty:
    """The penalty with a gamma that makes a parent as dear as small samples ask for."""
    from scipy.stats import beta, chi2

    chance = chi2.sf(np.log(ENOUGH) + penalty.per_parent(n_columns), 1)
    unexplained = beta.ppf(chance, max(n_rows - 2, 1) / 2, 0.5)  # the share that noise alone leaves so seldom
    dear = -penalty.evidence(n_rows) * float(np.log(unexplained))
    gamma = (dear - penalty.per_dof(n_rows)) / (2.0 * float(np.log(n_columns)))
    return replace(penalty, gamma=max(penalty.gamma, gamma))


def fewer_parents(max_parents: IntArray, required: IntArray, n_rows: int) -> IntArray:
    """One parent for every ten rows, and those that are required (d,)."""
    limited: IntArray = np.minimum(max_parents, np.maximum(_most_parents(n_rows), required))
    return limited


@cache
def tell_few_rows(n_rows: int) -> None:
    """Say what a user should know; once for a number of rows, which all resamples of a table share."""
    most = _most_parents(n_rows)
    logger.warning(
        "the table has %d rows, fewer than %d: edges are straight lines between columns as they came, a column "
        "has at most %d cause%s, and only strong edges are found. Set penalty (1 is BIC) to decide yourself.",
        n_rows,
        FEW,
        most,
        "s" if most > 1 else "",
    )


def _most_parents(n_rows: int) -> int:
    return max(n_rows // ROWS_PER_PARENT, 1)
