"""The contract of a noise model: likelihoods of what parents leave of a node."""

from typing import Protocol, runtime_checkable

from daguerreotype._lib.typing import FloatArray


@runtime_checkable
class Density(Protocol):
    """A noise distribution that was fitted to the residuals of one node; a frozen record."""

    def log_density(self, residuals: FloatArray) -> FloatArray:
        """Logarithm of the density (m,) at residuals (m,) of any rows, in nats."""
        ...


@runtime_checkable
class Mass(Protocol):
    """The distribution of a discrete node given its linear predictors, fitted to one node; a frozen record."""

    def log_mass(self, outcomes: FloatArray, predictors: FloatArray) -> FloatArray:
        """Logarithm of the probability (m,) of codes or counts (m,) by linear predictors (m, q), in nats."""
        ...


@runtime_checkable
class HasExcess(Protocol):
    """A noise model that knows its likelihood beyond that of a standard normal variable to all digits."""

    def excess(self, residuals: FloatArray) -> float:
        """Negative log-likelihood per row, less the entropy of a standard normal variable."""
        ...


@runtime_checkable
class NoiseModel(Protocol):
    """A family of noise distributions; the plug-in point of ``noise=``."""

    @property
    def needs_residuals(self) -> bool:
        """Whether likelihoods are made from residuals.

        If not, the negative log-likelihood that an edge estimator reports, that of Gaussian noise, is the model's.
        """
        ...

    @property
    def max_rows(self) -> int | None:
        """How many rows of a longer table are looked at; None for all."""
        ...

    def nll(self, residuals: FloatArray) -> float:
        """Negative log-likelihood per row of these residuals (n,) under the best member of the family."""
        ...

    def fit(self, residuals: FloatArray) -> Density:
        """The best member of the family, which also gives unseen rows a density."""
        ...
