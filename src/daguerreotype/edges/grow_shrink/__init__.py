"""grow_shrink."""
