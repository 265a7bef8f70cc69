"""What orderings lose: sums over cached local fits, by ranking, by order, and by the place of one variable.

The fit of a node depends only on the set of its predecessors. A set is known by its Zobrist hash, the exclusive or
of random 64-bit numbers of its members, so that an adjacent swap changes the keys of two nodes: rankings that
differ by an adjacent swap differ in two fits, and ranking after ranking costs two look-ups.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pickle import PicklingError
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, parallel_config

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.parallel import Threads
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Draws, EdgeRules, LocalFit, LocalModels, searchable
from daguerreotype.edges.penalty import Penalty
from daguerreotype.noise import Gaussian, NoiseModel
from daguerreotype.noise.base import HasExcess
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.operators import OrderDistribution
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.objective import Objective, PenalizedLikelihood
from daguerreotype.training.run import Run

HashArray: TypeAlias = npt.NDArray[np.uint64]

START = 2.0  # seconds spent on fits after which more are likely to come than starting processes takes
WORTH = 0.1  # seconds of a batch below which sending it takes more than it gains
SHARES = 4  # of a batch for each process: some fits take longer than others
OVERHEAD = 600  # bytes of a cached fit beside its arrays: objects, dictionary entry, terms
BARE = 200  # bytes of cached terms without a fit
EVERY_ROW = Penalty()  # every row is evidence


class PredecessorHash:
    """Hashes of what each of d nodes can choose its parents from: its predecessors, of those that are allowed.

    Parameters
    ----------
    d : int
        Number of nodes.
    allowed : array of shape (d, d), optional
        Whether i may be a parent of j; by default all may.
    """

    def __init__(self, d: int, allowed: BoolArray | None = None) -> None:
        self.allowed = np.ones((d, d), dtype=np.bool_) if allowed is None else allowed
        # Of a node as a member of the set, and as the one whose set it is.
        self.member, self.target = np.random.default_rng(0).integers(2**64, size=(2, d), dtype=np.uint64)
        # For every node the shorter of two lists: nodes that may be its parents, or nodes that may not.
        forbidden = ~self.allowed
        forbidden[np.arange(d), np.arange(d)] = False
        inverted = forbidden.sum(axis=0) < self.allowed.sum(axis=0)
        lists = [np.flatnonzero((forbidden if inverted[j] else self.allowed)[:, j]) for j in range(d)]
        starts = np.cumsum([0, *(members.size for members in lists)])
        self._lists = starts.astype(np.int64), np.concatenate(lists).astype(np.int64), inverted

    def keys(self, ranks: IntArray) -> HashArray:
        """Key (m, d) of every node in every ranking."""
        return _allowed_keys(ranks, self.member, self.target, *self._lists)


@kernel
def _allowed_keys(
    ranks: IntArray, member: HashArray, target: HashArray, starts: IntArray, entries: IntArray, inverted: BoolArray
) -> HashArray:
    """Key (m, d) of the predecessors that may be parents, for every node in every ranking, by short lists.

    The key of node j is  target_j xor member_i1 xor member_i2 ...  over all i before j that may be its parents.
    List j is entries[starts[j] : starts[j + 1]], of nodes that may not be parents of j where ``inverted``: there
    all members ``before`` j are taken, and those of the list that stand before j are taken out again.
    """
    m, d = ranks.shape
    keys = np.empty((m, d), dtype=np.uint64)
    order = np.empty(d, dtype=np.int64)
    for s in range(m):
        for i in range(d):
            order[ranks[s, i]] = i
        before = np.uint64(0)
        for p in range(d):
            node = order[p]
            key = target[node]
            if inverted[node]:
                key ^= before
            for entry in range(starts[node], starts[node + 1]):
                if ranks[s, entries[entry]] < p:
                    key ^= member[entries[entry]]
            keys[s, node] = key
            before ^= member[node]
    return keys


Result = TypeVar("Result")


class FitWorkers:
    """Calls of a method of local models, several at once, with the same results as one after the other.

    Parameters
    ----------
    models : LocalModels
        Whose methods they are.
    run : Run
        How many threads or processes, and what may end a batch.
    """

    def __init__(self, models: LocalModels, run: Run) -> None:
        # Models that are forked for threads would wait for each other here.
        self._has_trees = models.can.search  # which a search adds to: it must come to its end
        self.threads = Threads(1 if self._has_trees else run.n_jobs)
        self._sent = run.n_jobs > 1 and models.can.processes
        self._cancel = run.cancel
        self._seconds, self._calls = 0.0, 0

    def map(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """What ``method`` returns for each tuple of arguments."""
        expected = len(arguments) * self._seconds / max(self._calls, 1)
        if self._sent and self._seconds > START and expected > WORTH:
            try:
                with self._cancel.at_once():  # results of other processes are all that is waited for
                    return self._send(method, arguments)
            except PicklingError:
                self._sent = False  # a regressor that cannot leave its process

        def work(argument: tuple[Any, ...]) -> Result:
            if self._has_trees:
                self._cancel.check()
                return method(*argument)
            with self._cancel.at_once():
                return method(*argument)

        start = time.perf_counter()
        results = self.threads.map(work, arguments)
        self._seconds += time.perf_counter() - start
        self._calls += len(arguments)
        return results

    def _send(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The same in processes, which stay for the next batch."""
        n_shares = min(SHARES * self.threads.n_jobs, len(arguments))
        with parallel_config("loky", inner_max_num_threads=1):
            shares = Parallel(self.threads.n_jobs, batch_size=1)(
                delayed(_call_all)(method, arguments[share::n_shares]) for share in range(n_shares)
            )
        results: list[Result] = [None] * len(arguments)  # type: ignore[list-item]
        for share, results_of_share in enumerate(shares):
            results[share::n_shares] = results_of_share
        return results


