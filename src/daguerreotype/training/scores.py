"""What orderings lose: sums over cached local fits, by ranking, by order, and by the place of one variable.

The fit of a node depends only on the set of its predecessors. A set is known by its Zobrist hash, the exclusive or
of random 64-bit numbers of its members, so that an adjacent swap changes the keys of two nodes: rankings that
differ by an adjacent swap differ in two fits, and ranking after ranking costs two look-ups.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pickle import PicklingError
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, parallel_config

from daguerreotype._lib.numba import kernel
from daguerreotype._lib.parallel import Threads
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import Draws, EdgeRules, LocalFit, LocalModels, SearchableModels, searchable
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
        self.constrained = allowed is not None
        self.allowed = np.ones((d, d), dtype=np.bool_) if allowed is None else allowed
        # Of a node as a member of the set, and as the one whose set it is.
        self._member, self._target = np.random.default_rng(0).integers(2**64, size=(2, d), dtype=np.uint64)
        self._lists = short_lists(self.allowed)

    def keys(self, ranks: IntArray) -> HashArray:
        """Key (m, d) of every node in every ranking."""
        return allowed_keys(ranks, self._member, self._target, *self._lists)

    def prefix_keys(self, node: int, others: IntArray) -> HashArray:
        """Key (m + 1,) of ``node`` after the first q of ``others`` (m,), for every q."""
        start = np.zeros(1, dtype=np.uint64)  # a plain 0 would take the hashes to floats and cut their last digits
        members = np.where(self.allowed[others, node], self._member[others], start)
        keys: HashArray = np.concatenate([start, np.bitwise_xor.accumulate(members)]) ^ self._target[node]
        return keys


def short_lists(allowed: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """For every node the shorter of two lists: nodes that may be its parents, or nodes that may not.

    As starts (d + 1,) into all entries, the entries, and whether (d,) a list is of those that may not.
    """
    d = len(allowed)
    forbidden = ~allowed
    forbidden[np.arange(d), np.arange(d)] = False
    inverted = forbidden.sum(axis=0) < allowed.sum(axis=0)
    listed = [np.flatnonzero(forbidden[:, j] if inverted[j] else allowed[:, j]) for j in range(d)]
    starts = np.concatenate([[0], np.cumsum([each.size for each in listed])]).astype(np.int64)
    return starts, np.concatenate(listed).astype(np.int64), inverted


@kernel
def allowed_keys(
    ranks: IntArray, member: HashArray, target: HashArray, starts: IntArray, entries: IntArray, inverted: BoolArray
) -> HashArray:
    """Key (m, d) of the predecessors that may be parents, for every node in every ranking, by short lists."""
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
        self._threads = Threads(1 if self._has_trees else run.n_jobs)
        self._sent = run.n_jobs > 1 and models.can.processes
        self._cancel = run.cancel
        self._seconds, self._calls = 0.0, 0

    def each(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """What ``method`` returns for each tuple of arguments."""
        expected = len(arguments) * self._seconds / max(self._calls, 1)
        if self._sent and self._seconds > START and expected > WORTH:
            try:
                with self._cancel.at_once():  # results of other processes are all that is waited for
                    return self._send(method, arguments)
            except PicklingError:
                self._sent = False  # a regressor that cannot leave its process

        def call(argument: tuple[Any, ...]) -> Result:
            if self._has_trees:
                self._cancel.check()
                return method(*argument)
            with self._cancel.at_once():
                return method(*argument)

        start = time.perf_counter()
        results = self._threads.each(call, arguments)
        self._seconds += time.perf_counter() - start
        self._calls += len(arguments)
        return results

    def rest(self) -> None:
        """Let threads end until there is more to do."""
        self._threads.rest()

    def _send(self, method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The same in processes, which stay for the next batch."""
        n_shares = min(SHARES * self._threads.n_jobs, len(arguments))
        with parallel_config("loky", inner_max_num_threads=1):
            shares = Parallel(self._threads.n_jobs, batch_size=1)(
                delayed(_call_all)(method, arguments[share::n_shares]) for share in range(n_shares)
            )
        results: list[Result] = [None] * len(arguments)  # type: ignore[list-item]
        for share, found in enumerate(shares):
            results[share::n_shares] = found
        return results


