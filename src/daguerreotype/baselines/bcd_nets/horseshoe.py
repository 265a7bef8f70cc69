"""Horseshoe prior on weights: exact log density by the exponential integral, and its derivative."""

import math
from typing import Any

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.optional import torch
from daguerreotype._lib.typing import FloatArray

EULER = 0.5772156649015329
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
        value = torch.from_numpy(scaled_exponential_integral(u.numpy().ravel())).view(u.shape)
        # d/du log(e^u E_1(u)) = 1 - 1 / (u e^u E_1(u))
        ctx.save_for_backward((1.0 - 1.0 / (u * value)) * exact / scale**2)
        return (value.log() - math.log(scale * math.sqrt(2 * math.pi**3))).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[torch.Tensor, None]:
        (slope,) = ctx.saved_tensors
        return (grads[0].double() * slope).to(grads[0].dtype), None


@kernel
def scaled_exponential_integral(u: FloatArray) -> FloatArray:
    r""":math:`e^u E_1(u)` of positive u (m,): power series up to 1, continued fraction beyond."""
    result = np.empty_like(u)
    for k in range(u.size):
        x = u[k]
        if x <= 1.0:
            total, term = -EULER - np.log(x), -1.0
            for n in range(1, 18):
                term *= -x / n
                total += term / n
            result[k] = np.exp(x) * total
        else:
            depth = 5 + int(30.0 / x)  # the error falls as exp(-4 sqrt(depth * x))
            fraction = x + 2.0 * depth + 1.0
            for n in range(depth, 0, -1):
                fraction = x + 2.0 * n - 1.0 - n * n / fraction
            result[k] = 1.0 / fraction
    return result