def _call_all(method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
    """The work of one process."""
    return [method(*argument) for argument in arguments]


@dataclass(eq=False)
class LocalFits:
    """Local fits of one table under one objective and noise model, and what they lose, cached.

    Parameters
    ----------
    models : LocalModels
        The estimator, prepared with its data.
    objective : Objective
        What a local fit contributes, and how contributions add up.
    n_rows, d : int
        Size of the data.
    noise : sequence of d NoiseModel
        What each node's residuals are likely under; Gaussian by default.
    rows_per_node : array of shape (d,), optional
        How many rows count for each node, where not all do. Its terms are weighted by the share of the evidence
        that they are, so that the loss is that of all mechanisms, each on its own rows, per row of data.
    constraints : Constraints
        What the fits obey: they are asked for, and known by, the predecessors that may be parents.
    dither : sequence of arrays, optional
        What spreads the ties of each node, in the rows that count for it; its residuals are judged with it.
    copies : int
        How often every row is there, with other draws where values are missing: the likelihood of residuals is
        the mean of those of completed tables.
    penalty : Penalty
        How much evidence rows are: objectives are given as many.
    moves_obey : bool
        Whether what searchable models offer beside single fits heeds the constraints too.
    run : Run
        Memory that is held after :meth:`keep_bound`, of which the oldest fits go first; threads; cancellation.

    Attributes
    ----------
    by_residuals : array of shape (d,)
        Which nodes are judged by residuals of fits, which takes longest.
    quick : SearchableModels or None
        The models, where their scores may be asked for without making fits.
    terms : array of shape (m, 2)
        What the fits lose, by index, with spare room at the end.
    hits, misses : int
        Look-ups that found their fit, and those that made one.
    n_bytes : int
        What is held.
    n_evidence : float
        How many rows of evidence the table is.
    """

    models: LocalModels
    objective: Objective
    _: KW_ONLY
    n_rows: int
    d: int
    noise: Sequence[NoiseModel] = ()
    rows_per_node: IntArray | None = None
    constraints: Constraints = FREE
    dither: Sequence[FloatArray] | None = None
    copies: int = 1
    penalty: Penalty = EVERY_ROW
    moves_obey: bool = True
    run: Run = field(default_factory=Run)

    def __post_init__(self) -> None:
        self.noise = self.noise or (Gaussian(),) * self.d
        self.by_residuals = np.array(
            [noise.needs_residuals and not self.models.weighs(node) for node, noise in enumerate(self.noise)],
            dtype=np.bool_,
        )
        self.n_evidence = self.penalty.evidence(self.n_rows)
        rules, by_residuals = self.constraints.rules, bool(self.by_residuals.any())
        if by_residuals and not self.models.can.residuals:
            raise ValueError(
                "this noise model looks at residuals, but the edge estimator does not hand them out: give it a "
                "method residuals(node, fit) and can = Capabilities(residuals=True), or choose loss='nll_ev', "
                "'nll_nv', 'mse' or 'bic'."
            )
        by_scores = not by_residuals and (rules is None or self.moves_obey)
        self.quick = searchable(self.models) if by_scores else None
        # How many rows of each node parents are judged by at most. A likelihood of fewer rows is less certain, and
        # parents must make up for that.
        limits = [
            noise.max_rows if by_rows else None
            for noise, by_rows in zip(self.noise, self.by_residuals, strict=True)
        ]
        self._max_rows = np.array([self.n_rows if limit is None else limit for limit in limits])
        self.workers = FitWorkers(self.models, self.run)
        self.hashes = PredecessorHash(self.d, None if rules is None else rules.allowed)
        self.hits = self.misses = 0
        self._clear()

    def _clear(self) -> None:
        self._index: dict[int, int] = {}
        self._fits: list[LocalFit | None] = []  # None: only its terms were asked for so far
        self.terms: FloatArray = np.empty((64, 2))
        self._by_weights: dict[tuple[int, bytes, bytes], FloatArray] = {}
        self.n_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        """What these were made with; neither the cache nor the run, which has a display, leave the process."""
        return {part.name: getattr(self, part.name) for part in fields(self) if part.name != "run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # ------------------------------------------------------------------ look-ups

    def look_up(self, keys: HashArray, nodes: IntArray, ranks: IntArray, rows: IntArray) -> IntArray:
        """Indices (r,) of the fits of ``nodes`` (r,) by key (r,), each in its row of ``ranks`` (m, d)."""
        get, asked = self._index.get, keys.tolist()
        indices = [get(key, -1) for key in asked]
        if -1 in indices:
            missing: dict[int, int] = {}  # key -> where it was first asked for
            for i, index in enumerate(indices):
                if index < 0:
                    missing.setdefault(asked[i], i)
            first = np.array(list(missing.values()))
            nodes, rows = nodes[first], rows[first]
            if self.quick is not None:
                scores = self.quick.score_many(ranks, rows, nodes)
                self._add(list(missing), [None] * len(missing), self.terms_of_scores(nodes, scores))
            else:
                targets = nodes.tolist()
                fits = self.fit_all(
                    [(node, self._usable(node, ranks[row])) for node, row in zip(targets, rows, strict=True)]
                )
                self._add(list(missing), fits, self.terms_of(targets, fits))
            indices = [self._index[key] for key in asked]
            self.hits -= len(missing)
        self.hits += len(indices)
        return np.array(indices, dtype=np.int64)

    def fit_at(self, index: int, node: int, ranks: IntArray) -> LocalFit:
        """The fit of an index, made in the ranking ``ranks`` (d,) if only its terms were needed so far."""
        fit = self._fits[index]
        if fit is None:
            fit = self._fits[index] = self.fit_all([(node, self._usable(node, ranks))])[0]
            self.n_bytes += _bytes_of(fit) - BARE
        return fit

    def fit_all(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        """The fits of all requests, whatever is cached; together, or several at once, where the models can.

        Estimators that know nothing of a limit may choose too many parents. Half of what is too much, the parents
        of the smallest effects, is taken away and the node fitted again on the others, until none is: effects of
        parents that stand for each other show once some of them are gone.
        """
        rules, requests = self.constraints.rules, list(requests)
        fits = self._fit_each(requests)
        if rules is None:
            return fits
        while True:
            over = [i for i, fit in enumerate(fits) if fit.parents.size > rules.most_parents(requests[i][0])]
            for i in over:
                requests[i] = requests[i][0], _strongest(fits[i], requests[i][0], requests[i][1], rules)
            for i, fit in zip(over, self._fit_each([requests[i] for i in over]), strict=True):
                fits[i] = fit
            if not over:
                break
        for (node, _), fit in zip(requests, fits, strict=True):
            self.constraints.check_fit(node, fit)
        return fits

    def _fit_each(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        if self.models.can.batches:
            with self.run.cancel.at_once():
                return self.models.fit_many(requests)
        return self.workers.map(self.models.fit, requests)

    def _usable(self, node: int, ranks: IntArray) -> IntArray:
        """The predecessors in a ranking (d,) that may be parents of ``node``."""
        return np.flatnonzero((ranks < ranks[node]) & self.hashes.allowed[:, node])

    # ------------------------------------------------------------------ what fits lose

    def terms_of(self, nodes: Sequence[int], fits: Sequence[LocalFit]) -> FloatArray:
        """Local terms (m, 2) of the fits of m nodes; those that need residuals are kept by their effects."""
        by_residuals = self.by_residuals[nodes]
        terms = np.empty((len(fits), 2))
        plain = np.flatnonzero(~by_residuals)
        if plain.size:
            scores = np.array([(fits[i].excess, fits[i].dof) for i in plain])
            terms[plain] = self.terms_of_scores(np.array([nodes[i] for i in plain]), scores)
        # Parents alone do not tell: a lasso shrinks them by what else it could choose from. Nor do slopes: a curve
        # may have that of a line.
        keys = {
            i: (nodes[i], fits[i].parents.tobytes(), fits[i].weights.tobytes() + fits[i].norms.tobytes())
            for i in np.flatnonzero(by_residuals).tolist()
        }
        missing = {key: (nodes[i], fits[i]) for i, key in keys.items() if key not in self._by_weights}
        made = self.workers.map(self._judge_residuals, list(missing.values()))
        self._by_weights.update(zip(missing, made, strict=True))
        self.n_bytes += OVERHEAD * len(missing)
        for i, key in keys.items():
            terms[i] = self._by_weights[key]
        return terms

    def _judge_residuals(self, node: int, fit: LocalFit) -> FloatArray:
        """Local terms (2,) of one node, from residuals that are forgotten at once."""
        dither = None if self.models.can.untied else self.dither
        noise, residuals = self.noise[node], spread_residuals(self.models.residuals(node, fit), node, dither)
        excess = [
            noise.excess(part) if isinstance(noise, HasExcess) else noise.nll(part) - STANDARD_ENTROPY
            for part in np.split(residuals, self.copies)
        ]
        terms: FloatArray = self.terms_of_scores(np.array([node]), np.array([(np.mean(excess), fit.dof)]))[0]
        return terms

    def terms_of_scores(self, nodes: int | IntArray, scores: FloatArray) -> FloatArray:
        """Local terms (m, 2) of one or several nodes by their excesses and dof (m, 2)."""
        rows = self.n_rows if self.rows_per_node is None else self.rows_per_node[nodes]
        counted = self.penalty.evidence(np.minimum(rows, self._max_rows[nodes]))
        terms = self.objective.terms(scores[:, 0], scores[:, 1], counted)
        if self.rows_per_node is None:
            return terms
        weighted: FloatArray = np.expand_dims(self.penalty.evidence(rows) / self.n_evidence, -1) * terms
        return weighted

    # ------------------------------------------------------------------ what is held

    def _add(self, keys: list[int], fits: Sequence[LocalFit | None], terms: FloatArray) -> None:
        """Remember what fits lose, and the fits, or None for those to be made when they are asked for."""
        first = len(self._fits)
        while first + len(keys) > self.terms.shape[0]:
            self.terms = np.concatenate([self.terms, np.empty_like(self.terms)])
        self.terms[first : first + len(keys)] = terms
        self._fits.extend(fits)
        self._index.update(zip(keys, range(first, len(self._fits)), strict=True))
        self.misses += len(keys)
        self.n_bytes += sum(map(_bytes_of, fits))

    def keep_bound(self) -> None:
        """Forget the older half of the fits until the rest is within the bound."""
        while self.n_bytes > self.run.cache_bytes and self._fits:
            first = (len(self._fits) + 1) // 2
            kept = [(key, index) for key, index in self._index.items() if index >= first]
            fits, terms, n_misses = self._fits, self.terms, self.misses
            self._clear()
            indices = [index for _, index in kept]
            self._add([key for key, _ in kept], [fits[index] for index in indices], terms[indices])
            self.misses = n_misses


def spread_residuals(residuals: FloatArray, node: int, dither: Sequence[FloatArray] | None) -> FloatArray:
    """Residuals (m,) of a node on its first rows, as those of its values with ties spread."""
    return residuals if dither is None else residuals + dither[node][: residuals.size]


def _strongest(fit: LocalFit, node: int, predecessors: IntArray, rules: EdgeRules) -> IntArray:
    """The parents of a fit with too many, less half of what is too much: those of the smallest effects."""
    excess = fit.parents.size - rules.most_parents(node)
    needed = rules.required[fit.parents, node]
    weakest_last = np.lexsort([fit.parents, -fit.norms, ~needed])
    kept: IntArray = np.sort(fit.parents[weakest_last[: fit.parents.size - (excess + 1) // 2]])
    if not np.isin(kept, predecessors).all() or kept.size >= predecessors.size:
        raise ValueError(
            "the edge estimator chose parents that are not among the predecessors that it was given: a fit must "
            "choose among them."
        )
    return kept


def _bytes_of(fit: LocalFit | None) -> int:
    """What a cached fit holds, with the parameters that an estimator's own record carries."""
    if fit is None:
        return BARE
    values = (getattr(fit, name) for name in fit.__dataclass_fields__)
    return OVERHEAD + sum(value.nbytes for value in values if isinstance(value, np.ndarray))


class OrderScores(LocalFits):
    """Losses of orderings of one table, from cached local fits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self.rows_per_node
        # Of all nodes.
        self.weight = self.d if rows is None else float(self.penalty.evidence(rows).sum() / self.n_evidence)
        # What the sweeps of models minimise.
        sums = rows is None and isinstance(self.objective, PenalizedLikelihood)
        self._sweeps = self.quick if sums else None

    def clones(self, count: int) -> list[Self]:
        """The same scores for ``count`` threads, by these models and forks of them; none where that gains nothing.

        Where moves are scored by single fits, threads share those out: a cache each would make them again.
        """
        if count < 2 or self.quick is None:
            return []
        models = [self.models, *(self.quick.fork() for _ in range(count - 1))]
        alone = Run(cache_bytes=self.run.cache_bytes)
        return [replace(self, models=fork, run=alone) for fork in models]

    # ------------------------------------------------------------------ orderings

    def _indices(self, distribution: OrderDistribution) -> IntArray:
        """Indices (m, d) of the fit of every node in every ranking."""
        ranks, tree = distribution.ranks, distribution.tree
        keys, nodes = self.hashes.keys(ranks), np.arange(self.d)  # (m, d)
        if tree is None:
            unique, first, inverse = np.unique(keys.ravel(), return_index=True, return_inverse=True)
            indices: IntArray = self.look_up(unique, first % self.d, ranks, first // self.d)[inverse]
            return indices.reshape(keys.shape)
        root = self.look_up(keys[0], nodes, ranks, np.zeros_like(nodes))
        changed = tree.swaps[1:].ravel()  # u and v of every other ranking
        children = np.repeat(np.arange(1, len(distribution)), 2)
        new = self.look_up(keys[children, changed], changed, ranks, children)
        return _spread(root, tree.parents, tree.swaps, new)

    def losses(self, distribution: OrderDistribution) -> FloatArray:
        """Loss (m,) of every ranking."""
        self.run.cancel.check()
        indices = self._indices(distribution)  # may grow the terms
        sums = _sum_terms(self.terms, indices)
        self.keep_bound()
        return self.objective.total(sums, self.weight)

    def loss_of(self, order: IntArray) -> float:
        """Loss of one order."""
        return float(self.losses(OrderDistribution.of_order(order))[0])

    def fits_of(self, order: IntArray) -> list[LocalFit]:
        """Local fits of all nodes, by node, in one order."""
        alone = OrderDistribution.of_order(order)
        indices = self._indices(alone)[0].tolist()
        fits = [self.fit_at(index, node, alone.ranks[0]) for node, index in enumerate(indices)]
        self.keep_bound()
        return fits

    def move_losses(self, node: int, rest: IntArray) -> FloatArray:
        """Loss (d,) of every position of ``node`` in the order ``rest`` of the others; infinite if not allowed."""
        self.run.cancel.check()
        first, last = self.constraints.window(node, rest)
        own, before, after = self._move_terms(node, rest, first, last)
        sums = own.copy()  # position q: before rest[q]
        sums[1:] += np.cumsum(before, axis=0)
        sums[:-1] += np.cumsum(after[::-1], axis=0)[::-1]
        losses = np.full(self.d, np.inf)
        losses[first : last + 1] = self.objective.total(sums[first : last + 1], self.weight)
        return losses

    def _move_terms(
        self, node: int, rest: IntArray, first: int, last: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Terms of ``node`` at every position, and of the rest without and with it before them.

        Only those matter that a position from ``first`` to ``last`` needs.
        """
        if self.quick is not None:
            moves = self.quick.fit_moves(node, rest)
            return (
                self.terms_of_scores(node, moves.own),
                self.terms_of_scores(rest, moves.before),
                self.terms_of_scores(rest, moves.after),
            )
        m = rest.size
        positions = np.arange(m + 1)
        ranks = np.empty((m + 1, self.d), dtype=np.int64)  # with the node at every position
        ranks[:, rest] = np.arange(m) + (np.arange(m) >= positions[:, None])
        ranks[:, node] = positions
        own, without, behind = positions[first : last + 1], positions[:last], positions[first:m]
        nodes = np.concatenate([np.full(own.size, node), rest[without], rest[behind]])
        rows = np.concatenate([own, np.full(without.size, m), np.zeros_like(behind)])
        indices = self.look_up(self.hashes.keys(ranks)[rows, nodes], nodes, ranks, rows)
        terms = np.zeros((3 * m + 1, 2))
        terms[np.concatenate([own, m + 1 + without, 2 * m + 1 + behind])] = self.terms[indices]
        self.keep_bound()
        return terms[: m + 1], terms[m + 1 : 2 * m + 1], terms[2 * m + 1 :]

    def sweep(self, order: IntArray) -> tuple[IntArray, float] | None:
        """The order after one turn of every variable, and its loss; None where the models cannot do it at once."""
        if self._sweeps is None:
            return None
        self.run.cancel.check()
        return self._sweeps.sweep(order, *self._sweep_settings())

    def draw_sweep(self, order: IntArray, n_rows: float, rng: np.random.Generator) -> IntArray:
        """The order after every variable, in random turns, went to a place by chance, as exp(-n_rows * loss)."""
        draws = Draws(n_rows, rng.permutation(self.d), rng.random(self.d))
        if self._sweeps is not None:
            self.run.cancel.check()
            return self._sweeps.draw_sweep(order, *self._sweep_settings(), draws)
        for node, draw in zip(draws.turns.tolist(), draws.numbers.tolist(), strict=True):
            rest = order[order != node]
            losses = self.move_losses(node, rest)
            shares = np.cumsum(np.exp(n_rows * (losses.min() - losses)))
            order = np.insert(rest, int(np.searchsorted(shares, draw * shares[-1])), node)
        return order

    def _sweep_settings(self) -> tuple[float, BoolArray]:
        """What sweeps of models go by: a penalty, and who must come before whom."""
        assert isinstance(self.objective, PenalizedLikelihood)
        precedence = self.constraints.precedence
        before = np.zeros((0, 0), dtype=np.bool_) if precedence is None else precedence.before
        return float(self.objective.per_dof(self.n_evidence)), before


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
