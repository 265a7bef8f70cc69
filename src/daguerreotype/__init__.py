"""Learn a directed acyclic graph from a table of observations.

Public names are loaded on first use, so that ``import daguerreotype`` stays instant and pulls in
neither numba, torch, scikit-learn, pandas nor matplotlib.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.data.table import Table as Table
    from daguerreotype.edges.base import LocalFit as LocalFit
    from daguerreotype.knowledge import Knowledge as Knowledge
    from daguerreotype.knowledge import KnowledgeError as KnowledgeError
    from daguerreotype.learner import Daguerreotype as Daguerreotype
    from daguerreotype.missing.imputation import Imputation as Imputation
    from daguerreotype.operators import OrderDistribution as OrderDistribution
    from daguerreotype.posterior.record import Posterior as Posterior
    from daguerreotype.result import FitHistory as FitHistory
    from daguerreotype.result import MissingValues as MissingValues

__version__ = "0.1.0"

_PACKAGES = {module.name for module in iter_modules(__path__) if module.ispkg} - {"_lib", "cli", "persistence"}

_load = lazy_names(
    __name__,
    {
        "data.table": "Table",
        "edges.base": "LocalFit",
        "missing.imputation": "Imputation",
        "knowledge": "Knowledge KnowledgeError",
        "learner": "Daguerreotype",
        "operators": "OrderDistribution",
        "posterior.record": "Posterior",
        "result": "FitHistory MissingValues",
    },
)


def __getattr__(name: str) -> object:
    return import_module(f"{__name__}.{name}") if name in _PACKAGES else _load(name)


def __dir__() -> list[str]:
    return sorted(["__version__", *globals()["__all__"], *_PACKAGES])