def _call_all(method: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
    """The work of one process."""
    return [method(*argument) for argument in arguments]


class LocalFits:
    """Local fits of one table under one objective and noise model, cached.

    Parameters
    ----------
    models : LocalModels
        The estimator, prepared with its data.
    objective : Objective
        What a local fit contributes.
    n_rows, d : int
        Size of the data.
    noise : NoiseModel, or one for each of the d nodes, optional
        What a node's residuals are likely under; Gaussian by default.
    rows_per_node : array of shape (d,), optional
        How many rows count for each node, where not all do. Its terms are weighted by their share.
    constraints : Constraints
        What the fits obey: they are asked for, and known by, the predecessors that may be parents.
    dither : sequence of arrays, optional
        What spreads the ties of each node, in the rows that count for it; its residuals are judged with it.
    copies : int
        How often every row is there, with other draws where values are missing: the likelihood of residuals is
        the mean of those of completed tables.
    has_floor : bool
        Whether parents have a price that more rows do not lower.
    quick : SearchableModels, optional
        The models, where their scores may be asked for without making fits.
    run : Run
        Memory that is held after :meth:`keep_bound`, of which the oldest fits go first; threads; cancellation.

    Attributes
    ----------
    terms : array of shape (m, 2)
        What the fits lose, by index, with spare room at the end.
    hits, misses : int
        Look-ups that found their fit, and those that made one.
    n_bytes : int
        What is held.
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
        quick: SearchableModels | None = None,
        run: Run | None = None,
    ) -> None:
        self.models, self.constraints, self._quick = models, constraints, quick
        self._pricing = _Pricing(
            objective, noise_of_nodes(noise, d), n_rows, rows_per_node, dither, copies, has_floor
        )
        if any(each.needs_residuals for each in self._pricing.noise) and not models.can.residuals:
            raise ValueError(
                "this noise model looks at residuals, but the edge estimator does not hand them out: give it a "
                "method residuals(node, fit) and can = Capabilities(residuals=True), or choose loss='nll_ev', "
                "'nll_nv', 'mse' or 'bic'."
            )
        run = Run() if run is None else run
        self.max_bytes = run.cache_bytes
        self._workers, self._cancel = FitWorkers(models, run), run.cancel
        self.hashes = PredecessorHash(d, None if constraints.rules is None else constraints.rules.allowed)
        self.hits = self.misses = 0
        self._clear()

    def _clear(self) -> None:
        self._index: dict[int, int] = {}
        self._fits: list[LocalFit | None] = []  # None: only its terms were asked for so far
        self.terms: FloatArray = np.empty((64, 2))
        self._by_weights: dict[tuple[int, bytes, bytes], FloatArray] = {}
        self.n_bytes = 0

    # ------------------------------------------------------------------ look-ups

    def look_up_ranked(self, keys: HashArray, nodes: IntArray, ranks: IntArray, rows: IntArray) -> IntArray:
        """Indices of the fits of ``nodes`` by key, each in its row of ``ranks``."""

        def predecessors(i: int) -> IntArray:
            return np.flatnonzero(ranks[rows[i]] < ranks[rows[i], nodes[i]])

        return self.look_up(keys, nodes.tolist(), predecessors, lambda i: (ranks, rows[i], nodes[i]))

    def look_up(
        self,
        keys: HashArray,
        nodes: Sequence[int],
        predecessors: Callable[[int], IntArray],
        ranked: Callable[[IntArray], tuple[IntArray, IntArray, IntArray]] | None = None,
    ) -> IntArray:
        """Indices of the fits of ``nodes`` by key; ``predecessors(i)`` tells what to fit the i-th on.

        ``ranked`` tells the same of several, for models that score many fits at once.
        """
        get, asked = self._index.get, keys.tolist()
        found = [get(key, -1) for key in asked]
        if -1 in found:
            missing: dict[int, int] = {}  # key -> where it was first asked for
            for i, index in enumerate(found):
                if index < 0:
                    missing.setdefault(asked[i], i)
            if self._quick is not None and ranked is not None:
                ranks, rows, several = ranked(np.array(list(missing.values())))
                table = self._quick.score_many(ranks, rows, several)
                self._add(list(missing), self.terms_of_scores(several, table))
            else:
                some = [nodes[i] for i in missing.values()]
                fits = self.fit_all(
                    [
                        (node, self._usable(node, predecessors(i)))
                        for node, i in zip(some, missing.values(), strict=True)
                    ]
                )
                for node, fit in zip(some, fits, strict=True):
                    self.constraints.check_fit(node, fit)
                self._add(list(missing), self.terms_of(some, fits), fits)
            found = [self._index[key] for key in asked]
            self.hits -= len(missing)
        self.hits += len(found)
        return np.array(found, dtype=np.int64)

    def fit_at(self, index: int, node: int, ranks: IntArray) -> LocalFit:
        """The fit of an index, made in the ranking ``ranks`` (d,) if only its terms were needed so far."""
        fit = self._fits[index]
        if fit is None:
            predecessors = np.flatnonzero(ranks < ranks[node])
            fit = self._fits[index] = self.fit_all([(node, self._usable(node, predecessors))])[0]
            self.constraints.check_fit(node, fit)
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
        if rules is None or rules.max_parents is None:
            return fits
        while True:
            over = [i for i, fit in enumerate(fits) if fit.parents.size > rules.most_parents(requests[i][0])]
            if not over:
                return fits
            for i in over:
                requests[i] = requests[i][0], _strongest(fits[i], requests[i][0], requests[i][1], rules)
            for i, fit in zip(over, self._fit_each([requests[i] for i in over]), strict=True):
                fits[i] = fit

    def _fit_each(self, requests: Sequence[tuple[int, IntArray]]) -> list[LocalFit]:
        if self.models.can.batches:
            with self._cancel.at_once():
                return self.models.fit_many(requests)
        return self._workers.each(self.models.fit, requests)

    def rest(self) -> None:
        """Let threads end until there is more to fit."""
        self._workers.rest()

    def _usable(self, node: int, predecessors: IntArray) -> IntArray:
        """Those of the predecessors that may be parents of ``node``."""
        if not self.hashes.constrained:
            return predecessors
        usable: IntArray = predecessors[self.hashes.allowed[predecessors, node]]
        return usable

    # ------------------------------------------------------------------ what is held

    def _add(self, keys: list[int], terms: FloatArray, fits: Sequence[LocalFit] | None = None) -> None:
        """Remember what fits lose, and the fits, or leave it to later to make them."""
        first = len(self._fits)
        while first + len(keys) > self.terms.shape[0]:
            self.terms = np.concatenate([self.terms, np.empty_like(self.terms)])
        self.terms[first : first + len(keys)] = terms
        self._fits.extend([None] * len(keys) if fits is None else fits)
        self._index.update(zip(keys, range(first, len(self._fits)), strict=True))
        self.misses += len(keys)
        self.n_bytes += sum(map(_bytes_of, self._fits[first:]))

    def terms_of(self, nodes: Sequence[int], fits: Sequence[LocalFit]) -> FloatArray:
        """Local terms (m, 2) of the fits of m nodes; those that need residuals are kept by their effects."""
        noise = self._pricing.noise
        by_residuals = np.array([noise[node].needs_residuals for node in nodes], dtype=np.bool_)
        terms = np.empty((len(fits), 2))
        some, others = np.flatnonzero(by_residuals), np.flatnonzero(~by_residuals)
        if others.size:
            scores = np.array([(fits[i].excess, fits[i].dof) for i in others])
            terms[others] = self.terms_of_scores(np.array([nodes[i] for i in others]), scores)
        if some.size:
            terms[some] = self._terms_by_residuals([nodes[i] for i in some], [fits[i] for i in some])
        return terms

    def _terms_by_residuals(self, nodes: Sequence[int], fits: Sequence[LocalFit]) -> FloatArray:
        """Local terms (m, 2) of fits whose residuals are looked at."""
        # Parents alone do not tell: a lasso shrinks them by what else it could choose from. Nor do slopes: a curve
        # may have that of a line.
        keys = [
            (node, fit.parents.tobytes(), fit.weights.tobytes() + fit.norms.tobytes())
            for node, fit in zip(nodes, fits, strict=True)
        ]
        of_key = dict(zip(keys, zip(nodes, fits, strict=True), strict=True))
        missing = [key for key in of_key if key not in self._by_weights]
        method = partial(_terms_by_residuals, self.models, self._pricing)
        made = self._workers.each(method, [of_key[key] for key in missing])
        self._by_weights.update(zip(missing, made, strict=True))
        self.n_bytes += OVERHEAD * len(missing)
        return np.stack([self._by_weights[key] for key in keys])

    def terms_of_scores(self, nodes: int | IntArray, scores: FloatArray) -> FloatArray:
        """Local terms (m, 2) of one or several nodes by their excesses and dof (m, 2)."""
        return self._pricing.terms(nodes, scores[:, 0], scores[:, 1])

    def keep_bound(self) -> None:
        """Forget the older half of the fits until the rest is within the bound."""
        while self.n_bytes > self.max_bytes and self._fits:
            first = (len(self._fits) + 1) // 2
            kept = [(key, index) for key, index in self._index.items() if index >= first]
            fits, terms = self._fits, self.terms
            self._clear()
            for key, index in kept:
                self._index[key] = len(self._fits)
                self._fits.append(fits[index])
            size = max(64, len(kept))
            self.terms = np.empty((size, 2))
            self.terms[: len(kept)] = terms[[index for _, index in kept]]
            self.n_bytes = sum(map(_bytes_of, self._fits))


@dataclass(frozen=True)
class _Pricing:
    """From likelihoods to local terms, by the rows that count for each node."""

    objective: Objective
    noise: Sequence[NoiseModel]
    n_rows: int
    rows_per_node: IntArray | None
    dither: Sequence[FloatArray] | None
    copies: int
    has_floor: bool

    @cached_property
    def max_rows(self) -> IntArray:
        """How many rows of each node parents are priced by at most (d,).

        A likelihood of fewer rows is less certain, and parents must make up for that; but not for a floor under
        their price, which is far above what is uncertain.
        """
        if self.has_floor:
            return np.full(len(self.noise), self.n_rows)
        return np.array([self.n_rows if each.max_rows is None else each.max_rows for each in self.noise])

    def terms(self, nodes: int | IntArray, excess: FloatArray, dof: FloatArray) -> FloatArray:
        """Local terms (..., 2) of one or several nodes."""
        rows = self.n_rows if self.rows_per_node is None else self.rows_per_node[nodes]
        terms = self.objective.terms(excess, dof, np.minimum(rows, self.max_rows[nodes]))
        if self.rows_per_node is None:
            return terms
        weighted: FloatArray = np.expand_dims(rows / self.n_rows, -1) * terms
        return weighted


def _terms_by_residuals(models: LocalModels, pricing: _Pricing, node: int, fit: LocalFit) -> FloatArray:
    """Local terms (2,) of one node, from residuals that are forgotten at once."""
    noise, residuals = pricing.noise[node], spread_residuals(models.residuals(node, fit), node, pricing.dither)
    tables = np.split(residuals, pricing.copies) if pricing.copies > 1 else [residuals]
    excess = [
        noise.excess(each) if isinstance(noise, HasExcess) else noise.nll(each) - STANDARD_ENTROPY
        for each in tables
    ]
    return pricing.terms(node, np.array(np.mean(excess)), np.array(fit.dof))


def noise_of_nodes(noise: NoiseModel | Sequence[NoiseModel] | None, d: int) -> tuple[NoiseModel, ...]:
    """The noise model of every node; one for all, or Gaussian."""
    if isinstance(noise, Sequence):
        return tuple(noise)
    return (Gaussian() if noise is None else noise,) * d


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
        run: Run | None = None,
    ) -> None:
        self.models, self.objective, self.n_rows, self.d = models, objective, n_rows, d
        self.noise, self.rows_per_node = noise_of_nodes(noise, d), rows_per_node
        self.constraints, self.dither, self.moves_obey = constraints, dither, moves_obey
        self.copies, self.has_floor = copies, has_floor
        self.run = Run() if run is None else run
        self.weight = d if rows_per_node is None else float(rows_per_node.sum() / n_rows)  # of all nodes
        by_residuals = any(each.needs_residuals for each in self.noise)
        by_scores = not by_residuals and (constraints.rules is None or moves_obey)
        self._fast = searchable(models) if by_scores else None
        # What the sweeps of models minimise.
        sums = by_scores and rows_per_node is None and isinstance(objective, PenalizedLikelihood)
        self._sweeps = self._fast if sums else None
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
            quick=self._fast,
            run=self.run,
        )

    def clones(self, count: int) -> "list[OrderScores]":
        """The same scores for ``count`` threads, by these models and forks of them; none where that gains nothing.

        Where moves are scored by single fits, threads share those out: a cache each would make them again.
        """
        if count < 2 or self._fast is None:
            return []
        models = [self.models, *(self._fast.fork() for _ in range(count - 1))]
        alone = Run(cache_bytes=self.run.cache_bytes)
        return [OrderScores(**self.__getstate__() | {"models": each, "run": alone}) for each in models]

    def again(self, run: Run) -> "OrderScores":
        """The same with an empty cache, for another run."""
        return OrderScores(**self.__getstate__() | {"run": run})

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

    def _order_indices(self, order: IntArray) -> IntArray:
        ranks = np.empty((1, self.d), dtype=np.int64)
        ranks[0, order] = np.arange(self.d)
        indices: IntArray = self._all_indices(ranks, self.fits.hashes.keys(ranks))[0]
        return indices

    def edge_shares(self, distribution: OrderDistribution) -> FloatArray:
        """Matrix (d, d): total probability of the rankings in which i is a chosen parent of j."""
        table = np.zeros((self.d, self.d))
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
        if self._sweeps is not None:
            self.run.cancel.check()
            return self._sweeps.draw_sweep(order, *self._sweep_settings(), draws)
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
