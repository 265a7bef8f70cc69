"""True edges of which there is no trace."""

from daguerreotype.metrics import summary


def missed(true, estimated):
    either = estimated.adjacency | estimated.adjacency.T
    return int((true.adjacency & ~either).sum())


summary.GRAPH_METRICS += (missed,)
summary.MEANINGS["missed"] = "true edges of which there is no trace"
