"""Is knowledge ever broken? Fits of random tables under random knowledge, by all kinds of learners, and a count.

    python benchmarks/knowledge.py --fits 3000

Everything that a fit returns is looked at: the graph, the probabilities of its edges, the order and every ranking
of the distribution.
"""

import argparse
import time
from collections import Counter
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from daguerreotype import Daguerreotype, Knowledge, OrderDistribution
from daguerreotype.edges import RegressorEdges
from daguerreotype.edges.linear import LinearEdges
from daguerreotype.edges.mlp import MlpEdges
from daguerreotype.operators import FixedOrder, RandomOrder, SparseMAP, Sparsemax, k_best_rankings
from daguerreotype.training import Bilevel, Joint


class Case(NamedTuple):
    """One fit: a table, what is known about it, and the settings of the learner."""

    X: np.ndarray
    known: dict[str, Any]
    name: str
    settings: dict[str, Any]


def softmax(theta, tau, precedence=None):
    """An operator of a user's: softmax over the best rankings that obey."""
    ranks, scores = k_best_rankings(theta, 8, precedence=precedence)
    probs = np.exp((scores - scores.max()) / tau)
    probs /= probs.sum()
    return OrderDistribution(probs, ranks, lambda grad: (probs * (grad - probs @ grad)) @ (ranks + 1) / tau)


EDGES = {
    "gam": lambda: "gam",
    "bic": lambda: "bic",
    "lars": lambda: "lars",
    "lasso": lambda: "lasso",
    "linear": lambda: LinearEdges(max_iter=60),
    "mlp": lambda: MlpEdges(hidden=3, max_iter=20, device="cpu"),
    "regressor": lambda: RegressorEdges(LinearRegression(), random_state=0, cv=2),
    "tree": lambda: RegressorEdges(DecisionTreeRegressor(max_depth=2), random_state=0, cv=None),
}
OPERATORS = {
    "sparsemax": lambda k, tau, order: Sparsemax(k, tau),
    "sparsemap": lambda k, tau, order: SparseMAP(k, tau),
    "own": lambda k, tau, order: softmax,
    "fixed": lambda k, tau, order: FixedOrder(order),
    "random": lambda k, tau, order: RandomOrder(),
}
TRAINED_JOINTLY = ("linear", "mlp")


def draw_known(rng: np.random.Generator, order: np.ndarray) -> dict[str, list]:
    """Random knowledge that some graphs with this order obey."""
    d = order.size
    place = np.argsort(order)
    pairs = rng.random((d, d))
    required = [
        (i, j) for i, j in np.argwhere(pairs < rng.choice([0.0, 0.1, 0.3])).tolist() if place[i] < place[j]
    ]
    forbidden = np.argwhere(pairs > 1 - rng.choice([0.0, 0.2, 0.5])).tolist()
    known: dict[str, list] = {"required": required, "forbidden": [(i, j) for i, j in forbidden if i != j]}
    if rng.random() < 0.6:  # neighbours in the order share a tier, some are in none
        cuts = np.sort(rng.integers(0, d + 1, size=rng.integers(1, 4)))
        groups = [part[rng.random(part.size) < 0.8] for part in np.split(order, cuts)]
        known["tiers"] = [group.tolist() for group in groups if group.size]
    causes, effects = {i for i, _ in required}, {j for _, j in required}
    known["roots"] = [j for j in range(d) if j not in effects and rng.random() < 0.1]
    known["leaves"] = [i for i in range(d) if i not in causes and rng.random() < 0.1]
    return known


def draw_limits(rng: np.random.Generator, required: list, d: int) -> dict[str, Any]:
    """Random limits on parents that leave room for required edges: one for all columns, or numbers for some."""
    least = np.bincount([effect for _, effect in required], minlength=d)
    if rng.random() < 0.3:
        return {"max_parents": int(least.max() + rng.integers(3))}
    if rng.random() < 0.3:
        return {"max_parents": {j: int(least[j] + rng.integers(2)) for j in range(d) if rng.random() < 0.5}}
    return {}


