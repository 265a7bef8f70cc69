"""Cube roots."""

import numpy as np

from daguerreotype.data import SCALES, Scale


def log_slope(values, parameters):
    return -np.log(3) - 2 * np.log(np.abs(np.cbrt(values)))


def fit(values, intervened):
    return np.zeros((values.shape[1], 3))


SCALES.register("toy", Scale("cube roots", lambda values, parameters: np.cbrt(values), log_slope, fit, True))
