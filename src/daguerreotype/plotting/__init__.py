"""Pictures of a fit, or of any graph. Importing this loads no matplotlib; using it does."""

from typing import TYPE_CHECKING

from daguerreotype._lib.imports import lazy_names

if TYPE_CHECKING:
    from daguerreotype.plotting.fit import plot_curves as plot_curves
    from daguerreotype.plotting.fit import plot_order as plot_order
    from daguerreotype.plotting.fit import plot_training as plot_training
    from daguerreotype.plotting.graph import plot_graph as plot_graph

__getattr__ = lazy_names(__name__, {"fit": "plot_curves plot_order plot_training", "graph": "plot_graph"})
