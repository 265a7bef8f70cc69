r"""Noise distributions of additive equations, all with mean 0 and standard deviation 1.

With U uniform on (0, 1), E exponential of rate 1, L Laplace of scale 1, G Gumbel of scale 1 and gamma
Euler's constant:

    gaussian     N(0, 1)
    exponential  E - 1
    gumbel       (G - gamma) sqrt(6) / pi
    uniform      (2 U - 1) sqrt(3)
    laplace      L / sqrt(2)
"""

from collections.abc import Callable

import numpy as np

from daguerreotype._lib.typing import FloatArray

_GUMBEL_SCALE = np.sqrt(6.0) / np.pi

NOISES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "exponential": lambda rng, n: rng.standard_exponential(n) - 1.0,
    "gumbel": lambda rng, n: rng.gumbel(-np.euler_gamma * _GUMBEL_SCALE, _GUMBEL_SCALE, n),
    "uniform": lambda rng, n: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), n),
    "laplace": lambda rng, n: rng.laplace(0.0, np.sqrt(0.5), n),
}
