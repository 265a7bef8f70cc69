"""Learners from settings in one flat dict, which tests combine and override one by one."""

from dataclasses import fields
from typing import Any

from daguerreotype import Daguerreotype
from daguerreotype.operators import FixedOrder, RandomOrder, SparseMAP, Sparsemax
from daguerreotype.training import Bilevel, Joint


def make_learner(**flat: Any) -> Daguerreotype:
    """The learner whose parts have those of the settings that they take: ``k=10, max_iter=20, scales="none"``.

    ``operator`` may also be "sparsemap-peel", "random", or "fixed" with the order as ``start``.
    """
    operator, training = flat.pop("operator", "sparsemax"), flat.pop("training", "bilevel")
    tau = {"tau": flat.pop("tau")} if "tau" in flat else {}
    k = [flat.pop("k")] if "k" in flat else []
    if isinstance(operator, str) and operator == "sparsemax":
        operator = Sparsemax(*k, **tau)
    elif isinstance(operator, str) and operator in ("sparsemap", "sparsemap-peel"):
        method = "peel" if operator == "sparsemap-peel" else "active-set"
        operator = SparseMAP(*k, method=method, **tau)
    elif isinstance(operator, str) and operator == "fixed":
        operator = FixedOrder(flat.pop("start"))
    elif isinstance(operator, str) and operator == "random":
        operator = RandomOrder()
    own = {field.name for field in fields(Bilevel)}
    given = {name: flat.pop(name) for name in list(flat) if name in own}
    if isinstance(training, str) and training in ("bilevel", "joint"):
        kind = {"bilevel": Bilevel, "joint": Joint}[training]
        training = kind(**{name: given[name] for name in given if name in {field.name for field in fields(kind)}})
    return Daguerreotype(operator=operator, training=training, **flat)


def edge_of(model: Any, cause: Any, effect: Any) -> Any:
    """The row of ``edges_`` for one edge."""
    (row,) = (row for row in model.edges_.itertuples() if (row.cause, row.effect) == (cause, effect))
    return row
