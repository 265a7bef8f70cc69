"""Grow-shrink tree search over parent sets (Andrews et al. 2023)."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from threading import Lock

import numpy as np

from daguerreotype._lib.numba import address_of, call_address, kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Draws, EdgeRules, Moves
from daguerreotype.edges.grow_shrink.grow import condition_on, expand, find_steps
from daguerreotype.edges.grow_shrink.parent_sets import choose_shapes, near_steps, score_sets
from daguerreotype.edges.grow_shrink.problem import (
    DiscreteTargets,
    OtherScales,
    Problem,
    new_problem,
)
from daguerreotype.edges.grow_shrink.shrink import coefficients, eliminate, shrink
from daguerreotype.edges.grow_shrink.sweep import OrderState, new_order_state, sweep_some
from daguerreotype.edges.grow_shrink.tree import (
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    contains,
    doubled,
    empty,
    exclude,
    include,
    new_arena,
    new_buffers,
    new_path,
    shrink_at,
    walk,
    walk_scale,
)
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.newton import Rows

FIRST = np.zeros(1, dtype=np.int64)  # row of a single ranking
TURNS = 32  # of a sweep between two looks at whether somebody presses Ctrl-C


@kernel
def walk_many(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    ranks: IntArray,
    rows: IntArray,
    nodes: IntArray,
    scores: FloatArray,
    start: int,
    wants_parents: bool,
) -> int:
    """Excess and dof of every node in its row of ``ranks``, from ``start`` on; how many are done in the end.

    A third column of ``scores`` is told where the walks end. ``wants_parents`` leaves the parents of the last node
    in the buffers.
    """
    before = buffers.before
    for i in range(start, nodes.size):
        node = nodes[i]
        rank = ranks[rows[i], node]
        empty(before)
        for j in range(ranks.shape[1]):
            before[j >> 6] |= int(ranks[rows[i], j] < rank) << (j & 63)
        end = call_address(addresses.walk, addresses, problem, arena, path, buffers, node)
        if end < 0:
            return i
        if wants_parents:
            target = buffers.chosen[0]
            if problem.scales[node] < problem.scales[node + 1]:  # the last walk was on another scale
                call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
            shrink_at(addresses, problem, arena, buffers, target, end)
        scores[i, 0] = arena.scores[end, 0]
        scores[i, 1] = arena.scores[end, 1]
        if scores.shape[1] > 2:
            scores[i, 2] = end
    return int(nodes.size)


@kernel
def walk_target(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    predecessors: IntArray,
    target: int,
) -> int:
    """Node at which the search for a variable on one scale ends, its parents in the buffers; or NO_ROOM."""
    empty(buffers.before)
    for i in range(predecessors.size):
        include(buffers.before, predecessors[i])
    end = call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
    if end >= 0:
        shrink_at(addresses, problem, arena, buffers, target, end)
    return int(end)


@kernel
def walk_moves(
    addresses: Addresses,
    problem: Problem,
    arena: TreeArena,
    path: CholeskyRows,
    buffers: WalkBuffers,
    moved: int,
    others: IntArray,
    scores: FloatArray,
) -> int:
    """Excess and dof for every position of ``moved`` and either side of it; how many are done in the end.

    Row q of ``scores`` (d, 3, 2): ``moved`` with q of the ``others`` before it; then others[q] without ``moved``
    before it, and with it. A walk is made again only if the newcomer is among those that the last one missed.
    """
    before, missed = buffers.before, buffers.missed
    end = -1
    empty(before)
    for q in range(others.size + 1):
        if q > 0:
            include(before, others[q - 1])
        if q == 0 or contains(missed, others[q - 1]):
            end = call_address(addresses.walk, addresses, problem, arena, path, buffers, moved)
            if end < 0:
                return 0
        scores[q, 0, 0] = arena.scores[end, 0]
        scores[q, 0, 1] = arena.scores[end, 1]
    empty(before)
    for q in range(others.size):
        for side in range(1, 3):
            if side == 1 or contains(missed, moved):
                if side == 2:
                    include(before, moved)
                end = call_address(addresses.walk, addresses, problem, arena, path, buffers, others[q])
                if end < 0:
                    return q
            scores[q, side, 0] = arena.scores[end, 0]
            scores[q, side, 1] = arena.scores[end, 1]
        exclude(before, moved)
        include(before, others[q])
    return int(others.size + 1)


@cache
def walk_addresses(maximise: tuple[Callable[..., int], ...] = (), limited: bool = False) -> Addresses:
    """Where the kernels of a walk are, those that maximise likelihoods of discrete targets among them.

    The data of all problems have the types of those of a single column.
    """
    problem = new_problem(np.eye(1), np.ones(1, dtype=np.int64), 1, Penalty())
    arena, path, buffers = new_arena(1, 1), new_path(problem), new_buffers(problem)
    nowhere = Addresses._make([0] * len(Addresses._fields))._replace(maximise=np.zeros(0, dtype=np.int64))
    addresses = nowhere._replace(
        eliminate=address_of(eliminate, problem, buffers, 0, 0, True, np.zeros(2)),
        shrink=address_of(shrink, nowhere, problem, arena, buffers, 0, 0),
        condition_on=address_of(
            condition_on, problem.moments, path.rows, path.within, path.with_target, 0, 1, 0, 0, True
        ),
        find_steps=address_of(find_steps, nowhere, problem, path, buffers, 0),
        choose_shapes=address_of(choose_shapes, nowhere, problem, buffers, 0, 0, np.zeros(2)),
    )
    if maximise:
        from daguerreotype.edges.grow_shrink.discrete import find_likely, fit_given, fit_rows, shrink_likely

        whole, empty = np.zeros(0, dtype=np.int64), np.zeros(0)
        rows = Rows(whole, empty, np.zeros((0, 0)), whole)
        kernels = np.array([address_of(each, rows, 0, 0, 0.0, buffers.fit) for each in maximise])
        addresses = addresses._replace(
            maximise=kernels,
            fit_rows=address_of(fit_rows, nowhere, problem, buffers.fit, 0, 0),
            fit_columns=address_of(fit_given, addresses, problem, buffers, 0, 0),
            find_likely=address_of(find_likely, addresses, problem, path, buffers, 0, 0),
            shrink_likely=address_of(shrink_likely, addresses, problem, arena, buffers, 0, 0),
        )
    if limited:
        from daguerreotype.edges.grow_shrink.parent_sets import limit_parents

        addresses = addresses._replace(
            limit_parents=address_of(limit_parents, addresses, problem, arena, buffers, 0, 0)
        )
    return addresses._replace(
        expand=address_of(expand, addresses, problem, arena, path, buffers, 0, 0, 0),
        walk_scale=address_of(walk_scale, addresses, problem, arena, path, buffers, 0),
        walk=address_of(walk, addresses, problem, arena, path, buffers, 0),
    )


class GrowShrinkTrees:
    """Grow-shrink subset selection for all targets and predecessor sets, from second moments.

    For target j among predecessors P, greedily minimises  n log(variance(j | S)) + penalty log(n) dof(S)
    over S within P: adds the step that improves most while one does, then removes the parent whose removal
    improves most while one does. Nonlinear columns are added only while there are ten rows for every column taken:
    with fewer, splines fit noise so well that BIC's penalty does not cover it. Where a limit allows fewer parents
    than that leaves, the best few of them are taken. The steps form a tree per target that all orderings share, so
    that a search which was made before is a walk of well under a microsecond
    (grow-shrink trees: Andrews, Ramsey, Sanchez Romero, Camchong and Kummerfeld, "Fast scalable and accurate
    discovery of DAGs using the best order score search and grow-shrink trees", NeurIPS 2023).

    Parameters
    ----------
    moments : array of shape (d * stride, d * stride)
        Second moments of all columns; variable i owns the columns from ``i * stride``, itself first.
    widths : array of shape (d,)
        How many of its columns each variable uses; the others must be zero.
    n_rows : int
        Number of observations.
    penalty : Penalty
        What parents cost.
    rules : EdgeRules, optional
        Parents to leave out, those to begin with and never remove, and how many there may be.
    rounding : array of shape (d,), optional
        Variance that each target has beside what parents leave of it.
    discrete : DiscreteTargets, optional
        What is known of targets that are no numbers.
    others : OtherScales, optional
        Scales that variables may have beside those that they have as parents: the likeliest counts.
    copies : int
        How often each observation is among the rows of discrete targets.
    share : float
        Rows of the table for each row that fits are made from.
    maximise : tuple of kernels
        Those that maximise the likelihoods of the families of discrete targets.
    """

    def __init__(
        self,
        moments: FloatArray,
        widths: IntArray,
        n_rows: int,
        penalty: Penalty,
        rules: EdgeRules | None = None,
        rounding: FloatArray | None = None,
        discrete: DiscreteTargets | None = None,
        others: OtherScales | None = None,
        copies: int = 1,
        share: float = 1.0,
        maximise: tuple[Callable[..., int], ...] = (),
    ) -> None:
        self.problem = new_problem(
            moments, widths, n_rows, penalty, rules, rounding, discrete, others, copies, share
        )
        self.copies, self.maximise = copies, maximise
        d = self.problem.widths.size
        self._arena = new_arena(16 * self.problem.responses.size, d // 64 + 1)
        self._arena.size[0] = self.problem.responses.size
        self._path, self._buffers = new_path(self.problem), new_buffers(self.problem)
        self._lock = Lock()  # kernels release the GIL, and any walk may grow the trees
        self._parents: dict[int, IntArray] = {}  # by where walks end

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def fork(self) -> "GrowShrinkTrees":
        """Trees of the same problem, grown as far as these, that another thread can walk."""
        clone = copy(self)
        with self._lock:
            clone._arena = TreeArena._make(each.copy() for each in self._arena)
        clone._path, clone._buffers = new_path(self.problem), new_buffers(self.problem)
        clone._lock, clone._parents = Lock(), dict(self._parents)
        return clone

    @property
    def _addresses(self) -> Addresses:
        """Where the kernels of walks are."""
        return walk_addresses(self.maximise, self.problem.max_parents.size > 0)

    def _trees(self) -> tuple[Addresses, Problem, TreeArena, CholeskyRows, WalkBuffers]:
        """What every query takes."""
        return self._addresses, self.problem, self._arena, self._path, self._buffers

    def fit(self, node: int, predecessors: IntArray) -> tuple[IntArray, IntArray, float, float]:
        """Parents (ascending), columns used of each, excess and dof of ``node`` among ``predecessors``."""
        ranks = np.ones((1, self.problem.widths.size), dtype=np.int64)
        ranks[0, np.asarray(predecessors, dtype=np.int64)] = 0
        ranks[0, node] = 1
        with self._lock:
            ((excess, dof),) = self._score(ranks, FIRST, np.array([node]), True).tolist()
            chosen = self._buffers.used > 0
            parents, used = self._buffers.owners[chosen], self._buffers.used[chosen]
        return parents, used, excess, dof

    def likeliest(self, node: int, predecessors: IntArray) -> int:
        """The target, ``node`` on one scale, whose fit that is."""
        if not np.any(self.problem.variables[self.problem.widths.size :] == node):
            return node
        with self._lock:
            ranks = np.ones((1, self.problem.widths.size), dtype=np.int64)
            ranks[0, np.asarray(predecessors, dtype=np.int64)] = 0
            ranks[0, node] = 1
            self._score(ranks, FIRST, np.array([node]), False)
            return int(self._buffers.chosen[0])

    def fit_target(self, target: int, predecessors: IntArray) -> tuple[IntArray, IntArray, float, float]:
        """What :meth:`fit` gives of a target, a variable on one scale."""
        before = np.array(predecessors, dtype=np.int64)
        with self._lock:
            while (end := walk_target(*self._trees(), before, target)) < 0:
                self._make_room()
            excess, dof = self._arena.scores[end].tolist()
            chosen = self._buffers.used > 0
            parents, used = self._buffers.owners[chosen], self._buffers.used[chosen]
        return parents, used, excess, dof

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        by_node = np.argsort(nodes, kind="stable")  # walks of one target share their steps
        table = np.empty((nodes.size, 2))
        with self._lock:
            table[by_node] = self._score(ranks, rows[by_node], nodes[by_node], False)
        return table

    def ends(self, requests: Sequence[tuple[int, IntArray]]) -> list[int]:
        """Where the walk of each (node, predecessors) ends: those that end in one place have the same parents."""
        ranks = np.ones((len(requests), self.problem.widths.size), dtype=np.int64)
        for row, (_, predecessors) in zip(ranks, requests, strict=True):
            row[predecessors] = 0
        nodes = np.array([node for node, _ in requests], dtype=np.int64)
        by_node = np.argsort(nodes, kind="stable")
        found = np.empty(nodes.size, dtype=np.int64)
        with self._lock:
            found[by_node] = self._score(ranks, by_node, nodes[by_node], False, 3)[:, 2]
        return found.tolist()

    def _score(
        self, ranks: IntArray, rows: IntArray, nodes: IntArray, wants_parents: bool, width: int = 2
    ) -> FloatArray:
        scores, done = np.empty((nodes.size, width)), 0
        while done < nodes.size:
            stop = min(done + self._at_once, nodes.size)
            done = walk_many(*self._trees(), ranks, rows, nodes[:stop], scores, done, wants_parents)
            if done < stop:
                self._make_room()
        return scores

    @property
    def _at_once(self) -> int:
        """Walks, turns or sets between two looks at whether somebody presses Ctrl-C."""
        return 1 if self.maximise else TURNS

    def moves(self, node: int, others: IntArray) -> Moves:
        """Excess and dof of all variables for every position of ``node`` among ``others`` (in order)."""
        others = np.ascontiguousarray(others, dtype=np.int64)
        scores = np.empty((others.size + 1, 3, 2))
        with self._lock:
            while walk_moves(*self._trees(), node, others, scores) < len(scores):
                self._make_room()
        own, before, after = np.ascontiguousarray(scores.swapaxes(0, 1))
        return Moves(own, before[:-1], after[:-1])

    def sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray) -> tuple[IntArray, float]:
        """The order after one turn of every variable, and its sum of  excess + penalty_per_dof * dof."""
        state = new_order_state(order, before)
        self._take_turns(state, np.array(order, dtype=np.int64), penalty_per_dof, 0.0, np.zeros(0))
        return state.order, float(state.terms[state.order].sum())

    def draw_sweep(self, order: IntArray, penalty_per_dof: float, before: BoolArray, draws: Draws) -> IntArray:
        """The order after each turn of ``draws``."""
        state = new_order_state(order, before)
        self._take_turns(state, draws.turns, penalty_per_dof, float(draws.n_rows), draws.numbers)
        return state.order

    def _take_turns(
        self, state: OrderState, turns: IntArray, penalty_per_dof: float, n_rows: float, draws: FloatArray
    ) -> None:
        """Move variables one after the other, a few between two looks at whether somebody presses Ctrl-C."""
        with self._lock:
            done = 0
            while done < turns.size:
                part = slice(done, done + self._at_once)
                had = sweep_some(*self._trees(), state, turns[part], penalty_per_dof, n_rows, draws[part])
                done += had
                if had < turns[part].size:
                    self._make_room()

    def parents_in(self, order: IntArray) -> BoolArray:
        """Who is a parent of whom (d, d) in an order."""
        each = np.arange(order.size)
        ranks = np.empty((1, order.size), dtype=np.int64)
        ranks[0, order] = each
        with self._lock:
            ends = self._score(ranks, 0 * each, each, False, 3)[:, 2].astype(np.int64).tolist()
        parents = np.zeros((order.size, order.size), dtype=np.bool_)
        for node, end in enumerate(ends):
            if end not in self._parents:
                self._parents[end] = self.fit(node, np.flatnonzero(ranks[0] < ranks[0, node]))[0]
            parents[self._parents[end], node] = True
        return parents

    def _targets(self, node: int) -> list[int]:
        """``node`` on each scale that it may have."""
        first, last = self.problem.scales[node : node + 2].tolist()
        return [*([node] if self.problem.own_scale[node] else []), *range(first, last)]

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of ``node`` on each of ``sets`` (m, d) of parents, all of which stay."""
        sets = np.ascontiguousarray(sets)
        found = []
        with self._lock:
            for target in self._targets(node):
                found.append(np.empty((len(sets), 2)))
                for first in range(0, len(sets), self._at_once):
                    part = slice(first, first + self._at_once)
                    score_sets(self._addresses, self.problem, self._buffers, target, sets[part], found[-1][part])
        if len(found) == 1:
            return found[0]
        scores = np.stack(found)  # (scales, m, 2)
        likeliest = np.argmin(scores @ [1.0, self._nats_per_dof], axis=0)
        best: FloatArray = scores[likeliest, np.arange(len(sets))]
        return best

    @property
    def _nats_per_dof(self) -> float:
        """Nats per row that a degree of freedom costs."""
        return 0.5 * self.problem.penalty_per_dof / (self.problem.n_rows * self.problem.share)

    def fit_parents(self, node: int, parents: IntArray) -> tuple[int, IntArray, float, float]:
        """The likeliest target of ``node`` on given parents, the columns used of each, excess and dof."""
        sets = np.zeros((1, self.problem.widths.size), dtype=np.bool_)
        sets[0, parents] = True
        fits = []
        with self._lock:
            for target in self._targets(node):
                scores = np.empty((1, 2))
                score_sets(self._addresses, self.problem, self._buffers, target, sets, scores)
                fits.append((target, self._buffers.used[: parents.size].copy(), *scores[0].tolist()))
        return min(fits, key=lambda fit: fit[2] + self._nats_per_dof * fit[3])

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) cost less than ``nats``, in the whole table, beside each of ``sets`` (m, d)."""
        less = 2.0 * self.copies * nats
        cheaper = self.problem._replace(
            penalty_per_parent=self.problem.penalty_per_parent - less,
            least_penalty=self.problem.least_penalty - less,
        )
        sets, near = np.ascontiguousarray(sets), np.zeros(sets.shape, dtype=np.bool_)
        with self._lock:
            addresses = self._addresses
            for target in self._targets(node):
                done = 0
                while done < len(sets):
                    stop = min(done + self._at_once, len(sets))
                    some = sets[:stop], near[:stop]
                    done = near_steps(
                        addresses, self.problem, cheaper, self._path, self._buffers, target, *some, done
                    )
                    if done < stop:
                        self._make_room()
        return near

    def solve(self, target: int, parents: IntArray, used: IntArray) -> FloatArray:
        """The least-squares coefficients of a target on the columns of a parent set."""
        problem, response = self.problem, int(self.problem.responses[target])
        return coefficients(problem.moments, problem.limits, problem.blocks.shape[1], response, parents, used)[1]

    def fit_discrete(self, node: int, parents: IntArray, used: IntArray) -> tuple[FloatArray, FloatArray, int]:
        """Coefficients (1 + m, q) of a discrete node on a constant and the m columns of parents, its further
        parameters (k,), and how many of these are used.
        """
        from daguerreotype.edges.grow_shrink.discrete import fit_parents

        with self._lock:
            fit, problem = self._buffers.fit, self.problem
            m = fit_parents(self._addresses, problem, self._buffers, node, parents, used)
            q, k = problem.predictors[node], problem.shapes[node]
            return fit.coefficients[: m + 1, :q].copy(), fit.nuisance[:k].copy(), int(fit.nll[1])

    def _make_room(self) -> None:
        """Double what ran out. The walk then starts over, on trees that keep all they have grown."""
        if self._arena.size[0] == len(self._arena.links):
            self._arena = doubled(self._arena)
        else:
            rows = self._path.rows
            self._path = self._path._replace(rows=np.concatenate([rows, np.empty_like(rows)]))
