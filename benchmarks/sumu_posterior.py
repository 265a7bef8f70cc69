"""Probabilities of edges by sumu's Gadget (Viinikka et al. 2020), for an interpreter that has sumu.

``calibration.py`` runs it: how many candidate parents a column has is its argument, a table (n, d) comes as an
.npy file on the standard input, and JSON goes to the standard output: ``probabilities`` (d, d) and ``seconds`` of
the processor, those of imports left out.

Partition MCMC with the BGe score, eight Metropolis-coupled chains, 15000 steps of which the first 5000 do not
count, and a graph drawn at every tenth step. Columns are as they came: the noise of the benchmark's tables has the
scale that this prior expects, and standardized columns did worse.
"""

import io
import json
import os
import sys
import time

import numpy as np
import sumu

BURN_IN, STEPS, THINNING = 5000, 10000, 10
N_CHAINS = 8


def edge_probabilities(X: np.ndarray, n_candidates: int) -> np.ndarray:
    """Share of the sampled graphs (d, d) that have each edge."""
    d = X.shape[1]
    np.random.seed(0)  # noqa: NPY002 - the generator that sumu draws from
    sampler = sumu.Gadget(
        data=sumu.Data(X, discrete=False),
        scoref="bge",
        ess=10,
        max_id=-1,
        K=n_candidates,
        d=3,
        cp_algo="top" if n_candidates == d - 1 else "greedy-lite",
        mc3_chains=N_CHAINS,
        burn_in=BURN_IN,
        iterations=STEPS,
        thinning=THINNING,
        tolerance=2.0**-32,
    )
    graphs, _ = sampler.sample()
    shares = np.zeros((d, d))
    for graph in graphs:
        for node, *parents in graph:  # (node,) or (node, parents)
            for parent in parents[0] if parents else ():
                shares[parent, node] += 1.0 / len(graphs)
    return shares


def main() -> None:
    X = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    with os.fdopen(os.dup(1), "w") as reply:
        os.dup2(2, 1)  # what the library prints must not mix with the reply
        start = time.process_time()
        shares = edge_probabilities(X, int(sys.argv[1]))
        json.dump({"probabilities": shares.tolist(), "seconds": time.process_time() - start}, reply)


if __name__ == "__main__":
    main()
