r"""Gradient descent on a batch of gated regressions, each of which stops on its own.

One request is a node j with predecessors P. Its inner problem (eq. 12, appendix B) is

.. math:: \min_{w, \pi} \; \mathbb{E}_{z \sim \pi} \Big[ \tfrac{1}{2n} \|x_j - f(X; w, z)\|^2 \Big]
          + \lambda \sum_{i \in P} \Pr(z_i > 0) + l_2 \|w\|^2

with one sample of the gates z per step. Every CHECK steps the same objective is looked at with the most probable
gates, the model that would be reported; the best one seen is the result, or with ``keep="last"`` the last one.
Noise is a hash of the request, the step and the parent, so that a request comes out the same whatever else is in
its batch.

A gate z multiplies what one parent contributes; the L0 penalty is the expected number of open gates. Their
parameters are plain tensors of any shape, one entry per gate.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from daguerreotype._lib.imports import torch
from daguerreotype._lib.labels import shown
from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.gradient.settings import GradientEdges

Tensor = torch.Tensor
Request = tuple[int, IntArray]

CHECK = 10  # steps between two looks at the objective
SHRINK = 0.75  # finished requests leave the batch once fewer than this share still train
WORD = 0xFFFFFFFF  # hashes are of 32 bits
COLUMN, STEP, FIRST, SECOND = 0x9E3779B9, 0x85EBCA6B, 0x7FEB352D, 0x846CA68B  # odd, of well mixed bits

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


class GatedRegressions(ABC):
    """B regressions side by side; their weights are the rows of a matrix (B, P)."""

    @abstractmethod
    def loss(self, weights: Tensor, gates: Tensor) -> Tensor:
        """Half the mean squared residual plus the squared norm of the weights of open gates, (B,)."""

    @abstractmethod
    def gradient(self, weights: Tensor, gates: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Derivatives of the loss of one step in the weights (B, P) and in the gates (B, d)."""

    @abstractmethod
    def select(self, kept: Tensor) -> "GatedRegressions":
        """The same of some of the regressions."""


def choose_device(edges: GradientEdges) -> str:
    """The device that the settings mean."""
    there = torch.cuda.is_available()
    if edges.device == "cuda" and not there:
        raise ValueError("device='cuda', but torch finds no GPU here: choose device='auto' or device='cpu'.")
    return "cuda" if there and edges.device != "cpu" else "cpu"


def seed_of(random_state: int, node: int, predecessors: IntArray) -> int:
    """A number of 32 bits that is the request's own."""
    content = np.array([random_state, node, *predecessors], dtype="<i8").tobytes()
    return int.from_bytes(blake2b(content, digest_size=4).digest(), "little")


def uniforms(seeds: Tensor, steps: Sequence[int], count: int, dtype: torch.dtype) -> Tensor:
    """Noise in [0, 1) of shape (steps, B, count), a hash of seed, step and position; 24 bits, exact in float32."""
    positions = torch.arange(1, count + 1, device=seeds.device)
    times = torch.arange(steps[0] + 1, steps[-1] + 2, device=seeds.device)
    keys = _mix(seeds[:, None] + positions * COLUMN)  # (B, count)
    words = _mix(keys + times[:, None, None] * STEP)
    return (words >> 8).to(dtype) * 2.0**-24


def _mix(words: Tensor) -> Tensor:
    """Spread the low 32 bits over each other; int64 products wrap around, which leaves those bits right."""
    words = words & WORD
    words = ((words ^ (words >> 16)) * FIRST) & WORD
    words = ((words ^ (words >> 15)) * SECOND) & WORD
    return words ^ (words >> 16)


class Optimizer:
    """Adam (Kingma and Ba 2015) with its usual constants, or plain descent, on the rows of one matrix."""

    def __init__(self, like: Tensor, edges: GradientEdges) -> None:
        self.rate, self.adam, self.count = edges.learning_rate, edges.optimizer == "adam", 0
        self.mean, self.square = torch.zeros_like(like), torch.zeros_like(like)

    def step(self, state: Tensor, gradient: Tensor) -> None:
        """Move ``state`` along the gradient, in place."""
        if not self.adam:
            state.sub_(gradient, alpha=self.rate)
            return
        self.count += 1
        self.mean.lerp_(gradient, 0.1)
        self.square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        root = (self.square / (1 - 0.999**self.count)).sqrt_().add_(1e-8)
        state.addcdiv_(self.mean, root, value=-self.rate / (1 - 0.9**self.count))

    def select(self, kept: Tensor) -> None:
        """Go on with some of the rows."""
        self.mean, self.square = self.mean[kept], self.square[kept]


