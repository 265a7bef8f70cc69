"""Lists of the parent sets that the posterior is made of: those that likely orders choose, and those near them."""

import numpy as np

from daguerreotype._lib.bits import as_bits
from daguerreotype._lib.numba import kernel
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import JudgesParents, offered
from daguerreotype.posterior.evidence import Evidence
from daguerreotype.posterior.sets import SetLists, make_lists
from daguerreotype.training.constraints import Constraints

CUT = 5.0  # nats that a set may be worse than a smaller one within it; less than 1 % of its probability is left
ALL_SETS, FEW_SETS = 64, 16  # subsets of the possible parents, up to which all are judged, or fitted one by one
PAIRS = 4  # near parents of which any two are judged together
NEEDED = 15.0  # nats from which on a parent is not done without


class SetCollector:
    """Collects the parent sets of every node, each once, with what it loses.

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
        self.judge = offered(scores.models, JudgesParents) if scores.moves_obey else None
        self.allowed, self.required = _masks(scores.constraints, self.d)
        rules = scores.constraints.rules
        self.most = [self.d if rules is None else rules.most_parents(node) for node in range(self.d)]
        if order is not None:
            ranks = np.argsort(order)
            self.allowed &= ranks[:, None] < ranks
        self.losses: list[dict[bytes, float]] = [{} for _ in range(self.d)]
        # What orders chose, whose neighbours are taken in as well, and what else might be chosen.
        self._met: list[dict[bytes, BoolArray]] = [{} for _ in range(self.d)]
        self._other: list[dict[bytes, BoolArray]] = [{} for _ in range(self.d)]

    def visit(self, order: IntArray) -> BoolArray:
        """Take in the parents that are chosen in an order; who is a parent of whom (d, d) there."""
        if self.judge is not None:
            parents = self.judge.parents_in(order)
            for node in range(self.d):
                chosen = parents[:, node]
                self._met[node].setdefault(chosen.tobytes(), chosen)
            return parents
        parents = np.zeros((self.d, self.d), dtype=np.bool_)
        for node, fit in enumerate(self.scores.fits_of(order)):
            parents[fit.parents, node] = True
            self._take(node, parents[:, node], float(self.evidence.of_fits(node, [fit])[0]))
        return parents

    def visit_graph(self, order: IntArray) -> BoolArray:
        """Take in the parents that nodes have where none has too many children; who is a parent of whom (d, d)."""
        parents = np.zeros((self.d, self.d), dtype=np.bool_)
        for node, fit in enumerate(self.scores.graph_of(order)[0]):
            parents[fit.parents, node] = True
            if self.judge is None:
                self._take(node, parents[:, node], float(self.evidence.of_fits(node, [fit])[0]))
            else:
                self._other[node].setdefault(parents[:, node].tobytes(), parents[:, node])
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
                self._other[node].setdefault(chosen.tobytes(), chosen)
                for parent in np.flatnonzero(chosen & ~self.required[:, node]):
                    fewer = usable.copy()
                    fewer[parent] = False
                    waiting.append(fewer)

    def _take(self, node: int, chosen: BoolArray, loss: float) -> None:
        key, known = chosen.tobytes(), self.losses[node]
        known[key] = min(loss, known.get(key, np.inf))

    def lists(self) -> SetLists:
        """The sets of every node, without those that hardly ever take the place of a smaller one."""
        starts, bits, losses = [0], [], []
        for node in range(self.d):
            self.scores.run.cancel.check()
            self._complete(node)
            known = self.losses[node]
            sets = np.frombuffer(b"".join(known), dtype=np.bool_).reshape(-1, self.d)
            loss = np.array(list(known.values()))
            best_first = np.argsort(loss, kind="stable")
            loss, rows = loss[best_first], as_bits(sets[best_first])
            kept = _worth_keeping(rows, loss)
            bits.append(rows[kept])
            losses.append(loss[kept])
            starts.append(starts[-1] + int(kept.sum()))
        limits = self.scores.constraints.max_children
        return make_lists(np.array(starts), np.concatenate(bits), np.concatenate(losses), limits)

    def _complete(self, node: int) -> None:
        """Take in sets near those that orders chose, all where they are few, and one that is always possible."""
        free = np.flatnonzero(self.allowed[:, node] & ~self.required[:, node])
        least = self.required[None, :, node]
        if 2.0**free.size <= (FEW_SETS if self.judge is None else ALL_SETS):
            sets = np.repeat(least, 2**free.size, axis=0)
            sets[:, free] = (np.arange(2**free.size)[:, None] >> np.arange(free.size)) & 1
        elif self.judge is not None:
            alone = least | np.eye(self.d, dtype=np.bool_)[free]
            limited = self.scores.constraints.max_children is not None  # so that any parent may have to do
            sets = np.concatenate([least, *self._near(node), alone[: alone.size if limited else 0]])
        else:
            sets = least
        if self.judge is None:
            fits = [self.scores.fits.fit_all([(node, np.flatnonzero(each))])[0] for each in sets]
            for fit, loss in zip(fits, self.evidence.of_fits(node, fits).tolist(), strict=True):
                self._take(node, np.isin(np.arange(self.d), fit.parents), loss)
            return
        sets = np.unique(sets[sets.sum(axis=1) <= self.most[node]], axis=0)
        if self.evidence.is_slow(node):  # normal noise tells which sets are worth a look at the residuals
            quick = self.evidence.of_sets(node, sets, gaussian=True)
            best_first = np.argsort(quick, kind="stable")
            kept = _worth_keeping(as_bits(sets[best_first]), quick[best_first])
            sets = sets[best_first[kept]]
        losses = self.evidence.of_sets(node, sets)
        self.losses[node] |= {each.tobytes(): loss for each, loss in zip(sets, losses.tolist(), strict=True)}

    def _near(self, node: int) -> list[BoolArray]:
        """The sets that orders chose, with one more parent that nearly pays, with two, or with one fewer.

        Where no more are allowed, another parent takes the place of one.
        """
        assert self.judge is not None
        chosen = np.array(list(self._met[node].values()))
        near = self.judge.near_parents(node, chosen, CUT) & self.allowed[:, node]
        single = np.eye(self.d, dtype=np.bool_)
        every, fewer, of = [chosen, *(each[None] for each in self._other[node].values())], [], []
        for place, (base, others) in enumerate(zip(chosen, near, strict=True)):
            more = single[others]
            every.append(base | more)
            if len(more) <= PAIRS:
                first, second = np.triu_indices(len(more), 1)
                every.append(base | more[first] | more[second])
            left = base & ~single[base & ~self.required[:, node]]
            fewer.append(left)
            of += [place] * len(left)
        if of:
            # Without a parent that it needs, a node would rather have others: these are met elsewhere.
            left = np.concatenate(fewer)
            rise = self.evidence.of_sets(node, left, gaussian=True)
            rise -= self.evidence.of_sets(node, chosen, gaussian=True)[of]
            every.append(left[(rise < NEEDED) | self._has_few(chosen[of] & ~left)])
            full = chosen.sum(axis=1)[of] == self.most[node]
            every += self._exchanged(node, left[full], chosen[of][full]) if full.any() else []
        return every

    def _has_few(self, gone: BoolArray) -> BoolArray:
        """Whether each of ``gone`` (m, d), one parent in each row, may have no room for another child."""
        limits = self.scores.constraints.max_children
        if limits is None:
            return np.zeros(len(gone), dtype=np.bool_)
        few: BoolArray = gone @ (limits < self.allowed.sum(axis=1))
        return few

    def _exchanged(self, node: int, left: BoolArray, instead_of: BoolArray) -> list[BoolArray]:
        """Sets (m, d) that have lost a parent with each other one that is not needed much less."""
        assert self.judge is not None
        near = self.judge.near_parents(node, left, CUT) & self.allowed[:, node] & ~instead_of
        place, other = np.nonzero(near)
        sets = left[place]
        sets[np.arange(place.size), other] = True
        if not place.size:
            return []
        rise = self.evidence.of_sets(node, sets, gaussian=True)
        rise -= self.evidence.of_sets(node, instead_of, gaussian=True)[place]
        return [sets[rise < NEEDED]]


def _masks(constraints: Constraints, d: int) -> tuple[BoolArray, BoolArray]:
    """Who may be, and who must be, a parent of whom (d, d)."""
    rules, precedence = constraints.rules, constraints.precedence
    allowed = np.ones((d, d), dtype=np.bool_) if rules is None else rules.allowed.copy()
    np.fill_diagonal(allowed, False)
    if precedence is not None:
        allowed &= ~precedence.before.T  # nobody who must come later
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
