"""Grow-shrink tree search over parent sets (Andrews et al. 2023)."""
