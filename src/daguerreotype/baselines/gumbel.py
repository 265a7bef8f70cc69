"""Differentiable samples of permutations: Gumbel-Sinkhorn, SoftSort and straight-through gradients.

Throughout, P[p, i] = 1 says that node i stands at position p.
"""

from typing import Any

import numpy as np

from daguerreotype._lib.optional import torch
from daguerreotype.baselines.assignment import balance, bethe_marginals

Tensor = torch.Tensor
RIDGE = 1e-12  # keeps the linear system of a matrix that is a permutation up to rounding solvable
BETHE_ITERATIONS = 20


def gumbel_noise(shape: tuple[int, ...], generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Tensor:
    """Standard Gumbel variables."""
    return torch.empty(shape, dtype=dtype).exponential_(generator=generator).log_().neg_()


class _Sinkhorn(torch.autograd.Function):
    """Balancing of exp(logits), differentiated at its fixed point rather than through its iterations."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tolerance: float, max_iter: int) -> tuple[Tensor, Tensor]:
        soft, matched = balance(np.ascontiguousarray(logits.detach().double().numpy()), tolerance, max_iter)
        exact = torch.from_numpy(soft)
        ctx.save_for_backward(exact)
        columns = torch.from_numpy(matched)
        ctx.mark_non_differentiable(columns)
        return exact.to(logits.dtype), columns

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None]:
        # soft = exp(logits + f_i + g_j), with f and g such that sums stay 1: take off the part that they undo.
        (soft,) = ctx.saved_tensors
        pulled = grads[0].double() * soft
        row_sums, col_sums = soft.sum(dim=2, keepdim=True), soft.sum(dim=1)
        by_row, by_col = pulled.sum(dim=2, keepdim=True), pulled.sum(dim=1)[..., None]
        scaled = (soft / row_sums).mT
        d = soft.shape[-1]
        system = torch.diag_embed(col_sums + RIDGE) - scaled @ soft + 1.0 / d  # adding a constant to g is free
        g = torch.linalg.solve(system, by_col - scaled @ by_row)
        f = (by_row - soft @ g) / row_sums
        return (pulled - soft * (f + g.mT)).to(grads[0].dtype), None, None


def sinkhorn(logits: Tensor, *, tolerance: float = 1e-2, max_iter: int = 1000) -> tuple[Tensor, Tensor]:
    r"""Doubly stochastic matrix nearest to exp(logits), and the best matching.

    Solves  max_P  <P, logits> + H(P)  over doubly stochastic P, with H the sum of -P log P (Mena et al. 2018).

    Parameters
    ----------
    logits : tensor of shape (B, d, d)
        Divide by a temperature first; towards 0 the solution becomes the best matching.
    tolerance : float
        How far a row sum may be off 1 at the end. 1e-2 as in the code of BCD-Nets.
    max_iter : int
        Rounds at most; cold, nearly tied matrices balance slowly.

    Returns
    -------
    soft : tensor of shape (B, d, d)
        Differentiable in the logits.
    columns : tensor of shape (B, d)
        The matching of largest  sum_p logits[p, columns[p]].
    """
    soft, columns = _Sinkhorn.apply(logits, tolerance, max_iter)  # type: ignore[no-untyped-call]
    return soft, columns


def soft_sort(scores: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    r"""Soft descending sort of scores (B, d), and the order (B, d) itself (Prillo and Eisenschlos 2020).

    P[p, i] = softmax over i of  -|s_[p] - s_i| / temperature,  with s_[p] the p-th largest score.
    """
    ordered, order = torch.sort(scores, dim=-1, descending=True, stable=True)
    distance = (ordered[..., :, None] - scores[..., None, :]).abs()
    return torch.softmax(-distance / temperature, dim=-1), order


def straight_through(soft: Tensor, columns: Tensor) -> Tensor:
    """Permutation matrices with a one at [p, columns[p]] exactly, and the gradient of ``soft``."""
    hard = torch.zeros_like(soft).scatter_(-1, columns[..., None], 1.0)
    return hard + (soft - soft.detach())


def log_matching_probability(permutations: Tensor, logits: Tensor) -> Tensor:
    r"""Log probability (B,) of permutations under  q(P) = exp <P, logits> / perm(exp(logits)).

    The log permanent is replaced by its Bethe approximation,  <g, logits> - sum g log g + sum (1 - g) log(1 - g)
    at the marginals g that maximise it (Vontobel 2013): a lower bound (Gurvits 2011), off by at most d/2 log 2
    (Anari and Rezaei 2019). Being a maximum, its slope in the logits is g.
    """
    found = bethe_marginals(np.ascontiguousarray(logits.detach().double().numpy()), BETHE_ITERATIONS)
    entropy = (_x_log_x(1.0 - found) - _x_log_x(found)).sum(axis=(1, 2))
    marginals = torch.from_numpy(found).to(logits.dtype)
    return ((permutations - marginals) * logits).sum(dim=(1, 2)) - torch.from_numpy(entropy).to(logits.dtype)


def _x_log_x(x: Any) -> Any:
    return x * np.log(np.maximum(x, 1e-300))
