"""How does the learner grow with the number of variables? Seconds, memory and quality beside its peers'.

Run ``python benchmarks/scale.py --sizes 20 50`` for some numbers of variables, or with ``--smoke`` for a quick
pass; all of them take some 20 minutes. `fits` says what is fitted and how it is measured. Ours is timed alone,
peers two at a time, up to 200 variables. A peer that takes longer than its limit at one size is not asked at
larger ones. Graphs with hubs, targets of 50 parents, stand beside Erdős-Rényi graphs of as many edges.
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from fits import PEERS, Row, ask, installed
from tables import find_figures, fits_table, number, phases_table, sort_cases

SIZES = {20: 5, 50: 5, 100: 6, 200: 1, 500: 3, 1000: 1, 2000: 1}  # number of variables: of problems
HUB_SIZES = (200, 500, 1000)
LARGEST_GAM = 100  # variables; splines have six times the columns
LARGEST_PEER = 200
LIMITS = {"boss": 300.0, "grasp": 180.0, "dagma": 120.0, "notears": 90.0}  # CPU seconds of a fit


def measure_all(
    sizes: dict[int, int] = SIZES,
    graphs: Sequence[str] = ("SF", "ER"),
    hubs: Sequence[int] = HUB_SIZES,
    limits: dict[str, float] = LIMITS,
) -> list[Row]:
    """Rows of all fits, of those peers that have a limit and are installed."""
    rows = list(ask_ours(sizes, graphs, [d for d in hubs if d in sizes]))
    peers = [(peer, graph) for peer, graph in product(limits, graphs) if peer in installed()]
    small = {d: seeds for d, seeds in sizes.items() if d <= LARGEST_PEER}
    with ThreadPoolExecutor(2) as threads:
        climbs = [threads.submit(ask_peer, peer, graph, small, limits[peer]) for peer, graph in peers]
        return rows + [row for climb in climbs for row in climb.result()]


def ask_ours(sizes: dict[int, int], graphs: Sequence[str], hubs: Sequence[int]) -> Iterator[Row]:
    """Rows of our fits, one process after the other."""
    for graph, (d, seeds) in product(graphs, sizes.items()):
        for method in ("bic", "true order", *(["gam"] if d <= LARGEST_GAM else [])):
            yield from say(ask(graph, d, seeds, method))
    for d, method in product(hubs, ("bic", "true order")):
        yield from say(ask("hubs", d, sizes[d], method))


def ask_peer(peer: str, graph: str, sizes: dict[int, int], limit: float) -> list[Row]:
    """Rows of a peer up to the first size at which it takes too long."""
    rows: list[Row] = []
    for d, seeds in sizes.items():
        rows += say(ask(graph, d, seeds, peer, limit))
        if not rows[-1]["finished"]:
            break
    return rows


def say(rows: list[Row]) -> list[Row]:
    """Print what was measured, and hand it on."""
    for row in rows:
        label = f"{row['graph']} d = {row['d']} {row['method']}, problem {row['seed']}"
        found = f"{number(row['seconds'])} s, SHD {row['SHD']:.0f}" if row["finished"] else "took too long"
        print(f"{label}: {found}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="small sizes, a few seconds")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of variables")
    parser.add_argument("--graphs", nargs="+", default=["SF", "ER"], choices=["SF", "ER"], help="kinds of graphs")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS), help="whom to ask")
    parser.add_argument("--time-limit", type=float, help="CPU seconds that a peer's fit may take")
    options = parser.parse_args()
    if options.smoke:
        rows = measure_all({8: 1}, ["ER"], [], {})
    else:
        sizes = {d: SIZES.get(d, 1) for d in sorted(options.sizes)}
        limits = {peer: options.time_limit or LIMITS[peer] for peer in options.peers}
        rows = measure_all(sizes, options.graphs, HUB_SIZES, limits)
    cases = sort_cases(rows)
    print(f"\n{fits_table(cases)}\nWhere the time of bic goes\n\n{phases_table(cases)}")
    for name, value in find_figures(cases).items():
        print(f"{name}: {number(value)}")


if __name__ == "__main__":
    main()
