"""Moments of tables that need not fit into memory."""

from daguerreotype.moments.accumulator import Moments

__all__ = ["Moments"]
