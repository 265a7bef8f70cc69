"""Registry of edge estimators, and what the argument ``edges`` stands for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from daguerreotype._lib.labels import shown
from daguerreotype._lib.registry import Registry, load

if TYPE_CHECKING:
    from daguerreotype.edges.base import EdgeEstimator

RATE = (1e-4, 1e-1, "log")


@dataclass(frozen=True)
class EdgesEntry:
    """An edge estimator under its name.

    Attributes
    ----------
    location : str
        Its class, as ``package.module:Class``, imported when it is asked for.
    help : str
        What it is for, in one line.
    shared : dict
        Settings of its own that the learner passes on, by name, with the learner's word for each: "penalty",
        "gamma", "trust" or "random_state".
    space : dict
        Settings that tuning searches, with their ranges: of the learner, or of its parts as ``edges.name``.
    by_gradient : bool
        Whether it is trained by gradient, so that ``training="joint"`` is possible.
    """

    location: str
    help: str
    shared: Mapping[str, str] = field(default_factory=dict)
    space: Mapping[str, Any] = field(default_factory=dict)
    by_gradient: bool = False

    @property
    def class_name(self) -> str:
        """Name of the class, which is not imported for it."""
        return self.location.partition(":")[2]

    def load(self) -> Any:
        """The class."""
        return load(self.location)

    def make(self, **settings: Any) -> "EdgeEstimator":
        """The estimator with these settings."""
        estimator: EdgeEstimator = self.load()(**settings)
        return estimator


BIC_PRICE = {"penalty": "penalty", "gamma": "gamma", "trust": "trust"}
BIC_SPACE = {"edges.penalty": (0.5, 8.0, "log")}
GRADIENT_SPACE = {
    "training.learning_rate": RATE,
    "edges.pruning": (1e-6, 1e-1, "log"),
    "edges.learning_rate": RATE,
}
SEED = {"random_state": "random_state"}

EDGES: Registry[EdgesEntry] = Registry(
    "edges",
    {
        "gam": EdgesEntry(
            "daguerreotype.edges.additive.estimators:GamEdges", "smooth effects of any shape", BIC_PRICE, BIC_SPACE
        ),
        "bic": EdgesEntry(
            "daguerreotype.edges.additive.estimators:BicEdges",
            "linear, the fastest for many columns",
            BIC_PRICE,
            BIC_SPACE,
        ),
        "lars": EdgesEntry(
            "daguerreotype.edges.lasso:LarsEdges", "as in the paper", space={"training.learning_rate": RATE}
        ),
        "lasso": EdgesEntry(
            "daguerreotype.edges.lasso:LassoEdges",
            "linear, by an l1 penalty",
            space={"training.learning_rate": RATE, "edges.alpha": (1e-3, 1.0, "log")},
        ),
        "linear": EdgesEntry(
            "daguerreotype.edges.linear:LinearEdges",
            "linear, trained by gradient (needs torch)",
            SEED,
            GRADIENT_SPACE,
            by_gradient=True,
        ),
        "mlp": EdgesEntry(
            "daguerreotype.edges.mlp:MlpEdges",
            "neural, trained by gradient (needs torch)",
            SEED,
            GRADIENT_SPACE,
            by_gradient=True,
        ),
    },
)


def make_estimator(
    edges: Any, *, penalty: float = 1.0, gamma: float = 0.0, trust: float | None = None, seed: int = 0
) -> "EdgeEstimator":
    """The estimator behind ``edges``; the settings go to those that take them."""
    if isinstance(edges, str):
        if edges not in EDGES:
            raise ValueError(
                f"edges must be one of {EDGES.listed()}, a scikit-learn regressor, or an EdgeEstimator, "
                f"got {shown(edges)}."
            )
        given = {"penalty": penalty, "gamma": gamma, "trust": trust, "random_state": seed}
        return EDGES[edges].make(**{name: given[word] for name, word in EDGES[edges].shared.items()})
    if isinstance(edges, type):
        raise TypeError(f"edges is the class {edges.__name__}: expected an object. Write {edges.__name__}().")
    from daguerreotype.edges.base import EdgeEstimator
    from daguerreotype.edges.regressor import RegressorEdges

    if isinstance(edges, EdgeEstimator):
        return edges
    if callable(getattr(edges, "fit", None)) and callable(getattr(edges, "predict", None)):
        return RegressorEdges(edges, random_state=seed)
    name = type(edges).__name__
    if hasattr(edges, "prepare"):
        raise TypeError(
            f"edges is a {name}, which has prepare but is no EdgeEstimator: derive its class from "
            "daguerreotype.edges.EdgeEstimator, and that of what it prepares from LocalModels. What more than fit "
            "they have is said in can = Capabilities(...)."
        )
    raise TypeError(
        f"edges is a {name}: expected one of {EDGES.listed()}, a regressor with fit and predict, or an "
        "EdgeEstimator."
    )


def entry_of(edges: Any) -> EdgesEntry | None:
    """The entry of a name, or of an object of a registered class; None for others."""
    if isinstance(edges, str):
        return EDGES.get(edges)
    cls = type(edges)
    location = f"{cls.__module__}:{cls.__qualname__}"
    return next((entry for entry in EDGES.values() if entry.location == location), None)
