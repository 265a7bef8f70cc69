"""Limits on the number of children: the edges along an order that lose least, chosen for all nodes together."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.edges.base import LocalFit
from daguerreotype.training.local_fits import LocalFits

MOST_KNOWN = 20_000  # fits that are kept from order to order, which have most of them in common
IMPROVEMENT = 1e-10  # of a loss per row that a change must bring; less is rounding


class ChildLimits:
    """Graphs along one order in which no node has more children than it may.

    The fit of a node knows nothing of other nodes, so that a limit on children is obeyed by *closing* edges: the
    node is fitted again as if that predecessor were not there, and may choose others. While a cause has too many
    children, the edge is closed whose loss is least. Then, as long as that lowers the loss, an edge is opened
    again whose cause has room, or two children of a cause change places: one gets the edge that the other loses.
    Required edges are never closed.

    Parameters
    ----------
    fits : LocalFits
        Fits of single nodes, and what they lose.
    total : callable
        From the summed terms (..., 2) of all nodes to the loss.
    max_children : array of shape (d,)
        How many children each node may have.
    """

    def __init__(self, fits: LocalFits, total: Callable[[FloatArray], FloatArray], max_children: IntArray) -> None:
        d, rules = max_children.size, fits.constraints.rules
        self.fits, self.total, self.max_children = fits, total, max_children
        self.required: BoolArray = np.zeros((d, d), dtype=np.bool_) if rules is None else rules.required
        self._known: dict[tuple[int, bytes], tuple[LocalFit, FloatArray]] = {}

    def obey(self, fits: Sequence[LocalFit], usable: BoolArray) -> list[LocalFit]:
        """The fits of all nodes, each chosen among ``usable[:, node]`` (d, d), with some made again on fewer."""
        graph = _Graph(self, fits, usable)
        while graph.close_one():
            pass
        while graph.improve():
            pass
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        return graph.fits

    def look_up(self, requests: Iterable[tuple[int, BoolArray]]) -> list[tuple[LocalFit, FloatArray]]:
        """Fits of nodes on predecessors (d,), and their terms (2,), each made once."""
        keys = [(node, usable.tobytes()) for node, usable in requests]
        missing = [key for key in dict.fromkeys(keys) if key not in self._known]
        if missing:
            nodes = [node for node, _ in missing]
            made = self.fits.fit_all(
                [(node, np.flatnonzero(np.frombuffer(usable, dtype=np.bool_))) for node, usable in missing]
            )
            for node, fit in zip(nodes, made, strict=True):
                self.fits.constraints.check_fit(node, fit)
            terms = self.fits.terms_of(nodes, made)
            self._known.update(zip(missing, zip(made, terms, strict=True), strict=True))
        return [self._known[key] for key in keys]


def order_along(graph: BoolArray, before: BoolArray | None, order: IntArray) -> IntArray | None:
    """The order of a DAG (d, d) that is nearest to a given one, of those that obey; None if there is no such.

    ``before`` (d, d) tells whom each node must come before, if anybody must.
    """
    ahead = graph if before is None else graph | before
    ranks, placed = np.argsort(order), np.zeros(order.size, dtype=np.bool_)
    found: list[int] = []
    while len(found) < order.size:
        ready = np.flatnonzero(~placed & ~np.any(ahead & ~placed[:, None], axis=0))
        if not ready.size:
            return None
        found.append(int(ready[np.argmin(ranks[ready])]))
        placed[found[-1]] = True
    return np.array(found, dtype=np.int64)


class _Graph:
    """The edges of all nodes, on the way to obeying."""

    def __init__(self, limits: ChildLimits, fits: Sequence[LocalFit], usable: BoolArray) -> None:
        self.limits, self.fits, self.open = limits, list(fits), usable.copy()
        self.closed: BoolArray = np.zeros_like(usable)
        self.terms = limits.fits.terms_of(range(len(fits)), fits)  # (d, 2)
        self.edges: BoolArray = np.zeros_like(usable)
        for node, fit in enumerate(fits):
            self.edges[fit.parents, node] = True

    @property
    def counts(self) -> IntArray:
        """How many children each node has."""
        counts: IntArray = self.edges.sum(axis=1)
        return counts

    def close_one(self) -> bool:
        """Close the edge that loses least, of those whose cause has too many children; False: none has."""
        over = self.counts > self.limits.max_children
        pairs = np.argwhere(self.edges & over[:, None] & ~self.limits.required).tolist()
        if not pairs:
            return False
        losses = self._losses([[(cause, node)] for cause, node in pairs])
        self._change([pairs[int(np.argmin(losses))]])
        return True

    def improve(self) -> bool:
        """Make the change that gains most: open an edge, or give a child's edge to another; False: none gains."""
        room = self.counts < self.limits.max_children
        changes: list[list[tuple[int, int]]] = []
        for cause, node in np.argwhere(self.closed).tolist():
            if room[cause]:
                changes.append([(cause, node)])
                continue
            others = np.flatnonzero(self.edges[cause] & ~self.limits.required[cause])
            changes += [[(cause, node), (cause, other)] for other in others.tolist()]
        if not changes:
            return False
        losses = self._losses(changes)
        here = float(self.limits.total(self.terms.sum(axis=0)))
        for place in np.argsort(losses, kind="stable").tolist():
            if losses[place] >= here - IMPROVEMENT * max(1.0, abs(here)):
                return False
            if self._obeys(changes[place]):
                self._change(changes[place])
                return True
        return False

    def _refits(self, change: list[tuple[int, int]]) -> list[tuple[int, BoolArray]]:
        """The nodes that a change concerns, with the predecessors that they have after it."""
        refits = []
        for cause, node in change:
            usable = self.open[:, node].copy()
            usable[cause] ^= True
            refits.append((node, usable))
        return refits

    def _losses(self, changes: list[list[tuple[int, int]]]) -> FloatArray:
        """The loss (m,) after each of several changes; all fits that they need are made together."""
        self.limits.look_up([refit for change in changes for refit in self._refits(change)])
        everything, sums = self.terms.sum(axis=0), []
        for change in changes:
            after = everything.copy()
            for (_, node), (_, terms) in zip(change, self.limits.look_up(self._refits(change)), strict=True):
                after += terms - self.terms[node]
            sums.append(after)
        return np.asarray(self.limits.total(np.array(sums)))

    def _obeys(self, change: list[tuple[int, int]]) -> bool:
        """Whether no cause has too many children after a change."""
        counts = self.counts
        for (_, node), (fit, _) in zip(change, self.limits.look_up(self._refits(change)), strict=True):
            counts -= self.edges[:, node]
            counts[fit.parents] += 1
        return bool(np.all(counts <= self.limits.max_children))

    def _change(self, change: list[tuple[int, int]]) -> None:
        """Close the edges of a change that are open, and open those that are closed."""
        found = self.limits.look_up(self._refits(change))
        for (cause, node), (fit, terms) in zip(change, found, strict=True):
            self.open[cause, node] ^= True
            self.closed[cause, node] ^= True
            self.fits[node], self.terms[node] = fit, terms
            self.edges[:, node] = False
            self.edges[fit.parents, node] = True
