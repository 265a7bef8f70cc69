r"""L0 regularization by random gates on the inputs of a model (appendix B).

A gate z multiplies what one parent contributes; the penalty is the expected number of open gates. Parameters are
plain tensors of any shape, one entry per gate.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from daguerreotype._lib.labels import shown
from daguerreotype._lib.optional import torch

Tensor = torch.Tensor
EDGE = 1e-6  # how close to 0 and 1 the noise of hard concrete gates may come


class Gates(ABC):
    """A distribution over gates in [0, 1] that can be sampled with a gradient."""

    @abstractmethod
    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """Parameters at the start of training: every gate undecided."""

    @abstractmethod
    def sample(self, parameters: Tensor, generator: torch.Generator) -> Tensor:
        """One sample of all gates, differentiable in the parameters."""

    @abstractmethod
    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """The sample that uniform ``noise`` in [0, 1) makes, and its derivative in each parameter."""

    @abstractmethod
    def expected_open(self, parameters: Tensor) -> Tensor:
        """Probability that each gate is open: what the L0 penalty sums up."""

    @abstractmethod
    def open_slope(self, parameters: Tensor) -> Tensor:
        """Derivative of ``expected_open`` in each parameter."""

    @abstractmethod
    def keep_valid(self, parameters: Tensor) -> None:
        """Put the parameters back into their range after a step, in place."""

    @abstractmethod
    def most_probable(self, parameters: Tensor) -> Tensor:
        """Gates after training: exactly 0 where closed."""


@dataclass(frozen=True)
class BernoulliGates(Gates):
    r"""Binary gates with probabilities :math:`\pi \in [0, 1]` and the one-sample straight-through estimator.

    The sample is binary; its gradient is taken as that of :math:`\pi` itself. After training a gate is open
    where :math:`\pi > 1/2`.
    """

    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """All probabilities one half."""
        return torch.full(shape, 0.5, device=device, dtype=dtype)

    def sample(self, parameters: Tensor, generator: torch.Generator) -> Tensor:
        """Zeros and ones, with the gradient of the probabilities."""
        noise = torch.rand(parameters.shape, generator=generator, device=parameters.device, dtype=parameters.dtype)
        drawn, _ = self.draw(parameters, noise)
        return parameters + (drawn - parameters).detach()

    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """One where the noise is below the probability; the derivative is taken as one."""
        return (noise < parameters).to(parameters.dtype), torch.ones_like(parameters)

    def expected_open(self, parameters: Tensor) -> Tensor:
        """The probabilities."""
        return parameters

    def open_slope(self, parameters: Tensor) -> Tensor:
        """Ones."""
        return torch.ones_like(parameters)

    def keep_valid(self, parameters: Tensor) -> None:
        """Clamp to [0, 1]."""
        with torch.no_grad():
            parameters.clamp_(0.0, 1.0)

    def most_probable(self, parameters: Tensor) -> Tensor:
        """One where the probability exceeds one half."""
        return (parameters > 0.5).to(parameters.dtype)


@dataclass(frozen=True)
class HardConcreteGates(Gates):
    r"""Stretched and clipped binary concrete gates (Louizos, Welling and Kingma 2018), reparametrized.

    :math:`z = \min(1, \max(0, \gamma + (\zeta - \gamma) s))` with s a binary concrete variable of location
    :math:`\log \alpha` and temperature :math:`\beta`: exactly 0 or 1 with positive probability, smooth between.
    """

    beta: float = 2.0 / 3.0
    gamma: float = -0.1
    zeta: float = 1.1

    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """All locations zero."""
        return torch.zeros(shape, device=device, dtype=dtype)

    def sample(self, parameters: Tensor, generator: torch.Generator) -> Tensor:
        """Clipped samples between 0 and 1."""
        noise = torch.rand(parameters.shape, generator=generator, device=parameters.device, dtype=parameters.dtype)
        return self._stretch(self._concrete(parameters, noise)).clamp(0.0, 1.0)

    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Clipped samples, and the slope of the concrete variable where nothing was clipped."""
        concrete = self._concrete(parameters, noise)
        stretched = self._stretch(concrete)
        inside = (stretched > 0.0) & (stretched < 1.0)
        slope = concrete * (1.0 - concrete) * ((self.zeta - self.gamma) / self.beta)
        return stretched.clamp(0.0, 1.0), slope * inside

    def _concrete(self, parameters: Tensor, noise: Tensor) -> Tensor:
        """The binary concrete variable that uniform noise makes."""
        return torch.sigmoid((torch.logit(noise, eps=EDGE) + parameters) / self.beta)

    def _stretch(self, concrete: Tensor) -> Tensor:
        return self.gamma + (self.zeta - self.gamma) * concrete

    def expected_open(self, parameters: Tensor) -> Tensor:
        """Probability of a gate above zero."""
        return torch.sigmoid(parameters - self.beta * math.log(-self.gamma / self.zeta))

    def open_slope(self, parameters: Tensor) -> Tensor:
        """Slope of the sigmoid."""
        probability = self.expected_open(parameters)
        return probability * (1.0 - probability)

    def keep_valid(self, parameters: Tensor) -> None:
        """Any location is valid."""

    def most_probable(self, parameters: Tensor) -> Tensor:
        """One where the noiseless gate exceeds one half."""
        return (self._stretch(torch.sigmoid(parameters)) > 0.5).to(parameters.dtype)


def make_gates(name: str) -> Gates:
    """The gates behind a short name."""
    if name == "bernoulli":
        return BernoulliGates()
    if name == "hard-concrete":
        return HardConcreteGates()
    raise ValueError(f"gates must be 'bernoulli' or 'hard-concrete', got {shown(name)}.")
