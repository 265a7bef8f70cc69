"""Data set with a known graph: a table, the graph behind it, and where both come from."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset:
    """A table of observations and the graph that is held to be true of it.

    Attributes
    ----------
    name : str
        Short name, such as ``"sachs"`` or ``"syntren-3"``.
    X : DataFrame of shape (n, d)
        One row per observation, one named column per variable, as published: neither centred nor scaled. A search
        for settings takes data sets of plain arrays, too.
    adjacency : DataFrame of shape (d, d)
        Integers; ``adjacency.loc["a", "b"] == 1`` means a -> b. Rows and columns are named as those of ``X``.
    description : str
        What was measured, and what to mind when using it.
    source : str
        Publication and place of origin.
    conditions : Series of shape (n,), or None
        Name of the experiment each row belongs to; None where there was only one.
    interventions : Series of shape (n,), or None
        Column that the row's experiment acts on, None in rows where it acts on none of them.

    Examples
    --------
    >>> from daguerreotype.datasets import load_sachs
    >>> load_sachs()
    Dataset('sachs': 853 rows, 11 columns, 17 edges)
    """

    name: str
    X: pd.DataFrame
    adjacency: pd.DataFrame
    description: str = ""
    source: str = ""
    conditions: "pd.Series[str] | None" = None
    interventions: "pd.Series[str] | None" = None

    def __repr__(self) -> str:
        n_rows, n_columns = self.X.shape
        n_edges = int(np.sum(np.asarray(self.adjacency)))
        return f"Dataset({self.name!r}: {n_rows} rows, {n_columns} columns, {n_edges} edges)"
