"""Several chains over the same lists of parent sets, in blocks: what they saw, and whether they agree.

Where all graphs that count can be listed, or chains have met nearly all of them, each is weighed by its own score,
and how often it was met does not matter: then chains need not find the way from one group of graphs to another.
Where there are too many graphs for that, probabilities are averages over the turns of single nodes, which have few
sets to choose from.
"""

from collections.abc import Callable, Sequence

import numpy as np

from daguerreotype._lib.archive import Arrays
from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.parallel import Threads
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.posterior.chain import run_chain
from daguerreotype.posterior.listing import list_graphs
from daguerreotype.posterior.record import MOST_GRAPHS, Posterior
from daguerreotype.posterior.sets import SetLists
from daguerreotype.posterior.state import ChainState, add_ancestors, new_chain, new_room

BLOCKS = 20  # of a chain: errors are told by how much they differ
BURN_IN = 2  # of these blocks, which do not count
MOST_KEPT = 20_000  # graphs of a chain
UNSEEN = (
    0.02  # share of the probability that graphs may have which were not met, for those that were to be weighed
)
# Graphs are listed one by one if they are no more than all of five nodes, in so many steps.
MOST_LISTED, MOST_STEPS = 30_000, 100_000
MUCH_WORSE = 12.0  # nats; all such graphs together are hardly ever worth a hundredth
DIGITS = 12  # of a probability
TURNS_AT_ONCE = 20_000  # of single nodes, in one call of the kernel: a fraction of a second


