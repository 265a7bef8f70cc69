"""In which layer does each node stand, in which sequence, and where do edges pass? Causal depth, few crossings."""

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.graphs.dag import Dag, depths

SWEEPS = 12


@dataclass(frozen=True)
class Lanes:
    """The graph with a vertex for every layer that an edge passes; the first d vertices are nodes."""

    layers: list[IntArray]  # vertices of each layer
    layer_of: IntArray  # (v,)
    segments: list[IntArray]  # (m, 2) between each layer and the next
    chains: dict[tuple[int, int], list[int]]  # vertices of every edge, in the direction of the order
    n_nodes: int


def add_lanes(forward: BoolArray, ranks: IntArray, linked: IntArray) -> Lanes:
    """Layer of every node, and a vertex for every layer that an edge passes."""
    d = len(forward)
    depth = depths(Dag(forward))
    for node in linked:
        if not forward[:, node].any():  # a source stands next to its first effect
            depth[node] = depth[forward[node]].min() - 1
    depth -= depth[linked].min()
    members: list[list[int]] = [[] for _ in range(int(depth[linked].max()) + 1)]
    for node in sorted(linked, key=lambda node: ranks[node]):
        members[depth[node]].append(int(node))
    links: list[list[tuple[int, int]]] = [[] for _ in members]
    chains: dict[tuple[int, int], list[int]] = {}
    n_vertices = d
    for i, j in np.argwhere(forward):
        passed = range(int(depth[i]) + 1, int(depth[j]))
        chain = [int(i), *range(n_vertices, n_vertices + len(passed)), int(j)]
        n_vertices += len(passed)
        chains[int(i), int(j)] = chain
        for layer, vertex in zip(passed, chain[1:-1], strict=True):
            members[layer].append(vertex)
        for step, link in enumerate(pairwise(chain)):
            links[int(depth[i]) + step].append(link)
    layer_of = np.zeros(n_vertices, dtype=np.int64)
    for layer, vertices in enumerate(members):
        layer_of[vertices] = layer
    segments: list[IntArray] = [np.array(each, dtype=np.int64).reshape(-1, 2) for each in links[:-1]]
    return Lanes([np.array(each, dtype=np.int64) for each in members], layer_of, segments, chains, d)


def reduce_crossings(lanes: Lanes) -> None:
    """Sort every layer by the mean place of its neighbours, back and forth; keep the best sweep in ``lanes``."""
    place = np.zeros(lanes.layer_of.size)
    for layer in lanes.layers:
        place[layer] = np.arange(layer.size)
    best, fewest = [layer.copy() for layer in lanes.layers], _count_crossings(lanes, place)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        rightwards = sweep % 2 == 0
        steps = range(1, len(lanes.layers)) if rightwards else range(len(lanes.layers) - 2, -1, -1)
        for step in steps:
            segments = lanes.segments[step - 1][:, ::-1] if rightwards else lanes.segments[step]
            layer = lanes.layers[step]
            wanted = _neighbour_means(segments, place, place)
            lanes.layers[step] = layer[np.argsort(wanted[layer], kind="stable")]
            place[lanes.layers[step]] = np.arange(layer.size)
        crossings = _count_crossings(lanes, place)
        if crossings < fewest:
            best, fewest = [layer.copy() for layer in lanes.layers], crossings
    lanes.layers[:] = best


def _neighbour_means(segments: IntArray, values: FloatArray, default: FloatArray) -> FloatArray:
    """Mean value (v,) over the second ends of the segments that start in each vertex."""
    counts = np.bincount(segments[:, 0], minlength=values.size)
    sums = np.bincount(segments[:, 0], weights=values[segments[:, 1]], minlength=values.size)
    return np.where(counts > 0, sums / np.maximum(counts, 1), default)


def _count_crossings(lanes: Lanes, place: FloatArray) -> int:
    """Pairs of segments between the same two layers whose ends are in opposite order."""
    crossings = 0
    for segments in lanes.segments:
        ends = place[segments]
        seen: list[float] = []
        for right in ends[np.lexsort([ends[:, 1], ends[:, 0]]), 1]:
            crossings += len(seen) - bisect_right(seen, right)
            insort(seen, right)
    return crossings
