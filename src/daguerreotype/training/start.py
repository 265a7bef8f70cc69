"""Scores that training starts from."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from daguerreotype._lib.labels import ColumnPlaces, shown
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.operators.registry import FixedOrder, RandomOrder
from daguerreotype.training.constraints import Constraints

EXPECTED = "'zeros', 'variances', an order of all columns, or a float for each, its score"
GAP = 0.1  # score gap, in units of tau, between neighbours of an order that theta is made from


def order_to_theta(order: IntArray, tau: float) -> FloatArray:
    """Scores that sort into ``order``, close enough for the distribution to reach its neighbours."""
    theta = np.empty(order.size)
    theta[order] = GAP * tau * (np.arange(order.size) - 0.5 * (order.size - 1))
    return theta


def make_start(
    start: Any,
    operator: Any,
    *,
    names: Sequence[Hashable],
    numbered: bool = False,
    variances: FloatArray,
    tau: float,
    rng: np.random.Generator,
    columns: IntArray,
) -> FloatArray:
    """Scores (d,) to start from, one per column: of the operator's order, or of the training's ``start``.

    A random order is drawn from ``columns`` as they are listed.
    """
    if isinstance(operator, RandomOrder):
        return order_to_theta(rng.permutation(columns), tau)
    if isinstance(operator, FixedOrder):
        expected = "an order of all columns"
        listed = _as_list(operator.order, "order", expected, len(names))
        return order_to_theta(_as_order(listed, "order", names, numbered), tau)
    if isinstance(start, str):
        if start == "zeros":
            return np.zeros(len(names))
        if start == "variances":
            centred: FloatArray = variances - np.median(variances)
            return centred
        raise ValueError(f"start must be {EXPECTED}, got {shown(start)}.")
    listed = _as_list(start, "start", EXPECTED, len(names))
    # Whole numbers alone are never scores: a broken order would pass for them.
    if any(isinstance(entry, float | np.floating) for entry in listed) and not isinstance(
        names[0], float | np.floating
    ):
        return _as_scores(listed)
    rule = "; scores are floats, as 0.5 or 1.0"
    return order_to_theta(_as_order(listed, "start", names, numbered, rule), tau)


def make_obeying(theta: FloatArray, constraints: Constraints, operator: Any, tau: float) -> FloatArray:
    """The start moved to scores that obey: projected, or a random order of those that do."""
    if constraints.precedence is not None and isinstance(operator, RandomOrder):
        return order_to_theta(constraints.precedence.extension(theta), tau)
    return constraints.project(theta)


def _as_list(given: Any, what: str, expected: str, d: int) -> list[Any]:
    """The entries of an order or of scores, one per column."""
    plain = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    if not plain or getattr(given, "ndim", 1) != 1:
        raise TypeError(f"{what} must be {expected}, got {shown(given)}.")
    listed = list(given)
    if len(listed) != d:
        raise ValueError(f"{what} has {len(listed)} entries, but the table has {d} columns.")
    return listed


def _as_scores(listed: list[Any]) -> FloatArray:
    """Scores as an array."""
    try:
        scores = np.asarray(listed, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"start must be {EXPECTED}, got {shown(listed)}.") from None
    if not np.isfinite(scores).all():
        raise ValueError("start holds scores that are not finite.")
    return scores


def _as_order(listed: list[Any], what: str, names: Sequence[Hashable], numbered: bool, rule: str = "") -> IntArray:
    """Positions of an order given by names, or by position unless names are whole numbers themselves."""
    whole = (int, np.integer)
    by_position = numbered or not any(isinstance(name, whole) for name in names)
    places, positions = ColumnPlaces(names, numbered=numbered), ColumnPlaces(range(len(names)))
    order = [
        positions.find(entry) if by_position and isinstance(entry, whole) else places.find(entry)
        for entry in listed
    ]
    rule = f"an order has each of the {len(names)} columns once, causes first, by name or by position{rule}"
    if None in order:
        raise ValueError(f"{what} holds {listed[order.index(None)]!r}, which is no column: {rule}.")
    twice = [entry for entry, place in zip(listed, order, strict=True) if order.count(place) > 1]
    if twice:
        raise ValueError(f"{what} holds {twice[0]!r} more than once: {rule}.")
    return np.array(order, dtype=np.int64)
