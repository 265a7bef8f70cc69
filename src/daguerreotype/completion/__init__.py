"""Completion of tables with gaps: fitted mechanisms as a joint distribution, and draws of what is missing."""

from daguerreotype.completion.mechanisms import Mechanisms
from daguerreotype.completion.sampler import GapSampler

__all__ = ["GapSampler", "Mechanisms"]
