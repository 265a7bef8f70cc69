"""Protein signalling in T cells (Sachs et al. 2005): eleven molecules, nine conditions."""

import io
from importlib import resources

import numpy as np
import pandas as pd

from daguerreotype.datasets.dataset import Dataset

PROTEINS = ("Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk")

# cause -> effects: the acyclic consensus network of 17 edges that structure learners are compared on
EFFECTS = {
    "Raf": ("Mek",),
    "Mek": ("Erk",),
    "Plcg": ("PIP2", "PIP3"),
    "PIP3": ("PIP2",),
    "Erk": ("Akt",),
    "PKA": ("Raf", "Mek", "Erk", "Akt", "P38", "Jnk"),
    "PKC": ("Raf", "Mek", "PKA", "P38", "Jnk"),
}

# (condition, its number of rows, the column it acts on), in the order of the rows of the table
CONDITIONS = (
    ("anti-CD3/CD28", 853, None),
    ("anti-CD3/CD28 + ICAM-2", 902, None),
    ("anti-CD3/CD28 + Akt inhibitor", 911, "Akt"),
    ("anti-CD3/CD28 + G06976", 723, "PKC"),
    ("anti-CD3/CD28 + psitectorigenin", 810, "PIP2"),
    ("anti-CD3/CD28 + U0126", 799, "Mek"),
    ("anti-CD3/CD28 + LY294002", 848, "Akt"),
    ("PMA", 913, "PKC"),
    ("beta2cAMP", 707, "PKA"),
)

OBSERVATIONAL = (
    "Amounts of eleven phosphorylated proteins and phospholipids in 853 single human T cells, stimulated "
    "with anti-CD3/CD28 and measured by flow cytometry, and the consensus signalling network of 17 edges. "
    "Raw intensities: positive and skewed to the right."
)
INTERVENTIONAL = (
    "Amounts of eleven phosphorylated proteins and phospholipids in 7466 single human T cells under nine "
    "conditions, measured by flow cytometry, and the consensus signalling network of 17 edges. Raw "
    "intensities: positive and skewed to the right. Seven of the conditions act on a measured molecule. An "
    "inhibitor may block what its target does without lowering its amount: under U0126 there is more Mek, "
    "and less of the Erk that it acts on."
)
SOURCE = (
    "K. Sachs, O. Perez, D. Pe'er, D. A. Lauffenburger, G. P. Nolan: Causal protein-signaling networks "
    "derived from multiparameter single-cell data. Science 308:523-529, 2005. Numbers of the Python package "
    "cdt 0.6.0."
)


def load_sachs(*, interventional: bool = False) -> Dataset:
    """Protein signalling in T cells: 853 observational rows (or all 7466), 11 columns, 17 edges.

    Parameters
    ----------
    interventional : bool
        False, as most papers have it, gives the rows of the first condition only, from cells that nothing but
        the general stimulus acted on. True gives the rows of all nine, with the condition of each row in
        ``.conditions`` and the column that it acts on in ``.interventions``.

    Returns
    -------
    Dataset
        A new record on each call.

    Examples
    --------
    >>> from daguerreotype.datasets import load_sachs
    >>> sachs = load_sachs()
    >>> [effect for effect in sachs.X if sachs.adjacency.loc["Plcg", effect]]
    ['PIP2', 'PIP3']
    >>> load_sachs(interventional=True).interventions.value_counts().to_dict()
    {'Akt': 1759, 'PKC': 1636, 'PIP2': 810, 'Mek': 799, 'PKA': 707}
    """
    if not interventional:
        return Dataset("sachs", _read_table(CONDITIONS[0][1]), _consensus(), OBSERVATIONAL, SOURCE)
    names, rows, targets = zip(*CONDITIONS, strict=True)
    return Dataset(
        "sachs-interventional",
        _read_table(sum(rows)),
        _consensus(),
        INTERVENTIONAL,
        SOURCE,
        conditions=pd.Series(np.repeat(names, rows), name="condition"),
        # object, because pandas' own strings would turn None into NaN
        interventions=pd.Series(np.repeat(np.array(targets, dtype=object), rows), name="target", dtype=object),
    )


def _read_table(n_rows: int) -> pd.DataFrame:
    """First rows of the packaged table, which keeps digits / 10**decimals: the published numbers exactly."""
    content = resources.files("daguerreotype.datasets").joinpath("data", "sachs.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        table = stored["digits"][:n_rows] / 10.0 ** stored["decimals"][:n_rows]
    return pd.DataFrame(table, columns=list(PROTEINS))


def _consensus() -> pd.DataFrame:
    """Adjacency of the consensus network."""
    adjacency = pd.DataFrame(0, index=list(PROTEINS), columns=list(PROTEINS))
    for cause, effects in EFFECTS.items():
        adjacency.loc[cause, list(effects)] = 1
    return adjacency
