"""Noise models: the distribution of a node given its parents, in nats. One file per model."""

from daguerreotype.noise.base import Density, Mass, NoiseModel
from daguerreotype.noise.discrete import DiscreteNoise
from daguerreotype.noise.free_shape import FreeShape
from daguerreotype.noise.gaussian import Gaussian
from daguerreotype.noise.registry import NOISE, NoiseEntry, make_noise, noise_by_column

__all__ = [
    "NOISE",
    "Density",
    "DiscreteNoise",
    "FreeShape",
    "Gaussian",
    "Mass",
    "NoiseEntry",
    "NoiseModel",
    "make_noise",
    "noise_by_column",
]
