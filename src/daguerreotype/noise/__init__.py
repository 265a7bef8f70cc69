"""Noise models: the distribution of a node given its parents, in nats. One file per model."""

from daguerreotype._lib.records import saved
from daguerreotype.noise.base import Density, DiscreteNoise, Mass, NoiseModel, Outcomes
from daguerreotype.noise.free_shape import FreeShape
from daguerreotype.noise.gaussian import Gaussian
from daguerreotype.noise.registry import NOISE, NoiseEntry, make_noise, name_of, noise_by_column

__all__ = [
    "NOISE",
    "Density",
    "DiscreteNoise",
    "FreeShape",
    "Gaussian",
    "Mass",
    "NoiseEntry",
    "NoiseModel",
    "Outcomes",
    "make_noise",
    "name_of",
    "noise_by_column",
    "saved",
]
