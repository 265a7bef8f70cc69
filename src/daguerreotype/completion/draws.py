"""Rows with gaps and a fitted graph: completed rows, and the likelihood of what is seen of them."""

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray
from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.completion.sampler import GapSampler

PARTICLES = 32  # draws by which what is missing is integrated out
WARM_UP, APART = 10, 3  # sweeps before the first draw, and from one to the next
SEED = 141_421


def integrated(
    mechanisms: Mechanisms, values: FloatArray, gaps: BoolArray, intervened: BoolArray | None = None
) -> FloatArray:
    """Log-likelihood (m,) of what is seen of rows (m, d), what is missing being integrated out by draws."""
    rng = np.random.default_rng(SEED)
    sampler = GapSampler(mechanisms, values, gaps, intervened)
    particles = np.stack([sampler.log_likelihood(rng) for _ in range(PARTICLES)])
    means: FloatArray = np.logaddexp.reduce(particles) - np.log(PARTICLES)
    return means


def completions(
    mechanisms: Mechanisms,
    values: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
    intervened: BoolArray | None = None,
) -> FloatArray:
    """Completed rows (n_draws, m, d) of rows (m, d), nan where a value is missing."""
    gaps = np.isnan(values)
    some = gaps.any(axis=1)
    drawn = np.repeat(values[None], n_draws, axis=0)
    if not some.any():
        return drawn
    out = None if intervened is None else intervened[some]
    sampler = GapSampler(mechanisms, values[some], gaps[some], out)
    sampler.fill_forwards(rng)
    for number, each in enumerate(drawn):
        for _ in range(WARM_UP if number == 0 else APART):
            sampler.sweep(rng)
        each[some] = sampler.values
    return drawn
