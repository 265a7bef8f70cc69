"""Code lengths of a column on its own, by BIC: of counts, of levels, and of numbers on a grid.

Nats for all rows, of the maximum likelihood plus half the logarithm of the rows for every parameter. All are
probability masses of the values as they came, so that they compare.
"""

import numpy as np
from scipy.special import gammaln, ndtr, xlogy

from daguerreotype._lib.typing import FloatArray, IntArray

SHAPES = np.exp(np.linspace(-2.4, 2.4, 25))  # times the shape that the moments tell
LEAST_MASS = 1e-300


def of_counts(values: FloatArray, counts: IntArray) -> float:
    """A Poisson, a negative binomial or a zero-inflated Poisson variable, the shortest, of whole numbers.

    >>> of_counts(np.array([0.0, 1.0]), np.array([1, 1])) > 0
    True
    """
    n = int(counts.sum())
    mean = float(counts @ values) / n
    variance = float(counts @ (values - mean) ** 2) / n
    constant = float(counts @ gammaln(values + 1.0))
    lengths = [n * mean - float(xlogy(n * mean, mean)) + constant + 0.5 * np.log(n)]
    if variance > mean:
        shape = SHAPES[:, None] * mean**2 / (variance - mean)  # (s, 1)
        mass = gammaln(values + shape) - gammaln(shape) - shape * np.log1p(mean / shape)
        mass += xlogy(values, mean / (mean + shape))  # (s, m)
        lengths.append(constant - float((mass @ counts).max()) + np.log(n))
        zeros = int(counts[0]) if values[0] == 0 else 0
        if zeros:
            lengths.append(_zero_inflated(n, zeros, n * mean, constant) + np.log(n))
    return float(min(lengths))


def _zero_inflated(n: int, zeros: int, total: float, constant: float) -> float:
    """Minus the log-likelihood of zeros, and of a Poisson variable above 0 for all else."""
    positive = n - zeros
    mean = rate = total / positive
    for _ in range(50):  # mean = rate / (1 - exp(-rate))
        rate = mean * -np.expm1(-rate)
    share = zeros / n
    above = positive * (np.log1p(-share) - np.log(np.expm1(rate))) + total * np.log(rate) - constant
    return -float(zeros * np.log(share) + above)


def of_levels(counts: IntArray) -> float:
    """A probability for every level, all but one of them free.

    >>> round(of_levels(np.array([2, 2])), 4)
    3.4657
    """
    n = int(counts.sum())
    return float(-(counts @ np.log(counts / n)) + 0.5 * (counts.size - 1) * np.log(n))


def of_grid(values: FloatArray, counts: IntArray, step: float, ends: float = 2.0) -> float:
    """A Gaussian or a uniform variable that was rounded to a grid, whichever is shorter.

    Each of the ``ends`` of a uniform variable is known to one part in n, and so costs the logarithm of n, twice
    what other parameters do. Ends that nothing but the column speaks for had better cost more than two would.
    """
    n = int(counts.sum())
    mean = float(counts @ values) / n
    # Rounding has added the variance of a uniform variable (Sheppard's correction).
    variance = float(counts @ (values - mean) ** 2) / n
    sd = np.sqrt(max(variance - step**2 / 12.0, 0.05 * step**2))
    distance = np.abs(values - mean)  # in the lower tail the difference is taken among small numbers
    mass = np.maximum(ndtr((0.5 * step - distance) / sd) - ndtr((-0.5 * step - distance) / sd), LEAST_MASS)
    gaussian = -float(counts @ np.log(mass)) + np.log(n)
    uniform = n * np.log((values[-1] - values[0]) / step + 1.0) + ends * np.log(n)
    return float(min(gaussian, uniform))
