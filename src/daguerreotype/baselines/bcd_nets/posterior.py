"""Variational posterior of BCD-Nets over orders, weights and noise, and its evidence lower bound."""

import math
from typing import TYPE_CHECKING, NamedTuple

from daguerreotype._lib.optional import torch
from daguerreotype.baselines.bcd_nets.horseshoe import log_horseshoe
from daguerreotype.baselines.gumbel import gumbel_noise, log_matching_probability, sinkhorn, straight_through

if TYPE_CHECKING:
    from daguerreotype.baselines.bcd_nets.method import BCDNets

Tensor = torch.Tensor
NOISE_SCALE = 3.0  # standard deviation of the normal prior on log noise scales
LOG_STD_BOUND = 10.0


class Draw(NamedTuple):
    """B samples of the posterior.

    Attributes
    ----------
    values : tensor of shape (B, m)
        The entries of U above the diagonal, then the log noise scales: what the order is conditioned on.
    upper : tensor of shape (B, d, d)
        U, strictly upper triangular: U[p, q] leads from position p to position q.
    log_noise : tensor of shape (B, d)
        Log standard deviation of each node's noise.
    logits, permutations : tensors of shape (B, d, d)
        The law of the order given the rest, and a draw from it: P[p, i] = 1 puts node i at position p.
    entropy : tensor of shape ()
        Of q(U, s).
    """

    values: Tensor
    upper: Tensor
    log_noise: Tensor
    logits: Tensor
    permutations: Tensor
    entropy: Tensor


class Posterior:
    r"""q(U, s, P) = q(U, s) q(P | U, s):  a diagonal normal, then a matching law whose logits a network gives.

    The permutation follows  q(P | U, s) :math:`\propto \exp \langle P, logits \rangle`; it is drawn by Gumbel-
    Sinkhorn with Hungarian rounding, straight through. All parameters lie in one vector, ``flat``.

    Parameters
    ----------
    d : int
        Number of nodes.
    settings : BCDNets
        Its ``equal_variance``, ``hidden``, ``temperature``, ``tolerance`` and ``logit_bound``; logits stay within
        the last by a scaled tanh.
    generator : torch.Generator
        Source of the network's start and of all draws.
    """

    def __init__(self, d: int, settings: "BCDNets", generator: torch.Generator) -> None:
        self.d, self.settings, self.generator = d, settings, generator
        self.rows, self.cols = torch.triu_indices(d, d, offset=1)
        self.n_weights = len(self.rows)
        size, hidden = self.n_weights + (1 if settings.equal_variance else d), settings.hidden
        shapes = [(size, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, d * d), (d * d,)]
        self.shapes: list[tuple[int, ...]] = [(size,), (size,), *shapes]
        layers = [self._start(shape) for shape in shapes]
        self.flat = torch.cat([torch.zeros(size), -torch.ones(size), *layers]).requires_grad_()

    def _start(self, shape: tuple[int, ...]) -> Tensor:
        """Weights of variance 1 / inputs, truncated at two deviations; biases of zero."""
        start = torch.zeros(shape)
        if len(shape) == 2:
            std = shape[0] ** -0.5
            torch.nn.init.trunc_normal_(start, 0.0, std, -2 * std, 2 * std, generator=self.generator)
        return start.flatten()

    def parts(self) -> list[Tensor]:
        """Means, log standard deviations (softly bounded), then weights and biases of the network."""
        pieces = torch.split(self.flat, [math.prod(shape) for shape in self.shapes])
        mean, raw, *layers = (piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True))
        return [mean, LOG_STD_BOUND * torch.tanh(raw / LOG_STD_BOUND), *layers]

    def logits(self, values: Tensor, layers: list[Tensor]) -> Tensor:
        """Logits (B, d, d) of the order, given values (B, m)."""
        units = torch.nn.functional.gelu(torch.addmm(layers[1], values, layers[0]))
        units = torch.nn.functional.gelu(torch.addmm(layers[3], units, layers[2]))
        raw = torch.addmm(layers[5], units, layers[4]).view(-1, self.d, self.d)
        return self.settings.logit_bound * torch.tanh(raw / self.settings.logit_bound)

    def sample(self, size: int) -> Draw:
        """Independent draws, differentiable in ``flat``."""
        mean, log_std, *layers = self.parts()
        values = mean + log_std.exp() * torch.randn(size, mean.numel(), generator=self.generator)
        logits = self.logits(values, layers)
        noisy = logits + gumbel_noise(tuple(logits.shape), self.generator)
        return self._draw(values, logits, noisy / self.settings.temperature, log_std)

    def mode(self) -> Draw:
        """One draw without noise: the mean of U and s, and the likeliest order given them."""
        with torch.no_grad():
            mean, log_std, *layers = self.parts()
            logits = self.logits(mean[None], layers)
            return self._draw(mean[None], logits, logits, log_std)

    def _draw(self, values: Tensor, logits: Tensor, scores: Tensor, log_std: Tensor) -> Draw:
        """Round scores (B, d, d) to permutations and name the pieces of the values."""
        soft, columns = sinkhorn(scores, tolerance=self.settings.tolerance)
        upper = values.new_zeros(len(values), self.d, self.d)
        upper[:, self.rows, self.cols] = values[:, : self.n_weights]
        log_noise = values[:, self.n_weights :].expand(-1, self.d)
        entropy = log_std.sum() + 0.5 * log_std.numel() * (1 + math.log(2 * math.pi))
        return Draw(values, upper, log_noise, logits, straight_through(soft, columns), entropy)

    def decay(self, gradient: Tensor) -> Tensor:
        """``gradient`` plus that of half the squared norm of the network's weights and biases."""
        normal = 2 * self.shapes[0][0]
        gradient[normal:] += self.flat.detach()[normal:]
        return gradient


