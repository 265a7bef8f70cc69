"""Registry of noise models, and what the argument ``noise`` stands for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daguerreotype._lib.registry import Registry
from daguerreotype.noise.base import NoiseModel
from daguerreotype.noise.free_shape import FreeShape
from daguerreotype.noise.gaussian import Gaussian


@dataclass(frozen=True)
class NoiseEntry:
    """A noise model under its name: how it is made, and what it is for in one line."""

    make: Callable[..., NoiseModel]
    help: str


NOISE: Registry[NoiseEntry] = Registry(
    "noise",
    {
        "gaussian": NoiseEntry(Gaussian, "normal noise; needs nothing but second moments"),
        "free-shape": NoiseEntry(FreeShape, "noise of any shape; looks at the residual of every row"),
    },
)


def make_noise(noise: Any) -> NoiseModel:
    """The noise model behind a name or an object."""
    if noise in NOISE:
        return NOISE[noise].make()
    if isinstance(noise, NoiseModel) and not isinstance(noise, type):
        return noise
    raise ValueError(
        f"noise must be 'auto', one of {NOISE.listed()}, or an object with needs_residuals, max_rows, nll and "
        f"fit, got {noise!r}."
    )
