"""Differentiable samples of permutations: Gumbel-Sinkhorn, SoftSort and straight-through gradients.

Throughout, P[p, i] = 1 says that node i stands at position p.

Balancing batches of matrices of 10 to 100 nodes takes microseconds in kernels; in tensor operations it is a
hundred launches.
"""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from daguerreotype._lib.imports import torch
from daguerreotype._lib.numba import algebra_kernel, kernel
from daguerreotype._lib.typing import FloatArray, IntArray

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
        scores = np.ascontiguousarray(logits.detach().double().numpy())
        # What is no number is for the caller to see in the result.
        matched = np.array([linear_sum_assignment(row, maximize=True)[1] for row in np.nan_to_num(scores)])
        exact = torch.from_numpy(balance(scores, matched, tolerance, max_iter))
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
    exact = bethe_marginals(np.ascontiguousarray(logits.detach().double().numpy()), BETHE_ITERATIONS)
    entropy = (_x_log_x(1.0 - exact) - _x_log_x(exact)).sum(axis=(1, 2))
    marginals = torch.from_numpy(exact).to(logits.dtype)
    return ((permutations - marginals) * logits).sum(dim=(1, 2)) - torch.from_numpy(entropy).to(logits.dtype)


def _x_log_x(x: Any) -> Any:
    return x * np.log(np.maximum(x, 1e-300))


# ---------------------------------------------------------------- kernels of balancing and of messages


TINY = 1e-30  # what is smaller is nothing: as single-precision denormals it would slow every product down
SETTLED = 1e-6  # relative change of messages below which they are taken as final


@kernel
def centred_duals(scores: FloatArray, matched: IntArray) -> tuple[FloatArray, FloatArray]:
    """Dual variables of rows and columns that prove a matching best, in the middle of all that do.

    scores[i, j] <= rows[i] + cols[j], with equality on the matching and a slack elsewhere, unless it ties. From
    rows of 0, raising the dual of row i and lowering that of its partner by t_i keeps the matching tight; row i
    and the partner of row k allow  t_k <= t_i + scores[k, matched[k]] - scores[i, matched[k]].  Shortest paths
    from any row solve this (a best matching has no negative cycle); duals are the mean over all rows, O(d^3).
    """
    d = scores.shape[0]
    paths = np.empty((d, d))
    for i in range(d):
        for k in range(d):
            paths[i, k] = scores[k, matched[k]] - scores[i, matched[k]]
    for via in range(d):
        for i in range(d):
            start = paths[i, via]
            for k in range(d):
                paths[i, k] = min(paths[i, k], start + paths[via, k])
    rows, cols = np.zeros(d), np.empty(d)
    for k in range(d):
        for i in range(d):
            rows[k] += paths[i, k] / d
        cols[matched[k]] = scores[k, matched[k]] - rows[k]
    return rows, cols


@algebra_kernel
def balance(logits: FloatArray, matched: IntArray, tolerance: float, max_iter: int) -> FloatArray:
    """Sinkhorn's doubly stochastic matrices (B, d, d) of exp(logits), from their best matchings (B, d).

    Iterates until no row sum is off by more than ``tolerance``; column sums are exact. Taking the duals of the
    best matching off first leaves ones on it and less elsewhere: nothing overflows, and cold matrices, which
    would take thousands of rounds, are nearly balanced from the start.
    """
    size, d, _ = logits.shape
    soft = np.empty((size, d, d))
    left, right, row_sums, col_sums = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for b in range(size):
        rows, cols = centred_duals(logits[b], matched[b])
        for i in range(d):
            total = 0.0
            for j in range(d):
                soft[b, i, j] = np.exp(min(logits[b, i, j] - rows[i] - cols[j], 0.0))
                total += soft[b, i, j]
            row_sums[i] = total
        for _ in range(max_iter):
            for i in range(d):
                left[i] = 1.0 / row_sums[i]
                col_sums[i] = 0.0
            for i in range(d):
                for j in range(d):
                    col_sums[j] += soft[b, i, j] * left[i]
            for j in range(d):
                right[j] = 1.0 / col_sums[j]
            off = 0.0
            for i in range(d):
                total = 0.0
                for j in range(d):
                    total += soft[b, i, j] * right[j]
                row_sums[i] = total
                off = max(off, abs(total * left[i] - 1.0))
            if off <= tolerance:
                break
        for i in range(d):
            for j in range(d):
                share = soft[b, i, j] * left[i] * right[j]
                soft[b, i, j] = share if share > TINY else 0.0
    return soft


@algebra_kernel
def bethe_marginals(logits: FloatArray, max_iter: int) -> FloatArray:
    r"""Marginals (B, d, d) of permutations drawn with probability :math:`\propto \exp \langle P, logits \rangle`.

    By sum-product messages, whose fixed point maximises the Bethe entropy (Vontobel 2013). Those of rows are kept
    transposed, so that both kinds run along contiguous memory. Stops when no message changes any more.
    """
    size, d, _ = logits.shape
    marginals = np.empty((size, d, d))
    weights, turned = np.empty((d, d)), np.empty((d, d))
    by_row, by_col, message = np.ones((d, d)), np.empty((d, d)), np.empty((d, d))
    total = np.empty(d)
    for b in range(size):
        for i in range(d):
            top = logits[b, i].max()
            for j in range(d):
                weights[i, j] = np.exp(logits[b, i, j] - top)
                turned[j, i] = weights[i, j]
                by_col[i, j] = 1.0
        for _ in range(max_iter):
            _turn(by_col, message)
            _send(turned, message, by_row, total)
            _turn(by_row, message)
            if _send(weights, message, by_col, total) <= SETTLED:
                break
        for i in range(d):
            for j in range(d):
                odds = weights[i, j] * by_row[j, i] * by_col[i, j]
                marginals[b, i, j] = odds / (1.0 + odds)
    return marginals


@algebra_kernel
def _send(weights: FloatArray, received: FloatArray, sent: FloatArray, total: FloatArray) -> float:
    """Write  sent[k] = 1 / sum_{l != k} weights[l] received[l];  return the largest relative change.

    Each sum is taken from both ends, its own term left out rather than taken off: nothing cancels.
    """
    d = weights.shape[0]
    before = np.empty((d, d))
    total[:] = 0.0
    for k in range(d):
        for m in range(d):
            before[k, m] = total[m]
            total[m] += weights[k, m] * received[k, m]
    total[:] = 0.0
    change = 0.0
    for k in range(d - 1, -1, -1):
        for m in range(d):
            old, without = sent[k, m], before[k, m] + total[m]
            change = max(change, abs(old * without - 1.0))
            sent[k, m] = 1.0 / without
            total[m] += weights[k, m] * received[k, m]
    return change


@kernel
def _turn(matrix: FloatArray, turned: FloatArray) -> None:
    """Write the transpose."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            turned[j, i] = matrix[i, j]
