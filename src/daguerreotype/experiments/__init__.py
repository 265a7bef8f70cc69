"""The paper's tables and figures, and anyone's: a spec says what is compared, and a store keeps every run.

>>> from daguerreotype.experiments import load_spec, shipped
>>> shipped()
['example-dags', 'k-sweep', 'n-sweep', 'pruning-sachs', 'pruning-syntren', 'sachs', 'synthetic', 'syntren']
>>> load_spec("sachs").repeats
10
"""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.experiments.results import collect as collect
    from daguerreotype.experiments.results import summarize as summarize
    from daguerreotype.experiments.runs import Run as Run
    from daguerreotype.experiments.runs import Store as Store
    from daguerreotype.experiments.runs import make_plan as make_plan
    from daguerreotype.experiments.runs import run_all as run_all
    from daguerreotype.experiments.spec import Spec as Spec
    from daguerreotype.experiments.spec import load_spec as load_spec
    from daguerreotype.experiments.spec import read_spec as read_spec
    from daguerreotype.experiments.spec import shipped as shipped

__getattr__ = lazy_names(
    __name__,
    {
        "results": "collect summarize",
        "runs": "Run Store make_plan run_all",
        "spec": "Spec load_spec read_spec shipped",
    },
)
