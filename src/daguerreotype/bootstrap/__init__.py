"""How sure is each arrow? Refit on resampled rows, count, and find the DAG that the refits agree on."""

from daguerreotype.bootstrap.record import Bootstrap
from daguerreotype.bootstrap.run import bootstrap

__all__ = ["Bootstrap", "bootstrap"]
