"""The paper's tables and figures, and anyone's: a spec says what is compared, and a store keeps every run.

>>> from daguerreotype.experiments import load_spec, shipped
>>> shipped()
['example-dags', 'k-sweep', 'n-sweep', 'pruning-sachs', 'pruning-syntren', 'sachs', 'synthetic', 'syntren']
>>> load_spec("sachs").repeats
10
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daguerreotype.experiments.plan import Run as Run
    from daguerreotype.experiments.plan import make_plan as make_plan
    from daguerreotype.experiments.results import collect as collect
    from daguerreotype.experiments.results import summarize as summarize
    from daguerreotype.experiments.run import run_all as run_all
    from daguerreotype.experiments.spec import Spec as Spec
    from daguerreotype.experiments.spec import load_spec as load_spec
    from daguerreotype.experiments.spec import read_spec as read_spec
    from daguerreotype.experiments.spec import shipped as shipped
    from daguerreotype.experiments.store import Store as Store

_HOME = {
    "Run": "plan",
    "Spec": "spec",
    "Store": "store",
    "collect": "results",
    "load_spec": "spec",
    "make_plan": "plan",
    "read_spec": "spec",
    "run_all": "run",
    "shipped": "spec",
    "summarize": "results",
}

__all__ = [
    "Run",
    "Spec",
    "Store",
    "collect",
    "load_spec",
    "make_plan",
    "read_spec",
    "run_all",
    "shipped",
    "summarize",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"daguerreotype.experiments.{_HOME[name]}"), name)
    raise AttributeError(f"module 'daguerreotype.experiments' has no attribute {name!r}")
