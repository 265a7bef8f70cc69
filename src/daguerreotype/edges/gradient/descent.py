r"""Gradient descent on a batch of gated networks, each of which stops on its own.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import IntArray
from daguerreotype.edges.gradient.settings import GradientEdges
from daguerreotype.edges.predictors import LEAK

Tensor = torch.Tensor
Request = tuple[int, IntArray]

CHECK = 10  # steps between two looks at the objective
SHRINK = 0.75  # finished requests leave the batch once fewer than this share still train
WORD = 0xFFFFFFFF  # hashes are of 32 bits
COLUMN, STEP, FIRST, SECOND = 0x9E3779B9, 0x85EBCA6B, 0x7FEB352D, 0x846CA68B  # odd, of well mixed bits


class BernoulliGates:
    r"""Binary gates with probabilities :math:`\pi \in [0, 1]` and the one-sample straight-through estimator.

    The sample is binary; its gradient is taken as that of :math:`\pi` itself. After training a gate is open
    where :math:`\pi > 1/2`.
    """

    def start(self, shape: tuple[int, ...], device: str, dtype: torch.dtype) -> Tensor:
        """Parameters at the start of training: every gate undecided."""
        return torch.full(shape, 0.5, device=device, dtype=dtype)

    def draw(self, parameters: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """One where uniform noise in [0, 1) is below the probability; the derivative is taken as one."""
        return (noise < parameters).to(parameters.dtype), torch.ones_like(parameters)

    def expected_open(self, parameters: Tensor) -> Tensor:
        """The probabilities that gates are open: what the L0 penalty sums up."""
        return parameters

    def open_slope(self, parameters: Tensor) -> Tensor:
        """Derivative of ``expected_open`` in each parameter."""
        return torch.ones_like(parameters)

    def keep_valid(self, parameters: Tensor) -> None:
        """Clamp to [0, 1] after a step, in place."""
        with torch.no_grad():
            parameters.clamp_(0.0, 1.0)

    def most_probable(self, parameters: Tensor) -> Tensor:
        """Gates after training: one where the probability exceeds one half, else exactly zero."""
        return (parameters > 0.5).to(parameters.dtype)


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


class Activation(NamedTuple):
    """A function of tensors, in place; its slope, from its value."""

    of_tensor: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


ACTIVATIONS = {
    "sigmoid": Activation(torch.sigmoid_, lambda h: torch.addcmul(h, h, h, value=-1)),
    "leaky-relu": Activation(
        lambda h: torch.nn.functional.leaky_relu_(h, LEAK), lambda h: (h > 0).to(h.dtype).clamp_(min=LEAK)
    ),
}


@dataclass(frozen=True)
class Networks:
    r"""B networks  f(x) = c + v' a(b + W'(x * z)),  each of its own node on the same rows.

    A row of the weights (B, P) holds W and b as one matrix (d + 1, hidden), then v, then c. The data never
    take a shape larger than (B, rows, hidden).

    Attributes
    ----------
    values : tensor of shape (n, d + 1)
        Rows, with a last column of ones.
    nodes : tensor of shape (B,)
        The column that each network explains.
    hidden, activation : int, str
        Shape of the networks.
    l2, output_l2 : float
        Penalty of a squared weight of the first layer, and how many of those one of the output layer costs; biases
        are free.
    batch_size : int
        Rows of one step. Steps go through all rows in turn; the loss is that of the first batch.
    turns, counts : tensors of shape (B, d) and (B,), or None
        The gates of each network, as many as ``counts`` at the start of a row. If given, gates are binary and
        each step differentiates in one of them, in turn. A slope would not do: opening the gate of an even
        effect gains nothing to first order.
    """

    values: Tensor
    nodes: Tensor
    hidden: int
    activation: str
    l2: float
    batch_size: int
    output_l2: float = 1.0
    turns: Tensor | None = None
    counts: Tensor | None = None

    def start(self, seeds: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, P) to start from: uniform within 1 / sqrt(inputs) of each layer, zero off the mask."""
        size = self.values.shape[1] * self.hidden
        noise = 2 * uniforms(seeds, [-1], size + self.hidden, mask.dtype)[0] - 1
        first, output = noise[:, :size].view(len(seeds), -1, self.hidden), noise[:, size:]
        first = first * _with_one(mask)[:, :, None] / mask.sum(dim=1).clamp(min=1).sqrt()[:, None, None]
        bias = torch.zeros_like(output[:, :1])
        return torch.cat([first.flatten(1), output / self.hidden**0.5, bias], dim=1)

    def start_silent(self, seeds: Tensor, mask: Tensor) -> Tensor:
        """Weights (B, P) of networks that say nothing yet: small random inputs on the mask, all else zero."""
        d = mask.shape[1]
        noise = 2 * uniforms(seeds, [-1], d * self.hidden, mask.dtype)[0] - 1
        first = noise.view(len(seeds), d, self.hidden) * mask[:, :, None] / (d * self.hidden**0.5)
        return torch.nn.functional.pad(first.flatten(1), (0, 2 * self.hidden + 1))

    def parts(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """First layers (B, d + 1, hidden) and output layers (B, hidden + 1)."""
        size = self.values.shape[1] * self.hidden
        return weights[:, :size].view(len(weights), -1, self.hidden), weights[:, size:]

    def loss(self, weights: Tensor, gates: Tensor) -> Tensor:
        """Half the mean squared residual plus the squared norm of W z and v, (B,)."""
        first, output = self.parts(weights)
        gated = first * _with_one(gates)[:, :, None]
        residuals, _ = self._forward(gated, output, self.values[: self.batch_size])
        norm = gated[:, :-1].square().sum(dim=(1, 2)) + self.output_l2 * output[:, :-1].square().sum(dim=1)
        return 0.5 * residuals.square().mean(dim=1) + self.l2 * norm

    def gradient(self, weights: Tensor, gates: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Derivatives of one step's loss in the weights (B, P) and in the gates (B, d)."""
        rows = self._rows(step)  # (m, d + 1)
        first, output = self.parts(weights)
        z = _with_one(gates)[:, :, None]
        residuals, hidden = self._forward(first * z, output, rows)
        by_turn = self._difference(first, output, gates, step, residuals)
        residuals = residuals / rows.shape[0]
        by_output = torch.cat([torch.bmm(residuals[:, None], hidden)[:, 0], residuals.sum(1, keepdim=True)], dim=1)
        slopes = ACTIVATIONS[self.activation].slope(hidden)  # (B, m, hidden)
        slopes.mul_(output[:, None, :-1]).mul_(residuals[:, :, None])
        by_product = torch.bmm(rows.T.expand(len(slopes), -1, -1), slopes)  # (B, d + 1, hidden)
        by_gates = (by_product[:, :-1] * first[:, :-1]).sum(dim=2) if by_turn is None else by_turn
        by_first = by_product.mul_(z)
        by_first[:, :-1].add_(first[:, :-1], alpha=2 * self.l2)
        by_output[:, :-1].add_(output[:, :-1], alpha=2 * self.l2 * self.output_l2)
        return torch.cat([by_first.flatten(1), by_output], dim=1), by_gates

    def _difference(
        self, first: Tensor, output: Tensor, gates: Tensor, step: int, residuals: Tensor
    ) -> Tensor | None:
        """What opening the gate whose turn it is adds to the loss, times the number of gates, (B, d)."""
        if self.turns is None or self.counts is None:
            return None
        turn = self.turns.gather(1, (step % self.counts)[:, None])  # (B, 1)
        now = gates.gather(1, turn)
        flipped = _with_one(gates.scatter(1, turn, 1 - now))[:, :, None]
        changed, _ = self._forward(first * flipped, output, self._rows(step))
        change = 0.5 * (changed.square() - residuals.square()).mean(dim=1, keepdim=True)
        return torch.zeros_like(gates).scatter_(1, turn, (1 - 2 * now) * change * self.counts[:, None])

    def _forward(self, gated: Tensor, output: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Fitted less seen values (B, m), and hidden units (B, m, hidden)."""
        hidden = torch.bmm(rows.expand(len(gated), -1, -1), gated)
        hidden = ACTIVATIONS[self.activation].of_tensor(hidden)
        fitted = torch.bmm(hidden, output[:, :-1, None])[:, :, 0] + output[:, -1:]
        return fitted - rows.T[self.nodes], hidden

    def _rows(self, step: int) -> Tensor:
        """The rows of one step; a last batch that is not full is left out."""
        first = step % (self.values.shape[0] // self.batch_size) * self.batch_size
        return self.values[first : first + self.batch_size]

    def select(self, kept: Tensor) -> "Networks":
        """The same of some of the networks."""
        turns = None if self.turns is None else self.turns[kept]
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, nodes=self.nodes[kept], turns=turns, counts=counts)


def _with_one(gates: Tensor) -> Tensor:
    """Gates (B, d + 1) of all inputs and of the bias, which has none."""
    return torch.nn.functional.pad(gates, (0, 1), value=1.0)


@torch.no_grad()
def descend(
    problem: Networks,
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
    gates, width, d = BernoulliGates(), weights.shape[1], mask.shape[1]
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
                drawn, _ = gates.draw(parameters, noise[step - begin])
                by_weights, by_gates = problem.gradient(values, torch.maximum(drawn * mask, kept_open), step)
                by_parameters = by_gates + edges.pruning
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
