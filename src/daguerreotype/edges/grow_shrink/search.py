"""Grow-shrink tree search over parent sets (Andrews et al. 2023)."""

from collections.abc import Sequence
from copy import copy
from threading import Lock

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Draws, EdgeRules, Moves
from daguerreotype.edges.grow_shrink.parent_sets import near_steps, score_sets
from daguerreotype.edges.grow_shrink.problem import (
    ORDERED,
    SOFTMAX,
    DiscreteTargets,
    OtherScales,
    Problem,
    new_problem,
)
from daguerreotype.edges.grow_shrink.queries import walk_addresses, walk_many, walk_moves, walk_target
from daguerreotype.edges.grow_shrink.shrink import coefficients
from daguerreotype.edges.grow_shrink.sweep import OrderState, new_order_state, sweep_some
from daguerreotype.edges.grow_shrink.tree import (
    Addresses,
    CholeskyRows,
    TreeArena,
    WalkBuffers,
    doubled,
    new_arena,
    new_buffers,
    new_path,
)
from daguerreotype.edges.price import Price

FIRST = np.zeros(1, dtype=np.int64)  # row of a single ranking
TURNS = 32  # of a sweep between two looks at whether somebody presses Ctrl-C


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
    price : Price
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
    """

    def __init__(
        self,
        moments: FloatArray,
        widths: IntArray,
        n_rows: int,
        price: Price,
        rules: EdgeRules | None = None,
        rounding: FloatArray | None = None,
        discrete: DiscreteTargets | None = None,
        others: OtherScales | None = None,
        copies: int = 1,
    ) -> None:
        self.problem = new_problem(moments, widths, n_rows, price, rules, rounding, discrete, others, copies)
        self.discrete, self.bent_share, self.copies = discrete is not None, price.bent_share, copies
        self._plant()

    def _plant(self) -> None:
        """Begin with the roots alone."""
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

    def with_bent_share(self, bent_share: float) -> "GrowShrinkTrees":
        """Trees of the same data that have not grown yet, for another price of lines."""
        problem, clone = self.problem, copy(self)
        line_dof = problem.lines + bent_share * (problem.widths - problem.lines)
        clone.problem = problem._replace(line_dof=line_dof)
        clone.bent_share = bent_share
        clone._plant()
        return clone

    @property
    def _addresses(self) -> Addresses:
        """Where the kernels of walks are."""
        return walk_addresses(self.discrete, self.problem.max_parents.size > 0)

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
        return 1 if self.discrete else TURNS

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
        likeliest = np.argmin(scores @ [1.0, self._price], axis=0)
        best: FloatArray = scores[likeliest, np.arange(len(sets))]
        return best

    @property
    def _price(self) -> float:
        """Nats per row that a degree of freedom costs."""
        return 0.5 * self.problem.penalty_per_dof / self.problem.n_rows

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
        return min(fits, key=lambda fit: fit[2] + self._price * fit[3])

    def near_parents(self, node: int, sets: BoolArray, nats: float) -> BoolArray:
        """Which others (m, d) cost less than ``nats``, in the whole table, beside each of ``sets`` (m, d)."""
        less = 2.0 * self.copies * nats
        cheaper = self.problem._replace(
            penalty_per_parent=self.problem.penalty_per_parent - less, least_price=self.problem.least_price - less
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

    def solve(self, target: int, parents: IntArray, used: IntArray) -> tuple[IntArray, FloatArray]:
        """Columns of a parent set and the least-squares coefficients of a target on them."""
        problem, response = self.problem, int(self.problem.responses[target])
        return coefficients(problem.moments, problem.limits, problem.blocks.shape[1], response, parents, used)

    def fit_discrete(
        self, node: int, parents: IntArray, used: IntArray
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Columns of parents, coefficients (1 + m, q) of a discrete node on a constant and them, and its shape."""
        from daguerreotype.edges.grow_shrink.discrete import fit_parents

        with self._lock:
            fit = self._buffers.fit
            m = fit_parents(walk_addresses(True), self.problem, self._buffers, node, parents, used)
            softmax = self.problem.families[node] == SOFTMAX
            q = int(self.problem.levels[node] - 1) if softmax else 1
            cuts = int(self.problem.levels[node] - 1) if self.problem.families[node] == ORDERED else 1
            return fit.columns[:m].copy(), fit.coefficients[: m + 1, :q].copy(), fit.nuisance[:cuts].copy()

    def _make_room(self) -> None:
        """Double what ran out. The walk then starts over, on trees that keep all they have grown."""
        if self._arena.size[0] == len(self._arena.links):
            self._arena = doubled(self._arena)
        else:
            rows = self._path.rows
            self._path = self._path._replace(rows=np.concatenate([rows, np.empty_like(rows)]))
