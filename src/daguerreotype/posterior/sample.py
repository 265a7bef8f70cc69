"""Sampling of the posterior: orders are drawn, their parent sets listed, and chains run over graphs of these.

Where all graphs that count can be listed, or chains have met nearly all of them, each is weighed by its own score,
and how often it was met does not matter: then chains need not find the way from one group of graphs to another.
Where there are too many graphs for that, probabilities are averages over the turns of single nodes, which have few
sets to choose from.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.archive import Arrays, Header
from daguerreotype._lib.bits import as_bits, from_bits
from daguerreotype._lib.parallel import Threads
from daguerreotype._lib.typing import BoolArray, FloatArray, IntArray
from daguerreotype.posterior.chain import (
    ChainState,
    SetLists,
    add_ancestors,
    list_graphs,
    new_chain,
    new_scratch,
    run_chain,
)
from daguerreotype.posterior.parent_sets import Evidence, SetCollector
from daguerreotype.posterior.record import MOST_GRAPHS, Posterior
from daguerreotype.training.checkpoint import NOT_SAVED, Stage
from daguerreotype.training.scores import OrderScores
from daguerreotype.training.state import TrainingResult

logger = logging.getLogger("daguerreotype")

BLOCKS = 20  # of a chain: errors are estimated by how much they differ
BURN_IN = 2  # of these blocks, which do not count
MOST_KEPT = 20_000  # graphs of a chain
# Share of the probability that graphs which were not met may have, for those that were met to be weighed by score.
UNSEEN = 0.02
# Graphs are listed one by one if they are no more than all of five nodes, in so many steps.
MOST_LISTED, MOST_STEPS = 30_000, 100_000
MUCH_WORSE = 12.0  # nats; all such graphs together are hardly ever worth a hundredth
DIGITS = 12  # of a probability
TURNS_AT_ONCE = 20_000  # of single nodes, in one call of the kernel: a fraction of a second


@dataclass(frozen=True)
class Effort:
    """How much is sampled.

    Attributes
    ----------
    n_sweeps : int
        Turns of every node in each chain over graphs.
    n_chains : int
        Chains, each from another graph.
    n_orders : int
        Orders that parent sets are listed from.
    n_choices : int
        How often a node chooses among all others, its favourites left out in turn.
    """

    n_sweeps: int
    n_chains: int
    n_orders: int
    n_choices: int


def short_effort(scores: OrderScores, n_sweeps: int) -> Effort:
    """What a fit ends with: about as much work as refining was. Where orders need single fits, there are few."""
    return Effort(n_sweeps, n_chains=2, n_orders=20 if scores.quick else 1, n_choices=5)


def long_effort(scores: OrderScores, n_sweeps: int, n_chains: int) -> Effort:
    """What a posterior of its own takes."""
    return Effort(n_sweeps, n_chains, *((100, 40) if scores.quick else (10, 20)))


def draw_graphs(
    training: TrainingResult,
    scores: OrderScores,
    effort: Effort,
    *,
    seed: int = 0,
    n_jobs: int = 1,
    stage: Stage = NOT_SAVED,
    progress: Callable[[float], None] = lambda done: None,
) -> Posterior:
    """The posterior around the order that training found, by node of the table; along it alone, if it was given.

    Ctrl-C ends it with what there is, once chains have begun.
    """
    evidence = Evidence(scores, training.table is not None and bool(training.table.discrete.any()))
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    saved = stage.load()
    if saved is None:
        lists, starts = list_sets(evidence, training.order, effort, rng, training.order_given)
    else:
        lists, starts = SetLists(*(saved[0][name] for name in SetLists._fields)), saved[0]["begun"]
    seeds = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(effort.n_chains, np.uint64).tolist()
    chains = Chains(lists, starts, seeds, effort.n_sweeps)
    if saved is not None:
        chains.restore(saved[0])

    def state() -> tuple[Arrays, Header]:
        return {**lists._asdict(), "begun": starts, **chains.arrays()}, {}

    def after() -> None:
        progress(chains.share)
        stage.keep(state, always=chains.share == 1.0)
        scores.run.cancel.check()

    stage.keep(state)  # listing sets may have taken long

    interrupted = False
    try:
        chains.run(n_jobs, after)
    except KeyboardInterrupt:
        if not any(state.counts[1] for state in chains.states):  # no graph was met that counts
            raise
        logger.warning("interrupted while sampling graphs: probabilities are those of what was seen until then.")
        interrupted = True
    return chains.posterior(interrupted)


def list_sets(
    evidence: Evidence, order: IntArray, effort: Effort, rng: np.random.Generator, fixed: bool = False
) -> tuple[SetLists, IntArray]:
    """The parent sets of likely orders, and the sets (chains, d) of some graphs among them to start from."""
    collector = SetCollector(evidence, order if fixed else None)
    graphs = [collector.visit(order)]
    for _ in range(0 if fixed else effort.n_orders):
        order = evidence.scores.draw_sweep(order, evidence.n_rows, rng)
        graphs.append(collector.visit(order))
    collector.search(effort.n_choices)
    lists = collector.lists()
    # Draws forget the order that was found, which need not be the best: later ones are better to start from.
    chosen = np.linspace(len(graphs) - 1, len(graphs) // 2, effort.n_chains).astype(np.int64)
    return lists, np.stack([_places(lists, graphs[i]) for i in chosen])


def _places(lists: SetLists, graph: BoolArray) -> IntArray:
    """Where the parents of every node (d, d) stand in its list, or those of them that it has."""
    places = []
    for node, bits in enumerate(as_bits(graph.T)):
        first, last = lists.starts[node : node + 2]
        within = ~np.any(lists.bits[first:last] & ~bits, axis=1)
        places.append(first + int(np.flatnonzero(within)[0]))  # the best comes first
    return np.array(places)


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
        self.n_blocks = min(BLOCKS, n_sweeps)
        self.sizes = np.diff(np.linspace(0, n_sweeps, self.n_blocks + 1).astype(np.int64))
        self.states = [new_chain(lists, start, seed) for start, seed in zip(starts, seeds, strict=True)]
        self.scratches = [new_scratch(lists) for _ in self.states]
        self.kept: IntArray = np.zeros((self.n_chains, n_sweeps // self.every + 1, self.d), dtype=np.int64)
        self.edges: FloatArray = np.zeros((self.n_chains, self.n_blocks, self.d, self.d))
        self.done = 0

    def run(self, n_jobs: int = 1, after: Callable[[], None] = lambda: None) -> None:
        """Go on to the end; ``after`` is called after every block, and may raise."""
        threads = Threads(n_jobs)
        members = from_bits(self.lists.bits, self.d)
        while self.done < self.n_blocks:
            threads.map(self._block, range(self.n_chains))
            for chain, state in enumerate(self.states):
                first = self.lists.starts[:-1]
                mass = np.add.reduceat(state.mass[:, None] * members, first)  # (node, parent)
                totals = np.add.reduceat(state.mass, first)
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
        rest, at_once = int(self.sizes[self.done]), max(TURNS_AT_ONCE // self.d, 1)
        state, scratch = self.states[chain], self.scratches[chain]
        while rest > 0:
            n_sweeps = min(rest, at_once)
            run_chain(self.lists, state, scratch, n_sweeps, self.every, self.kept[chain])
            rest -= n_sweeps

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

    def _everything(self, met: IntArray) -> IntArray | None:
        """All graphs (g, d) that are not much worse than the best one met, if they are few enough to be listed."""
        best = float(self.lists.losses[met].sum(axis=1).min())
        # Empty sets need not be in the lists, so that the state is made without any.
        state = new_chain(self.lists, self.lists.starts[:-1], 0)
        state.parents[:] = 0
        state.children[:] = 0
        graphs = np.empty((MOST_LISTED, self.d), dtype=np.int64)
        count = list_graphs(self.lists, state, best + MUCH_WORSE, MOST_STEPS, graphs)
        return None if count < 0 else graphs[:count].copy()

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
