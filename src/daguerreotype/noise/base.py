"""The contract of a noise model: likelihoods of what parents leave of a node, or of a discrete node given them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.data.kinds import Kind


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
        """Logarithm of the probability (m,) of codes or counts (m,), by linear predictors: (m, q), or (m,)."""
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


# ------------------------------------------------------------------ discrete columns


@dataclass(frozen=True)
class Outcomes:
    """A discrete column as what parents are to explain.

    Attributes
    ----------
    codes : array of shape (n_fitted,)
        The group of each row's level, or its count.
    start : array of shape (q,)
        Its q linear predictors without parents: where fits start.
    shape : array of shape (k,)
        Its k further parameters without parents: cutpoints of ordered levels, the dispersion of counts.
    offset : float
        Nats per row that it loses whatever its parents.
    groups, log_shares : arrays of shape (levels,)
        The group of each level, and the logarithm of the share that it has of its group; empty for counts.
    """

    codes: IntArray
    start: FloatArray
    shape: FloatArray
    offset: float
    groups: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    log_shares: FloatArray = field(default_factory=lambda: np.zeros(0))


class NoiseOfMasses(ABC):
    """A noise model of a discrete column: one family, or several of which the likeliest counts."""

    needs_residuals: ClassVar[bool] = False
    max_rows: ClassVar[int | None] = None

    @property
    @abstractmethod
    def families(self) -> tuple["DiscreteNoise", ...]:
        """The families that the column may have."""

    @abstractmethod
    def name_of(self, mass: Any) -> str:
        """The name of what was fitted."""

    def nll(self, residuals: FloatArray) -> float:
        """Refused: a discrete column has no residuals."""
        raise TypeError(f"{self} noise has no residuals: its likelihood is that of the fit.")

    def fit(self, residuals: FloatArray) -> Any:
        """Refused: a discrete column has no residuals."""
        raise TypeError(f"{self} noise has no residuals: ask the local models for its mass.")


class DiscreteNoise(NoiseOfMasses):
    """A family of distributions of a discrete column given linear predictors; a frozen record.

    Attributes
    ----------
    name : str
        As in the registry.
    masses : type
        The class of its masses.
    maximise : kernel or None
        ``(rows, q, k, shape_penalty, fit)``: writes the coefficients, further parameters, residuals, information
        and likelihood of the likeliest fit of ``rows`` to ``fit``, from the coefficients that are there; see
        ``noise/newton.py``. Returns any integer. None for a family that second moments are enough for.
    shape_penalty : float
        What a parameter of the shape must gain to be used, in units of the penalty of a parameter.
    """

    name: str
    masses: ClassVar[type]
    maximise: ClassVar[Callable[..., int] | None]

    @property
    def families(self) -> tuple["DiscreteNoise", ...]:
        """Itself."""
        return (self,)

    def __str__(self) -> str:
        return self.name

    @property
    def shape_penalty(self) -> float:
        """What a parameter of the shape must gain, in units of the penalty of a parameter."""
        return 1.0

    def name_of(self, mass: Any) -> str:
        """The name of what was fitted: a family may turn out to be one of its members."""
        return self.name

    @abstractmethod
    def outcomes(self, codes: IntArray, n_fitted: int, kind: Kind) -> Outcomes:
        """A column of codes or counts (n,) as what parents are to explain in its first ``n_fitted`` rows."""

    @abstractmethod
    def mass(self, outcomes: Outcomes, shape: FloatArray) -> Mass:
        """The distribution of the column, with the further parameters (k,) of a fit."""


@dataclass(frozen=True)
class LikeliestFamily(NoiseOfMasses):
    """Any of several families, for every parent set the one that is likeliest, its parameters paid for.

    Attributes
    ----------
    families : tuple of DiscreteNoise
        Each has masses of a class of its own.
    """

    families: tuple[DiscreteNoise, ...] = ()

    def __str__(self) -> str:
        return " or ".join(map(str, self.families))

    def name_of(self, mass: Any) -> str:
        """The name of the family whose mass it is."""
        return next(family.name_of(mass) for family in self.families if isinstance(mass, family.masses))


def pool_rare(counts: FloatArray, rare: int, most: int) -> IntArray:
    """Group (levels,) of each level: one for each that is frequent, and the last for all others together."""
    ranked = np.argsort(-counts, kind="stable")
    own = np.zeros(counts.size, dtype=np.bool_)
    own[ranked[:most]] = True
    own &= counts >= rare
    if (~own).sum() == 1:  # nobody to be pooled with
        own[:] = True
    if own.sum() < 2:
        own[ranked[:2]] = True
    groups: IntArray = np.where(own, np.cumsum(own) - 1, own.sum())
    return groups


def log_shares_of(codes: IntArray, groups: IntArray) -> tuple[FloatArray, float]:
    """Log share (levels,) of each level in its group, by all rows (n,), and the nats per row that this costs."""
    counts = np.bincount(codes, minlength=groups.size).astype(np.float64)
    smooth = counts + 0.5
    log_shares = np.log(smooth / np.bincount(groups, weights=smooth)[groups])
    return log_shares, float(-(counts @ log_shares) / counts.sum())
