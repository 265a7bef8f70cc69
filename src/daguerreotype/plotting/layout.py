"""Layered layout of a DAG (Sugiyama, Tagawa and Toda 1981): layers, few crossings, heights, curves of edges."""

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import isotonic_regression

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.graphs.dag import Dag, depths

# All lengths are in ems: heights of the letters of a label.
HEIGHT = 1.9  # of a node
MARGIN = 0.8  # between a label and the border of its node, left and right
NODE_GAP = 0.8  # between nodes of a layer
LANE = 0.6  # between lanes of edges that pass a layer
LAYER_GAP = 3.4  # between layers, at least
SLOPE = 0.14  # more of it per em that the steepest edge climbs
WIDEST_GAP = 10.0
ARROW = 0.9  # straight end of an edge, which holds the arrow head
HEIGHT_SWEEPS = 40
CROSSING_SWEEPS = 12


@dataclass(frozen=True)
class Layout:
    """Boxes for nodes and curves for edges; x grows along the causal order, y upwards.

    Attributes
    ----------
    centres : array of shape (d, 2)
        Of the boxes.
    widths : array of shape (d,)
        Of the boxes; all are ``HEIGHT`` high.
    size : array of shape (2,)
        Everything lies between 0 and this.
    curves : dict of (cause, effect) to array of shape (3 m + 1, 2)
        Control points of m cubic Bézier pieces from the border of the cause to that of the effect.
    """

    centres: FloatArray
    widths: FloatArray
    size: FloatArray
    curves: dict[tuple[int, int], FloatArray]


def lay_out(edges: BoolArray, ranks: IntArray, label_widths: Sequence[float] | FloatArray) -> Layout:
    r"""Place nodes in layers by their depth and lead every edge past the nodes in between.

    An edge spans at least one layer, towards the right if it obeys the order. Layers are sorted by barycentres,
    sweeping back and forth, and the sweep with fewest crossings is kept (Sugiyama, Tagawa and Toda 1981). Heights
    then minimise, layer by layer,

    .. math:: \sum_v w_v (y_v - \bar y_v)^2 \quad\text{with}\quad y_{v+1} - y_v \ge \text{gap},

    \bar y_v the mean height of the neighbours of v: an isotonic regression. Where an edge passes a layer it keeps
    a lane of its own, so that no edge runs through a node. Nodes without edges stand in rows of their own below.

    Parameters
    ----------
    edges : array of shape (d, d)
        True for i -> j; at most one direction of each pair.
    ranks : array of shape (d,)
        Position of every node in the causal order.
    label_widths : array of shape (d,)
        Widths of the labels in ems.
    """
    widths = np.maximum(np.asarray(label_widths, dtype=np.float64) + 2 * MARGIN, HEIGHT)
    joined = edges | edges.T
    forward: BoolArray = joined & (ranks[:, None] < ranks[None, :])
    linked = np.flatnonzero(joined.any(axis=0))
    centres = np.zeros((len(edges), 2))
    curves: dict[tuple[int, int], FloatArray] = {}
    size = np.zeros(2)
    if linked.size:
        lanes = add_lanes(forward, ranks, linked)
        reduce_crossings(lanes)
        heights = _heights(lanes)
        lefts, rights = _columns(lanes, heights, widths)
        centres[linked, 0] = (0.5 * (lefts + rights))[lanes.layer_of[linked]]
        centres[linked, 1] = heights[linked]
        curves = _curves(lanes, heights, lefts, rights, centres, widths)
        size[:] = rights[-1], heights.max() + 0.5 * HEIGHT
    alone = np.setdiff1d(np.argsort(ranks), linked, assume_unique=True)  # keeps the order
    if alone.size:
        below = _place_alone(alone, centres, widths, size)
        centres[:, 1] += below
        up = np.array([0.0, below])
        curves = {pair: curve + up for pair, curve in curves.items()}
    turned = {(i, j) if edges[i, j] else (j, i): c if edges[i, j] else c[::-1] for (i, j), c in curves.items()}
    return Layout(centres, widths, size, turned)


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
    segments: list[IntArray] = [np.array(step, dtype=np.int64).reshape(-1, 2) for step in links[:-1]]
    return Lanes([np.array(vertices, dtype=np.int64) for vertices in members], layer_of, segments, chains, d)


