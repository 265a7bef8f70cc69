"""The likeliest graphs that chains meet: where children are limited, which orders alone do not tell."""

from collections.abc import Iterator

import numpy as np

from daguerreotype._lib.bits import from_bits
from daguerreotype._lib.typing import BoolArray, IntArray
from daguerreotype.posterior.evidence import Evidence
from daguerreotype.posterior.sample import Effort, list_sets
from daguerreotype.posterior.sampler import Chains

N_SWEEPS, N_CHAINS, N_CHOICES = 500, 4, 40
MOST = 100  # graphs that are told


def likeliest_graphs(evidence: Evidence, order: IntArray) -> Iterator[BoolArray]:
    """Graphs (d, d) that obey all limits, the likeliest first, from short chains around an order."""
    rng = np.random.default_rng(0)
    effort = Effort(N_SWEEPS, N_CHAINS, 20 if evidence.scores.quick else 1, N_CHOICES)
    lists, starts = list_sets(evidence, order, effort, rng)
    chains = Chains(lists, starts, list(range(N_CHAINS)), N_SWEEPS)
    chains.run(evidence.scores.run.n_jobs, evidence.scores.run.cancel.check)
    members = from_bits(lists.bits, order.size)
    for graph in chains.best(MOST):
        yield members[graph].T
