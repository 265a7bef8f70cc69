"""Batches of networks with one hidden layer: losses and their derivatives, written out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from daguerreotype._lib.optional import torch
from daguerreotype.edges.gradient.descent import GatedRegressions, Tensor, uniforms
from daguerreotype.edges.predictors import LEAK


class Activation(NamedTuple):
    """A function of tensors, in place; its slope, from its value."""

    of_tensor: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]


ACTIVATIONS = {
    "sigmoid": Activation(torch.sigmoid_, lambda h: torch.addcmul(h, h, h, value=-1)),
    "tanh": Activation(torch.tanh_, lambda h: 1 - h * h),
    "relu": Activation(torch.relu_, lambda h: (h > 0).to(h.dtype)),
    "leaky-relu": Activation(
        lambda h: torch.nn.functional.leaky_relu_(h, LEAK), lambda h: (h > 0).to(h.dtype).clamp_(min=LEAK)
    ),
}


@dataclass(frozen=True)
class Networks(GatedRegressions):
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
        Price of a squared weight of the first layer, and how many of those one of the output layer costs; biases
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
        others, _ = self._forward(first * flipped, output, self._rows(step))
        change = 0.5 * (others.square() - residuals.square()).mean(dim=1, keepdim=True)
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