def reduce_crossings(lanes: Lanes) -> None:
    """Sort every layer by the mean place of its neighbours, back and forth; keep the best sweep in ``lanes``."""
    place = np.zeros(lanes.layer_of.size)
    for layer in lanes.layers:
        place[layer] = np.arange(layer.size)
    best, fewest = [layer.copy() for layer in lanes.layers], _count_crossings(lanes, place)
    for sweep in range(CROSSING_SWEEPS):
        if fewest == 0:
            break
        rightwards = sweep % 2 == 0
        steps = range(1, len(lanes.layers)) if rightwards else range(len(lanes.layers) - 2, -1, -1)
        for step in steps:
            segments = lanes.segments[step - 1][:, ::-1] if rightwards else lanes.segments[step]
            layer = lanes.layers[step]
            counts = np.bincount(segments[:, 0], minlength=place.size)
            sums = np.bincount(segments[:, 0], weights=place[segments[:, 1]], minlength=place.size)
            wanted = np.where(counts > 0, sums / np.maximum(counts, 1), place)  # the mean place of neighbours
            lanes.layers[step] = layer[np.argsort(wanted[layer], kind="stable")]
            place[lanes.layers[step]] = np.arange(layer.size)
        crossings = _count_crossings(lanes, place)
        if crossings < fewest:
            best, fewest = [layer.copy() for layer in lanes.layers], crossings
    lanes.layers[:] = best


def _count_crossings(lanes: Lanes, place: FloatArray) -> int:
    """Pairs of segments between the same two layers whose ends are in opposite order."""
    crossings = 0
    for segments in lanes.segments:
        ends = place[segments]
        places: list[float] = []
        for right in ends[np.lexsort([ends[:, 1], ends[:, 0]]), 1]:
            crossings += len(places) - bisect_right(places, right)
            insort(places, right)
    return crossings


def _heights(lanes: Lanes) -> FloatArray:
    """Height (v,) of every vertex: close to its neighbours, lanes straighter than edges between nodes."""
    is_lane = np.arange(lanes.layer_of.size) >= lanes.n_nodes
    reach = np.where(is_lane, 0.5 * LANE, 0.5 * (HEIGHT + NODE_GAP))
    floors = []  # least height of each vertex of a layer above its first
    heights = np.zeros(is_lane.size)
    for layer in lanes.layers:
        floors.append(np.concatenate([[0.0], np.cumsum(reach[layer[:-1]] + reach[layer[1:]])]))
        heights[layer] = floors[-1] - 0.5 * floors[-1][-1]
    links = np.concatenate(lanes.segments)
    links = np.concatenate([links, links[:, ::-1]])
    pull = np.where(is_lane[links].all(axis=1), 8.0, np.where(is_lane[links].any(axis=1), 2.0, 1.0))
    weights = np.bincount(links[:, 0], weights=pull, minlength=is_lane.size)
    of_layer = [np.flatnonzero(lanes.layer_of[links[:, 0]] == step) for step in range(len(lanes.layers))]
    for sweep in range(HEIGHT_SWEEPS):
        steps = range(len(lanes.layers))
        for step in steps if sweep % 2 == 0 else reversed(steps):
            layer, own = lanes.layers[step], of_layer[step]
            pulled = pull[own] * heights[links[own, 1]]
            wanted = np.bincount(links[own, 0], weights=pulled, minlength=heights.size)[layer] / weights[layer]
            fitted = isotonic_regression(wanted - floors[step], weights=weights[layer])
            heights[layer] = fitted.x + floors[step]
    low = (heights - np.where(is_lane, 0.0, 0.5 * HEIGHT))[np.concatenate(lanes.layers)].min()
    raised: FloatArray = heights - low
    return raised


