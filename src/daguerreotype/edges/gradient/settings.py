"""Settings of edges that are trained by gradient, linear and neural."""

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class GradientEdges:
    """Settings of gradient-trained edges; the defaults are the paper's (appendix D).

    Parameters
    ----------
    pruning : float
        Lambda, the penalty of an open gate. Larger gives fewer edges.
    l2 : float
        Weight of the squared norm of all weights.
    gates : {"bernoulli", "hard-concrete"}
        How edges are switched off: binary gates with the straight-through estimator (the paper's), or their
        smooth relaxation.
    optimizer : {"adam", "sgd"}
        For the edges' parameters.
    learning_rate : float
        For the edges' parameters.
    max_iter : int
        Most iterations of one inner problem.
    tol, patience : float, int
        An inner problem stops when ``patience`` iterations have not improved its loss by ``tol`` (relative).
    batch_size : int or None
        Rows per step; None takes all. Bounds the memory of tables with many rows.
    device : {"auto", "cpu", "cuda"}
        Where to compute; "auto" takes a GPU if there is one.
    dtype : {"float32", "float64"}
        Precision.
    random_state : int
        Seeds starts and gates. The same seed gives the same result on one device.
    """

    pruning: float = 0.01
    l2: float = 0.0005
    gates: Literal["bernoulli", "hard-concrete"] = "bernoulli"
    optimizer: Literal["adam", "sgd"] = "adam"
    learning_rate: float = 0.1
    max_iter: int = 1000
    tol: float = 1e-4
    patience: int = 20
    batch_size: int | None = None
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "float64"] = "float32"
    random_state: int = 0

    def check(self) -> None:
        """Refuse settings that no training could use, before any work."""
        for name in ("pruning", "l2", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, int | float) and np.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be above 0, got {self.learning_rate!r}.")
        for name in ("max_iter", "patience", "batch_size"):
            value = getattr(self, name)
            if name == "batch_size" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        for name, known in (
            ("gates", ("bernoulli", "hard-concrete")),
            ("optimizer", ("adam", "sgd")),
            ("device", ("auto", "cpu", "cuda")),
            ("dtype", ("float32", "float64")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"{name} must be one of {', '.join(map(repr, known))}, got {getattr(self, name)!r}."
                )
