"""Additive edges: a basis for every cause, a family of distributions for every effect, and the local score."""