def draw_case(seed: int) -> Case:
    """A random table of 3 to 7 columns, random knowledge about it, and a random learner."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(3, 8)), int(rng.integers(30, 61))
    order = rng.permutation(d)
    X = rng.normal(size=(n, d))
    for p in range(1, d):
        cause = order[rng.integers(p)]
        X[:, order[p]] += rng.choice([-1.5, 1.0]) * (
            X[:, cause] if rng.random() < 0.5 else np.tanh(2 * X[:, cause])
        )
    known = draw_known(rng, rng.permutation(d) if rng.random() < 0.5 else order)  # right, or just possible
    # Quick estimators more often: there are more ways to go wrong in what they share.
    edges = str(rng.choice(list(EDGES), p=[0.2, 0.25, 0.15, 0.1, 0.1, 0.05, 0.075, 0.075]))
    operator = str(rng.choice(list(OPERATORS), p=[0.35, 0.35, 0.1, 0.1, 0.1]))
    joint = edges in TRAINED_JOINTLY and rng.random() < 0.5
    start: Any = str(rng.choice(["zeros", "variances", "scores", "order"]))
    order = obeying_order(known, d) if operator == "fixed" else []
    if start == "scores":
        start = rng.normal(size=d)
    elif start == "order":
        start = rng.permutation(d).tolist()
    descent: dict[str, Any] = {"max_iter": 15, "start": start}
    if not joint:
        loss, refine = str(rng.choice(["auto", "nll_ev", "bic", "entropy"])), bool(rng.random() < 0.7)
        descent |= {"loss": loss, "refine": refine, "n_restarts": 1}
    k, tau = int(rng.integers(2, 30)), float(rng.choice([0.1, 1.0, 5.0]))
    settings = {
        "operator": OPERATORS[operator](k, tau, order),
        "edges": EDGES[edges](),
        "training": Joint(**descent) if joint else Bilevel(**descent),
        "scales": "none",
        "random_state": int(rng.integers(1000)),
    }
    known |= draw_limits(rng, known["required"], d)
    return Case(X, known, f"{edges}, {operator}{', joint' if joint else ''}", settings)


def obeying_order(known: dict[str, list], d: int) -> list[int]:
    """An order of the columns that obeys, found by trying."""
    tier = {column: number for number, columns in enumerate(known.get("tiers", [])) for column in columns}
    graph = nx.DiGraph(known["required"])
    graph.add_nodes_from(range(d))
    graph.add_edges_from((i, j) for i in tier for j in tier if tier[i] < tier[j])
    return list(nx.topological_sort(graph))


def violations(model: Daguerreotype, known: dict[str, list]) -> list[str]:
    """All that a fit returned against what was known."""
    found = []
    adjacency, tables = np.asarray(model.adjacency_matrix_), []
    if model.posterior_ is not None:
        tables += [np.asarray(model.edge_probabilities_), *model.posterior_.graphs]
    d = len(adjacency)
    never = set(known["forbidden"])
    never |= {(i, j) for i in range(d) for j in known["roots"]} | {
        (i, j) for i in known["leaves"] for j in range(d)
    }
    tiers = list(enumerate(known.get("tiers", [])))
    first = [(i, j) for s, early in tiers for t, late in tiers if s < t for i in early for j in late]
    never |= {(j, i) for i, j in first}
    found += [f"{i} -> {j} is there" for i, j in never if any(table[i, j] > 0 for table in [adjacency, *tables])]
    for i, j in known["required"]:
        if any(abs(table[i, j] - 1) > 1e-9 for table in [adjacency, *tables]):
            found.append(f"{i} -> {j} is missing")
    graphs = [adjacency] if model.posterior_ is None else [adjacency, *model.posterior_.graphs]
    limit = known.get("max_parents", d)
    limits = [limit] * d if isinstance(limit, int) else [limit.get(j, d) for j in range(d)]
    found += ["max_parents is broken" for graph in graphs if np.any(np.asarray(graph).sum(axis=0) > limits)]
    orders = [np.argsort(model.causal_order_), *model.order_distribution_.ranks]
    for i, j in [*known["required"], *first]:
        found += [f"{j} stands before {i}" for ranks in orders if ranks[i] > ranks[j]]
    if not nx.is_directed_acyclic_graph(nx.DiGraph(adjacency)):
        found.append("cycle")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first fit")
    parser.add_argument("--smoke", action="store_true", help="a few fits, to see that it runs")
    arguments = parser.parse_args()
    n_fits = 4 if arguments.smoke else arguments.fits
    counts: Counter[str] = Counter()
    started, broken, rankings = time.perf_counter(), 0, 0
    for seed in range(arguments.first, arguments.first + n_fits):
        case = draw_case(seed)
        model = Daguerreotype(knowledge=Knowledge(**case.known), **case.settings).fit(case.X)
        counts[case.name] += 1
        rankings += len(model.order_distribution_)
        found = violations(model, case.known)
        broken += bool(found)
        for each in found[:3]:
            print(f"fit {seed} ({case.name}): {each}")
    for name, count in sorted(counts.items()):
        print(f"  {name:<28}{count:>6}")
    print(f"{n_fits} fits, {rankings} rankings, {broken} violations, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
