"""Parent sets that the posterior is made of, those of likely orders and those near them, and their evidence."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from daguerreotype._lib.bits import as_bits, from_bits
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import LocalFit, SearchableModels, searchable
from daguerreotype.noise.free_shape import MAX_ROWS
from daguerreotype.posterior.chain import SetLists
from daguerreotype.training.constraints import Constraints
from daguerreotype.training.objective import PenalizedLikelihood, PerNode, SquaredError
from daguerreotype.training.scores import OrderScores

ADDITIVE = (PenalizedLikelihood, SquaredError, PerNode)
MAX_NATS = 1e12  # beyond which rounding errors of a sum are no longer small beside one
CUT = 5.0  # nats that a set may be worse than a smaller one within it; less than 1 % of its probability is lost
NEEDED = 15.0  # nats that leaving out a parent costs, from which on no set without it is listed
ALL_SETS, FEW_SETS = 64, 16  # subsets of the possible parents, up to which all are judged, or fitted one by one
PAIRS = 4  # near parents of which any two are judged together


class UnknownEvidenceError(TypeError):
    """A loss that does not say how likely graphs are."""


class Evidence:
    r"""Minus the log-posterior of parent sets, in nats of the whole table, up to a constant of the node.

    .. math:: loss_j(S) = n \cdot \mathrm{loss\ per\ row} + c \cdot \mathrm{dof}_j(S)

    with n the rows of evidence that the table is. A loss with a penalty is about minus the logarithm of a
    posterior probability already: the likelihood of the table, less what BIC says of fitted parameters, times the
    prior probability of its edges that the penalty stands for; then c is 0. A loss without one is given that of
    BIC, :math:`c = \tfrac12 \log n`: else every graph would gain by more edges.

    Parameters
    ----------
    scores : OrderScores
        Losses of orderings of the table per row.
    some_rows : bool
        Whether likelihoods are those of the first ``MAX_ROWS`` rows: then these are all the evidence there is.

    Attributes
    ----------
    n_rows : float
        The rows of evidence that count.
    """

    def __init__(self, scores: OrderScores, some_rows: bool = False) -> None:
        if not isinstance(scores.objective, ADDITIVE):
            raise UnknownEvidenceError(
                f"a posterior needs a loss that is a sum over columns, such as 'bic', got {scores.objective!r}."
            )
        self.scores = scores
        some_rows = some_rows or bool(scores.by_residuals.any())
        self.n_rows = scores.penalty.evidence(min(scores.n_rows, MAX_ROWS) if some_rows else scores.n_rows)
        penalized = isinstance(scores.objective, PerNode) or getattr(scores.objective, "penalty", 0.0) > 0.0
        self._per_dof = 0.0 if penalized else 0.5 * np.log(self.n_rows)

    def of_fits(self, node: int, fits: Sequence[LocalFit]) -> FloatArray:
        """Loss (m,) of fits of one node."""
        terms = self.scores.terms_of([node] * len(fits), fits)
        return self._nats(terms, np.array([fit.dof for fit in fits]))

    def of_sets(self, node: int, sets: BoolArray) -> FloatArray:
        """Loss (m,) of one node on exactly these ``sets`` (m, d) of parents."""
        models = searchable(self.scores.models)
        assert models is not None
        if self.scores.by_residuals[node]:
            return self.of_fits(node, [models.fit_parents(node, np.flatnonzero(members)) for members in sets])
        table = models.score_parents(node, sets)
        return self._nats(self.scores.terms_of_scores(node, table), table[:, 1])

    def _nats(self, terms: FloatArray, dof: FloatArray) -> FloatArray:
        nats: FloatArray = self.n_rows * terms.sum(axis=1) + self._per_dof * dof
        if np.abs(nats).max(initial=0.0) > MAX_NATS:
            raise UnknownEvidenceError(
                f"a column loses {np.abs(nats).max():.0e} nats, of which floats cannot tell single ones. "
                "Standardize columns, or scale the loss, for a posterior."
            )
        return nats


class SetCollector:
    """Collects the parent sets of every node, once, with what they lose.

    Sets that orders choose are the ground. Estimators that can judge any set add those with one parent fewer, and
    with one or two more that nearly pay: so probabilities are also about whether an edge is there, and not only
    about its direction. Others have the sets that they choose, each at its least loss: that may depend on what
    else could be chosen.

    Parameters
    ----------
    evidence : Evidence
        Losses of orderings of a table and of single fits, in nats of the whole table.
    order : array of shape (d,), optional
        The only one that graphs may have.
    """

    def __init__(self, evidence: Evidence, order: IntArray | None = None) -> None:
        scores = evidence.scores
        self.evidence, self.scores, self.d = evidence, scores, scores.d
        self.judge = searchable(scores.models) if scores.moves_obey else None
        self.allowed, self.required = _masks(scores.constraints, self.d)
        rules = scores.constraints.rules
        self.most = [self.d if rules is None else rules.most_parents(node) for node in range(self.d)]
        if order is not None:
            ranks = np.argsort(order)
            self.allowed &= ranks[:, None] < ranks
        # By node: set of parents (bytes of bools) to its loss.
        self.losses: list[dict[bytes, float]] = [{} for _ in range(self.d)]
        self._judged: list[dict[bytes, float]] = [{} for _ in range(self.d)]  # with sets that are not listed
        # What orders chose, whose neighbours are taken in as well, and what else might be chosen.
        self._chosen: list[dict[bytes, BoolArray]] = [{} for _ in range(self.d)]
        self._alternatives: list[dict[bytes, BoolArray]] = [{} for _ in range(self.d)]

    def visit(self, order: IntArray) -> BoolArray:
        """Take in the parents that are chosen in an order; who is a parent of whom (d, d) there."""
        if self.judge is not None:
            parents = self.judge.parents_in(order)
            for node in range(self.d):
                chosen = parents[:, node]
                self._chosen[node].setdefault(chosen.tobytes(), chosen)
            return parents
        parents = np.zeros((self.d, self.d), dtype=np.bool_)
        for node, fit in enumerate(self.scores.fits_of(order)):
            parents[fit.parents, node] = True
            self._take(node, parents[:, node], float(self.evidence.of_fits(node, [fit])[0]))
        return parents

    def search(self, most: int) -> None:
        """Take in the best parents of every node among all others, and what it would have without some of them.

        Orders that were drawn may all be of one kind; another kind may have these. Each of the parents in turn is
        left out, and then those of what is chosen instead, for up to ``most`` choices of a node.
        """
        if self.judge is None:
            return
        for node in range(self.d):
            self.scores.run.cancel.check()
            waiting: list[BoolArray] = [self.allowed[:, node]]
            seen: set[bytes] = set()
            while waiting and len(seen) < most:
                usable = waiting.pop(0)
                if usable.tobytes() in seen:
                    continue
                seen.add(usable.tobytes())
                chosen = np.zeros(self.d, dtype=np.bool_)
                chosen[self.judge.choose(node, np.flatnonzero(usable))] = True
                self._alternatives[node].setdefault(chosen.tobytes(), chosen)
                for parent in np.flatnonzero(chosen & ~self.required[:, node]):
                    fewer = usable.copy()
                    fewer[parent] = False
                    waiting.append(fewer)

    def lists(self) -> SetLists:
        """The sets of every node, without those that hardly ever take the place of a smaller one."""
        starts, bits, losses = [0], [], []
        for node in range(self.d):
            self.scores.run.cancel.check()
            self._complete(node)
            sets = np.frombuffer(b"".join(self.losses[node]), dtype=np.bool_).reshape(-1, self.d)
            loss = np.array(list(self.losses[node].values()))
            best_first = np.argsort(loss, kind="stable")
            loss, rows = loss[best_first], as_bits(sets[best_first])
            kept = _worth_keeping(rows, loss)
            bits.append(rows[kept])
            losses.append(loss[kept])
            starts.append(starts[-1] + int(kept.sum()))
        return make_lists(np.array(starts), np.concatenate(bits), np.concatenate(losses))

    def _take(self, node: int, chosen: BoolArray, loss: float) -> None:
        key, losses = chosen.tobytes(), self.losses[node]
        losses[key] = min(loss, losses.get(key, np.inf))

    def _complete(self, node: int) -> None:
        """Take in sets near those that orders chose, all where they are few, and one that is always possible."""
        free = np.flatnonzero(self.allowed[:, node] & ~self.required[:, node])
        smallest = self.required[None, :, node]
        if 2.0**free.size <= (FEW_SETS if self.judge is None else ALL_SETS):
            sets = np.repeat(smallest, 2**free.size, axis=0)
            sets[:, free] = (np.arange(2**free.size)[:, None] >> np.arange(free.size)) & 1
        elif self.judge is not None:
            sets = np.concatenate([smallest, *self._near(node, self.judge)])
        else:
            sets = smallest
        if self.judge is None:
            fits = [self.scores.fit_all([(node, np.flatnonzero(members))])[0] for members in sets]
            for fit, loss in zip(fits, self.evidence.of_fits(node, fits).tolist(), strict=True):
                self._take(node, np.isin(np.arange(self.d), fit.parents), loss)
            return
        sets = np.unique(sets[sets.sum(axis=1) <= self.most[node]], axis=0)
        losses = self._judge(node, sets)
        self.losses[node] |= {members.tobytes(): loss for members, loss in zip(sets, losses.tolist(), strict=True)}

    def _judge(self, node: int, sets: BoolArray) -> FloatArray:
        """Loss (m,) of a node on exactly these ``sets`` (m, d) of parents, each of which is scored once."""
        keys, judged = [members.tobytes() for members in sets], self._judged[node]
        new = {key: members for key, members in zip(keys, sets, strict=True) if key not in judged}
        if new:
            losses = self.evidence.of_sets(node, np.array(list(new.values()))).tolist()
            judged.update(zip(new, losses, strict=True))
        return np.array([judged[key] for key in keys])

    def _near(self, node: int, judge: SearchableModels) -> list[BoolArray]:
        """The sets that orders chose, with one more parent that nearly pays, with two, or with one fewer.

        Where no more are allowed, another parent takes the place of one.
        """
        chosen = np.array(list(self._chosen[node].values()))
        near = judge.near_parents(node, chosen, CUT) & self.allowed[:, node]
        single = np.eye(self.d, dtype=np.bool_)
        sets = [chosen, *(members[None] for members in self._alternatives[node].values())]
        smaller, came_from = [], []  # a set that lacks a parent, and its place in ``chosen``
        for place, (base, addable) in enumerate(zip(chosen, near, strict=True)):
            more = single[addable]
            sets.append(base | more)
            if len(more) <= PAIRS:
                first, second = np.triu_indices(len(more), 1)
                sets.append(base | more[first] | more[second])
            fewer = base & ~single[base & ~self.required[:, node]]
            smaller.append(fewer)
            came_from += [place] * len(fewer)
        if came_from:
            # Without a parent that it needs, a node would rather have others: these are met elsewhere.
            fewer, whole = np.concatenate(smaller), chosen[came_from]
            sets.append(fewer[self._judge(node, fewer) - self._judge(node, whole) < NEEDED])
            full = whole.sum(axis=1) == self.most[node]
            if full.any():
                sets += self._exchanged(node, judge, fewer[full], whole[full])
        return sets

    def _exchanged(
        self, node: int, judge: SearchableModels, fewer: BoolArray, whole: BoolArray
    ) -> list[BoolArray]:
        """Sets (m, d) with another parent in place of the one that ``fewer`` lack, where that is not needed."""
        rows, added = np.nonzero(judge.near_parents(node, fewer, CUT) & self.allowed[:, node] & ~whole)
        if not rows.size:
            return []
        sets = fewer[rows]
        sets[np.arange(rows.size), added] = True
        return [sets[self._judge(node, sets) - self._judge(node, whole[rows]) < NEEDED]]


def _masks(constraints: Constraints, d: int) -> tuple[BoolArray, BoolArray]:
    """Who may be, and who must be, a parent of whom (d, d)."""
    rules, precedence = constraints.rules, constraints.precedence
    allowed = np.ones((d, d), dtype=np.bool_) if rules is None else rules.allowed.copy()
    np.fill_diagonal(allowed, False)
    if precedence is not None:
        allowed &= ~precedence.before.T  # none that must come later
    return allowed, np.zeros((d, d), dtype=np.bool_) if rules is None else rules.required


@kernel
def _worth_keeping(bits: IntArray, losses: FloatArray) -> BoolArray:
    """Which of the sets (m, words), the best first, are not much worse than a subset of theirs."""
    m, words = bits.shape
    kept = np.ones(m, dtype=np.bool_)
    for i in range(m):
        for j in range(i):
            if losses[j] >= losses[i] - CUT:
                break
            within = True
            for word in range(words):
                if bits[j, word] & ~bits[i, word]:
                    within = False
            if within:
                kept[i] = False
                break
    return kept


def make_lists(starts: IntArray, bits: IntArray, losses: FloatArray) -> SetLists:
    """Lists of sets, with their neighbours found by Zobrist hashing: a set is the xor of its members' numbers."""
    d = starts.size - 1
    numbers = np.random.default_rng(0).integers(2**63, size=d, dtype=np.int64)
    hashes = np.bitwise_xor.reduce(np.where(from_bits(bits, d), numbers, 0), axis=1)  # (m,)
    owners = np.repeat(np.arange(d), np.diff(starts))
    order = np.lexsort([hashes, owners])
    toggled = np.full((hashes.size, d), -1, dtype=np.int32)
    _find_toggled(starts, order, hashes[order], hashes, numbers, toggled)
    return SetLists(starts, bits, losses, toggled)


@kernel
def _find_toggled(
    starts: IntArray,
    order: IntArray,
    ordered: IntArray,
    hashes: IntArray,
    numbers: IntArray,
    toggled: npt.NDArray[np.int32],
) -> int:
    """Note where the set with one member more or less stands, by bisection; ``ordered`` ascends in every list."""
    for node in range(numbers.size):
        for c in range(starts[node], starts[node + 1]):
            for member in range(numbers.size):
                wanted = hashes[c] ^ numbers[member]
                low, high = starts[node], starts[node + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if ordered[middle] < wanted:
                        low = middle + 1
                    else:
                        high = middle
                if low < starts[node + 1] and ordered[low] == wanted:
                    toggled[c, member] = order[low]
    return int(hashes.size)
