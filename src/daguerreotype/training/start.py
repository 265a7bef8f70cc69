"""Scores that training starts from, and the temperature by step."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from daguerreotype._lib.checks import check_temperature
from daguerreotype._lib.labels import ColumnPlaces, shown
from daguerreotype._lib.typing import FloatArray, IntArray
from daguerreotype.training.constraints import Constraints

EXPECTED = "'zeros', 'variances', an order of all columns, or a float for each, its score"
GAP = 0.1  # score gap, in units of tau, between neighbours of an order that theta is made from


def order_to_theta(order: IntArray, tau: float) -> FloatArray:
    """Scores that sort into ``order``, close enough for the distribution to reach its neighbours."""
    theta = np.empty(order.size)
    theta[order] = GAP * tau * (np.arange(order.size) - 0.5 * (order.size - 1))
    return theta


def make_temperature(tau: Any, max_iter: int) -> Callable[[int], float]:
    """Temperature by iteration: a constant, a pair (first, last) annealed geometrically, or a callable."""
    if callable(tau):
        return lambda iteration: check_temperature(tau(iteration))
    if isinstance(tau, Sequence) and not isinstance(tau, str):
        if len(tau) != 2:
            raise ValueError(f"tau must be a number, a pair (first, last) or a callable, got {shown(tau)}.")
        first, last = map(check_temperature, tau)
        steps = max(max_iter - 1, 1)
        return lambda iteration: float(first * (last / first) ** (min(iteration, steps) / steps))
    constant = check_temperature(tau)
    return lambda iteration: constant


def make_start(
    init: Any,
    *,
    names: Sequence[Hashable],
    numbered: bool = False,
    variances: FloatArray,
    tau: float,
    rng: np.random.Generator,
    order_source: str,
    columns: IntArray | None = None,
) -> FloatArray:
    """Scores (d,) to start from, one per column; a random order is drawn from ``columns`` as they are listed.

    ``init`` is a word; an order, all columns by name or by position, causes first; or scores, some of them floats,
    of which smaller ones come first. Whole numbers alone are never scores: a broken order would pass for them.
    """
    d = len(names)
    if order_source == "drawn":
        return order_to_theta(rng.permutation(np.arange(d) if columns is None else columns), tau)
    if isinstance(init, str):
        if order_source == "given":
            raise ValueError(
                f"operator='fixed' needs the order: init=[...] with all columns, got init={shown(init)}."
            )
        if init == "zeros":
            return np.zeros(d)
        if init == "variances":
            centred: FloatArray = variances - np.median(variances)
            return centred
        raise ValueError(f"init must be {EXPECTED}, got {shown(init)}.")
    if isinstance(init, Mapping) or not isinstance(init, Iterable) or getattr(init, "ndim", 1) != 1:
        raise TypeError(f"init must be {EXPECTED}, got {shown(init)}.")
    listed = list(init)
    if len(listed) != d:
        raise ValueError(f"init has {len(listed)} entries, but the table has {d} columns.")
    floats = (float, np.floating)
    if order_source != "given" and any(isinstance(e, floats) for e in listed) and not isinstance(names[0], floats):
        try:
            scores = np.asarray(listed, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"init must be {EXPECTED}, got {shown(init)}.") from None
        if not np.isfinite(scores).all():
            raise ValueError("init holds scores that are not finite.")
        return scores
    return order_to_theta(_as_order(listed, names, numbered, order_source), tau)


def make_obeying(theta: FloatArray, constraints: Constraints, order_source: str, tau: float) -> FloatArray:
    """The start moved to scores that obey: projected, or a random order of those that do."""
    if constraints.precedence is not None and order_source == "drawn":
        return order_to_theta(constraints.precedence.extension(theta), tau)
    return constraints.project(theta)


def _as_order(listed: list[Any], names: Sequence[Hashable], numbered: bool, order_source: str) -> IntArray:
    """Positions of an order given by names, or by position unless names are whole numbers themselves."""
    whole = (int, np.integer)
    by_position = numbered or not any(isinstance(name, whole) for name in names)
    places, positions = ColumnPlaces(names, numbered=numbered), ColumnPlaces(range(len(names)))
    found = [
        positions.find(entry) if by_position and isinstance(entry, whole) else places.find(entry)
        for entry in listed
    ]
    scores = "" if order_source == "given" else "; scores are floats, as 0.5 or 1.0"
    rule = (
        f"as an order init has each of the {len(names)} columns once, causes first, by name or by position{scores}"
    )
    if None in found:
        raise ValueError(f"init holds {listed[found.index(None)]!r}, which is no column: {rule}.")
    twice = [entry for entry, place in zip(listed, found, strict=True) if found.count(place) > 1]
    if twice:
        raise ValueError(f"init holds {twice[0]!r} more than once: {rule}.")
    return np.array(found, dtype=np.int64)
