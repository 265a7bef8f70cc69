"""Learn a directed acyclic graph from a table of observations.

Public names are loaded on first use, so that ``import daguerreotype`` stays instant and pulls in
neither numba, torch, scikit-learn, pandas nor matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daguerreotype.knowledge import Knowledge as Knowledge
    from daguerreotype.knowledge import KnowledgeError as KnowledgeError
    from daguerreotype.learner import Daguerreotype as Daguerreotype
    from daguerreotype.operators import OrderDistribution as OrderDistribution

__version__ = "0.1.0"

_HOME = {
    "Daguerreotype": "daguerreotype.learner",
    "Knowledge": "daguerreotype.knowledge",
    "KnowledgeError": "daguerreotype.knowledge",
    "OrderDistribution": "daguerreotype.operators",
}
_SUBPACKAGES = (
    "baselines",
    "bootstrap",
    "data",
    "datasets",
    "edges",
    "experiments",
    "graphs",
    "knowledge",
    "metrics",
    "operators",
    "plotting",
    "report",
    "simulate",
    "training",
    "tune",
)

__all__ = ["Daguerreotype", "Knowledge", "KnowledgeError", "OrderDistribution", "__version__"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"daguerreotype.{name}")
    raise AttributeError(f"module 'daguerreotype' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBPACKAGES])
