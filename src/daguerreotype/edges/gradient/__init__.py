"""Edges that are trained by gradient: settings, gates, networks and descent."""
