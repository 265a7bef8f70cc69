"""Pictures of a fit, or of any graph. Importing this loads no matplotlib; using it does."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daguerreotype.plotting.draw_fit import plot_curves as plot_curves
    from daguerreotype.plotting.draw_fit import plot_order as plot_order
    from daguerreotype.plotting.draw_fit import plot_scores as plot_scores
    from daguerreotype.plotting.draw_fit import plot_training as plot_training
    from daguerreotype.plotting.draw_graph import plot_graph as plot_graph

_HOME = {
    "plot_curves": "daguerreotype.plotting.draw_fit",
    "plot_graph": "daguerreotype.plotting.draw_graph",
    "plot_order": "daguerreotype.plotting.draw_fit",
    "plot_scores": "daguerreotype.plotting.draw_fit",
    "plot_training": "daguerreotype.plotting.draw_fit",
}

__all__ = ["plot_curves", "plot_graph", "plot_order", "plot_scores", "plot_training"]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'daguerreotype.plotting' has no attribute {name!r}")
