"""Edges to the one predecessor that correlates most."""

from dataclasses import replace

import numpy as np

from daguerreotype.edges import EDGES, Capabilities, EdgeEstimator, EdgesEntry, LinearPredictor, LocalFit


class ToyEdges(EdgeEstimator):
    can = Capabilities(from_moments=True)

    def __init__(self, least=0.1):
        self.least = least

    def prepare(self, table):
        return ToyModels(table, self.least)


class ToyModels(LinearPredictor):
    can = replace(LinearPredictor.can, residuals=True)

    def __init__(self, table, least):
        self.table, self.least = table, least

    def fit(self, node, predecessors):
        moments = self.table.moments
        shared = moments[predecessors, node] / np.diag(moments)[predecessors]
        if not predecessors.size or np.abs(shared).max() < self.least:
            return LocalFit.gaussian(predecessors[:0], np.zeros(0), moments[node, node], 0.0)
        best = np.array([np.argmax(np.abs(shared))])
        parents, weights = predecessors[best], shared[best]
        rest = moments[node, node] - weights @ moments[parents, node]
        return LocalFit.gaussian(parents, weights, rest, 1.0)

    def residuals(self, node, fit):
        return self.table.values[:, node] - self.predict(node, fit, self.table.values)


SPACE = {"edges.least": (0.01, 0.5, "log")}
EDGES.register("toy", EdgesEntry("support.toys.edges:ToyEdges", "one parent at most", space=SPACE))
