"""Training of the ordering: losses, stopping, bilevel and refine."""
