"""The paper's tables and figures, and anyone's: a spec says what is compared, and a store keeps every run.

>>> from daguerreotype.experiments import load_spec, shipped
>>> shipped()
['example-dags', 'k-sweep', 'n-sweep', 'pruning-sachs', 'pruning-syntren', 'sachs', 'synthetic', 'syntren']
>>> load_spec("sachs").repeats
10
"""

from typing import TYPE_CHECKING

from daguerreotype._lib.lazy import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        "plan": "Run make_plan",
        "results": "collect summarize",
        "run": "run_all",
        "spec": "Spec load_spec read_spec shipped",
        "store": "Store",
    },
)
