"""From losses of orders to a posterior: orders are drawn, their parent sets listed, and chains run over graphs."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daguerreotype._lib.archive import Arrays
from daguerreotype._lib.bits import as_bits
from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.posterior.evidence import Evidence
from daguerreotype.posterior.record import Posterior
from daguerreotype.posterior.sampler import Chains
from daguerreotype.posterior.set_lists import SetCollector
from daguerreotype.posterior.sets import SetLists
from daguerreotype.training.checkpoint import Stage
from daguerreotype.training.order_scores import OrderScores

logger = logging.getLogger("daguerreotype")


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


def sample_posterior(
    evidence: Evidence,
    order: IntArray,
    effort: Effort,
    *,
    fixed: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    stage: Stage | None = None,
    progress: Callable[[float], None] = lambda done: None,
) -> Posterior:
    """The posterior around an order that was found, by node of the table; or along it alone, if it is ``fixed``.

    Ctrl-C ends it with what there is, once chains have begun.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    saved = None if stage is None else stage.load()
    if saved is None:
        lists, starts = list_sets(evidence, order, effort, rng, fixed)
    else:
        arrays = saved[0]
        lists, starts = _saved_lists(arrays), arrays["begun"]
    seeds = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(effort.n_chains, np.uint64).tolist()
    chains = Chains(lists, starts, seeds, effort.n_sweeps)
    if saved is not None:
        chains.restore(saved[0])

    def keep() -> None:
        if stage is not None and (stage.due(chains.done) or chains.share == 1.0):
            stage.keep({**lists._asdict(), "begun": starts, **chains.arrays()}, {})

    def after() -> None:
        progress(chains.share)
        keep()
        evidence.scores.run.cancel.check()

    keep()  # listing sets may have taken long

    interrupted = False
    try:
        chains.run(n_jobs, after)
    except KeyboardInterrupt:
        if not chains.done:
            raise
        logger.warning("interrupted while sampling graphs: probabilities are those of what was seen until then.")
        interrupted = True
    return chains.posterior(interrupted)


def list_sets(
    evidence: Evidence, order: IntArray, effort: Effort, rng: np.random.Generator, fixed: bool = False
) -> tuple[SetLists, IntArray]:
    """The parent sets of likely orders, and the sets (chains, d) of some graphs among them to start from."""
    collector = SetCollector(evidence, order if fixed else None)
    orders, graphs = [order], [collector.visit(order)]
    for _ in range(0 if fixed else effort.n_orders):
        order = evidence.scores.draw_sweep(order, evidence.n_rows, rng)
        orders.append(order)
        graphs.append(collector.visit(order))
    collector.search(effort.n_choices)
    # Draws forget the order that was found, which need not be the best: later ones are better to start from.
    some = np.linspace(len(graphs) - 1, len(graphs) // 2, effort.n_chains).astype(np.int64)
    if evidence.scores.constraints.max_children is not None:
        some[0] = 0
        for i in {0, *some.tolist()}:  # chains begin with graphs that obey; what was learned is among the lists
            graphs[i] = collector.visit_graph(orders[i])
    lists = collector.lists()
    return lists, np.stack([_places(lists, graphs[i]) for i in some])


def _saved_lists(arrays: Arrays) -> SetLists:
    """The lists of a file; those of older ones know of no limits."""
    no_limits: Arrays = {"max_children": np.zeros(0, dtype=np.int64)}
    return SetLists._make((no_limits | arrays)[name] for name in SetLists._fields)


def _places(lists: SetLists, graph: BoolArray) -> IntArray:
    """Where the parents of every node (d, d) stand in its list, or those of them that it has."""
    places = []
    for node, bits in enumerate(as_bits(graph.T)):
        first, last = lists.starts[node : node + 2]
        within = ~np.any(lists.bits[first:last] & ~bits, axis=1)
        places.append(first + int(np.flatnonzero(within)[0]))  # the best comes first
    return np.array(places)
