"""Noise models: the distribution of a node given its parents, in nats. One file per model."""

from daguerreotype.noise.base import Density, NoiseModel
from daguerreotype.noise.free_shape import FreeShape
from daguerreotype.noise.gaussian import Gaussian
from daguerreotype.noise.registry import NOISE, make_noise

__all__ = ["NOISE", "Density", "FreeShape", "Gaussian", "NoiseModel", "make_noise"]