class Chains:
    """Chains that start from different graphs, run block by block.

    Parameters
    ----------
    lists : SetLists
        The parent sets that nodes may have.
    starts : array of shape (chains, d)
        The sets that each chain begins with.
    seeds : sequence of int
        Of the random numbers of each chain.
    n_sweeps : int
        Sweeps of each chain.
    """

    def __init__(self, lists: SetLists, starts: IntArray, seeds: Sequence[int], n_sweeps: int) -> None:
        self.lists, self.n_chains, self.d = lists, len(starts), starts.shape[1]
        self.starts = starts
        self.every = -(-n_sweeps // MOST_KEPT)
        self.n_blocks = min(BLOCKS, n_sweeps)
        self.sizes = np.diff(np.linspace(0, n_sweeps, self.n_blocks + 1).astype(np.int64))
        self.states = [new_chain(lists, each, seed) for each, seed in zip(starts, seeds, strict=True)]
        self.rooms = [new_room(lists) for _ in self.states]
        self.kept: IntArray = np.zeros((self.n_chains, n_sweeps // self.every + 1, self.d), dtype=np.int64)
        self.edges: FloatArray = np.zeros((self.n_chains, self.n_blocks, self.d, self.d))
        self.done = 0

    def run(self, n_jobs: int = 1, after: Callable[[], None] = lambda: None) -> None:
        """Go on to the end; ``after`` is called after every block, and may raise."""
        threads = Threads(n_jobs)
        members = from_bits(self.lists.bits, self.d)
        while self.done < self.n_blocks:
            threads.each(self._block, range(self.n_chains))
            for chain, state in enumerate(self.states):
                lists = self.lists.starts[:-1]
                mass = np.add.reduceat(state.mass[:, None] * members, lists)  # (node, parent)
                totals = np.add.reduceat(state.mass, lists)
                self.edges[chain, self.done] = (mass / totals[:, None]).T.round(DIGITS)
                state.mass[:] = 0.0
            self.done += 1
            if self.done == BURN_IN:
                for state in self.states:
                    state.ancestors[:] = 0
                    state.counts[1] = 0
            after()

    def _block(self, chain: int) -> None:
        """One block of a chain, in pieces: between two of them Ctrl-C is heard."""
        left, at_once = int(self.sizes[self.done]), max(TURNS_AT_ONCE // self.d, 1)
        while left > 0:
            n_sweeps = min(left, at_once)
            run_chain(self.lists, self.states[chain], self.rooms[chain], n_sweeps, self.every, self.kept[chain])
            left -= n_sweeps

    @property
    def share(self) -> float:
        """The share of the blocks that is done."""
        return self.done / self.n_blocks

    def posterior(self, interrupted: bool = False) -> Posterior:
        """What was seen so far, but for the first blocks, unless there are no others."""
        first = BURN_IN if self.done > BURN_IN else 0
        kept = np.concatenate([self.kept[c, : state.counts[1]] for c, state in enumerate(self.states)])
        different, counts = np.unique(kept, axis=0, return_counts=True)
        members = from_bits(self.lists.bits, self.d)
        blocks = self.edges[:, first : self.done]  # (chains, blocks, d, d)
        count = blocks.shape[0] * blocks.shape[1]
        unseen = float(np.sum(counts == 1) / max(len(kept), 1))  # the share of what was not met (Good and Turing)
        everything = self._everything(different)
        if everything is not None:
            different, unseen = everything, 0.0
        covered = unseen <= UNSEEN
        if covered:
            weights, probabilities, ancestors = self._weigh(different, members)
        else:
            weights = counts / max(len(kept), 1)
            probabilities = blocks.mean(axis=(0, 1))
            ancestors = np.sum([state.ancestors for state in self.states], axis=0) / max(len(kept), 1)
            np.fill_diagonal(ancestors, 0.0)
        most = np.argsort(-weights, kind="stable")[:MOST_GRAPHS]
        return Posterior(
            names=tuple(range(self.d)),
            named=False,
            sampled=probabilities,
            edges=blocks.mean(axis=1),
            errors=blocks.reshape(count, self.d, self.d).std(axis=0, ddof=min(1, count - 1)) / np.sqrt(count),
            ancestors=ancestors,
            graphs=members[different[most]].swapaxes(1, 2),  # (g, parent, node)
            weights=weights[most],
            unseen=unseen,
            covered=covered,
            n_sweeps=int(self.sizes[first : self.done].sum()),
            n_sets=self.lists.losses.size,
            interrupted=interrupted,
        )

    def best(self, most: int) -> IntArray:
        """The likeliest graphs (g, d), the best first: of all that count if they are few, else of those met."""
        kept = [self.kept[c, : state.counts[1]] for c, state in enumerate(self.states)]
        met = np.unique(np.concatenate([*kept, self.starts]), axis=0)
        everything = self._everything(met)
        graphs = met if everything is None else everything
        order = np.argsort(self.lists.losses[graphs].sum(axis=1), kind="stable")
        best: IntArray = graphs[order[:most]]
        return best

    def _everything(self, met: IntArray) -> IntArray | None:
        """All graphs (g, d) that are not much worse than the best one met, if they are few enough to be listed."""
        best = float(self.lists.losses[met].sum(axis=1).min())
        # Empty sets need not be in the lists, so that the state is made without any.
        state = new_chain(self.lists, self.lists.starts[:-1], 0)
        state.parents[:] = 0
        state.children[:] = 0
        found = np.empty((MOST_LISTED, self.d), dtype=np.int64)
        count = list_graphs(self.lists, state, best + MUCH_WORSE, MOST_STEPS, found)
        return None if count < 0 else found[:count].copy()

    def _weigh(self, graphs: IntArray, members: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights of different graphs (g, d) by what they lose; probabilities (d, d) of edges and of ancestors."""
        losses = self.lists.losses[graphs].sum(axis=1)
        weights: FloatArray = np.exp(losses.min() - losses)
        weights /= weights.sum()
        edges, ancestors = np.zeros((2, self.d, self.d))
        for node in range(self.d):
            mass = np.bincount(graphs[:, node], weights=weights, minlength=self.lists.losses.size)
            edges[:, node] = (mass @ members).round(DIGITS)
        for graph, weight in zip(graphs, weights.tolist(), strict=True):
            add_ancestors(self.lists.bits[graph], weight, ancestors)
        return weights, edges, np.minimum(ancestors, 1.0)

    # ------------------------------------------------------------------ what a file holds

    def arrays(self) -> Arrays:
        """The whole state, by name."""
        named = {"kept": self.kept, "edges": self.edges, "done": np.array([self.done])}
        for chain, state in enumerate(self.states):
            named |= {f"{chain}.{name}": value for name, value in state._asdict().items()}
        return named

    def restore(self, arrays: Arrays) -> None:
        """Go on from a state."""
        self.kept, self.edges, self.done = arrays["kept"], arrays["edges"], int(arrays["done"][0])
        self.states = [
            ChainState(**{name: arrays[f"{chain}.{name}"] for name in ChainState._fields})
            for chain in range(self.n_chains)
        ]
