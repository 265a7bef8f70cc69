"""Noise distributions of mean zero whose entropies and densities are known."""

from scipy import stats

NOISES = {
    "normal": stats.norm(),
    "laplace": stats.laplace(),
    "uniform": stats.uniform(-1, 2),
    "exponential": stats.expon(loc=-1),
    "logistic": stats.logistic(),
    "t(5)": stats.t(5),
}
