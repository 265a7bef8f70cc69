"""Bootstrap confidence of edges: refits on resampled rows, and the DAG that they agree on."""

from daguerreotype.bootstrap.graphs import BootstrapInterrupt, bootstrap
from daguerreotype.bootstrap.summary import Bootstrap

__all__ = ["Bootstrap", "BootstrapInterrupt", "bootstrap"]
