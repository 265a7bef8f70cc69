"""BCD-Nets: variational posterior over orders, weights and noise of a linear Gaussian model."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import exp1

from daguerreotype._lib.checks import check_positive
from daguerreotype._lib.imports import torch
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.baselines.base import Baseline, Learned
from daguerreotype.baselines.permutations import (
    gumbel_noise,
    log_matching_probability,
    sinkhorn,
    straight_through,
)


@dataclass(kw_only=True, eq=False, repr=False)
class BCDNets(Baseline):
    r"""Variational Bayes over the order, the weights and the noise of a linear Gaussian model.

    Maximises the evidence lower bound

    .. math:: E_q[\log p(X | P, U, s) + \log p(P, U, s) - \log q(P, U, s)],  W = P^T U P,

    with U strictly upper triangular and P a permutation: every sample is a DAG (Cundy, Grover and Ermon,
    NeurIPS 2021). q(U, s) is a diagonal normal; given a sample of it, a network writes the logits of q(P | U, s),
    drawn by Gumbel-Sinkhorn with Hungarian rounding and straight-through gradients. The prior on U is a horseshoe
    of scale p0 / ((d - 1 - p0) sqrt(n)), p0 = 2 * degree (Piironen and Vehtari 2017). The mode is reported: the
    mean of U and s, the likeliest order given them, and the edges of weight beyond ``threshold``.

    The defaults are those of the authors' code (github.com/ermongroup/BCD-Nets), as are two hidden layers of GELU
    units, AdaBelief, log noise scales N(0, 3^2) and the normal, not the flow, for q(U, s). Unlike it, the density
    of the horseshoe is exact, the prior on log noise has its right sign, and only second moments of X are used, so
    that rows cost nothing.

    Parameters
    ----------
    equal_variance : bool
        One noise variance for all columns. True only for raw columns in the same unit.
    degree : float
        Expected number of parents of a node; sets how strongly weights are shrunk.
    threshold : float
        Edges of smaller absolute weight are left out.
    n_steps : int
        Gradient steps. A tenth shows the strongest edges of ten columns; orders settle later.
    batch_size : int
        Samples of the posterior per step.
    learning_rate : float
        Of AdaBelief, for all parameters.
    temperature : float
        Of Gumbel-Sinkhorn; lower is closer to a permutation, with noisier gradients.
    tolerance : float
        How far from doubly stochastic Sinkhorn may stop.
    logit_bound : float
        Logits of the order stay within this, which keeps some doubt alive.
    hidden : int
        Units per hidden layer of the network.
    standardize : bool
        Scale columns to variance one. Set to False with ``equal_variance=True``.
    random_state : int or None
        Seed.
    time_limit : float or None
        Seconds after which to give up.

    Examples
    --------
    >>> from daguerreotype.simulate import simulate_dag, simulate_data
    >>> X = simulate_data(simulate_dag(4, 3, random_state=0), 500, random_state=0).X
    >>> model = BCDNets(equal_variance=True, standardize=False, n_steps=200).fit(X)
    >>> model.weights_.shape
    (4, 4)
    """

    libraries = ("torch",)
    checks = dict.fromkeys(("degree", "learning_rate", "temperature", "tolerance", "logit_bound"), check_positive)

    equal_variance: bool = False
    degree: float = 1.0
    threshold: float = 0.3
    n_steps: int = 20_000
    batch_size: int = 64
    learning_rate: float = 1e-3
    temperature: float = 0.2
    tolerance: float = 1e-2
    logit_bound: float = 10.0
    hidden: int = 128

    def learn(self, X: FloatArray, rng: np.random.Generator) -> Learned:
        """Maximise the ELBO and report the mode."""
        generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
        n, d = X.shape
        posterior = Posterior(d, self, generator)
        scale = horseshoe_scale(d, n, self.degree)
        moments = torch.from_numpy(X.T @ X / n).float()
        optimizer = AdaBelief(posterior.flat, self.learning_rate)
        for step in range(self.n_steps):
            bound = elbo(posterior.sample(self.batch_size), moments, n, scale)
            if not torch.isfinite(bound):
                raise ValueError(
                    f"the ELBO became {bound.item()} in step {step}: columns of this scale (largest value "
                    f"{np.abs(X).max():.3g}) do not fit its single precision. Set standardize=True, or divide "
                    "all columns by the same number."
                )
            # The released code divides the ELBO's gradient by the temperature before the weight decay joins it.
            gradient = torch.autograd.grad(-bound / self.temperature, posterior.flat)[0]
            optimizer.step(posterior.decay(gradient))
        mode = posterior.mode()
        weights: FloatArray = weight_matrices(mode)[0].double().numpy()
        weights[np.abs(weights) <= self.threshold] = 0.0
        order: IntArray = mode.permutations[0].argmax(dim=1).numpy()
        return Learned((weights != 0).astype(np.int64), weights, order)


def horseshoe_scale(d: int, n_rows: int, degree: float) -> float:
    """Scale of the prior at which about 2 * degree of d - 1 weights are large; 1 / (2 d) for tiny graphs."""
    small = d - 1 - 2 * degree
    return 2 * degree / (small * math.sqrt(n_rows)) if small > 0 else 1 / (2 * d)


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

    def __init__(self, d: int, settings: BCDNets, generator: torch.Generator) -> None:
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


LEAST = 1e-20  # the density has a pole at 0


def log_horseshoe(x: torch.Tensor, scale: float) -> torch.Tensor:
    r"""Log density of  x = scale * lambda * z  with z standard normal and lambda standard half-Cauchy.

    With u = x^2 / (2 scale^2) it is exactly :math:`e^u E_1(u) / (scale \sqrt{2 \pi^3})`, E_1 the exponential
    integral (Carvalho, Polson and Scott 2010).
    """
    return _LogHorseshoe.apply(x, scale)  # type: ignore[no-untyped-call, no-any-return]


class _LogHorseshoe(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: float) -> torch.Tensor:
        exact = x.detach().double()
        u = (exact / scale).square().div_(2).clamp_(min=LEAST)
        value = torch.from_numpy(scaled_exponential_integral(u.numpy()))
        # d/du log(e^u E_1(u)) = 1 - 1 / (u e^u E_1(u))
        ctx.save_for_backward((1.0 - 1.0 / (u * value)) * exact / scale**2)
        return (value.log() - math.log(scale * math.sqrt(2 * math.pi**3))).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[torch.Tensor, None]:
        (slope,) = ctx.saved_tensors
        return (grads[0].double() * slope).to(grads[0].dtype), None


def scaled_exponential_integral(u: FloatArray) -> FloatArray:
    r""":math:`e^u E_1(u)` of positive u; beyond 500, where the factors leave floats, by its asymptotic series."""
    near, far = np.minimum(u, 500.0), np.maximum(u, 500.0)
    series = (1 - (1 - (2 - (6 - 24 / far) / far) / far) / far) / far
    values: FloatArray = np.where(u < 500.0, np.exp(near) * exp1(near), series)
    return values


class AdaBelief:
    r"""m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) (g - m)^2 + eps;  x <- x - rate m^ / (sqrt(v^) + eps).

    Parameters
    ----------
    parameters : tensor
        Changed in place by `step`.
    rate : float
        Step length.
    """

    BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8

    def __init__(self, parameters: torch.Tensor, rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self.mean, self.spread = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.count = 0

    @torch.no_grad()
    def step(self, gradient: torch.Tensor) -> None:
        """Descend along ``gradient``."""
        first, second = self.BETA1, self.BETA2
        self.count += 1
        self.mean.lerp_(gradient, 1 - first)
        surprise = gradient - self.mean
        self.spread.mul_(second).addcmul_(surprise, surprise, value=1 - second).add_(self.EPSILON**2)
        scale = (self.spread / (1 - second**self.count)).sqrt_().add_(self.EPSILON)
        self.parameters.addcdiv_(self.mean, scale, value=-self.rate / (1 - first**self.count))
