"""joint."""
