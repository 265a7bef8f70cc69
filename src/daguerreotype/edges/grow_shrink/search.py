"""Grow-shrink tree search over parent sets (Andrews et al. 2023)."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from threading import Lock
from typing import NamedTuple, Self

import numpy as np

from daguerreotype._lib.numba import address_of, address_table, borrow, call_address, kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Draws, SearchableModels
from daguerreotype.edges.grow_shrink.discrete import eliminate_likely, find_likely, fit_given, fit_rows, try_given
from daguerreotype.edges.grow_shrink.grow import condition_on, expand, find_steps
from daguerreotype.edges.grow_shrink.parent_sets import (
    choose_shapes,
    fit_set,
    limit_parents,
    near_steps,
    score_sets,
)
from daguerreotype.edges.grow_shrink.problem import (
    HEAD,
    N_SPREAD,
    OPEN,
    OVER,
    PREDICTORS,
    SCALE,
    SHAPES,
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
    count_owners,
    doubled,
    empty,
    include,
    new_arena,
    new_buffers,
    new_path,
    recall,
    walk,
    walk_scale,
)
from daguerreotype.edges.grow_shrink.weigh import ALWAYS, SHAPE, weigh
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise.newton import Rows

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
) -> int:
    """Walk for every node in its row of ``ranks``, from ``start`` on; how many are done in the end.

    A row of ``scores`` (r, 3) is the excess, the dof, and where the walk ends.
    """
    problem, arena, path, buffers = borrow((problem, arena, path, buffers))
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
        scores[i, 0] = arena.scores[end, 0]
        scores[i, 1] = arena.scores[end, 1]
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
    problem, arena, path, buffers = borrow((problem, arena, path, buffers))
    empty(buffers.before)
    for i in range(predecessors.size):
        include(buffers.before, predecessors[i])
    end = call_address(addresses.walk_scale, addresses, problem, arena, path, buffers, target)
    if end >= 0:
        recall(problem, arena, buffers, end)
    return int(end)


@cache
def walk_addresses(
    maximise: tuple[Callable[..., int], ...] = (), limited: bool = False, weighed: bool = False
) -> Addresses:
    """Where the kernels of a walk are, those that maximise likelihoods of discrete targets among them.

    The data of all problems have the types of those of a single column.
    """
    problem = new_problem(np.eye(1), np.ones(1, dtype=np.int64), 1, Penalty())
    arena, path, buffers = new_arena(1, 1), new_path(problem), new_buffers(problem)
    nowhere = Addresses._make([0] * len(Addresses._fields))
    addresses = nowhere._replace(
        eliminate=address_of(eliminate, problem, buffers, 0, 0, True, np.zeros(2)),
        shrink=address_of(shrink, nowhere, problem, arena, buffers, 0, 0),
        condition_on=address_of(condition_on, problem.moments, problem.limits, path, 0, 0, 0, 0, True, 0, 0, 0),
        find_steps=address_of(find_steps, nowhere, problem, path, buffers, 0),
        choose_shapes=address_of(choose_shapes, nowhere, problem, buffers, 0, 0, np.zeros(2)),
    )
    if maximise:
        whole, empty = np.zeros(0, dtype=np.int64), np.zeros(0)
        rows = Rows(whole, empty, np.zeros((0, 0)), whole)
        kernels = address_table([address_of(fit, rows, 0, 0, 0.0, buffers.fit) for fit in maximise])
        addresses = addresses._replace(
            maximise=kernels,
            fit_rows=address_of(fit_rows, nowhere, problem, buffers.fit, 0, 0),
            fit_columns=address_of(fit_given, addresses, problem, buffers, 0, 0),
            try_columns=address_of(try_given, addresses, problem, buffers, 0, 0),
            find_likely=address_of(find_likely, addresses, problem, path, buffers, 0),
            eliminate_likely=address_of(eliminate_likely, addresses, problem, buffers, 0, 0, np.zeros(2)),
        )
    if weighed:
        addresses = addresses._replace(weigh=address_of(weigh, addresses, problem, buffers, 0, np.zeros(2)))
    if limited:
        addresses = addresses._replace(
            limit_parents=address_of(limit_parents, addresses, problem, arena, buffers, 0, 0)
        )
    return addresses._replace(
        expand=address_of(expand, addresses, problem, arena, path, buffers, 0, 0, 0),
        walk_scale=address_of(walk_scale, addresses, problem, arena, path, buffers, 0),
        walk=address_of(walk, addresses, problem, arena, path, buffers, 0),
        fit_set=address_of(fit_set, addresses, problem, arena, path, buffers, 0, np.zeros(2)),
    )


class Chosen(NamedTuple):
    """What a search ends with: target, owners (o,) ascending, how many columns of each are used, excess, dof."""

    target: int
    owners: IntArray
    used: IntArray
    excess: float
    dof: float


class Weighed(NamedTuple):
    """What rows say of a number on its parents.

    Attributes
    ----------
    scale : int
        Which of the other scales it is on; -1 for that of the table.
    used : array of shape (o,)
        How many columns each owner has.
    coefficients : array of shape (1 + m, q)
        Of the constant and these columns, owner by owner: those of the mean and, where spread depends on parents,
        of the log variance.
    gain : float
        Nats per row that this gains over a Gaussian of one spread on the scale of the table.
    excess, dof : float
        What it loses, and the parameters.
    """

    scale: int
    used: IntArray
    coefficients: FloatArray
    gain: float
    excess: float
    dof: float


class GrowShrinkTrees(SearchableModels):
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
    problem : Problem
        The penalised regression of every target.
    copies : int
        How often each observation is among the rows of discrete targets.
    maximise : tuple of kernels
        Those that maximise the likelihoods of the families of discrete targets.
    """

    def __init__(self, problem: Problem, copies: int = 1, maximise: tuple[Callable[..., int], ...] = ()) -> None:
        self.problem, self.copies, self.maximise = problem, copies, maximise
        words = count_owners(problem) // 64 + 1
        self._arena = new_arena(16 * self.problem.responses.size, words)
        self._arena.size[0] = self.problem.responses.size
        self._path, self._buffers = new_path(self.problem), new_buffers(self.problem)
        self._lock = Lock()  # kernels release the GIL, and any walk may grow the trees
        self._parents: dict[int, IntArray] = {}  # by where walks end

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _lock=Lock())

    def fork(self) -> Self:
        """Models of the same problem, on trees grown as far as these, that another thread can walk."""
        clone = copy(self)
        with self._lock:
            clone._arena = TreeArena._make(array.copy() for array in self._arena)
        clone._path, clone._buffers = new_path(self.problem), new_buffers(self.problem)
        clone._lock, clone._parents = Lock(), dict(self._parents)
        return clone

    @property
    def _addresses(self) -> Addresses:
        """Where the kernels of walks are."""
        return walk_addresses(self.maximise, self.problem.max_parents.size > 0, self.problem.rows.size > 0)

    def _trees(self) -> tuple[Addresses, Problem, TreeArena, CholeskyRows, WalkBuffers]:
        """What every query takes."""
        return self._addresses, self.problem, self._arena, self._path, self._buffers

    def search(self, node: int, predecessors: IntArray) -> Chosen:
        """The parents of ``node`` among ``predecessors``, on its likeliest scale."""
        return min((self.search_target(target, predecessors) for target in self._targets(node)), key=self._loss)

    def search_target(self, target: int, predecessors: IntArray) -> Chosen:
        """The parents of a target, a variable on one scale, among ``predecessors``."""
        before = np.array(predecessors, dtype=np.int64)
        with self._lock:
            while (end := walk_target(*self._trees(), before, target)) < 0:
                self._make_room()
            excess, dof = self._arena.scores[end].tolist()
            return self._chosen(target, excess, dof)

    def _chosen(self, target: int, excess: float, dof: float) -> Chosen:
        """What the buffers hold."""
        used = self._buffers.used
        return Chosen(target, self._buffers.owners[used > 0], used[used > 0], excess, dof)

    def choose(self, node: int, predecessors: IntArray) -> IntArray:
        """The parents that a search chooses among predecessors."""
        return self.parents_of(self.search(node, predecessors))

    def score_many(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof (r, 2) of each of ``nodes`` (r,) in its row of ``ranks`` (m, d)."""
        return self._walk(ranks, rows, nodes)[:, :2]

    def ends(self, requests: Sequence[tuple[int, IntArray]]) -> list[int]:
        """Where the walk of each (node, predecessors) ends: those that end in one place have the same parents."""
        ranks = np.ones((len(requests), self.problem.widths.size), dtype=np.int64)
        for row, (_, predecessors) in zip(ranks, requests, strict=True):
            row[predecessors] = 0
        nodes = np.array([node for node, _ in requests], dtype=np.int64)
        ends: list[int] = self._walk(ranks, np.arange(nodes.size), nodes)[:, 2].astype(np.int64).tolist()
        return ends

    def _walk(self, ranks: IntArray, rows: IntArray, nodes: IntArray) -> FloatArray:
        """Excess and dof of each node in its row of ``ranks``, and where its walk ends, (r, 3)."""
        by_node = np.argsort(nodes, kind="stable")  # walks of one target share their steps
        rows, nodes = rows[by_node], nodes[by_node]
        scores, done = np.empty((nodes.size, 3)), 0
        with self._lock:
            while done < nodes.size:
                stop = min(done + self._at_once, nodes.size)
                done = walk_many(*self._trees(), ranks, rows, nodes[:stop], scores, done)
                if done < stop:
                    self._make_room()
        return scores[np.argsort(by_node)]

    @property
    def _at_once(self) -> int:
        """Walks, turns or sets between two looks at whether somebody presses Ctrl-C."""
        return 1 if self.maximise else TURNS

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
        ranks = np.argsort(order)
        requests = [(node, np.flatnonzero(ranks < ranks[node])) for node in range(order.size)]
        parents = np.zeros((order.size, order.size), dtype=np.bool_)
        for end, (node, predecessors) in zip(self.ends(requests), requests, strict=True):
            if end not in self._parents:
                self._parents[end] = self.choose(node, predecessors)
            parents[self._parents[end], node] = True
        return parents

    def _targets(self, node: int) -> list[int]:
        """``node`` on each scale that it may have."""
        first, last = self.problem.scales[node : node + 2].tolist()
        return [node, *range(first, last)]

    def weighs(self, node: int) -> bool:
        """Whether the shape of a node's noise is part of its scores."""
        return bool(self.problem.places[node, OPEN] & (SHAPE | ALWAYS))

    def score_parents(self, node: int, sets: BoolArray) -> FloatArray:
        """Excess and dof (m, 2) of ``node`` on each of ``sets`` (m, d) of parents, all of which stay."""
        sets, targets = np.ascontiguousarray(sets), self._targets(node)
        scores = np.empty((len(targets), len(sets), 2))
        for own, target in zip(scores, targets, strict=True):
            self._score_sets(target, sets, own)
        likeliest = np.argmin(scores @ [1.0, self._nats_per_dof], axis=0)
        best: FloatArray = scores[likeliest, np.arange(len(sets))]
        return best

    def _score_sets(self, target: int, sets: BoolArray, scores: FloatArray) -> Chosen:
        """Write excess and dof (m, 2) of a target on each of ``sets``; what it has on the last one."""
        done = 0
        with self._lock:
            while done < len(sets):
                stop = min(done + self._at_once, len(sets))
                done = score_sets(*self._trees(), target, sets[:stop], scores, done)
                if done < stop:
                    self._make_room()
            return self._chosen(target, *scores[-1].tolist())

    @property
    def _nats_per_dof(self) -> float:
        """Nats per row that a degree of freedom costs."""
        return 0.5 * self.problem.penalty_per_dof / (self.problem.n_rows * self.problem.share)

    def _loss(self, chosen: Chosen) -> float:
        """Penalised nats per row."""
        return chosen.excess + self._nats_per_dof * chosen.dof

    def search_shapes(self, node: int, parents: IntArray) -> Chosen:
        """What ``node`` has on exactly these parents, ascending: on which scale, and how many columns of each."""
        sets = np.zeros((1, self.problem.widths.size), dtype=np.bool_)
        sets[0, parents] = True
        targets, scores = self._targets(node), np.empty((1, 2))
        return min((self._score_sets(target, sets, scores) for target in targets), key=self._loss)

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) cost less than ``nats``, in the whole table, beside each of ``sets`` (m, d)."""
        less = 2.0 * self.copies * nats
        cheaper = self.problem._replace(penalty_per_parent=self.problem.penalty_per_parent - less)
        sets, near = np.ascontiguousarray(sets), np.zeros(sets.shape, dtype=np.bool_)
        with self._lock:
            for target in self._targets(node):
                done = 0
                while done < len(sets):
                    addresses, problem, arena, path, buffers = self._trees()
                    stop = min(done + self._at_once, len(sets))
                    part = sets[:stop], near[:stop]
                    done = near_steps(addresses, problem, cheaper, arena, path, buffers, target, *part, done)
                    if done < stop:
                        self._make_room()
        return near

    def pairs_of(self, chosen: Chosen) -> IntArray:
        """The two variables (k, 2) of every product that a search ended with."""
        d, variable = self.problem.widths.size, self.problem.variables[chosen.target]
        pairs: IntArray = self.problem.products[
            self.problem.product_starts[variable] + chosen.owners[chosen.owners >= d] - d
        ]
        return pairs

    def parents_of(self, chosen: Chosen) -> IntArray:
        """The parents (p,) that a search ended with, ascending."""
        own = chosen.owners[chosen.owners < self.problem.widths.size]
        parents: IntArray = np.unique(np.concatenate([own, self.pairs_of(chosen).ravel()]))
        return parents

    def columns_of(self, target: int, owners: IntArray, used: IntArray) -> IntArray:
        """Which columns are the first ``used`` of those of each owner of a target."""
        problem, d = self.problem, self.problem.widths.size
        products = len(problem.moments) - len(problem.products) - d
        products += int(problem.product_starts[problem.variables[target]])
        firsts = np.where(owners < d, owners * problem.blocks.shape[1], products + owners)
        owned = [first + np.arange(count) for first, count in zip(firsts, used, strict=True)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *owned])

    def weigh(self, chosen: Chosen) -> Weighed:
        """What rows say of a number on the parents that a search ended with."""
        fit, scores, size = self._buffers, np.empty(2), chosen.owners.size
        with self._lock:
            fit.owners[:size], fit.used[:] = chosen.owners, 0
            fit.used[:size] = chosen.used
            m = weigh(self._addresses, self.problem, fit, chosen.target, scores)
            weighed = fit.weighed.copy()
        if not self.problem.places[chosen.target, OPEN]:  # of which second moments say all but the constant
            weighed[HEAD] = self._constant(chosen, int(weighed[SCALE]), weighed[HEAD + 1 : HEAD + 1 + m])
        q = int(weighed[N_SPREAD])
        mean, spread = weighed[HEAD : HEAD + m + 1], weighed[HEAD + m + 1 : HEAD + m + 2 + q]
        places = weighed[HEAD + m + 2 + q : HEAD + m + 2 + 2 * q].astype(np.int64)  # of columns of spread
        used = chosen.used
        if q:
            used = np.maximum(used, [np.sum(places // self.problem.blocks.shape[1] == i) for i in chosen.owners])
        columns = self.columns_of(chosen.target, chosen.owners, used)
        coefficients = np.zeros((1 + columns.size, 1 + (q > 0)))
        of_mean = np.isin(columns, self.columns_of(chosen.target, chosen.owners, chosen.used))
        coefficients[0, 0], coefficients[1:, 0][of_mean] = mean[0], mean[1:]
        if q:
            coefficients[0, 1] = spread[0]
            for column, share in zip(places, spread[1:], strict=True):
                coefficients[1 + int(np.flatnonzero(columns == column)[0]), 1] = share
        gain = float(weighed[OVER])
        return Weighed(int(weighed[SCALE]), used, coefficients, gain, *scores.tolist())

    def _constant(self, chosen: Chosen, scale: int, shares: FloatArray) -> float:
        """What shares of the columns of a choice leave of a node on a scale, on average."""
        problem, variable = self.problem, int(self.problem.variables[chosen.target])
        response = len(problem.moments) + (variable if scale < 0 else problem.widths.size + scale)
        columns = problem.rows[self.columns_of(chosen.target, chosen.owners, chosen.used)]
        return float(problem.rows[response].mean() - shares @ columns.mean(axis=1))

    def solve(self, target: int, columns: IntArray) -> FloatArray:
        """The least-squares coefficients (m,) of a target on columns (m,)."""
        problem = self.problem
        return coefficients(problem.moments, problem.limits, int(problem.responses[target]), columns)

    def fit_discrete(self, target: int, columns: IntArray) -> tuple[FloatArray, FloatArray, int]:
        """Coefficients (1 + m, q) of a target on a constant and m columns, its further parameters (k,), and
        how many of these are used.
        """
        with self._lock:
            fit, problem, m = self._buffers.fit, self.problem, columns.size
            fit.columns[:m] = columns
            fit_given(self._addresses, problem, self._buffers, target, m)
            q, k = problem.families[target, PREDICTORS], problem.families[target, SHAPES]
            return fit.coefficients[: m + 1, :q].copy(), fit.nuisance[:k].copy(), int(fit.nll[1])

    def _make_room(self) -> None:
        """Double what ran out. The walk then starts over, on trees that keep all they have grown."""
        if self._arena.size[0] == len(self._arena.links):
            self._arena = doubled(self._arena)
        else:
            rows = self._path.rows
            self._path = self._path._replace(rows=np.concatenate([rows, np.empty_like(rows)]))
