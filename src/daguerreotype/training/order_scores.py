"""Losses of orderings as sums over cached local fits: by ranking, by order, and by the place of one variable.

Rankings that differ by an adjacent swap differ in two fits, so that ranking after ranking costs two look-ups.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import (
    CanFork,
    Draws,
    DrawsSweeps,
    HasMoves,
    HasQuickScores,
    HasSweeps,
    LocalFit,
    LocalModels,
    offered,
)
from daguerreotype.noise import NoiseModel
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.child_limits import ChildLimits
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.local_fits import LocalFits, noise_of_nodes
from daguerreotype.training.objective import Objective, PenalizedLikelihood
from daguerreotype.training.predecessor_hash import HashArray
from daguerreotype.training.run import Run


class OrderScores:
    """Losses of orderings of one table, from cached local fits.

    Parameters
    ----------
    models : LocalModels
        The estimator, prepared with its data.
    objective : Objective
        How local fits add up.
    n_rows, d : int
        Size of the data.
    noise : NoiseModel, or one for each of the d nodes, optional
        What residuals are likely under; Gaussian by default.
    rows_per_node : array of shape (d,), optional
        How many rows count for each node, where not all do. Its terms are weighted by their share, so that
        the loss is that of all mechanisms, each on its own rows, per row of data.
    constraints : Constraints
        What the fits obey: they are asked for, and known by, the predecessors that may be parents.
    dither : sequence of arrays, optional
        What spreads the ties of each node, in the rows that count for it.
    copies : int
        How often every row is there, with other draws where values are missing.
    has_floor : bool
        Whether parents have a price that more rows do not lower.
    moves_obey : bool
        Whether ``fit_moves`` of the models, if they have it, heeds the constraints too.
    known_graph : array of shape (d, d), optional
        A likely graph in which no node has more children than it may, for orders that it goes with.
    run : Run, optional
        Threads, memory of the cache, cancellation.

    Attributes
    ----------
    fits : LocalFits
        The cache.
    """

    def __init__(
        self,
        models: LocalModels,
        objective: Objective,
        *,
        n_rows: int,
        d: int,
        noise: NoiseModel | Sequence[NoiseModel] | None = None,
        rows_per_node: IntArray | None = None,
        constraints: Constraints = FREE,
        dither: Sequence[FloatArray] | None = None,
        copies: int = 1,
        has_floor: bool = False,
        moves_obey: bool = True,
        known_graph: BoolArray | None = None,
        run: Run | None = None,
    ) -> None:
        self.models, self.objective, self.n_rows, self.d = models, objective, n_rows, d
        self.noise, self.rows_per_node = noise_of_nodes(noise, d), rows_per_node
        self.constraints, self.dither, self.moves_obey = constraints, dither, moves_obey
        self.copies, self.has_floor, self.known_graph = copies, has_floor, known_graph
        self._child_limits: ChildLimits | None = None
        self.run = Run() if run is None else run
        self.weight = d if rows_per_node is None else float(rows_per_node.sum() / n_rows)  # of all nodes
        by_residuals = any(each.needs_residuals for each in self.noise)
        by_scores = not by_residuals and (constraints.rules is None or moves_obey)
        self._fast = offered(models, HasMoves) if by_scores else None
        # What the sweeps of models minimise.
        sums = by_scores and rows_per_node is None and isinstance(objective, PenalizedLikelihood)
        self._sweeps = offered(models, HasSweeps) if sums else None
        self.fits = LocalFits(
            models,
            objective,
            n_rows=n_rows,
            d=d,
            noise=self.noise,
            rows_per_node=rows_per_node,
            constraints=constraints,
            dither=dither,
            copies=copies,
            has_floor=has_floor,
            quick=None if self._fast is None else offered(models, HasQuickScores),
            run=self.run,
        )

    def clones(self, count: int) -> "list[OrderScores]":
        """The same scores for ``count`` threads, by these models and forks of them; none where that gains nothing.

        Where moves are scored by single fits, threads share those out: a cache each would make them again.
        """
        forking = offered(self.models, CanFork)
        if count < 2 or self._fast is None or forking is None:
            return []
        models = [self.models, *(forking.fork() for _ in range(count - 1))]
        alone = Run(cache_bytes=self.run.cache_bytes)
        return [OrderScores(**self.__getstate__() | {"models": each, "run": alone}) for each in models]

    def again(self, run: Run) -> "OrderScores":
        """The same with an empty cache, for another run."""
        return OrderScores(**self.__getstate__() | {"run": run})

    def knowing(self, graph: BoolArray) -> "OrderScores":
        """The same, with a likely graph in which no node has more children than it may."""
        return OrderScores(**self.__getstate__() | {"known_graph": graph, "run": self.run})

    def __getstate__(self) -> dict[str, Any]:
        """What these were made with; neither the cache nor the run, which has a display, leave the process."""
        return {
            "models": self.models,
            "objective": self.objective,
            "n_rows": self.n_rows,
            "d": self.d,
            "noise": self.noise,
            "rows_per_node": self.rows_per_node,
            "constraints": self.constraints,
            "dither": self.dither,
            "copies": self.copies,
            "has_floor": self.has_floor,
            "moves_obey": self.moves_obey,
            "known_graph": self.known_graph,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def quick(self) -> bool:
        """Whether all places of a variable are scored at once, without single fits."""
        return self._fast is not None

    # ------------------------------------------------------------------ orderings

    def _indices(self, distribution: OrderDistribution) -> IntArray:
        """Indices (m, d) of the fit of every node in every ranking."""
        keys = self.fits.hashes.keys(distribution.ranks)  # (m, d)
        tree = distribution.tree
        if tree is None:
            return self._all_indices(distribution.ranks, keys)
        ranks = distribution.ranks
        each = np.arange(self.d)
        root = self.fits.look_up_ranked(keys[0], each, ranks, np.zeros_like(each))
        changed = tree.swaps[1:].ravel()  # u and v of every other ranking
        children = np.repeat(np.arange(1, len(distribution)), 2)
        new = self.fits.look_up_ranked(keys[children, changed], changed, ranks, children)
        return _spread(root, tree.parents, tree.swaps, new)

    def _all_indices(self, ranks: IntArray, keys: HashArray) -> IntArray:
        """The same for rankings without a tree."""
        m, d = ranks.shape
        unique, first, inverse = np.unique(keys.ravel(), return_index=True, return_inverse=True)
        found = self.fits.look_up_ranked(unique, first % d, ranks, first // d)
        indices: IntArray = found[inverse].reshape(m, d)
        return indices

    def losses(self, distribution: OrderDistribution) -> FloatArray:
        """Loss (m,) of every ranking."""
        self.run.cancel.check()
        indices = self._indices(distribution)  # may grow the terms
        sums = _sum_terms(self.fits.terms, indices)
        self.fits.keep_bound()
        return self.objective.total(sums, self.weight)

    def loss_of(self, order: IntArray) -> float:
        """Loss of one order."""
        indices = self._order_indices(order)  # may grow the terms
        sums = self.fits.terms[indices].sum(axis=0)
        self.fits.keep_bound()
        return float(self.objective.total(sums, self.weight))

    def fits_of(self, order: IntArray) -> list[LocalFit]:
        """Local fits of all nodes, by node, in one order."""
        ranks = np.argsort(order)
        indices = self._order_indices(order).tolist()
        fits = [self.fits.fit_at(index, node, ranks) for node, index in enumerate(indices)]
        self.fits.keep_bound()
        return fits

    def graph_of(self, order: IntArray) -> tuple[list[LocalFit], float]:
        """Local fits of all nodes, by node, in one order, and its loss; no node has more children than it may."""
        fits, ranks = self.fits_of(order), np.argsort(order)
        if self.constraints.max_children is None:
            return fits, self.loss_of(order)
        usable = (ranks[:, None] < ranks) & self.fits.hashes.allowed
        fits = self.limit_children(fits, usable)
        loss = self._loss_of_fits(fits)
        if self.known_graph is not None and not np.any(self.known_graph & ~usable):
            known = self.fits.fit_all(
                [(node, np.flatnonzero(self.known_graph[:, node])) for node in range(self.d)]
            )
            if self._loss_of_fits(known) < loss:
                fits, loss = known, self._loss_of_fits(known)
        return fits, loss

    def closes_edges(self, order: IntArray) -> bool:
        """Whether some node of an order would have more children than it may."""
        limits = self.constraints.max_children
        if limits is None:
            return False
        children = np.zeros(self.d, dtype=np.int64)
        for fit in self.fits_of(order):
            children[fit.parents] += 1
        return bool(np.any(children > limits))

    def _loss_of_fits(self, fits: list[LocalFit]) -> float:
        sums = self.fits.terms_of(range(self.d), fits).sum(axis=0)
        return float(self.objective.total(sums, self.weight))

    def limit_children(self, fits: list[LocalFit], usable: BoolArray) -> list[LocalFit]:
        """Fits of all nodes on ``usable[:, node]`` (d, d), made again where others have too many children."""
        if self.constraints.max_children is None:
            return fits
        if self._child_limits is None:
            self._child_limits = ChildLimits(
                self.fits, lambda sums: self.objective.total(sums, self.weight), self.constraints.max_children
            )
        return self._child_limits.obey(fits, usable)

    def _order_indices(self, order: IntArray) -> IntArray:
        ranks = np.empty((1, self.d), dtype=np.int64)
        ranks[0, order] = np.arange(self.d)
        indices: IntArray = self._all_indices(ranks, self.fits.hashes.keys(ranks))[0]
        return indices

    def edge_shares(self, distribution: OrderDistribution) -> FloatArray:
        """Matrix (d, d): total probability of the rankings in which i is a chosen parent of j.

        Where children are limited, these are the edges that :meth:`graph_of` leaves in each ranking.
        """
        table = np.zeros((self.d, self.d))
        if self.constraints.max_children is not None:
            for ranks, prob in zip(distribution.ranks, distribution.probs.tolist(), strict=True):
                for node, fit in enumerate(self.graph_of(np.argsort(ranks))[0]):
                    table[fit.parents, node] += prob
            return np.minimum(table, 1.0)
        indices = self._indices(distribution)
        for node in range(self.d):
            chosen, rows, inverse = np.unique(indices[:, node], return_index=True, return_inverse=True)
            mass = np.bincount(inverse, weights=distribution.probs)
            for place in np.argsort(rows).tolist():  # not as fits were made: sums must not depend on that
                fit = self.fits.fit_at(int(chosen[place]), node, distribution.ranks[rows[place]])
                table[fit.parents, node] += mass[place]
        self.fits.keep_bound()
        # Probabilities of rankings sum to one but for rounding.
        return np.minimum(table, 1.0)

    def move_losses(self, node: int, others: IntArray) -> FloatArray:
        """Loss (d,) of every position of ``node`` in the order ``others`` of the rest; infinite if not allowed."""
        self.run.cancel.check()
        first, last = self.constraints.window(node, others)
        own, before, after = self._move_terms(node, others, first, last)
        sums = own.copy()  # position q: before others[q]
        sums[1:] += np.cumsum(before, axis=0)
        sums[:-1] += np.cumsum(after[::-1], axis=0)[::-1]
        losses = np.full(self.d, np.inf)
        losses[first : last + 1] = self.objective.total(sums[first : last + 1], self.weight)
        return losses

    def sweep(self, order: IntArray) -> tuple[IntArray, float] | None:
        """The order after one turn of every variable, and its loss; None where the models cannot do it at once."""
        if self._sweeps is None:
            return None
        self.run.cancel.check()
        return self._sweeps.sweep(order, *self._sweep_settings())

    def draw_sweep(self, order: IntArray, n_rows: float, rng: np.random.Generator) -> IntArray:
        """The order after every variable, in random turns, went to a place by chance, as exp(-n_rows * loss)."""
        draws = Draws(n_rows, rng.permutation(self.d), rng.random(self.d))
        drawing = None if self._sweeps is None else offered(self.models, DrawsSweeps)
        if drawing is not None:
            self.run.cancel.check()
            return drawing.draw_sweep(order, *self._sweep_settings(), draws)
        for node, draw in zip(draws.turns.tolist(), draws.numbers.tolist(), strict=True):
            others = order[order != node]
            losses = self.move_losses(node, others)
            shares = np.cumsum(np.exp(n_rows * (losses.min() - losses)))
            order = np.insert(others, int(np.searchsorted(shares, draw * shares[-1])), node)
        return order

    def _sweep_settings(self) -> tuple[float, BoolArray]:
        """What sweeps of models go by: a price, and who must come before whom."""
        assert isinstance(self.objective, PenalizedLikelihood)
        precedence = self.constraints.precedence
        before = np.zeros((0, 0), dtype=np.bool_) if precedence is None else precedence.before
        return float(self.objective.per_dof(self.n_rows)), before

    def _move_terms(
        self, node: int, others: IntArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Terms of ``node`` at every position, and of the others without and with it before them.

        Only those matter that a position from ``first`` to ``last`` needs.
        """
        if self._fast is not None:
            moves = self._fast.fit_moves(node, others)
            return tuple(  # type: ignore[return-value]
                self.fits.terms_of_scores(nodes, table)
                for nodes, table in ((node, moves.own), (others, moves.before), (others, moves.after))
            )
        m = others.size
        ranks = np.empty((2, self.d), dtype=np.int64)  # with the node at the end, and at the start
        ranks[0, others], ranks[0, node] = np.arange(m), m
        ranks[1, others], ranks[1, node] = np.arange(1, m + 1), 0
        without, behind = self.fits.hashes.keys(ranks)[:, others]
        keys = np.concatenate([self.fits.hashes.prefix_keys(node, others), without, behind])

        def predecessors(i: int) -> IntArray:
            i = int(needed[i])
            if i <= m:
                return np.sort(others[:i])
            before = others[: (i - m - 1) % m]
            return np.sort(before if i <= 2 * m else np.append(before, node))

        needed = np.concatenate(
            [np.arange(first, last + 1), m + 1 + np.arange(last), 2 * m + 1 + np.arange(first, m)]
        )
        nodes = np.concatenate([np.full(m + 1, node), others, others])
        terms = np.zeros((3 * m + 1, 2))
        indices = self.fits.look_up(keys[needed], nodes[needed].tolist(), predecessors)
        terms[needed] = self.fits.terms[indices]
        self.fits.keep_bound()
        return terms[: m + 1], terms[m + 1 : 2 * m + 1], terms[2 * m + 1 :]


@kernel
def _spread(root: IntArray, parents: IntArray, swaps: IntArray, new: IntArray) -> IntArray:
    """Each ranking's indices (m, d): its parent's, but for the two swapped nodes."""
    m, d = parents.size, root.size
    indices = np.empty((m, d), dtype=np.int64)
    for i in range(d):
        indices[0, i] = root[i]
    for s in range(1, m):
        for i in range(d):
            indices[s, i] = indices[parents[s], i]
        indices[s, swaps[s, 0]] = new[2 * s - 2]
        indices[s, swaps[s, 1]] = new[2 * s - 1]
    return indices


@kernel
def _sum_terms(terms: FloatArray, indices: IntArray) -> FloatArray:
    """Sum (m, 2) of the terms of every ranking's indices (m, d)."""
    sums = np.zeros((indices.shape[0], 2))
    for s in range(indices.shape[0]):
        for i in range(indices.shape[1]):
            sums[s, 0] += terms[indices[s, i], 0]
            sums[s, 1] += terms[indices[s, i], 1]
    return sums