def _columns(lanes: Lanes, heights: FloatArray, widths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Left and right border of every layer; the gap between two grows with the steepest edge."""
    lefts, rights = [], []
    x = 0.0
    for step, layer in enumerate(lanes.layers):
        lefts.append(x)
        x += float(widths[layer[layer < lanes.n_nodes]].max())
        rights.append(x)
        if step < len(lanes.segments):
            climb = np.abs(np.diff(heights[lanes.segments[step]], axis=1)).max()
            x += min(LAYER_GAP + SLOPE * float(climb), WIDEST_GAP)
    return np.array(lefts), np.array(rights)


def _curves(
    lanes: Lanes,
    heights: FloatArray,
    lefts: FloatArray,
    rights: FloatArray,
    centres: FloatArray,
    widths: FloatArray,
) -> dict[tuple[int, int], FloatArray]:
    """Every edge as Bézier pieces: level through layers, bent between them."""
    leaving, arriving = _ports(lanes, heights, 0), _ports(lanes, heights, -1)
    curves = {}
    for (i, j), chain in lanes.chains.items():
        ys = heights[chain]
        ys[0] += leaving[i, j]
        ys[-1] += arriving[i, j]
        points = [np.array([centres[i, 0] + 0.5 * widths[i], ys[0]])]
        for step, (y, following) in enumerate(pairwise(ys), start=int(lanes.layer_of[i])):
            start = np.array([rights[step] + 0.4 * ARROW, y])
            end = np.array([lefts[step + 1] - ARROW, following])
            middle = 0.5 * (start[0] + end[0])
            points += _straight(points[-1], start)
            points += [np.array([middle, y]), np.array([middle, following]), end]
        points += _straight(points[-1], np.array([centres[j, 0] - 0.5 * widths[j], ys[-1]]))
        curves[i, j] = np.array(points)
    return curves


def _straight(start: FloatArray, end: FloatArray) -> list[FloatArray]:
    """The three further control points of a straight piece."""
    return [start + (end - start) / 3, start + 2 * (end - start) / 3, end]


def _ports(lanes: Lanes, heights: FloatArray, end: int) -> dict[tuple[int, int], float]:
    """How far above a node's middle each edge leaves it (end 0) or arrives (-1): fanned out by neighbours."""
    fans: dict[int, list[tuple[float, tuple[int, int]]]] = {}
    for edge, chain in lanes.chains.items():
        following = chain[1] if end == 0 else chain[-2]
        fans.setdefault(chain[end], []).append((float(heights[following]), edge))
    ports: dict[tuple[int, int], float] = {}
    for fan in fans.values():
        spread = min(0.1 * (len(fan) - 1), 0.4) * HEIGHT
        for offset, (_, edge) in zip(np.linspace(-spread, spread, len(fan)), sorted(fan), strict=True):
            ports[edge] = float(offset) if len(fan) > 1 else 0.0
    return ports


def _place_alone(alone: IntArray, centres: FloatArray, widths: FloatArray, size: FloatArray) -> float:
    """Put nodes without edges in rows at the bottom; grows ``size`` and returns how far the rest moves up."""
    total = float((widths[alone] + NODE_GAP).sum())
    widest = max(
        float(size[0]), float(widths[alone].max()), min(total, np.sqrt(4.0 * total * (HEIGHT + NODE_GAP)))
    )
    x, row = 0.0, 0
    for node in alone:
        if x > 0 and x + widths[node] > widest:
            x, row = 0.0, row + 1
        centres[node] = x + 0.5 * widths[node], -row
        x += widths[node] + NODE_GAP
    n_rows = row + 1
    line = HEIGHT + NODE_GAP
    below = n_rows * line + (NODE_GAP if size[1] > 0 else -NODE_GAP)
    # rows count from the top; the caller moves everything up by ``below``
    centres[alone, 1] = centres[alone, 1] * line + (n_rows - 1) * line + 0.5 * HEIGHT - below
    size[:] = widest, size[1] + below
    return below
