"""Several chains over the same lists of parent sets, in blocks: what they saw, and whether they agree."""

from collections.abc import Callable, Sequence

import numpy as np

from daguerreotype._lib.archive import Arrays
from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.parallel import Threads
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.posterior.chain import ChainState, SetLists, new_chain, run_chain
from daguerreotype.posterior.record import MOST_GRAPHS, Posterior

BLOCKS = 20  # of a chain: errors are told by how much they differ
BURN_IN = 2  # of these blocks, which do not count
MOST_KEPT = 2000  # graphs of a chain


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
        self.every = -(-n_sweeps // MOST_KEPT)
        self.sizes = np.diff(np.linspace(0, n_sweeps, BLOCKS + 1).astype(np.int64))
        self.states = [new_chain(lists, each, seed) for each, seed in zip(starts, seeds, strict=True)]
        self.kept: IntArray = np.zeros((self.n_chains, n_sweeps // self.every + 1, self.d), dtype=np.int64)
        self.edges: FloatArray = np.zeros((self.n_chains, BLOCKS, self.d, self.d))
        self.done = 0

    def run(self, n_jobs: int = 1, after: Callable[[], None] = lambda: None) -> None:
        """Go on to the end; ``after`` is called after every block, and may raise."""
        threads = Threads(n_jobs)
        members = from_bits(self.lists.bits, self.d)
        while self.done < BLOCKS:
            threads.each(self._block, [(chain,) for chain in range(self.n_chains)])
            for chain, state in enumerate(self.states):
                for node in range(self.d):
                    mine = slice(*self.lists.starts[node : node + 2])
                    self.edges[chain, self.done, :, node] = state.mass[mine] @ members[mine]
                self.edges[chain, self.done] /= max(int(self.sizes[self.done]), 1)
                state.mass[:] = 0.0
            self.done += 1
            if self.done == BURN_IN:
                for state in self.states:
                    state.ancestors[:] = 0
                    state.counts[1] = 0
            after()

    def _block(self, argument: tuple[int]) -> None:
        (chain,) = argument
        run_chain(self.lists, self.states[chain], int(self.sizes[self.done]), self.every, self.kept[chain])

    @property
    def share(self) -> float:
        """The share of the blocks that is done."""
        return self.done / BLOCKS

    def posterior(self, interrupted: bool = False) -> Posterior:
        """What was seen so far, but for the first blocks, unless there are no others."""
        first = BURN_IN if self.done > BURN_IN else 0
        kept = np.concatenate([self.kept[c, : state.counts[1]] for c, state in enumerate(self.states)])
        ancestors = np.sum([state.ancestors for state in self.states], axis=0) / max(len(kept), 1)
        np.fill_diagonal(ancestors, 0.0)
        different, counts = np.unique(kept, axis=0, return_counts=True)
        most = np.argsort(-counts, kind="stable")[:MOST_GRAPHS]
        members = from_bits(self.lists.bits, self.d)
        blocks = self.edges[:, first : self.done]  # (chains, blocks, d, d)
        count = blocks.shape[0] * blocks.shape[1]
        return Posterior(
            names=tuple(range(self.d)),
            named=False,
            edges=blocks.mean(axis=1),
            errors=blocks.reshape(count, self.d, self.d).std(axis=0, ddof=min(1, count - 1)) / np.sqrt(count),
            ancestors=ancestors,
            graphs=members[different[most]].swapaxes(1, 2),  # (g, parent, node)
            weights=counts[most] / max(len(kept), 1),
            n_sweeps=int(self.sizes[first : self.done].sum()),
            n_sets=self.lists.losses.size,
            interrupted=interrupted,
        )

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
