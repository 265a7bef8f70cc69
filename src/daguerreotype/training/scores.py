"""What does each ordering of a distribution lose? Local fits, made once and found again by their hash.

The fit of a node depends only on the set of its predecessors. A set is known by the exclusive or of random
64-bit numbers of its members; an adjacent swap changes the sets of two nodes, so that ranking after ranking
costs two look-ups.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import cast

import numpy as np

from daguerreotype.arrays import FloatArray, IntArray
from daguerreotype.edges.base import HasBatchFits, HasMoves, HasResiduals, LocalModels
from daguerreotype.edges.sweeping import HasQuickScores, HasSweeps
from daguerreotype.operators import OrderDistribution
from daguerreotype.operators.kernel import kernel
from daguerreotype.result import LocalFit
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.hashes import HashArray, allowed_keys, predecessor_keys, short_lists
from daguerreotype.training.losses import Loss, UnequalVarianceLoss

OVERHEAD = 600  # bytes of a cached fit beside its arrays: objects, dictionary entry, terms
BARE = 200  # bytes of cached terms without a fit


class LocalScores:
    """Losses of orderings under one loss, from cached local fits.

    Parameters
    ----------
    models : LocalModels
        The estimator, prepared with its data.
    loss : Loss
        What a local fit contributes.
    n_rows, d : int
        Size of the data.
    counted : array of shape (d,), optional
        How many rows count for each node, where not all do. Its terms are weighted by their share, so that
        the loss is that of all mechanisms, each on its own rows, per row of data.
    max_bytes : float
        Bound on what the cache holds between two calls; the oldest fits go first.
    constraints : Constraints
        What the fits obey: they are asked for, and known by, the predecessors that may be parents.
    moves_obey : bool
        Whether ``fit_moves`` of the models, if they have it, heeds the constraints too.

    Attributes
    ----------
    hits, misses : int
        Look-ups that found their fit, and those that made one.
    """

    def __init__(
        self,
        models: LocalModels,
        loss: Loss,
        *,
        n_rows: int,
        d: int,
        max_bytes: float = np.inf,
        constraints: Constraints = FREE,
        moves_obey: bool = True,
        counted: IntArray | None = None,
    ) -> None:
        self.models, self.loss, self.n_rows, self.d, self.max_bytes = models, loss, n_rows, d, max_bytes
        self.constraints, self.counted = constraints, counted
        self.weight = d if counted is None else float(counted.sum() / n_rows)  # of all nodes
        rules = constraints.rules
        self._allowed = None if rules is None else rules.allowed
        self._lists = None if rules is None else short_lists(rules.allowed)
        usable = isinstance(models, HasMoves) and not loss.needs_residuals and (rules is None or moves_obey)
        self._fast = cast(HasMoves, models) if usable else None
        self._quick = models if usable and isinstance(models, HasQuickScores) else None
        # What the sweeps of models minimise.
        sums = usable and counted is None and isinstance(loss, UnequalVarianceLoss)
        self._sweeps = models if sums and isinstance(models, HasSweeps) else None
        if loss.needs_residuals and not isinstance(models, HasResiduals):
            raise ValueError(
                "this loss looks at residuals, but the edge estimator does not hand them out: give it a "
                "method residuals(node, fit), or choose loss='nll_ev', 'nll_nv', 'mse' or 'bic'."
            )
        rng = np.random.default_rng(0)
        self._member = rng.integers(2**64, size=d, dtype=np.uint64)  # in the set of predecessors
        self._target = rng.integers(2**64, size=d, dtype=np.uint64)  # whose predecessors they are
        self.hits = self.misses = 0
        self._clear()

    def _clear(self) -> None:
        self._index: dict[int, int] = {}
        self._fits: list[LocalFit | None] = []  # None: only its terms were asked for so far
        self._terms: FloatArray = np.empty((64, 2))
        self._by_weights: dict[tuple[int, bytes, bytes], FloatArray] = {}
        self.n_bytes = 0

    # ------------------------------------------------------------------ look-ups

    def _look_up_ranked(self, keys: HashArray, nodes: IntArray, ranks: IntArray, rows: IntArray) -> IntArray:
        """Indices of the fits of ``nodes`` by key, each in its row of ``ranks``."""

        def predecessors(i: int) -> IntArray:
            return np.flatnonzero(ranks[rows[i]] < ranks[rows[i], nodes[i]])

        return self._look_up(keys, nodes.tolist(), predecessors, lambda i: (ranks, rows[i], nodes[i]))

    def _look_up(
        self,
        keys: HashArray,
        nodes: Sequence[int],
        predecessors: Callable[[int], IntArray],
        ranked: Callable[[IntArray], tuple[IntArray, IntArray, IntArray]] | None = None,
    ) -> IntArray:
        """Indices of the fits of ``nodes`` by key; ``predecessors(i)`` tells what to fit the i-th on.

        ``ranked`` tells the same of several, for models that score many fits at once.
        """
        get = self._index.get
        found = [get(key, -1) for key in keys.tolist()]
        if -1 in found:
            missing: dict[int, int] = {}  # key -> where it was first asked for
            for i, index in enumerate(found):
                if index < 0:
                    missing.setdefault(int(keys[i]), i)
            if self._quick is not None and ranked is not None:
                ranks, rows, several = ranked(np.array(list(missing.values())))
                table = self._quick.score_many(ranks, rows, several)
                self._add_terms(list(missing), self._terms_of(several, table[:, 0], table[:, 1]))
            else:
                self._add_fits(missing, nodes, predecessors)
            found = [self._index[key] for key in keys.tolist()]
            self.hits -= len(missing)
        self.hits += len(found)
        return np.array(found, dtype=np.int64)

    def _add_terms(self, keys: list[int], terms: FloatArray) -> None:
        """Remember what fits lose, and leave it to later to make them."""
        first = len(self._fits)
        while first + len(keys) > self._terms.shape[0]:
            self._terms = np.concatenate([self._terms, np.empty_like(self._terms)])
        self._terms[first : first + len(keys)] = terms
        self._fits.extend([None] * len(keys))
        self._index.update(zip(keys, range(first, len(self._fits)), strict=True))
        self.misses += len(keys)
        self.n_bytes += BARE * len(keys)

    def _fit_at(self, index: int, node: int, ranks: IntArray) -> LocalFit:
        """The fit of an index, made in the ranking ``ranks`` (d,) if only its terms were needed so far."""
        fit = self._fits[index]
        if fit is None:
            predecessors = np.flatnonzero(ranks < ranks[node])
            fit = self._fits[index] = self.models.fit(node, self._usable(node, predecessors))
            self.constraints.check_fit(node, fit)
            self.n_bytes += _bytes_of(fit) - BARE
        return fit

    def _add_fits(
        self, missing: dict[int, int], nodes: Sequence[int], predecessors: Callable[[int], IntArray]
    ) -> None:
        """Make and remember the fits of ``missing``: key -> where it is asked for."""
        requests = [(nodes[i], self._usable(nodes[i], predecessors(i))) for i in missing.values()]
        for key, (node, _), fit in zip(missing, requests, self.fit_all(requests), strict=True):
            self._add(key, node, fit)

    def _usable(self, node: int, predecessors: IntArray) -> IntArray:
        """Those of the predecessors that may be parents of ``node``."""
        return predecessors if self._allowed is None else predecessors[self._allowed[predecessors, node]]

    def _keys(self, ranks: IntArray) -> HashArray:
        """Key (m, d) of what every node can choose its parents from in every ranking."""
        if self._lists is None:
            return predecessor_keys(ranks, self._member, self._target)
        return allowed_keys(ranks, self._member, self._target, *self._lists)

    def fit_all(self, requests: list[tuple[int, IntArray]]) -> list[LocalFit]:
        """The fits of all requests, together where the models can."""
        if isinstance(self.models, HasBatchFits):
            return self.models.fit_many(requests)
        return [self.models.fit(node, predecessors) for node, predecessors in requests]

    def _add(self, key: int, node: int, fit: LocalFit) -> None:
        """Remember a fit."""
        self.constraints.check_fit(node, fit)
        index = len(self._fits)
        if index == self._terms.shape[0]:
            self._terms = np.concatenate([self._terms, np.empty_like(self._terms)])
        self._terms[index] = self.terms_of(node, fit)
        self._fits.append(fit)
        self._index[key] = index
        self.misses += 1
        self.n_bytes += _bytes_of(fit)

    def terms_of(self, node: int, fit: LocalFit) -> FloatArray:
        """Local terms (2,) of one fit; those that need residuals are kept by parents and weights."""
        variance, dof = np.array(fit.variance), np.array(fit.dof)
        if not self.loss.needs_residuals:
            return self._terms_of(node, variance, dof)
        # Parents alone do not tell: a lasso shrinks them by what else it could choose from.
        key = (node, fit.parents.tobytes(), fit.weights.tobytes())
        if key not in self._by_weights:
            assert isinstance(self.models, HasResiduals)
            residuals = self.models.residuals(node, fit)
            self._by_weights[key] = self._terms_of(node, variance, dof, residuals)
            self.n_bytes += OVERHEAD
        return self._by_weights[key]

    def _terms_of(
        self, nodes: int | IntArray, variance: FloatArray, dof: FloatArray, residuals: FloatArray | None = None
    ) -> FloatArray:
        """Local terms (..., 2) of one or several nodes, by the rows that count for them."""
        if self.counted is None:
            return self.loss.terms(variance, dof, self.n_rows, residuals)
        counted = self.counted[nodes]
        share = np.expand_dims(counted / self.n_rows, -1)
        return share * self.loss.terms(variance, dof, counted, residuals)

    def _keep_bound(self) -> None:
        """Forget the older half of the fits until the rest is within the bound."""
        while self.n_bytes > self.max_bytes and self._fits:
            first = (len(self._fits) + 1) // 2
            kept = [(key, index) for key, index in self._index.items() if index >= first]
            fits, terms = self._fits, self._terms
            self._clear()
            for key, index in kept:
                self._index[key] = len(self._fits)
                self._fits.append(fits[index])
            size = max(64, len(kept))
            self._terms = np.empty((size, 2))
            self._terms[: len(kept)] = terms[[index for _, index in kept]]
            self.n_bytes = sum(map(_bytes_of, self._fits))

    # ------------------------------------------------------------------ orderings

    def _indices(self, distribution: OrderDistribution) -> IntArray:
        """Indices (m, d) of the fit of every node in every ranking."""
        keys = self._keys(distribution.ranks)  # (m, d)
        tree = distribution.tree
        if tree is None:
            return self._all_indices(distribution.ranks, keys)
        ranks = distribution.ranks
        each = np.arange(self.d)
        root = self._look_up_ranked(keys[0], each, ranks, np.zeros_like(each))
        changed = tree.swaps[1:].ravel()  # u and v of every other ranking
        children = np.repeat(np.arange(1, len(distribution)), 2)
        new = self._look_up_ranked(keys[children, changed], changed, ranks, children)
        return _spread(root, tree.parents, tree.swaps, new)

    def _all_indices(self, ranks: IntArray, keys: HashArray) -> IntArray:
        """The same for rankings without a tree."""
        m, d = ranks.shape
        unique, first, inverse = np.unique(keys.ravel(), return_index=True, return_inverse=True)
        found = self._look_up_ranked(unique, first % d, ranks, first // d)
        indices: IntArray = found[inverse].reshape(m, d)
        return indices

    def losses(self, distribution: OrderDistribution) -> FloatArray:
        """Loss (m,) of every ranking."""
        indices = self._indices(distribution)  # may grow the terms
        sums = _sum_terms(self._terms, indices)
        self._keep_bound()
        return self.loss.total(sums, self.weight)

    def loss_of(self, order: IntArray) -> float:
        """Loss of one order."""
        indices = self._order_indices(order)  # may grow the terms
        sums = self._terms[indices].sum(axis=0)
        self._keep_bound()
        return float(self.loss.total(sums, self.weight))

    def fits_of(self, order: IntArray) -> list[LocalFit]:
        """Local fits of all nodes, by node, in one order."""
        ranks = np.argsort(order)
        indices = self._order_indices(order).tolist()
        fits = [self._fit_at(index, node, ranks) for node, index in enumerate(indices)]
        self._keep_bound()
        return fits

    def _order_indices(self, order: IntArray) -> IntArray:
        ranks = np.empty((1, self.d), dtype=np.int64)
        ranks[0, order] = np.arange(self.d)
        indices: IntArray = self._all_indices(ranks, self._keys(ranks))[0]
        return indices

    def edge_probabilities(self, distribution: OrderDistribution) -> FloatArray:
        """Matrix (d, d): total probability of the rankings in which i is a chosen parent of j."""
        indices = self._indices(distribution)
        table = np.zeros((self.d, self.d))
        for node in range(self.d):
            chosen, rows, inverse = np.unique(indices[:, node], return_index=True, return_inverse=True)
            mass = np.bincount(inverse, weights=distribution.probs)
            for index, row, prob in zip(chosen.tolist(), distribution.ranks[rows], mass, strict=True):
                table[self._fit_at(index, node, row).parents, node] += prob
        self._keep_bound()
        # Probabilities of rankings sum to one but for rounding.
        return np.minimum(table, 1.0)

    def move_losses(self, node: int, others: IntArray) -> FloatArray:
        """Loss (d,) of every position of ``node`` in the order ``others`` of the rest; infinite if not allowed."""
        first, last = self.constraints.window(node, others)
        own, before, after = self._move_terms(node, others, first, last)
        sums = own.copy()  # position q: before others[q]
        sums[1:] += np.cumsum(before, axis=0)
        sums[:-1] += np.cumsum(after[::-1], axis=0)[::-1]
        losses = np.full(self.d, np.inf)
        losses[first : last + 1] = self.loss.total(sums[first : last + 1], self.weight)
        return losses

    def sweep(self, order: IntArray) -> tuple[IntArray, float] | None:
        """The order after one turn of every variable, and its loss; None where the models cannot do it at once."""
        if self._sweeps is None:
            return None
        assert isinstance(self.loss, UnequalVarianceLoss)
        precedence = self.constraints.precedence
        before = np.zeros((0, 0), dtype=np.bool_) if precedence is None else precedence.before
        price = 0.5 * self.loss.penalty * float(np.log(self.n_rows)) / self.n_rows
        return self._sweeps.sweep(order, price, before)

    def _move_terms(
        self, node: int, others: IntArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Terms of ``node`` at every position, and of the others without and with it before them.

        Only those matter that a position from ``first`` to ``last`` needs.
        """
        if self._fast is not None:
            moves = self._fast.fit_moves(node, others)
            return tuple(  # type: ignore[return-value]
                self._terms_of(nodes, table[:, 0], table[:, 1])
                for nodes, table in ((node, moves.own), (others, moves.before), (others, moves.after))
            )
        m = others.size
        ranks = np.empty((2, self.d), dtype=np.int64)  # with the node at the end, and at the start
        ranks[0, others], ranks[0, node] = np.arange(m), m
        ranks[1, others], ranks[1, node] = np.arange(1, m + 1), 0
        without, behind = self._keys(ranks)[:, others]
        start = np.zeros(1, dtype=np.uint64)  # a plain 0 would take the hashes to floats and cut their last digits
        members = self._member[others]
        if self._allowed is not None:
            members = np.where(self._allowed[others, node], members, start)
        prefix = np.concatenate([start, np.bitwise_xor.accumulate(members)])
        keys = np.concatenate([prefix ^ self._target[node], without, behind])

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
        indices = self._look_up(keys[needed], nodes[needed].tolist(), predecessors)
        terms[needed] = self._terms[indices]
        self._keep_bound()
        return terms[: m + 1], terms[m + 1 : 2 * m + 1], terms[2 * m + 1 :]


def _bytes_of(fit: LocalFit | None) -> int:
    """What a cached fit holds, with the parameters that an estimator's own record carries."""
    if fit is None:
        return BARE
    values = (getattr(fit, field.name) for field in fields(fit))
    return OVERHEAD + sum(value.nbytes for value in values if isinstance(value, np.ndarray))


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
