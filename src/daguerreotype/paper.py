"""Settings of the paper's ten configurations (appendix D)."""

from typing import Any

from daguerreotype.edges.registry import EDGES

# Lambda of the paper's configurations, by edges and training, for each operator.
PAPER_EDGES: dict[tuple[str, str], dict[str, float]] = {
    ("lars", "bilevel"): {},
    ("linear", "bilevel"): {"sparsemax": 0.01, "sparsemap": 0.01},
    ("mlp", "bilevel"): {"sparsemax": 0.01, "sparsemap": 0.01},
    ("linear", "joint"): {"sparsemax": 0.001, "sparsemap": 0.01},
    ("mlp", "joint"): {"sparsemax": 0.0001, "sparsemap": 0.001},
}


def paper_settings(operator: str, edges: str, training: str) -> dict[str, Any]:
    """Arguments of the learner for one configuration of the paper."""
    if operator not in ("sparsemax", "sparsemap") or (edges, training) not in PAPER_EDGES:
        known = ", ".join(f"{name} {mode}" for name, mode in PAPER_EDGES)
        raise ValueError(
            f"the paper has operators 'sparsemax' and 'sparsemap' with edges and training {known}; got "
            f"{operator!r} with {edges!r} {training!r}."
        )
    slow = (edges, training) == ("mlp", "bilevel")
    settings: dict[str, Any] = {
        "operator": "sparsemap-peel" if slow and operator == "sparsemap" else operator,
        "training": training,
        "edges": edges,
        "k": 100,
        "tau": 1.0,
        "loss": "nll_ev",
        "transform": "none",
        "refine": False,
        "posterior": 0,
        "learning_rate": 0.05 if (operator, edges) == ("sparsemax", "lars") else 0.1,
        "l2_theta": 0.0005,
        "max_iter": 5000,
        "tol": 1e-5,
        "patience": 50,
    }
    if edges != "lars":
        settings["edges"] = EDGES[edges].make(pruning=PAPER_EDGES[edges, training][operator])
    return settings
