"""Published data sets with a known graph: Sachs, inside the package; SynTReN, fetched once."""

from daguerreotype.datasets.dataset import Dataset
from daguerreotype.datasets.sachs import load_sachs
from daguerreotype.datasets.syntren import load_syntren

__all__ = ["Dataset", "load_sachs", "load_syntren"]
