"""Settings of the paper's ten configurations, and where each is from.

Appendix D of the paper gives the temperature, K, the weights of squared norms and the most steps. Lambda and the
rates of bilevel training are those of the script that the authors released with their code; the rate of joint
training is what the edge counts of the published tables ask for.
"""

from typing import Any, Literal

from daguerreotype._lib.labels import shown
from daguerreotype.edges.registry import EDGES
from daguerreotype.operators.registry import SparseMAP, Sparsemax
from daguerreotype.training.methods import Bilevel, Joint

# Lambda of the authors' script, by edges and training, for each operator.
PAPER_EDGES: dict[tuple[str, str], dict[str, float]] = {
    ("lars", "bilevel"): {},
    ("linear", "bilevel"): {"sparsemax": 0.01, "sparsemap": 0.01},
    ("mlp", "bilevel"): {"sparsemax": 0.01, "sparsemap": 0.01},
    ("linear", "joint"): {"sparsemax": 0.001, "sparsemap": 0.01},
    ("mlp", "joint"): {"sparsemax": 0.0001, "sparsemap": 0.001},
}
Fits = Literal["published", "converged"]


def paper_settings(
    operator: str, edges: str, training: str, fits: Fits = "published", seed: int | None = None
) -> dict[str, Any]:
    """Arguments of the learner for one configuration of the paper; the seed is for its edges."""
    if operator not in ("sparsemax", "sparsemap") or (edges, training) not in PAPER_EDGES:
        choices = ", ".join(f"{name} {mode}" for name, mode in PAPER_EDGES)
        raise ValueError(
            f"the paper has operators 'sparsemax' and 'sparsemap' with edges and training {choices}; got "
            f"{shown(operator)} with {shown(edges)} {shown(training)}."
        )
    if fits not in ("published", "converged"):
        raise ValueError(f"fits must be 'published' or 'converged', got {shown(fits)}.")
    numbers: dict[str, Any] = {
        "learning_rate": _rate(operator, edges, training, fits),
        "l2": 0.0005,
        "max_iter": 5000,
        "tol": 1e-5,
        "patience": 50,
        "loss": "nll_ev",
    }
    slow = (edges, training) == ("mlp", "bilevel")
    sparsemap = SparseMAP(method="peel") if slow else SparseMAP()
    settings: dict[str, Any] = {
        "operator": sparsemap if operator == "sparsemap" else Sparsemax(),
        "training": Joint(**numbers) if training == "joint" else Bilevel(**numbers, refine=False),
        "edges": edges,
        "scales": "none",
        "posterior": 0,
    }
    if edges != "lars":
        own = {"pruning": PAPER_EDGES[edges, training][operator], "random_state": seed or 0}
        entry = EDGES[edges]
        if fits == "converged":
            settings["edges"] = entry.make(**own)
        else:
            settings["edges"] = entry.load().as_published(training, **own)
    return settings


def _rate(operator: str, edges: str, training: str, fits: Fits) -> float:
    """Learning rate of theta."""
    if training == "joint" and fits == "published":
        return 0.01
    return 0.05 if (operator, edges) == ("sparsemax", "lars") else 0.1
