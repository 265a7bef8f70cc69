"""Edge estimators: (node, allowed parents) -> parents, weights, loss. One file per estimator."""
