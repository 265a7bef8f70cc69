"""Differentiable samples of DAGs, and the masked networks that predict under them."""

import math
from itertools import pairwise
from typing import Protocol

from daguerreotype._lib.optional import torch
from daguerreotype.baselines.gumbel import gumbel_noise, sinkhorn, soft_sort, straight_through

Tensor = torch.Tensor


class OrderLaw(Protocol):
    """A distribution over orders whose draws have a gradient in ``scores``."""

    scores: Tensor

    def sample(self, generator: torch.Generator) -> Tensor:
        """A permutation matrix (d, d): P[p, i] = 1 puts node i at position p."""
        ...

    def mode(self) -> Tensor:
        """The likeliest order (d,)."""
        ...


class SoftSortLaw:
    r"""Gumbel top-k: nodes in descending order of  log softmax(scores) + Gumbel noise  (Plackett-Luce).

    The gradient is that of SoftSort.
    """

    def __init__(self, d: int, temperature: float) -> None:
        self.scores = torch.zeros(d, requires_grad=True)
        self.temperature = temperature

    def sample(self, generator: torch.Generator) -> Tensor:
        """Straight through the soft sort of noisy scores."""
        noisy = torch.log_softmax(self.scores, dim=0) + gumbel_noise((len(self.scores),), generator)
        return straight_through(*soft_sort(noisy, self.temperature))

    def mode(self) -> Tensor:
        """Scores in descending order."""
        return torch.sort(self.scores.detach(), descending=True, stable=True).indices


class SinkhornLaw:
    """Gumbel-Sinkhorn: the best matching of nodes and positions under  log sigmoid(scores) + Gumbel noise."""

    def __init__(self, d: int, temperature: float) -> None:
        self.scores = torch.zeros(d, d, requires_grad=True)
        self.temperature = temperature

    def sample(self, generator: torch.Generator) -> Tensor:
        """Straight through the balanced matrix."""
        noisy = torch.nn.functional.logsigmoid(self.scores) + gumbel_noise(tuple(self.scores.shape), generator)
        soft, columns = sinkhorn(noisy[None] / self.temperature)
        return straight_through(soft, columns)[0]

    def mode(self) -> Tensor:
        """The best matching without noise."""
        return sinkhorn(torch.nn.functional.logsigmoid(self.scores.detach())[None])[1][0]


def sample_dag(permutation: Tensor, edge_logits: Tensor, generator: torch.Generator) -> Tensor:
    r"""A = E * (P' T P)  with edges E[i, j] ~ Bernoulli(sigmoid(edge_logits[i, j])) and T ones above the diagonal.

    Binary; the gradient in the logits is that of the Gumbel-softmax at temperature 1 (binary concrete).
    """
    noise = gumbel_noise((2, *edge_logits.shape), generator)
    soft = torch.sigmoid(edge_logits + noise[0] - noise[1])
    edges = (soft > 0.5).to(soft.dtype) + (soft - soft.detach())
    earlier = torch.ones_like(permutation).triu(1)
    return edges * (permutation.mT @ earlier @ permutation)


def mode_dag(order: Tensor, edge_logits: Tensor) -> Tensor:
    """Edges (d, d) likelier than not, among those that the order allows."""
    ranks = torch.argsort(order)
    return ((edge_logits.detach() > 0) & (ranks[:, None] < ranks[None, :])).to(edge_logits.dtype)


def edge_divergence(edge_logits: Tensor, prior: float) -> Tensor:
    r"""Mean over pairs i != j of  KL(Bernoulli(q_ij) || Bernoulli(prior)),  q = sigmoid(edge_logits)."""
    q = torch.sigmoid(edge_logits)
    log_on, log_off = (torch.nn.functional.logsigmoid(sign * edge_logits) for sign in (1, -1))
    return _pair_mean(q * (log_on - math.log(prior)) + (1 - q) * (log_off - math.log1p(-prior)))


def edge_reward(edge_logits: Tensor, prior: float) -> Tensor:
    """Mean over pairs i != j of  prior * (log(prior) - edge_logits[i, j]):  the larger the logit, the smaller."""
    return prior * (math.log(prior) - _pair_mean(edge_logits))


def _pair_mean(cells: Tensor) -> Tensor:
    """Mean off the diagonal."""
    d = len(cells)
    return (cells.sum() - cells.diagonal().sum()) / (d * (d - 1))


class MaskedAutoencoder:
    r"""One network per node,  x_j ~ f_j(x * A[:, j]),  with ReLU layers; all nodes at once.

    Parameters
    ----------
    d : int
        Number of nodes.
    hidden : tuple of int
        Units of each hidden layer.
    generator : torch.Generator
        Start: uniform within 1 / sqrt(inputs) of each layer.
    """

    def __init__(self, d: int, hidden: tuple[int, ...], generator: torch.Generator) -> None:
        sizes = [d, *hidden, 1]
        self.weights, self.biases = [], []
        for inputs, outputs in pairwise(sizes):
            bound = inputs**-0.5
            weight = torch.empty(d, inputs, outputs).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(d, 1, outputs).uniform_(-bound, bound, generator=generator)
            self.weights.append(weight.requires_grad_())
            self.biases.append(bias.requires_grad_())

    def parameters(self) -> list[Tensor]:
        """Tensors to train."""
        return [*self.weights, *self.biases]

    def predict(self, rows: Tensor, dag: Tensor) -> Tensor:
        """Fitted values (m, d) of rows (m, d): the mask closes inputs of the first layer."""
        first = self.weights[0] * dag.mT[:, :, None]  # (node, input, units)
        units = torch.baddbmm(self.biases[0], rows.expand(len(dag), -1, -1), first)  # (node, m, units)
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            units = torch.baddbmm(bias, torch.relu(units), weight)
        return units[:, :, 0].mT
