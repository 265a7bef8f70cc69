"""AdaBelief, a variant of Adam (Zhuang et al. 2020)."""

from daguerreotype._lib.optional import torch


class AdaBelief:
    r"""m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) (g - m)^2 + eps;  x <- x - rate m^ / (sqrt(v^) + eps).

    Parameters
    ----------
    parameters : tensor
        Changed in place by `step`.
    rate : float
        Step length.
    betas, eps : tuple of float, float
        Memory of the two means, and what keeps the quotient finite.
    """

    def __init__(
        self,
        parameters: torch.Tensor,
        rate: float,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.parameters, self.rate, self.betas, self.eps = parameters, rate, betas, eps
        self.mean, self.spread = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.count = 0

    @torch.no_grad()
    def step(self, gradient: torch.Tensor) -> None:
        """Descend along ``gradient``."""
        first, second = self.betas
        self.count += 1
        self.mean.lerp_(gradient, 1 - first)
        surprise = gradient - self.mean
        self.spread.mul_(second).addcmul_(surprise, surprise, value=1 - second).add_(self.eps**2)
        scale = (self.spread / (1 - second**self.count)).sqrt_().add_(self.eps)
        self.parameters.addcdiv_(self.mean, scale, value=-self.rate / (1 - first**self.count))