def weight_matrices(draw: Draw) -> Tensor:
    """W = P' U P (B, d, d):  W[i, j] is the effect of node i on node j."""
    return draw.permutations.mT @ draw.upper @ draw.permutations


def log_likelihood(draw: Draw, moments: Tensor, n_rows: int) -> Tensor:
    r"""Log likelihood (B,) of n rows with second moments S (d, d) under  x = W'x + e,  e_j ~ N(0, exp(2 s_j)).

    -n sum_j [ s_j + exp(-2 s_j) ((I - W)' S (I - W))_jj / 2 + log(2 pi) / 2 ],  for |I - W| = 1.
    """
    d = moments.shape[0]
    residual = torch.eye(d, dtype=moments.dtype) - weight_matrices(draw)
    squares = (residual * (moments @ residual)).sum(dim=1)  # (B, d)
    terms = draw.log_noise + 0.5 * squares * torch.exp(-2 * draw.log_noise)
    return -n_rows * (terms.sum(dim=1) + 0.5 * d * math.log(2 * math.pi))


def elbo(draw: Draw, moments: Tensor, n_rows: int, scale: float) -> Tensor:
    r"""Evidence lower bound, estimated from draws:  E_q[log p(X | W, s) + log p(U, s, P) - log q(U, s, P)].

    Priors: a horseshoe of ``scale`` on each entry of U, N(0, 3^2) on log noise, uniform on the d! orders.
    """
    d = len(moments)
    weights, log_noise = draw.values.tensor_split([d * (d - 1) // 2], dim=1)
    log_prior = log_horseshoe(weights, scale).sum(dim=1) - math.lgamma(d + 1)
    normal = 0.5 * (log_noise / NOISE_SCALE).square() + math.log(NOISE_SCALE * math.sqrt(2 * math.pi))
    log_order = log_matching_probability(draw.permutations, draw.logits)
    fit = log_likelihood(draw, moments, n_rows)
    return (fit + log_prior - normal.sum(dim=1) - log_order).mean() + draw.entropy