@torch.no_grad()
def descend(
    problem: GatedRegressions,
    weights: Tensor,
    mask: Tensor,
    seeds: Tensor,
    edges: GradientEdges,
    *,
    gated: bool,
    required: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Weights (B, P) and gates (B, d), each 0 or 1, of least objective on the way from ``weights``, or the last.

    Gates outside ``mask`` (B, d) stay closed, and those inside ``required`` (B, d) open. With ``gated=False`` all
    inside the mask are open for good, and only the weights are trained.
    """
    kept_open = torch.zeros_like(mask) if required is None else required
    gates, width, d = make_gates(edges.gates), weights.shape[1], mask.shape[1]
    start = gates.start((mask.shape[0], d), str(weights.device), weights.dtype)
    state = torch.cat([weights, start], dim=1) if gated else weights.clone()
    optimizer = Optimizer(state, edges)
    best_weights, best_gates = weights, mask
    best = reference = problem.loss(weights, mask) + edges.pruning * mask.sum(dim=1)
    if gated:  # progress is counted from all gates closed: undecided ones may be worse than open for a while
        reference = problem.loss(weights, kept_open) + edges.pruning * kept_open.sum(dim=1)
        best_gates = torch.maximum(mask * (best < reference)[:, None], kept_open)
        best = torch.minimum(best, reference)
    kept_weights, kept_gates = best_weights.clone(), best_gates.clone()  # results
    waited = torch.zeros_like(best)
    rows = torch.arange(mask.shape[0], device=mask.device)  # those that are still in the batch
    training = torch.ones_like(rows, dtype=torch.bool)

    for begin in range(0, edges.max_iter, CHECK):
        steps = range(begin, min(begin + CHECK, edges.max_iter))
        noise = uniforms(seeds, steps, d, weights.dtype) if gated else None
        for step in steps:
            values, parameters = state[:, :width], state[:, width:]
            if noise is None:
                gradient, _ = problem.gradient(values, mask, step)
            else:
                drawn, slope = gates.draw(parameters, noise[step - begin])
                by_weights, by_gates = problem.gradient(values, torch.maximum(drawn * mask, kept_open), step)
                by_parameters = by_gates * slope + edges.pruning * gates.open_slope(parameters)
                gradient = torch.cat([by_weights, by_parameters * (mask - kept_open)], dim=1)
            optimizer.step(state, gradient)
            if gated:
                gates.keep_valid(parameters)

        values, parameters = state[:, :width], state[:, width:]
        opened = torch.maximum(gates.most_probable(parameters) * mask, kept_open) if gated else mask
        objective = problem.loss(values, opened) + edges.pruning * opened.sum(dim=1)
        better = training if edges.keep == "last" else training & (objective < best)
        best = torch.where(better, objective, best)
        best_weights = torch.where(better[:, None], values, best_weights)
        best_gates = torch.where(better[:, None], opened, best_gates)
        progress = objective < reference - edges.tol * reference.abs()
        reference = torch.where(progress, objective, reference)
        waited = torch.where(progress, 0.0, waited + len(steps))
        training = training & (waited < edges.patience)

        n_training = int(training.sum())
        if n_training <= SHRINK * len(rows):
            kept_weights[rows], kept_gates[rows] = best_weights, best_gates
            if n_training == 0:
                return kept_weights, kept_gates
            problem, state = problem.select(training), state[training]
            optimizer.select(training)
            mask, seeds, rows = mask[training], seeds[training], rows[training]
            kept_open = kept_open[training]
            best_weights, best_gates = best_weights[training], best_gates[training]
            best, reference, waited = best[training], reference[training], waited[training]
            training = training[training]
    kept_weights[rows], kept_gates[rows] = best_weights, best_gates
    return kept_weights, kept_gates
