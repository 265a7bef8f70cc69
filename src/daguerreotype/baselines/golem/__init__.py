"""GOLEM (Ng, Ghassami and Zhang 2020)."""

from daguerreotype.baselines.golem.method import GolemEV, GolemNV

__all__ = ["GolemEV", "GolemNV"]
