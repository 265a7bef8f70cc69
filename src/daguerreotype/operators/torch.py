"""The operators as autograd functions of torch.

Tensors in, ``(probs, ranks)`` out, with probs differentiable in theta. Scores may be a vector (d,) or a batch
(b, d) of any float type on any device; the work is done on the CPU in double precision, a batch in threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from daguerreotype._lib.imports import require
from daguerreotype._lib.parallel import count_jobs
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators import projection as numpy_projection
from daguerreotype.operators import sparsemap as numpy_sparsemap
from daguerreotype.operators import top_k_sparsemax as numpy_top_k_sparsemax
from daguerreotype.operators.distribution import OrderDistribution
from daguerreotype.operators.precedence import PrecedenceLike, as_precedence

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", "daguerreotype.operators.torch needs torch.", extra="torch")

Operator = Callable[..., OrderDistribution]


def top_k_sparsemax(
    theta: torch.Tensor,
    k: int = 100,
    *,
    tau: float = 1.0,
    precedence: PrecedenceLike | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiable :func:`daguerreotype.operators.top_k_sparsemax`.

    Parameters
    ----------
    theta : tensor of shape (d,) or (b, d)
        Node scores.
    k : int
        How many rankings may carry mass.
    tau : float
        Temperature.
    precedence : Precedence or iterable of pairs (i, j), optional
        Node i stands before node j in every ranking; ``theta`` must not say otherwise.

    Returns
    -------
    probs : tensor of shape (m,) or (b, m)
        Probabilities, differentiable in theta, with its type and device. In a batch m is the largest support;
        the others are padded with zero-probability rankings.
    ranks : integer tensor of shape (m, d) or (b, m, d)
        Position of every node in every ranking.

    Examples
    --------
    >>> import torch
    >>> from daguerreotype.operators.torch import top_k_sparsemax
    >>> theta = torch.tensor([0.0, 0.5, 2.0], requires_grad=True)
    >>> probs, ranks = top_k_sparsemax(theta, k=10)
    >>> probs[0].backward()
    >>> theta.grad
    tensor([-0.5000,  0.5000,  0.0000])
    """
    return _distribute(theta, partial(numpy_top_k_sparsemax, k=k, tau=tau), precedence)


def sparsemap(
    theta: torch.Tensor,
    max_iter: int = 100,
    *,
    tau: float = 1.0,
    method: Literal["active-set", "peel"] = "active-set",
    precedence: PrecedenceLike | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiable :func:`daguerreotype.operators.sparsemap`; returns as :func:`top_k_sparsemax` does."""
    operator = partial(numpy_sparsemap, max_iter=max_iter, tau=tau, method=method)
    return _distribute(theta, operator, precedence)


def project_permutahedron(theta: torch.Tensor) -> torch.Tensor:
    """Differentiable :func:`daguerreotype.operators.project_permutahedron`, shape as ``theta``."""
    _check_tensor(theta)
    projection: torch.Tensor = _Projection.apply(theta)  # type: ignore[no-untyped-call]
    return projection


def _distribute(
    theta: torch.Tensor, operator: Operator, precedence: PrecedenceLike | None
) -> tuple[torch.Tensor, torch.Tensor]:
    _check_tensor(theta)
    if precedence is not None:  # made once for all rows of a batch
        operator = partial(operator, precedence=as_precedence(precedence, theta.shape[-1]))
    probs, ranks = _Distribution.apply(theta, operator)  # type: ignore[no-untyped-call]
    return probs, ranks


def _check_tensor(theta: torch.Tensor) -> None:
    """Refuse what is not a float tensor of one or two dimensions."""
    if not isinstance(theta, torch.Tensor) or not theta.is_floating_point():
        kind = theta.dtype if isinstance(theta, torch.Tensor) else type(theta).__name__
        raise ValueError(f"theta must be a tensor of floats, got {kind}.")
    if theta.ndim not in (1, 2):
        raise ValueError(f"theta must have shape (d,) or (b, d), got {tuple(theta.shape)}.")
    if theta.ndim == 2 and theta.shape[0] == 0:
        raise ValueError("theta is an empty batch: at least one score vector is needed.")


@cache
def _threads(n_jobs: int) -> ThreadPoolExecutor:
    """One pool for all batches; kernels release the GIL, so threads are enough."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="daguerreotype")


def _rows(theta: torch.Tensor) -> FloatArray:
    """Scores (b, d) as double precision on the CPU."""
    rows: FloatArray = theta.detach().to("cpu", torch.float64).reshape(-1, theta.shape[-1]).numpy()
    return rows


def _by_row(function: Callable[..., Any], *columns: Any) -> list[Any]:
    """``function`` of every row, by a thread per core with a share of the rows each."""
    n_jobs, n_rows = count_jobs(-1), len(columns[0])
    n_shares = min(n_jobs, n_rows)
    if n_shares == 1:
        return list(map(function, *columns))
    ends = [n_rows * share // n_shares for share in range(n_shares + 1)]
    shares = ([column[first:last] for column in columns] for first, last in pairwise(ends))
    results = _threads(n_jobs).map(lambda share: list(map(function, *share)), shares)
    return [result for share in results for result in share]


def _pad(distributions: list[OrderDistribution]) -> tuple[FloatArray, IntArray]:
    """Probabilities (b, m) and ranks (b, m, d); padding repeats a row's first ranking."""
    m = max(map(len, distributions))
    probs = np.zeros((len(distributions), m))
    ranks = np.empty((len(distributions), m, distributions[0].n_nodes), dtype=np.int64)
    for row, distribution in enumerate(distributions):
        size = len(distribution)
        probs[row, :size] = distribution.probs
        ranks[row, :size] = distribution.ranks
        ranks[row, size:] = distribution.ranks[0]
    return probs, ranks


class _Distribution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: torch.Tensor, operator: Operator) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.distributions = _by_row(operator, _rows(theta))
        ctx.shape = theta.shape
        probs, ranks = _pad(ctx.distributions)
        if theta.ndim == 1:
            probs, ranks = probs[0], ranks[0]
        probs_out = torch.from_numpy(probs).to(theta.device, theta.dtype)
        ranks_out = torch.from_numpy(ranks).to(theta.device)
        ctx.mark_non_differentiable(ranks_out)
        return probs_out, ranks_out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_probs: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor, None]:
        rows = _rows(grad_probs)
        gradients = _by_row(lambda dist, grad: dist.vjp(grad[: len(dist)]), ctx.distributions, rows)
        gradient = torch.from_numpy(np.stack(gradients)).reshape(ctx.shape)
        return gradient.to(grad_probs.device, grad_probs.dtype), None


class _Projection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: torch.Tensor) -> torch.Tensor:
        ctx.rows = _rows(theta)
        projected = np.stack(_by_row(numpy_projection.project_permutahedron, ctx.rows))
        return torch.from_numpy(projected).reshape(theta.shape).to(theta.device, theta.dtype)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad_projection: torch.Tensor) -> torch.Tensor:
        vjp, rows = numpy_projection.project_permutahedron_vjp, _rows(grad_projection)
        gradients = _by_row(vjp, ctx.rows, rows)
        gradient = torch.from_numpy(np.stack(gradients)).reshape(grad_projection.shape)
        return gradient.to(grad_projection.device, grad_projection.dtype)
