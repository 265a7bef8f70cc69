"""The posterior over graphs: which edges, directions and ancestors the table leaves how probable."""

from daguerreotype.posterior.record import Posterior

__all__ = ["Posterior"]
