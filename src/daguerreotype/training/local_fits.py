"""Cache of local fits by node and set of predecessors, with their terms under an objective and a noise model.

The fit of a node depends only on the set of its predecessors. A set is known by its Zobrist hash, the exclusive or
of random 64-bit numbers of its members, so that an adjacent swap changes the keys of two nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.edges.base import (
    EdgeRules,
    HasBatchFits,
    HasQuickScores,
    HasResiduals,
    LocalFit,
    LocalModels,
    offered,
)
from daguerreotype.noise import Gaussian, NoiseModel
from daguerreotype.noise.base import HasExcess
from daguerreotype.noise.gaussian import STANDARD_ENTROPY
from daguerreotype.training.constraints import FREE, Constraints
from daguerreotype.training.fit_workers import FitWorkers
from daguerreotype.training.objective import Objective
from daguerreotype.training.predecessor_hash import HashArray, PredecessorHash
from daguerreotype.training.run import Run

OVERHEAD = 600  # bytes of a cached fit beside its arrays: objects, dictionary entry, terms
BARE = 200  # bytes of cached terms without a fit


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
    quick : HasQuickScores, optional
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
        quick: HasQuickScores | None = None,
        run: Run | None = None,
    ) -> None:
        self.models, self.constraints, self._quick = models, constraints, quick
        self._pricing = _Pricing(
            objective, noise_of_nodes(noise, d), n_rows, rows_per_node, dither, copies, has_floor
        )
        if any(each.needs_residuals for each in self._pricing.noise) and offered(models, HasResiduals) is None:
            raise ValueError(
                "this noise model looks at residuals, but the edge estimator does not hand them out: give it a "
                "method residuals(node, fit), or choose loss='nll_ev', 'nll_nv', 'mse' or 'bic'."
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
        together = offered(self.models, HasBatchFits)
        if together is not None:
            with self._cancel.at_once():
                return together.fit_many(requests)
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
        models = offered(self.models, HasResiduals)
        assert models is not None
        method = partial(_terms_by_residuals, models, self._pricing)
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


def _terms_by_residuals(models: HasResiduals, pricing: _Pricing, node: int, fit: LocalFit) -> FloatArray:
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
