"""How do all orderings share their grow-shrink searches? One tree of growing steps per target."""

from copy import copy
from threading import Lock

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import EdgeRules, Moves
from daguerreotype.edges.grow_shrink.grow import TOLERANCE, Path, Problem, Steps
from daguerreotype.edges.grow_shrink.queries import walk_many, walk_moves, walk_once
from daguerreotype.edges.grow_shrink.shrink import coefficients, columns_of
from daguerreotype.edges.grow_shrink.sweep import stand, sweep_some, walk_all
from daguerreotype.edges.grow_shrink.tree import NONE, UNKNOWN, Pools, Walker

ROWS_PER_BEND = 10  # rows for each parameter of a search in which parents bend; fewer bend to noise
TURNS = 32  # of a sweep between two looks at whether somebody presses Ctrl-C


class GrowShrinkTrees:
    """Grow-shrink subset selection for all targets and predecessor sets, from second moments.

    For target j among predecessors P, greedily minimises  n log(variance(j | S)) + penalty log(n) dof(S)
    over S within P: adds the step that improves most while one does, then removes the parent whose removal
    improves most while one does. Parents bend only while there are ten rows for every column taken: with fewer,
    splines fit noise so well that BIC's price does not cover it. The steps form a tree per target that all
    orderings share, so that a search which was made before is a walk of well under a microsecond (grow-shrink
    trees: Andrews, Ramsey, Sanchez Romero, Camchong and Kummerfeld, "Fast scalable and accurate discovery of DAGs
    using the best order score search and grow-shrink trees", NeurIPS 2023).

    Parameters
    ----------
    moments : array of shape (d * stride, d * stride)
        Second moments of all columns; variable i owns the columns from ``i * stride``, itself first.
    widths : array of shape (d,)
        How many of its columns each variable uses; the others must be zero.
    n_rows : int
        Number of observations.
    penalty : float
        Multiplies the BIC term.
    gamma : float
        Adds 2 gamma log(d) to the price of every parent.
    rules : EdgeRules, optional
        Parents to leave out, and to begin with and never remove.
    """

    def __init__(
        self,
        moments: FloatArray,
        widths: IntArray,
        n_rows: int,
        penalty: float,
        gamma: float = 0.0,
        rules: EdgeRules | None = None,
    ) -> None:
        if not (np.isfinite(penalty) and penalty > 0):
            raise ValueError(
                f"penalty is {penalty!r}, expected a positive number; it multiplies the BIC term: 1 is BIC."
            )
        d = widths.size
        stride = moments.shape[0] // d
        each = np.arange(d)
        diagonal = moments.reshape(d, stride, d, stride)[each, :, each, :]  # (d, stride, stride)
        self.problem = Problem(
            moments=np.ascontiguousarray(moments),
            blocks=diagonal.reshape(d * stride, stride),
            limits=TOLERANCE * np.diag(moments),
            widths=widths,
            n_rows=float(n_rows),
            price=penalty * float(np.log(n_rows)),
            entry=2.0 * gamma * float(np.log(d)),
            max_dof=max(n_rows - 3, 0),
            max_bent=n_rows // ROWS_PER_BEND,
            allowed=np.zeros((0, 0), dtype=np.int64) if rules is None else _as_bits(rules.allowed),
            required=np.zeros((0, 0), dtype=np.bool_)
            if rules is None or not rules.anything_required
            else np.ascontiguousarray(rules.required),
        )
        self._pools, self._path, self._walker = _nodes(16 * d, d // 64 + 1), _start(d, stride), _rest(d)
        self._pools.size[0] = d  # the roots
        self._lock = Lock()  # kernels release the GIL, and any walk may grow the trees

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def fork(self) -> "GrowShrinkTrees":
        """Trees of the same problem, grown as far as these, that another thread can walk."""
        twin = copy(self)
        with self._lock:
            twin._pools = Pools._make(each.copy() for each in self._pools)
        d, stride = self.problem.widths.size, self.problem.blocks.shape[1]
        twin._path, twin._walker, twin._lock = _start(d, stride), _rest(d), Lock()
        return twin

    def fit(self, node: int, predecessors: IntArray) -> tuple[IntArray, IntArray, float, float]:
        """Parents (ascending), columns used of each, variance and dof of ``node`` among ``predecessors``."""
        predecessors = np.ascontiguousarray(predecessors, dtype=np.int64)
        with self._lock:
            while True:
                end, owners, used = walk_once(
                    self.problem, self._pools, self._path, self._walker, node, predecessors
                )
                if end >= 0:
                    break
                self._make_room()
            variance, dof = float(self._pools.variance[end]), float(self._pools.dof[end])
        return owners[used > 0], used[used > 0], variance, dof

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Variance and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        by_node = np.argsort(nodes, kind="stable")  # walks of one target share their steps
        rows, nodes = rows[by_node], nodes[by_node]
        found, done = np.empty((nodes.size, 2)), 0
        with self._lock:
            while True:
                done = walk_many(
                    self.problem, self._pools, self._path, self._walker, ranks, rows, nodes, found, done
                )
                if done == nodes.size:
                    break
                self._make_room()
        table = np.empty_like(found)
        table[by_node] = found
        return table

    def moves(self, node: int, others: IntArray) -> Moves:
        """Variance and dof of all variables for every position of ``node`` among ``others`` (in order)."""
        others = np.ascontiguousarray(others, dtype=np.int64)
        own, around = np.empty((others.size + 1, 2)), np.empty((2, others.size, 2))
        with self._lock:
            while not walk_moves(self.problem, self._pools, self._path, self._walker, node, others, own, around):
                self._make_room()
        return Moves(own, around[0], around[1])

    def sweep(self, order: IntArray, price: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  log(variance) / 2 + price * dof."""
        standing, turns = stand(order, before), np.array(order, dtype=np.int64)
        with self._lock:
            while not walk_all(self.problem, self._pools, self._path, self._walker, standing, price):
                self._make_room()
            done = 0
            while done < turns.size:
                some = turns[done : done + TURNS]
                had = sweep_some(self.problem, self._pools, self._path, self._walker, standing, some, price)
                done += had
                if had < some.size:
                    self._make_room()
        return standing.order, float(standing.terms[standing.order].sum())

    def solve(self, node: int, parents: IntArray, used: IntArray) -> tuple[IntArray, FloatArray]:
        """Columns of a parent set and the least-squares coefficients of ``node`` on them."""
        columns = columns_of(self.problem, parents, used)
        return columns, coefficients(self.problem, node, columns)

    def _make_room(self) -> None:
        """Double what ran out. The walk then starts over, on trees that keep all they have grown."""
        if self._pools.size[0] == self._pools.links.shape[0]:
            self._pools = _longer(self._pools)
        else:
            rows = self._path.rows
            self._path = self._path._replace(rows=np.concatenate([rows, np.empty_like(rows)]))


def _as_bits(allowed: BoolArray) -> IntArray:
    """The rows of each column of a matrix (d, d), as a set of bits (d, words)."""
    d = len(allowed)
    padded = np.zeros((d, (d // 64 + 1) * 64), dtype=np.bool_)
    padded[:, :d] = allowed.T
    return np.packbits(padded, axis=1, bitorder="little").view("<i8").astype(np.int64)


def _nodes(count: int, words: int) -> Pools:
    """Nodes that no walk has seen."""
    return Pools(
        size=np.zeros(1, dtype=np.int64),
        links=np.tile(np.array([NONE, NONE, UNKNOWN, NONE], dtype=np.int32), (count, 1)),
        better=np.zeros((count, words), dtype=np.int64),
        improving=np.zeros((count, words), dtype=np.int64),
        variance=np.full(count, np.nan),
        dof=np.zeros(count),
    )


def _longer(pools: Pools) -> Pools:
    """The same trees with twice the room."""
    longer = _nodes(2 * pools.dof.size, pools.better.shape[1])
    longer.size[0] = pools.size[0]
    for name in pools._fields[1:]:
        getattr(longer, name)[: pools.dof.size] = getattr(pools, name)
    return longer


def _start(d: int, stride: int) -> Path:
    """A path without parents, with room for sixteen."""
    columns = d * stride
    return Path(
        rows=np.zeros((16 * stride, columns)),
        within=np.zeros((columns, stride)),
        with_target=np.zeros(columns),
        used=np.zeros(d, dtype=np.int64),
        nodes=np.full(2 * d + 2, NONE),
    )


def _rest(d: int) -> Walker:
    """A walker that stands still."""
    words = d // 64 + 1
    return Walker(
        before=np.zeros(words, dtype=np.int64),
        allowed=np.zeros(words, dtype=np.int64),
        missed=np.zeros(words, dtype=np.int64),
        taken=np.zeros(2 * d, dtype=np.int64),
        depth=np.zeros(1, dtype=np.int64),
        found=Steps(np.zeros(d), np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)),
    )
